"""The committed examples: what they show, that they are small, and that they can be made again."""

from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlreport.simulator import Scenario, load_scenario
from rlreport.simulator.output import output_files
from rlreport.simulator.restart import launches_of
from rlreport.simulator.true_change import changed_classes, true_change
from rlreport.simulator.truth import describe
from rlreport.stats.robust import volatility

FOLDER = Path(__file__).resolve().parents[2] / "examples"
CASES = {
    "qwen3-30b": ("r48", "r32"),
    "qwen3-omni": ("r8t8", "r8t16-wu2", "r8t16-wu2-tok30k"),
    "qwen3.5-35b": ("s03", "s05", "s07"),
}
RUNS = [f"{case}/{run}" for case, runs in CASES.items() for run in runs]


@lru_cache
def truth(run: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / run / "truth.json").read_text())
    return result


def scenario(run: str) -> Scenario:
    return load_scenario(FOLDER / f"{run}.yaml")


def steady(run: str) -> dict[str, float]:
    result: dict[str, float] = truth(run)["throughput"]["steady"]
    return result


def idle(run: str, side: str) -> dict[str, Any]:
    result: dict[str, Any] = truth(run)["device_time"]["steady_steps"][side]
    return result


def log(run: str) -> str:
    return gzip.decompress((FOLDER / run / "console.log.gz").read_bytes()).decode()


def logged(run: str, key: str) -> np.ndarray:
    """All values of a key in the console log, in its order."""
    return np.array([float(value) for value in re.findall(rf" - {re.escape(key)}:(?:np\.float64\()?([-+.\de]+)", log(run))])


def in_turn(case: str) -> list[str]:
    return [f"{case}/{run}" for run in CASES[case]]


@pytest.mark.parametrize("run", RUNS)
def test_a_run_can_be_made_again(run: str) -> None:
    """Texts are compared, not compressed bytes: these also depend on the zlib that Python was built with."""
    wanted = scenario(run)
    launches = launches_of(wanted)
    for name, content in output_files(wanted, launches).items():
        assert gzip.decompress(content) == gzip.decompress((FOLDER / run / name).read_bytes()), name
    expected = json.loads((FOLDER / run / "truth.json").read_text())
    expected["throughput"]["steady_noise_free"] = None  # the twin without noise would cost as much again
    assert json.loads(json.dumps(describe(launches[0].simulation, None))) == expected


@pytest.mark.parametrize("run", RUNS)
def test_the_log_says_that_it_is_simulated(run: str) -> None:
    assert log(run).startswith(f"# simulated by rlreport simulate, scenario {scenario(run).name}, seed ")


def test_all_files_are_small() -> None:
    sizes = [path.stat().st_size for run in RUNS for path in (FOLDER / run).rglob("*") if path.is_file()]
    assert max(sizes) < 200 * 1024
    assert sum(sizes) < 2 * 1024 * 1024


def test_case_a_a_third_fewer_rollouters_do_the_same_work() -> None:
    base, variant = in_turn("qwen3-30b")
    assert steady(variant)["tokens_per_s"] == pytest.approx(steady(base)["tokens_per_s"], rel=0.01)
    ratio = steady(variant)["tokens_per_s_per_device"] / steady(base)["tokens_per_s_per_device"]
    assert ratio == pytest.approx(1.25, rel=0.01)
    assert truth(base)["devices"]["total"] / truth(variant)["devices"]["total"] == 1.25
    assert all(idle(run, "trainer")["idle_fraction_by_cause"]["samples"] < 0.02 for run in (base, variant))
    assert 0.40 < idle(base, "rollout")["idle_fraction"] < 0.45
    assert 0.15 < idle(variant, "rollout")["idle_fraction"] < 0.20
    assert all(truth(run)["bubble_owner"] == "rollout" for run in (base, variant))


def test_case_a_changes_rollout_nodes_and_nothing_else() -> None:
    base, variant = (scenario(run) for run in in_turn("qwen3-30b"))
    assert changed_classes(base, variant) == ("resources",)
    changes = {change.parameter: (change.baseline, change.variant) for change in true_change(base, variant)}
    assert changes.keys() == {"name", "description", "seed", "cluster.rollout_nodes"}
    assert changes["cluster.rollout_nodes"] == (48, 32)


