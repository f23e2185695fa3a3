from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects import interpret_run
from rlreport.dialects.verl import planned_steps
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.raw import SourceFacts


def _codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def test_a_separate_async_run_in_full() -> None:
    rows = {step: timed_row(150.0, devices=12, update_weights=20.0) for step in range(1, 5)}
    raw = raw_run(
        rows,
        dict(SEPARATE_CONFIG),
        facts=SourceFacts(progress=(4, 4)),
        wall_s={1: 1_785_000_100.0, 2: 1_785_000_250.0, 4: 1_785_000_550.0},
    )
    run = interpret_run(raw, RunDeclaration("r", framework_version="2026-08-22"))
    assert (run.framework, run.mode, run.status, run.label) == ("verl", "separate_async", "completed", "r")
    assert (run.devices.trainer, run.devices.rollout, run.devices.total) == (8, 4, 12)
    assert run.steps.loc[1].dropna().to_dict() == pytest.approx(
        {
            "clock.wall_s": 0.0,
            "length.prompt_mean": 10.0,
            "length.response_mean": 50.0,
            "perf.throughput_reported": 480 / (150 * 12),
            "quality.score_mean": 0.5,
            "time.old_log_prob_s": 10.0,
            "time.step_s": 150.0,
            "time.update_actor_s": 50.0,
            "time.wait_s": 30.0,
            "time.weight_sync_s": 20.0,
            "work.prompts": 4.0,
            "work.tokens": 480.0,
            "work.trajectories": 8.0,
        }
    )
    assert run.steps["clock.wall_s"].loc[[2, 4]].tolist() == [150.0, 450.0]
    assert pd.isna(run.steps["clock.wall_s"].loc[3])
    assert list(run.raw.columns) == list(raw.frame.columns)
    assert run.sources[0].n_steps == 4
    assert run.semantics.wait_is.startswith("timing_s/gen")
    assert run.knobs["trainer.nnodes"].knob_class == "resources"
    assert "trainer.experiment_name" not in run.knobs
    assert _codes(run) == []


def test_a_progress_bar_counts_from_the_start() -> None:
    run = interpret_run(raw_run({1: timed_row(), 2: timed_row()}, wall_s={1: 190.0, 2: 300.0}), RunDeclaration("r"))
    assert run.steps["clock.wall_s"].tolist() == [190.0, 300.0]


def test_the_manifest_overrides_the_configuration_and_every_override_is_shown() -> None:
    declared = RunDeclaration("r", config={"trainer": {"nnodes": 3}, "trainer.test_freq": "2", "trainer.new": 1})
    run = interpret_run(raw_run({1: timed_row()}, dict(SYNC_CONFIG)), declared)
    assert run.value("trainer.nnodes") == 3
    assert run.config["trainer.new"].origin == "manifest"
    assert run.devices.trainer == 12
    told = [notice.message for notice in run.notices if notice.code == "RR303"]
    assert len(told) == 2
    assert "trainer.nnodes to 3; config.yaml:1 says 2" in told[0]


def test_fully_async_lines_are_called_shifted() -> None:
    row = {**timed_row(devices=12, trajectories=24), "fully_async/rollouter/idle_ratio": 0.1}
    run = interpret_run(raw_run({1: row, 2: row}, dict(FULLY_CONFIG)), RunDeclaration("r"))
    assert run.mode == "fully_async"
    assert run.steps["work.prompts"].tolist() == [12.0, 12.0]
    assert {"RR322", "RR327"} <= set(_codes(run))
    assert run.status == "completed"  # 24 samples / 12 a version = 2 versions


def test_a_missing_timer_is_explained_by_bypass_mode() -> None:
    config = {**SYNC_CONFIG, "algorithm.rollout_correction.bypass_mode": True}
    assert "RR323" in _codes(interpret_run(raw_run({1: timed_row()}, config), RunDeclaration("r")))


def test_a_validation_before_training_keeps_its_row_and_has_no_work() -> None:
    run = interpret_run(raw_run({0: {"val-core/a/acc/mean@1": 0.2}, 1: timed_row()}, dict(SYNC_CONFIG)), RunDeclaration("r"))
    assert list(run.steps.index) == [0, 1]
    assert list(run.trained_steps.index) == [1]
    assert pd.isna(run.steps.loc[0, "work.prompts"])


def test_an_empty_run_is_read_without_complaint() -> None:
    run = interpret_run(raw_run({}, dict(SYNC_CONFIG)), RunDeclaration("r"))
    assert run.steps.empty
    assert run.mode == "unknown"
    assert run.status == "unknown"


@pytest.mark.parametrize(
    ("mode", "config", "steps"),
    [
        ("sync", {"trainer.total_training_steps": 125}, 125),
        ("sync", {"actor_rollout_ref.actor.optim.total_training_steps": 70}, 70),
        ("sync", {"trainer.total_training_steps": None, "actor_rollout_ref.actor.optim.total_training_steps": -1}, None),
        ("fully_async", dict(FULLY_CONFIG), 2),
        ("fully_async", {"trainer.total_training_steps": 125}, None),
    ],
)
def test_planned_steps(mode: Any, config: dict[str, Any], steps: int | None) -> None:
    assert planned_steps(mode, config) == steps
