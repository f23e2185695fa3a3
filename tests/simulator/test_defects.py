from __future__ import annotations

import ast
import re

import numpy as np
import pytest
from support.tiny_scenarios import noisy

from rlreport.simulator.defects import CUT_BYTES, DEFECTS, DefectName, apply_defects
from rlreport.simulator.output import log_text
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.verl_config import verl_config

SCENARIO = noisy(steps=40)
LOG = log_text(run_pipeline(SCENARIO))
STEP = re.compile(r"step:\d+ - ")


def damaged(*names: DefectName) -> str:
    return apply_defects(LOG, names, np.random.default_rng(1))


def step_lines(log: str) -> list[str]:
    return [line for line in log.split("\n") if STEP.search(line)]


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_every_defect_changes_the_log_in_the_same_way_each_time(name: DefectName) -> None:
    assert damaged(name) != LOG
    assert damaged(name) == damaged(name)


def test_a_scenario_switches_defects_on_by_name() -> None:
    scenario = SCENARIO.model_copy(update={"defects": ("cut", "killed")})
    log = log_text(run_pipeline(scenario))
    assert not log.endswith("\n")
    assert "\x1b" not in log


def test_glued_lines_lose_nothing_but_the_newline() -> None:
    glued = [line for line in step_lines(damaged("glued")) if line.count("\x1b") > 2]
    assert 5 <= len(glued) <= 25
    assert len(step_lines(damaged("glued"))) == 41
    assert all(re.search(r"\d\x1b\[36m\(TaskRunnerV1 pid=\d+\)\x1b\[0m ", line) for line in glued)
    assert _letters(damaged("glued")) == _letters(LOG)


def test_split_dump_reads_back_without_the_foreign_lines() -> None:
    log = damaged("split")
    foreign = [line for line in log.split("\n") if "WorkerDict" in line]
    assert len(foreign) > 5
    kept = [re.sub(r"^.*?\)\x1b\[0m ", "", line) for line in log.split("\n") if "WorkerDict" not in line]
    start = next(index for index, line in enumerate(kept) if line.startswith("{'actor_rollout_ref'"))
    end = next(index for index in range(start, len(kept)) if kept[index].startswith("INFO:"))
    assert ast.literal_eval("\n".join(kept[start:end])) == verl_config(SCENARIO)


def test_cut_lines_end_at_4096_bytes_and_validations_lose_their_times() -> None:
    lines = step_lines(damaged("cut"))
    assert max(len(line.encode()) for line in lines) == CUT_BYTES
    for line in lines[1:]:
        assert ("perf/throughput:" in line) is not ("val-core/" in line)


def test_numpy_scalars_keep_their_values() -> None:
    log = damaged("np-scalars")
    assert "training/num_turns/max:np.int64(2)" in log
    assert "training/off_policy/trajectory_spans/mean:np.float64(1.0)" in log
    assert re.search(r"val-core/simulated-math/acc/mean@16:np\.float64\(0\.\d+\)", log)
    assert re.search(r"timing_s/gen:\d", log)
    assert re.sub(r"np\.\w+\(([^)]*)\)", r"\1", log) == LOG


def test_a_killed_run_ends_within_a_metric_line() -> None:
    log = damaged("killed")
    lines = step_lines(log)
    assert LOG.startswith(log)
    assert 20 <= len(lines) <= 33
    assert log.endswith(lines[-1])
    assert "perf/throughput" not in lines[-1]


def _letters(text: str) -> str:
    return text.replace("\n", "")
