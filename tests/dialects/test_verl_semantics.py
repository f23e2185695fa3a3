from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from support.raw_runs import SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects.assemble import plain_values
from rlreport.dialects.verl_devices import find_devices
from rlreport.dialects.verl_metrics import map_metrics
from rlreport.dialects.verl_modes import MODE_ROWS, find_mode
from rlreport.dialects.verl_semantics import Meaning, decide_meaning, phase_is_inside
from rlreport.dialects.verl_versions import CodeDate
from rlreport.run.model import RunDeclaration

V0_SYNC = tuple(row for row in MODE_ROWS if row.mode == "sync" and row.engine == "v0")


def _decide(rows: dict[int, dict[str, float]], config: Mapping[str, Any], date: CodeDate | None = None) -> Meaning:
    raw = raw_run(rows, config)
    values = plain_values(raw.config)
    finding = find_mode(raw, values)
    columns, _ = map_metrics(raw.frame, finding.mode)
    devices = find_devices(finding.mode, values, RunDeclaration("r"), columns).devices
    return decide_meaning(finding, date or CodeDate(), columns, devices, values)


def _log(extra_s: float, phase: str, seconds: float = 40.0) -> dict[int, dict[str, float]]:
    """Ten steps of 100 s with 90 s timed; every fifth also has a phase, and its step is longer by `extra_s`."""
    rows = {}
    for step in range(1, 11):
        rows[step] = timed_row(100.0)
        if step % 5 == 0:
            rows[step] = timed_row(100.0 + extra_s, **{phase: seconds})
    return rows


def test_validation_inside_of_the_step_is_seen() -> None:
    meaning = _decide(_log(40.0, "testing"), SYNC_CONFIG)
    assert "time.validate_s" in meaning.semantics.contains
    assert meaning.semantics.source == V0_SYNC[0].source
    assert [notice.code for notice in meaning.notices] == ["RR307"]
    assert "to 2025-08-19" in meaning.notices[0].message


def test_validation_outside_of_the_step_is_seen() -> None:
    meaning = _decide(_log(0.0, "testing"), SYNC_CONFIG)
    assert "time.validate_s" in meaning.semantics.excludes
    assert "time.validate_s" not in meaning.semantics.contains


def test_half_a_phase_decides_nothing_and_is_told() -> None:
    meaning = _decide(_log(20.0, "testing"), SYNC_CONFIG)
    assert "time.validate_s" not in (*meaning.semantics.contains, *meaning.semantics.excludes)
    assert [notice.code for notice in meaning.notices] == ["RR307"]
    assert "validation" in meaning.notices[0].message


def test_checkpoint_and_weight_sync_of_a_recent_sync_run() -> None:
    rows = _log(40.0, "save_checkpoint")
    for row in rows.values():
        row["timing_s/update_weights"] = 8.0
        row["timing_s/step"] += 8.0
    meaning = _decide(rows, SYNC_CONFIG)
    assert {"time.checkpoint_s", "time.weight_sync_s"} <= set(meaning.semantics.contains)
    assert meaning.semantics.source == V0_SYNC[2].source


def test_a_declared_version_decides_without_data() -> None:
    meaning = _decide({1: timed_row()}, SYNC_CONFIG, CodeDate("2025-11-14", "2025-11-14", True))
    assert set(meaning.semantics.excludes) == {"time.validate_s", "time.checkpoint_s"}
    assert meaning.notices == ()


def test_data_win_over_a_declared_version_and_say_so() -> None:
    meaning = _decide(_log(40.0, "testing"), SYNC_CONFIG, CodeDate("2026-08-22", "2026-08-22", True, "verl of 2026-08-22"))
    assert "time.validate_s" in meaning.semantics.contains
    assert "time.validate_s" not in meaning.semantics.excludes
    assert [notice.code for notice in meaning.notices] == ["RR308"]
    assert "validation is inside" in meaning.notices[0].message


