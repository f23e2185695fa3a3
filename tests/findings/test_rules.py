from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.made_runs import make_run

from rlreport.comparators.analysis import AnalysisRequest, RunResult, analyse
from rlreport.findings import rules

STEPS = 40


def result(mode: Any = "separate_async", **columns: float | Sequence[float]) -> RunResult:
    """A run of steady steps of 100 s with these timers, measured."""
    data = {"time.step_s": [100.0] * STEPS, "work.tokens": [1000.0] * STEPS}
    for name, value in columns.items():
        data[name.replace("__", ".")] = [value] * STEPS if isinstance(value, float) else list(value)
    run = make_run(data, mode=mode)
    return analyse(AnalysisRequest("p", "profile", "r"), {"r": run}).runs["r"]


def test_weight_sync_as_the_largest_part_bounds_the_gain() -> None:
    found = rules.weight_sync_is_largest(result(time__weight_sync_s=40.0, time__update_actor_s=35.0, time__wait_s=25.0))
    assert found is not None
    assert found.title == "Weight sync is the largest part of a step: 40.0 %"
    assert found.severity == "high"
    assert found.owner == "both"
    assert found.action is not None
    assert found.action.gain_bound == pytest.approx(100 / 60)


def test_a_small_weight_sync_is_no_finding() -> None:
    assert rules.weight_sync_is_largest(result(time__weight_sync_s=9.0, time__update_actor_s=91.0)) is None


def test_a_waiting_trainer_asks_for_rollouters() -> None:
    found = rules.trainer_waits(result(time__wait_s=20.0, time__update_actor_s=80.0))
    assert found is not None
    assert (found.owner, found.severity) == ("trainer", "medium")
    assert found.action is not None
    assert (found.action.tier, found.action.direction) == (1, "increase")
    assert found.action.gain_bound == pytest.approx(1.25)


def test_a_trainer_that_never_waits_is_the_bottleneck() -> None:
    found = rules.trainer_is_bottleneck(result(time__wait_s=1.0, time__update_actor_s=99.0))
    assert found is not None
    assert found.action is not None
    assert (found.action.tier, found.action.direction, found.action.gain_bound) == (1, "decrease", None)


@pytest.mark.parametrize("rule", [rules.trainer_waits, rules.trainer_is_bottleneck])
def test_between_the_two_and_in_sync_mode_nothing_is_said(rule: rules.Rule) -> None:
    assert rule(result(time__wait_s=5.0, time__update_actor_s=95.0)) is None
    assert rule(result("sync", time__generate_s=50.0, time__update_actor_s=50.0)) is None


def test_a_stalled_checkpoint_is_found_outside_of_the_window() -> None:
    step_s, checkpoint_s = [100.0] * STEPS, [float("nan")] * STEPS
    step_s[20], checkpoint_s[20] = 5100.0, 5000.0
    found = rules.checkpoint_stall(result(time__step_s=step_s, time__checkpoint_s=checkpoint_s, time__update_actor_s=95.0))
    assert found is not None
    assert found.title == "A checkpoint stalled for 1 h 23 min at step 21"


def test_a_usual_checkpoint_is_no_stall() -> None:
    step_s, checkpoint_s = [100.0] * STEPS, [float("nan")] * STEPS
    step_s[20], checkpoint_s[20] = 200.0, 100.0
    assert rules.checkpoint_stall(result(time__step_s=step_s, time__checkpoint_s=checkpoint_s)) is None


def test_an_untimed_remainder_is_told() -> None:
    found = rules.untimed_remainder(result(time__update_actor_s=80.0))
    assert found is not None
    assert found.title == "20.0 % of a step is covered by no timer"
    assert rules.untimed_remainder(result(time__update_actor_s=95.0)) is None


def test_findings_are_ranked_by_severity_then_by_bound() -> None:
    run = make_run(
        {
            "time.step_s": [100.0] * STEPS,
            "work.tokens": [1000.0] * STEPS,
            "time.weight_sync_s": [45.0] * STEPS,
            "time.wait_s": [30.0] * STEPS,
            "time.update_actor_s": [10.0] * STEPS,
        }
    )
    found = rules.find(analyse(AnalysisRequest("p", "profile", "r"), {"r": run}))
    assert [finding.id for finding in found] == ["weight-sync", "trainer-waits", "untimed"]
