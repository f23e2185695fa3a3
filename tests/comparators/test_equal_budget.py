from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_runs import make_run

from rlreport.comparators.equal_budget import Budget, compare_at_equal_cost
from rlreport.run.model import Run

NAN = float("nan")
REWARD, ACCURACY = "quality.reward_mean", "quality.accuracy"


def learner(n: int, *, step_s: float = 3600.0, seed: int = 1, rate: float = 0.004, sigma: float = 0.002, **more: Any) -> Run:
    """A run whose reward rises by `rate` a step of an hour."""
    rng = np.random.default_rng(seed)
    columns = {
        "time.step_s": np.full(n, step_s),
        "work.prompts": np.full(n, 64.0),
        REWARD: 0.1 + rate * np.arange(1, n + 1) + sigma * rng.normal(size=n),
    }
    return make_run({**columns, **more.pop("columns", {})}, **more)


def by_basis(*runs: Run, metric: str = REWARD, **options: Any) -> dict[str, Budget]:
    return {budget.basis: budget for budget in compare_at_equal_cost(*runs, metric=metric, **options)}


def test_a_faster_run_is_farther_at_equal_hours_and_equal_at_equal_samples() -> None:
    found = by_basis(learner(100), learner(100, step_s=1800.0, seed=2), margin=0.02)
    samples, hours = found["samples"], found["hours"]
    assert (samples.budget, samples.unit, samples.step_baseline, samples.step_variant) == (100.0, "steps", 100, 100)
    assert samples.difference == pytest.approx(0.0, abs=0.002)
    assert samples.verdict == "equivalent"
    assert samples.non_inferior
    # in 50 hours the baseline does 50 steps, the variant 100; means of the last fifth lie at 90 % of both
    assert (hours.budget, hours.step_baseline, hours.step_variant) == (50.0, 50, 100)
    assert hours.difference == pytest.approx(0.004 * (90 - 45), rel=0.03)
    assert hours.verdict in {"better", "insufficient-data"}
    assert hours.ci_low is not None
    assert hours.ci_low > 0


def test_fewer_devices_last_longer_at_equal_device_hours() -> None:
    found = by_basis(learner(60), learner(60, seed=2, trainer=4, rollout=0))
    cost = found["device-hours"]
    assert (cost.budget, cost.unit) == (240.0, "device-hours")  # 8 devices for 30 hours, 4 for 60
    assert (cost.step_baseline, cost.step_variant) == (30, 60)
    assert cost.baseline.estimate == pytest.approx(0.1 + 0.004 * 27, abs=0.005)
    assert found["hours"].step_variant == 60


def test_the_last_fifth_of_the_budget_is_averaged() -> None:
    found = by_basis(learner(100, sigma=0.0), learner(100, sigma=0.0))["samples"]
    assert found.counts == (21, 21)  # steps 80 to 100
    assert found.baseline.estimate == pytest.approx(0.1 + 0.004 * 90)
    assert found.ci_low == found.ci_high == 0.0


def test_evaluations_are_means_of_the_last_ones_in_the_budget() -> None:
    def evaluated(values: dict[int, float], step_s: float) -> Run:
        accuracy = [values.get(step, NAN) for step in range(1, 101)]
        return learner(100, step_s=step_s, columns={ACCURACY: accuracy})

    slow = {10: 0.2, 20: 0.3, 30: 0.4, 40: 0.5, 50: 0.5, 60: 0.9, 100: 0.9}
    fast = {20: 0.2, 40: 0.4, 60: 0.6, 80: 0.62, 100: 0.61}
    found = by_basis(evaluated(slow, 3600.0), evaluated(fast, 1800.0), metric=ACCURACY, margin=0.05)["hours"]
    assert found.counts == (5, 5)
    assert found.baseline.estimate == pytest.approx(np.mean([0.2, 0.3, 0.4, 0.5, 0.5]))
    welch = stats.ttest_ind([0.2, 0.4, 0.6, 0.62, 0.61], [0.2, 0.3, 0.4, 0.5, 0.5], equal_var=False).confidence_interval()
    assert (found.ci_low, found.ci_high) == pytest.approx((welch.low, welch.high))
    assert found.verdict == "inconclusive"
    assert found.non_inferior is False


def test_too_few_values_have_no_interval() -> None:
    found = by_basis(learner(20), learner(20, seed=2))["samples"]
    assert found.counts == (5, 5)
    assert (found.verdict, found.difference, found.non_inferior) == ("insufficient-data", None, None)
    assert found.baseline.estimate is not None


def test_what_is_not_known_is_left_out() -> None:
    bare = learner(60, trainer=None, rollout=None)
    assert set(by_basis(bare, bare)) == {"samples", "hours"}
    assert by_basis(learner(60), make_run({"time.step_s": [1.0]})) == {}
    assert by_basis(learner(60), learner(60), comparable=False)["hours"].verdict == "not-comparable"


def test_hours_are_by_the_wall_clock_where_both_runs_have_one() -> None:
    wall = {"clock.wall_s": 7200.0 * np.arange(1, 61)}
    assert by_basis(learner(60), learner(60, columns=wall))["hours"].clock == "sum of step times"
    found = by_basis(learner(60, columns=wall), learner(60, columns=wall))["hours"]
    assert (found.clock, found.budget) == ("wall clock", pytest.approx(119.0))  # 59 lines later than the first, and a step