def test_case_b_the_lead_of_the_rollouters_falls_from_rung_to_rung() -> None:
    leads = [truth(run)["lead_mini_batches"]["mean"] for run in in_turn("qwen3-omni")]
    assert leads == pytest.approx([5.0, 3.0, 1.5], abs=0.4)
    assert truth("qwen3-omni/r8t8")["bubble_owner"] == "rollout"
    assert all(idle(run, "trainer")["idle_fraction_by_cause"]["samples"] < 0.01 for run in in_turn("qwen3-omni"))


def test_case_b_staleness_in_the_log_tells_the_lead() -> None:
    for run in in_turn("qwen3-omni"):
        updates = scenario(run).updates_per_step
        age = logged(run, "training/off_policy/trajectory_staleness/mean")[3:].mean()
        assert updates * age - 0.5 == pytest.approx(truth(run)["lead_mini_batches"]["mean"], abs=0.25)


def test_case_b_the_larger_token_budget_gives_a_tenth_more_per_device() -> None:
    first, second, third = (steady(run)["tokens_per_s_per_device"] for run in in_turn("qwen3-omni"))
    assert third / second == pytest.approx(1.10, abs=0.015)
    assert 1.05 < second / first < 1.15


def test_case_b_the_second_rung_changes_two_classes_and_the_missing_run_one() -> None:
    first, second, third = (scenario(run) for run in in_turn("qwen3-omni"))
    assert changed_classes(first, second) == ("resources", "work")
    assert changed_classes(second, third) == ("work",)
    missing = scenario("qwen3-omni/r8t16")
    assert changed_classes(first, missing) == ("resources",)
    assert changed_classes(missing, second) == ("work",)


def test_case_b_memory_grows_with_the_budget_and_has_headroom() -> None:
    memory = [truth(run)["memory"] for run in in_turn("qwen3-omni")]
    assert [item["device_gb"] for item in memory] == [64, 64, 64]
    assert [item["largest_allocated_gb"] for item in memory] == pytest.approx([35.6, 35.6, 46.9], abs=0.1)
    reserved = [logged(run, "actor/perf/max_memory_reserved_gb").max() for run in in_turn("qwen3-omni")]
    assert reserved[0] < reserved[2] < 0.9 * 64


def test_case_c_waiting_stops_falling_at_0_5() -> None:
    waits = [truth(run)["seconds_per_step"]["gen"] for run in in_turn("qwen3.5-35b")]
    assert waits[0] > 30
    assert waits[1] < 6
    assert 0 <= waits[1] - waits[2] < 2  # less than 1 % of a version
    steps = [steady(run)["step_s_mean"] for run in in_turn("qwen3.5-35b")]
    assert steps[0] / steps[1] > 1.1
    assert steps[2] == pytest.approx(steps[1], rel=0.01)


def test_case_c_the_log_shows_the_same_waiting() -> None:
    # The line of a version holds one round of the version before; summed over many versions that is no difference.
    for run in in_turn("qwen3.5-35b"):
        waits = logged(run, "timing_s/gen")[3:]
        assert waits.mean() == pytest.approx(truth(run)["seconds_per_step"]["gen"], rel=0.02, abs=0.3)


def test_case_c_the_reward_gets_rougher_and_accuracy_keeps_rising() -> None:
    sds = [truth(run)["quality"]["reward_sd"] for run in in_turn("qwen3.5-35b")]
    assert sds[1] / sds[0] > 1.2
    assert sds[2] / sds[1] > 1.2
    rough = [volatility(logged(run, "critic/score/mean")) for run in in_turn("qwen3.5-35b")]
    assert rough[0] < rough[1] < rough[2]
    for run in in_turn("qwen3.5-35b"):
        accuracy = logged(run, "val-core/simulated-math/acc/mean@16")
        thirds = [part.mean() for part in np.array_split(accuracy, 3)]
        assert thirds[0] < thirds[1] < thirds[2]


def test_case_c_changes_the_staleness_threshold_and_nothing_else() -> None:
    doses = [scenario(run) for run in in_turn("qwen3.5-35b")]
    assert [dose.fully_async.staleness_threshold for dose in doses] == [0.3, 0.5, 0.7]
    assert [dose.fully_async.trigger_parameter_sync_step for dose in doses] == [8, 8, 8]
    assert [dose.schedule.validate_every_steps for dose in doses] == [5, 5, 5]
    for dose in doses[1:]:
        changes = {change.parameter for change in true_change(doses[0], dose)}
        assert changes == {"name", "description", "seed", "fully_async.staleness_threshold"}
        assert changed_classes(doses[0], dose) == ("off-policy",)
