from __future__ import annotations

from pathlib import Path

import pytest
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects.assemble import plain_values
from rlreport.dialects.verl_doc import markdown_page
from rlreport.dialects.verl_modes import MODE_ROWS, find_mode, markdown_table, rows_for
from rlreport.dialects.verl_versions import CodeDate
from rlreport.run.metrics import METRICS
from rlreport.run.raw import SourceFacts


def _mode(rows: dict[int, dict[str, float]], config: dict[str, object], *hints: str) -> str:
    raw = raw_run(rows, config, facts=SourceFacts(hints=set(hints)))
    return find_mode(raw, plain_values(raw.config)).mode


def test_v1_names_its_mode() -> None:
    rows = {1: timed_row()}
    for mode in ("sync", "colocate_async", "separate_async"):
        assert _mode(rows, {**SYNC_CONFIG, "trainer.use_v1": True, "trainer.v1.trainer_mode": mode}) == mode
        assert _mode(rows, {**SYNC_CONFIG, "trainer.use_v1": "True", "trainer.v1.trainer_mode": mode}) == mode


def test_a_v1_mode_counts_only_when_v1_is_on() -> None:
    assert _mode({1: timed_row()}, {**SEPARATE_CONFIG, "trainer.use_v1": False}) == "sync"


def test_experimental_trainers_come_before_the_v1_defaults_they_carry() -> None:
    assert _mode({1: timed_row()}, dict(FULLY_CONFIG)) == "fully_async"
    assert _mode({1: timed_row()}, {**SYNC_CONFIG, "trainer.use_v1": True}, "actor:FullyAsyncTrainer") == "fully_async"
    assert _mode({1: timed_row(sync_rollout_weights=3.0)}, dict(SYNC_CONFIG)) == "one_step_off"
    assert _mode({1: timed_row()}, {**SYNC_CONFIG, "rollout.nnodes": 1}) == "one_step_off"
    assert _mode({1: timed_row()}, {}, "main:verl.experimental.one_step_off_policy.main_ppo") == "one_step_off"
    assert _mode({1: {**timed_row(), "fully_async/trainer/idle_ratio": 0.3}}, {}) == "fully_async"


def test_turns_on_one_pool_are_sync() -> None:
    assert _mode({1: timed_row()}, {}) == "sync"
    old = {"timing/gen": 1.0, "timing/old_log_prob": 1.0, "timing/update_actor": 1.0}
    assert _mode({1: old}, {}) == "sync"


def test_bypass_mode_does_not_hide_a_sync_run() -> None:
    row = timed_row()
    del row["timing_s/old_log_prob"]
    assert _mode({1: row}, {}) == "unknown"
    assert _mode({1: row}, {"algorithm.rollout_correction.bypass_mode": True}) == "sync"


def test_v1_metrics_alone_do_not_tell_the_mode() -> None:
    row = {**timed_row(), "training/off_policy/trajectory_staleness/mean": 0.0}
    assert _mode({1: row}, {}) == "unknown"
    assert _mode({1: timed_row()}, {}, "actor:TaskRunnerV1") == "unknown"


def test_a_column_without_values_is_no_mark() -> None:
    assert _mode({1: {**timed_row(), "fully_async/trainer/idle_ratio": float("nan")}}, {}) == "sync"


@pytest.mark.parametrize(
    ("day", "inside", "outside"),
    [
        ("2025-08-18", {"time.validate_s", "time.checkpoint_s"}, set()),
        ("2025-08-19", set(), {"time.validate_s", "time.checkpoint_s"}),
        ("2026-08-22", {"time.checkpoint_s", "time.weight_sync_s"}, {"time.validate_s"}),
    ],
)
def test_sync_step_time_by_date(day: str, inside: set[str], outside: set[str]) -> None:
    raw = raw_run({1: timed_row()}, dict(SYNC_CONFIG))
    rows = rows_for(find_mode(raw, plain_values(raw.config)), CodeDate(day, day, True))
    assert len(rows) == 1
    assert inside <= set(rows[0].contains)
    assert set(rows[0].excludes) == outside


@pytest.mark.parametrize(
    ("day", "step", "denominator"),
    [
        ("2026-07-01", "one mini-batch", "Trainer devices only"),
        ("2026-07-10", "one weight-sync cycle", "Trainer devices only"),
        ("2026-07-20", "one weight-sync cycle", "all devices"),
    ],
)
def test_separate_async_by_date(day: str, step: str, denominator: str) -> None:
    raw = raw_run({1: timed_row()}, dict(SEPARATE_CONFIG))
    (row,) = rows_for(find_mode(raw, plain_values(raw.config)), CodeDate(day, day, True))
    assert row.step_is.startswith(step)
    assert row.denominator == denominator
    assert row.wait_key == "timing_s/gen"


def test_every_row_is_sound() -> None:
    for row in MODE_ROWS:
        assert not set(row.contains) & set(row.excludes)
        assert set(row.contains) | set(row.excludes) <= set(METRICS)
        assert ("time.wait_s" in row.contains) == (row.wait_key is not None)
        assert row.since is None or row.until is None or row.since < row.until
        assert "verl" in row.source or "one_step_off" in row.source


def test_the_table_as_markdown_has_a_line_for_every_row() -> None:
    lines = markdown_table().splitlines()
    assert len(lines) == 2 + len(MODE_ROWS)
    assert {line.count("|") for line in lines} == {10}


def test_the_page_in_docs_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "verl-dialect.md"
    assert page.read_text(encoding="utf-8") == markdown_page(), (
        "write it again: python -m rlreport.dialects.verl_doc > docs/verl-dialect.md"
    )
