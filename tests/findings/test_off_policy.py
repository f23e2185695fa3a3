from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.made_chains import analysed, staleness_sweep
from support.made_findings import context_of, example_run, steady_run, traced

from rlreport.comparators.sweep import measure_sweep
from rlreport.findings.off_policy import rougher_reward, staleness_plateau, staleness_quota
from rlreport.findings.resources import trainer_waits

STALENESS = "async_training.staleness_threshold"
QUOTA = {STALENESS: 0.3, "async_training.trigger_parameter_sync_step": 8}
IS, RS = "algorithm.rollout_correction.rollout_is", "algorithm.rollout_correction.rollout_rs"


def test_the_quota_covers_the_first_two_of_eight_rounds() -> None:
    run = steady_run({"time.wait_s": 20.0, "idle.rollout_reported": 0.1}, QUOTA, mode="fully_async")
    context = context_of(run)
    found = staleness_quota(context)
    assert found is not None and found.action is not None
    assert found.title == "The staleness quota covers 2.4 of 8 trigger steps"
    assert "the first 2 find" in found.body
    assert found.action.gain_bound == pytest.approx(1.25)
    assert f"{STALENESS}=0.5" in found.fragment
    assert trainer_waits(context) is None


def test_rollouters_that_never_pause_are_not_held_by_the_quota() -> None:
    run = steady_run({"time.wait_s": 20.0, "idle.rollout_reported": 0.0}, QUOTA, mode="fully_async")
    assert staleness_quota(context_of(run)) is None
    assert trainer_waits(context_of(run)) is not None


def test_the_trace_overrules_the_logged_pause() -> None:
    run = steady_run({"time.wait_s": 20.0, "idle.rollout_reported": 0.1}, QUOTA, mode="fully_async")
    assert staleness_quota(context_of(run, traced({"samples": 0.2}, {"quota": 0.0}))) is None


def test_a_quota_that_covers_a_whole_version_is_not_the_cause() -> None:
    run = steady_run({"time.wait_s": 20.0, "idle.rollout_reported": 0.1}, {**QUOTA, STALENESS: 1.0}, mode="fully_async")
    assert staleness_quota(context_of(run)) is None


def test_the_demo_at_0_3_is_held_by_its_quota() -> None:
    assert staleness_quota(context_of(example_run("qwen3.5-35b/s03"))) is not None


def test_the_plateau_names_its_smallest_dose() -> None:
    analysis = analysed(staleness_sweep(), "sweep", [STALENESS], knob=STALENESS)
    found = staleness_plateau(replace(analysis, sweep=measure_sweep(analysis, STALENESS)))
    assert found is not None and found.action is not None
    assert (found.run_id, found.severity, found.action.direction) == ("s5", "high", "keep")
    assert "0.5 is the candidate" in found.title
    assert "to be validated on your workload" in found.action.text
    assert found.action.gain_bound is None


def test_without_a_sweep_there_is_no_plateau() -> None:
    assert staleness_plateau(analysed(staleness_sweep(), "ladder")) is None


def rewards(second: float) -> list[float]:
    noise = np.random.default_rng(3).standard_normal(120)
    return [*(0.5 + 0.01 * noise[:60]), *(0.5 + second * noise[60:])]


def rougher(second: float, **config: object) -> bool:
    run = steady_run(
        {"quality.reward_mean": rewards(second), "time.wait_s": 5.0},
        {**QUOTA, IS: None, RS: None, **config},
        mode="fully_async",
        steps=120,
    )
    return rougher_reward(context_of(run)) is not None


def test_a_rougher_reward_without_correction_is_told() -> None:
    assert rougher(0.05)
    assert not rougher(0.01)


def test_a_correction_that_is_on_or_not_known_ends_it() -> None:
    assert not rougher(0.05, **{IS: "token"})
    run = steady_run({"quality.reward_mean": rewards(0.05)}, QUOTA, mode="fully_async", steps=120)
    assert rougher_reward(context_of(run)) is None