def test_the_implied_count_tells_the_version_of_separate_async() -> None:
    all_devices = _decide({1: timed_row(devices=12)}, SEPARATE_CONFIG)
    assert all_devices.semantics.throughput_denominator == "all devices"
    assert all_devices.semantics.step_is.startswith("one weight-sync cycle")
    assert all_devices.prompts == ("train batch",)
    trainer_only = _decide({1: timed_row(devices=8, trajectories=4)}, SEPARATE_CONFIG)
    assert trainer_only.semantics.throughput_denominator == "Trainer devices only"
    assert trainer_only.prompts == ("mini-batch",)
    assert trainer_only.semantics.step_is.startswith("one mini-batch")


def test_tokens_tell_a_cycle_from_a_mini_batch() -> None:
    meaning = _decide({1: timed_row(devices=8, trajectories=8)}, SEPARATE_CONFIG)
    assert meaning.semantics.step_is.startswith("one weight-sync cycle")
    assert meaning.semantics.throughput_denominator == "Trainer devices only"


def test_a_step_of_a_run_that_lends_its_devices_holds_generation() -> None:
    lending = _decide({1: timed_row(devices=12, switch_wait=5.0)}, SEPARATE_CONFIG)
    assert {"time.wait_s", "time.generate_s"} <= set(lending.semantics.contains)
    assert lending.semantics.wait_is == "timing_s/gen: the Trainer waits for samples"
    alone = _decide({1: timed_row(devices=12)}, SEPARATE_CONFIG)
    assert "time.generate_s" not in alone.semantics.contains


def test_generation_of_lent_devices_is_no_untimed_part_of_a_step() -> None:
    """Steps differ by what their lent devices generate; a checkpoint of 5 s outside of the step would else not be seen."""
    rows = {}
    for step in range(1, 11):
        rows[step] = timed_row(100.0 + 9.0 * (step % 3), devices=12, switch_wait=9.0 * (step % 3))
        if step % 5 == 0:
            rows[step]["timing_s/save_checkpoint"] = 5.0
    meaning = _decide(rows, SEPARATE_CONFIG)
    assert "time.checkpoint_s" in meaning.semantics.excludes


def test_an_open_question_stays_open() -> None:
    row = timed_row(devices=8)
    del row["perf/throughput"], row["perf/total_num_tokens"]
    meaning = _decide({1: row}, SEPARATE_CONFIG)
    assert meaning.semantics.throughput_denominator == "unknown"
    assert meaning.semantics.step_is.startswith("not known: one mini-batch")
    assert meaning.prompts == ("mini-batch", "train batch")
    assert [notice.code for notice in meaning.notices] == ["RR307"]


def test_an_unknown_mode_has_no_semantics() -> None:
    row = {"perf/total_num_tokens": 10.0, "critic/score/mean": 0.1}
    meaning = _decide({1: row}, {})
    assert meaning.semantics.contains == ()
    assert meaning.semantics.throughput_denominator == "unknown"


def test_code_older_than_its_mode_considers_all_rows() -> None:
    meaning = _decide(
        {1: timed_row(devices=12)}, SEPARATE_CONFIG, CodeDate("2025-01-01", "2025-01-01", True, "verl of 2025-01-01")
    )
    assert meaning.semantics.throughput_denominator == "all devices"
    assert [notice.code for notice in meaning.notices] == ["RR306", "RR307"]


def test_noise_as_large_as_the_phase_decides_nothing() -> None:
    rows = _log(1.0, "testing", seconds=1.0)
    for step in rows:
        rows[step]["timing_s/step"] += 10.0 * (step % 3)
    columns, _ = map_metrics(raw_run(rows).frame, "sync")
    assert phase_is_inside("time.validate_s", columns, V0_SYNC) is None


def test_the_first_step_alone_decides_nothing() -> None:
    """Fully async: the first version has no weight sync and 30 s of warm-up in no timer; then 9 s of sync a step."""
    steps = pd.RangeIndex(1, 41)
    columns = {
        "time.update_actor_s": pd.Series(90.0, steps),
        "time.weight_sync_s": pd.Series(9.0, steps).where(steps > 1),
        "time.step_s": pd.Series(99.0, steps).where(steps > 1, 120.0),
    }
    rows = [row for row in MODE_ROWS if row.mode == "fully_async"]
    assert phase_is_inside("time.weight_sync_s", columns, rows) is True
    outside = {**columns, "time.step_s": pd.Series(90.0, steps).where(steps > 1, 120.0)}
    assert phase_is_inside("time.weight_sync_s", outside, rows) is False
