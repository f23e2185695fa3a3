from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_runs import make_run

from rlreport.comparators.target import TargetComparison, compare_targets, reach_target
from rlreport.run.model import Run

NAN = float("nan")
ACCURACY = "quality.accuracy"


def evaluated(values: dict[int, float], n: int = 100, step_s: float = 3600.0, **more: Any) -> Run:
    """Steps of an hour and 64 prompts on 8 devices, evaluated now and then; step 0 is before training."""
    steps = range(n + 1)
    columns = {
        "time.step_s": [NAN if step == 0 else step_s for step in steps],
        "work.prompts": [NAN if step == 0 else 64.0 for step in steps],
        ACCURACY: [values.get(step, NAN) for step in steps],
    }
    return make_run({**columns, **more.pop("columns", {})}, first_step=0, **more)


def compared(first: Run, second: Run) -> TargetComparison:
    found = compare_targets(first, second, metric=ACCURACY, target=0.69)
    assert found is not None
    return found


def test_the_cost_is_interpolated_between_two_evaluations() -> None:
    found = reach_target(evaluated({20: 0.5, 40: 0.65, 60: 0.73, 80: 0.74}), ACCURACY, 0.69)
    assert found is not None
    assert found.reached
    assert found.held
    assert found.after is not None
    assert found.by is not None
    assert found.at is not None
    assert (found.after.step, found.at.step, found.by.step) == (40, 50, 60)
    assert found.at.hours == pytest.approx(50.0)
    assert found.at.samples == pytest.approx(50 * 64)
    assert found.at.device_hours == pytest.approx(400.0)


def test_an_evaluation_before_training_does_not_count() -> None:
    found = reach_target(evaluated({0: 0.9, 50: 0.7}), ACCURACY, 0.69)
    assert found is not None
    assert found.at is not None
    assert found.at.step == 50
    assert found.after is None
    assert found.measurements == 1


def test_a_target_that_is_not_reached_is_censored_at_the_end() -> None:
    found = reach_target(evaluated({50: 0.5, 100: 0.6}), ACCURACY, 0.69)
    assert found is not None
    assert not found.reached
    assert found.at is found.by is found.held is None
    assert (found.end.step, found.end.hours, found.best) == (100, 100.0, 0.6)


def test_every_step_is_measured_by_ten_in_a_row() -> None:
    reward = np.concatenate([[NAN], np.full(40, 0.2), [0.9], np.full(19, 0.2), np.full(40, 0.5)])
    found = reach_target(evaluated({}, columns={"quality.reward_mean": reward}), "quality.reward_mean", 0.5)
    assert found is not None
    assert found.at is not None
    assert (found.at.step, found.after) == (70, None)  # steps 61 to 70 are the first ten whose mean is 0.5


def test_two_runs_to_the_same_target() -> None:
    slow, fast = evaluated({40: 0.6, 80: 0.7}), evaluated({40: 0.6, 80: 0.7}, step_s=1800.0, trainer=4, rollout=0)
    found = compared(slow, fast)
    assert (found.samples_ratio, found.hours_ratio, found.device_hours_ratio) == pytest.approx((1.0, 2.0, 4.0))
    assert found.bound is None
    assert found.notices == ()


@pytest.mark.parametrize(("swapped", "bound"), [(False, "at least"), (True, "at most")])
def test_one_censored_run_gives_a_bound(swapped: bool, bound: str) -> None:
    never, reached = evaluated({100: 0.6}, label="never"), evaluated({50: 0.7})
    found = compared(*((reached, never) if swapped else (never, reached)))
    assert found.bound == bound
    assert found.hours_ratio == pytest.approx(0.5 if swapped else 2.0)
    assert [notice.code for notice in found.notices] == ["RR476"]
    assert "never does not reach validation accuracy 0.690 in 1 measurement; the best is 0.600" in found.notices[0].message


def test_two_censored_runs_have_no_ratio() -> None:
    found = compared(evaluated({50: 0.1}), evaluated({50: 0.2}))
    assert (found.samples_ratio, found.hours_ratio, found.device_hours_ratio, found.bound) == (None,) * 4


def test_a_lucky_evaluation_is_told() -> None:
    found = compared(evaluated({20: 0.5, 40: 0.7, 60: 0.4}), evaluated({20: 0.5, 40: 0.7}))
    assert [notice.code for notice in found.notices] == ["RR477"]
    assert "does not hold it" in found.notices[0].message


def test_what_is_not_measured_has_no_result() -> None:
    assert reach_target(evaluated({}), ACCURACY, 0.5) is None
    assert compare_targets(evaluated({}), evaluated({50: 0.6}), metric=ACCURACY, target=0.5) is None
    unknown = evaluated({50: 0.7}, trainer=None, rollout=None, columns={"work.prompts": [NAN] * 101})
    found = reach_target(unknown, ACCURACY, 0.5)
    assert found is not None
    assert found.at is not None
    assert found.at.samples is found.at.device_hours is None
