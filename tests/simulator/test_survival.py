"""What a simulated run writes is what the project reads: every mode, every format, every defect."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from support.mode_scenarios import DEVICES, MODES, logged_values, mode_scenario

from rlreport.collectors.merge import merge_sources
from rlreport.collectors.read import read_sources
from rlreport.dialects.registry import interpret_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.raw import RawRun
from rlreport.simulator.defects import DefectName
from rlreport.simulator.log_call import LogCall
from rlreport.simulator.output import output_files
from rlreport.simulator.restart import Launch, launches_of
from rlreport.simulator.scenario import Scenario

LOGS = ("console", "jsonl", "tensorboard")
SOURCES = {"console": "console.log.gz", "jsonl": "metrics.jsonl.gz", "tensorboard": "tensorboard"}
STEPS = 12
HARMLESS: tuple[DefectName, ...] = ("glued", "split", "np-scalars")
EVERY_MODE = sorted(MODES)


@cache
def launched(mode: str, *defects: DefectName) -> tuple[Scenario, tuple[Launch, ...], dict[str, bytes]]:
    validated = 5 if "resumed" in defects else 4
    scenario = mode_scenario(mode, outputs=LOGS, defects=defects, schedule__validate_every_steps=validated)
    launches = launches_of(scenario)
    return scenario, launches, output_files(scenario, launches)


def collected(folder: Path, files: dict[str, bytes], *formats: str) -> RawRun:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return merge_sources(read_sources([(folder / SOURCES[name], None, {}) for name in formats], folder))


def interpreted(raw: RawRun) -> Run:
    return interpret_run(raw, RunDeclaration("run", framework_version="2026-08-22"))


def codes(raw: RawRun) -> set[str]:
    return {notice.code for notice in raw.notices} | {n.code for table in raw.sources for n in table.notices}


def found_in(raw: RawRun) -> dict[tuple[int, str], float]:
    """(step, key) -> value of everything but what the collector works out of other lines than metric lines."""
    return {
        (int(step), str(key)): float(value)
        for step, row in raw.frame.to_dict(orient="index").items()
        for key, value in row.items()
        if not math.isnan(value) and not str(key).startswith("console/")
    }


def assert_holds(raw: RawRun, expected: dict[tuple[int, str], float], relative: float = 1e-15) -> None:
    """The run has these values and no others."""
    found = found_in(raw)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=relative, abs=0)


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("source", sorted(SOURCES))
def test_every_value_is_found_again_in_every_format(mode: str, source: str, tmp_path: Path) -> None:
    _, (launch,), files = launched(mode)
    raw = collected(tmp_path, files, source)
    single_precision = 6e-8 if source == "tensorboard" else 1e-15
    assert_holds(raw, logged_values(launch.log.calls), single_precision)
    assert list(raw.frame.index) == list(range(STEPS + 1))
    assert not raw.partial_steps
    assert not codes(raw) & {"RR221", "RR222", "RR231", "RR232", "RR234", "RR240", "RR241", "RR242"}


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_the_run_is_taken_for_what_it_was(mode: str, tmp_path: Path) -> None:
    scenario, _, files = launched(mode)
    run = interpreted(collected(tmp_path, files, *LOGS))
    trainer, rollout, divisor = DEVICES[mode]
    assert run.mode == scenario.mode
    assert run.status == "completed"
    assert (run.devices.trainer, run.devices.rollout, run.devices.total) == (trainer, rollout, trainer + rollout)
    assert run.devices.implied == pytest.approx(divisor, rel=1e-6)
    assert run.devices.hybrid == (trainer if mode in ("sync", "colocate_async", "switch") else 0)
    assert {notice.code for notice in run.notices if notice.code in ("RR306", "RR307", "RR308", "RR312", "RR313")} == set()
    expected = {"one_step_off": {"RR310"}}.get(mode, set())  # its framework divides by the Trainer's devices only
    assert {notice.code for notice in run.notices if notice.code == "RR310"} == expected
    timed = run.steps["work.prompts"].dropna()
    assert set(timed) == {scenario.workload.prompts_per_step}


@pytest.mark.parametrize("mode", [mode for mode in EVERY_MODE if mode != "fully_async"])
def test_step_time_and_its_parts_are_those_of_the_simulation(mode: str, tmp_path: Path) -> None:
    _, (launch,), files = launched(mode)
    steps = interpreted(collected(tmp_path, files, "console")).steps
    wait = "time.generate_s" if mode in ("sync", "colocate_async") else "time.wait_s"
    for record in launch.simulation.steps:
        row = steps.loc[record.step]
        assert row["time.step_s"] == pytest.approx(record.end_s - record.begin_s, rel=1e-8)
        assert row[wait] == pytest.approx(record.seconds["gen"], rel=1e-8)
        assert row["time.update_actor_s"] == pytest.approx(sum(b.update_s for b in record.batches), rel=1e-8)
        sync = record.seconds.get("update_weights", record.seconds.get("sync_rollout_weights"))
        assert row["time.weight_sync_s"] == pytest.approx(sync, rel=1e-8)
        assert row["work.tokens"] == sum(b.tokens for b in record.batches)
        if record.testing_s is not None:
            assert row["time.validate_s"] == pytest.approx(record.testing_s, rel=1e-8)


def test_a_fully_async_line_holds_the_rounds_since_the_line_before(tmp_path: Path) -> None:
    _, (launch,), files = launched("fully_async")
    steps = interpreted(collected(tmp_path, files, "console")).steps
    records = launch.simulation.steps
    for version in range(1, STEPS + 1):
        rounds = records[max(0, 4 * version - 5) : 4 * version - 1]  # rounds 4v - 4 to 4v - 1, counted from 1
        assert len(rounds) == (3 if version == 1 else 4)
        row = steps.loc[version]
        assert row["time.step_s"] == pytest.approx(sum(r.end_s - r.begin_s for r in rounds), rel=1e-8)
        assert row["time.wait_s"] == pytest.approx(sum(r.seconds["gen"] for r in rounds), rel=1e-8)
        assert row["work.tokens"] == sum(b.tokens for r in rounds for b in r.batches)
        if version > 1:
            assert row["time.weight_sync_s"] == pytest.approx(rounds[0].seconds["param_sync"], rel=1e-8)
    # The last round of the run is in no line.
    assert steps["work.tokens"].sum() == sum(b.tokens for r in records[:-1] for b in r.batches)


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_harmless_defects_lose_nothing(mode: str, tmp_path: Path) -> None:
    _, (launch,), files = launched(mode, *HARMLESS)
    raw = collected(tmp_path, files, "console")
    assert_holds(raw, logged_values(launch.log.calls))
    run = interpreted(raw)
    assert (run.devices.trainer, run.devices.rollout) == DEVICES[mode][:2]


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_a_cut_line_keeps_what_stands_before_the_cut(mode: str, tmp_path: Path) -> None:
    """W&B keeps 4,096 bytes of a line. All lines of fully async are longer, in the other modes those of validations."""
    _, (launch,), files = launched(mode, "cut")
    kept = []
    cut = set()
    for call in launch.log.calls:
        length = len(f"step:{call.step}")
        values = {}
        for key, value in call.values.items():
            length += len(f" - {key}:{value!r}")
            if length + len(" -") <= 4096:  # a number is known to be whole when the next separator begins
                values[key] = value
        kept.append(LogCall(call.at_s, call.step, values))
        if length > 4096:
            cut.add(call.step)
    assert cut == set(range(1, 13) if mode == "fully_async" else (4, 8, 12))
    raw = collected(tmp_path, files, "console")
    assert set(raw.partial_steps) == cut
    assert_holds(raw, logged_values(kept))
    assert collected(tmp_path, files, *LOGS).partial_steps == {}  # the other formats have what the console lost


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_a_killed_run_keeps_every_whole_call_in_every_format(mode: str, tmp_path: Path) -> None:
    _, (launch,), files = launched(mode, "killed")
    raws = {source: collected(tmp_path, files, source) for source in SOURCES}
    calls = launch.log.calls
    made = next(n for n in range(len(calls) + 1) if logged_values(calls[:n]).keys() == found_in(raws["jsonl"]).keys())
    assert len(calls) // 3 < made < len(calls) - 1
    assert_holds(raws["jsonl"], logged_values(calls[:made]))
    for source in ("console", "tensorboard"):
        assert logged_values(calls[:made]).keys() < found_in(raws[source]).keys() < logged_values(calls[: made + 1]).keys()
    assert interpreted(raws["console"]).status == "killed"
    assert {"RR233"} <= codes(raws["jsonl"]) & codes(raws["tensorboard"])


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_a_resumed_run_has_the_later_values_of_the_steps_that_were_trained_twice(mode: str, tmp_path: Path) -> None:
    _, (first, second), files = launched(mode, "resumed")
    assert second.resumed_from == 5
    stopped = max(call.step for call in first.log.calls)
    assert 5 < stopped < STEPS
    expected = {(step, key): v for (step, key), v in logged_values(first.log.calls).items() if step <= 5}
    expected |= logged_values(second.log.calls)
    for source, relative in (("console", 1e-15), ("tensorboard", 6e-8)):
        raw = collected(tmp_path, files, source)
        assert_holds(raw, expected, relative)
        assert raw.restarts == (6,)
    assert interpreted(collected(tmp_path, files, "console")).status == "completed"
    raw = collected(tmp_path, files, "jsonl")
    assert_holds(raw, logged_values(second.log.calls))  # FileLogger erased the first launch
    assert interpreted(collected(tmp_path, files, *LOGS)).restarts == (6,)


def test_the_console_tells_from_where_a_run_was_resumed(tmp_path: Path) -> None:
    for mode in EVERY_MODE:
        raw = collected(tmp_path / mode, launched(mode, "resumed")[2], "console")
        assert raw.facts.resumed_from == [5], mode


def test_a_clock_that_all_formats_share(tmp_path: Path) -> None:
    scenario, (launch,), files = launched("separate_async")
    raw = collected(tmp_path, files, "tensorboard")
    # 2026-09-01T08:00:00 is 1788249600 s after the epoch.
    for record in launch.simulation.steps:
        assert raw.wall_s[record.step] == pytest.approx(1_788_249_600 + record.logged_s, abs=1e-6)
    assert collected(tmp_path, files, "console").facts.started_at == "2026-09-01T08:00:00"
    assert scenario.framework.started_at.isoformat() == "2026-09-01T08:00:00"
