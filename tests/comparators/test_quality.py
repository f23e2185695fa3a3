from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_runs import make_run
from support.made_series import autoregressive

from rlreport.comparators.quality import compare_quality, summarise_quality
from rlreport.comparators.results import QualityComparison, SteadyState
from rlreport.run.model import Run

NAN = float("nan")


def window(first: int, last: int, left_out: tuple[int, ...] = ()) -> SteadyState:
    kept = tuple(step for step in range(first, last + 1) if step not in left_out)
    return SteadyState("flat", first, last, kept, float(len(kept)), ())


def rewarded(values: Any, **more: Any) -> Run:
    return make_run(
        {"time.step_s": np.full(len(values), 10.0), "quality.reward_mean": values, **more.pop("columns", {})}, **more
    )


def noisy(n: int = 100, *, level: float = 0.5, seed: int = 1, sigma: float = 0.02, phi: float = 0.0) -> np.ndarray:
    return level + sigma * autoregressive(np.random.default_rng(seed), n, phi)


def compare_rewards(first: Any, second: Any, margin: float | None = 0.02, **options: Any) -> QualityComparison:
    windows = window(1, len(first)), window(1, len(second))
    return compare_quality(
        rewarded(first), rewarded(second), *windows, metric="quality.reward_mean", margin=margin, **options
    )


def test_equal_rewards_are_equivalent_within_the_margin_only() -> None:
    found = compare_rewards(noisy(), noisy(seed=2))
    assert found.verdict == "equivalent"
    assert found.difference == pytest.approx(0.0, abs=0.01)
    assert found.baseline.estimate == pytest.approx(0.5, abs=0.01)
    assert compare_rewards(noisy(), noisy(seed=2), margin=0.001).verdict == "inconclusive"
    assert compare_rewards(noisy(), noisy(seed=2), margin=None).verdict == "inconclusive"


@pytest.mark.parametrize(("level", "verdict"), [(0.6, "better"), (0.4, "worse"), (0.51, "equivalent")])
def test_the_verdict_has_a_direction(level: float, verdict: str) -> None:
    assert compare_rewards(noisy(), noisy(level=level, seed=2)).verdict == verdict


def test_without_a_margin_an_interval_that_excludes_0_decides() -> None:
    assert compare_rewards(noisy(), noisy(level=0.515, seed=2), margin=None).verdict == "better"


def test_an_undecided_difference_says_what_is_excluded() -> None:
    not_worse = compare_rewards(noisy(sigma=0.1), noisy(level=0.51, sigma=0.1, seed=4))
    assert not_worse.verdict == "inconclusive"
    assert not_worse.notices[0].code == "RR473"
    assert "not worse by more than the margin" in not_worse.notices[0].message
    unknown = compare_rewards(noisy(20, sigma=0.3), noisy(20, sigma=0.3, seed=2))
    assert "not shown to be unchanged" in unknown.notices[0].message


def test_a_common_learning_curve_cancels_where_steps_correspond() -> None:
    curve = 0.2 + 0.6 * (1 - np.exp(-np.arange(100) / 30))
    matched = compare_rewards(curve + noisy(level=0), curve + noisy(level=0.05, seed=2))
    assert matched.verdict == "better"
    assert matched.ci_low < 0.05 < matched.ci_high
    assert matched.ci_high - matched.ci_low < 0.02
    first, second = rewarded(curve + noisy(level=0)), rewarded(curve + noisy(level=0.05, seed=2), first_step=101)
    apart = compare_quality(first, second, window(1, 100), window(101, 200), metric="quality.reward_mean", margin=0.02)
    assert apart.ci_high - apart.ci_low > 0.1


def test_steps_of_other_batches_do_not_correspond() -> None:
    curve = np.linspace(0.2, 0.8, 60)
    arms = [
        rewarded(curve + noisy(60, level=0, seed=seed), columns={"work.prompts": np.full(60, each)})
        for seed, each in ((1, 64.0), (2, 128.0))
    ]
    found = compare_quality(*arms, window(1, 60), window(1, 60), metric="quality.reward_mean")
    assert found.ci_high - found.ci_low > 0.1


def test_steps_left_out_for_their_time_still_have_their_reward() -> None:
    values = np.full(20, 0.5)
    values[9] = 0.9
    found = compare_quality(
        rewarded(values), rewarded(np.full(20, 0.5)), window(1, 20, (10,)), window(1, 20), metric="quality.reward_mean"
    )
    assert found.baseline.estimate == pytest.approx(0.52)


def test_only_the_window_is_compared() -> None:
    values = np.concatenate([np.zeros(50), np.full(50, 0.5)])
    found = compare_quality(
        rewarded(values), rewarded(np.full(100, 0.5)), window(51, 100), window(51, 100), metric="quality.reward_mean"
    )
    assert found.difference == 0.0


def test_few_steps_have_values_but_no_verdict() -> None:
    found = compare_rewards(noisy(5), noisy(5, seed=2))
    assert found.verdict == "insufficient-data"
    assert found.baseline.estimate is not None
    assert found.difference is found.ci_low is found.baseline.ci_low is None
    assert found.notices[0].code == "RR471"
    nothing = SteadyState("none", None, None, (), None, ())
    empty = compare_quality(rewarded(noisy()), rewarded(noisy()), nothing, nothing, metric="quality.reward_mean")
    assert (empty.verdict, empty.baseline.estimate) == ("insufficient-data", None)


def test_few_effective_steps_have_an_interval_but_no_verdict() -> None:
    slow = np.sin(np.linspace(0, 3, 40))
    found = compare_rewards(slow, noisy(40, level=9.0, seed=2))
    assert found.verdict == "insufficient-data"
    assert found.ci_low is not None


def test_runs_that_may_not_be_compared_keep_their_numbers() -> None:
    found = compare_rewards(noisy(), noisy(level=0.6, seed=2), comparable=False)
    assert found.verdict == "not-comparable"
    assert found.ci_low is not None


def test_more_volatile_rewards_are_told_with_an_interval() -> None:
    trend = np.linspace(0, 1, 200)
    found = compare_rewards(trend + noisy(200), trend + noisy(200, sigma=0.06, seed=2))
    assert found.volatility_ratio == pytest.approx(3.0, rel=0.25)
    message = found.notices[-1].message
    assert found.notices[-1].code == "RR475"
    assert "no difference shown" not in message
    alike = compare_rewards(noisy(200), noisy(200, seed=2))
    assert "no difference shown" in alike.notices[-1].message
    assert alike == compare_rewards(noisy(200), noisy(200, seed=2))


def test_volatility_needs_thirty_steps_and_some_variation() -> None:
    assert compare_rewards(noisy(29), noisy(29, seed=2)).volatility_ratio is None
    assert compare_rewards(np.full(40, 0.5), noisy(40, seed=2)).volatility_ratio is None


def evaluated(steps: dict[int, float], n: int = 100, first: int = 0) -> Run:
    values = [steps.get(step, NAN) for step in range(first, first + n + 1)]
    time_s = [NAN if step == 0 else 10.0 for step in range(first, first + n + 1)]
    return make_run({"time.step_s": time_s, "quality.accuracy": values}, first_step=first)


def compare_accuracy(first: Run, second: Run, last: int = 100, margin: float | None = 0.02) -> QualityComparison:
    return compare_quality(first, second, window(2, last), window(2, last), metric="quality.accuracy", margin=margin)


def test_accuracy_is_the_mean_of_the_last_evaluations_not_their_best() -> None:
    first = {0: 0.1, 20: 0.95, 60: 0.80, 70: 0.81, 80: 0.79, 90: 0.80, 100: 0.80}
    second = {0: 0.1, 20: 0.20, 60: 0.90, 70: 0.91, 80: 0.89, 90: 0.90, 100: 0.90}
    found = compare_accuracy(evaluated(first), evaluated(second))
    assert found.baseline.estimate == pytest.approx(0.80)
    assert found.difference == pytest.approx(0.10)
    assert found.verdict == "better"
    assert found.volatility_ratio is None
    assert found.notices[0].code == "RR474"
    welch = stats.ttest_ind(
        [second[s] for s in (60, 70, 80, 90, 100)], [first[s] for s in (60, 70, 80, 90, 100)], equal_var=False
    ).confidence_interval()
    assert (found.ci_low, found.ci_high) == pytest.approx((welch.low, welch.high))


def test_the_sparser_arm_decides_the_part_of_training() -> None:
    often = evaluated({step: 0.5 + step / 1000 for step in range(0, 101, 5)})
    seldom = evaluated({step: 0.5 + step / 1000 for step in range(0, 101, 20)})
    found = compare_accuracy(often, seldom)
    assert found.baseline.estimate == pytest.approx(0.5 + 60 / 1000)  # steps 20 to 100 in both
    assert found.difference == pytest.approx(0.0)


def test_evaluations_before_training_and_after_the_common_end_do_not_count() -> None:
    steps = {0: 0.0, 10: 0.5, 20: 0.5, 30: 0.5, 90: 0.9, 100: 0.9}
    found = compare_accuracy(evaluated(steps), evaluated(steps), last=50)
    assert found.baseline.estimate == pytest.approx(0.5)


def test_two_evaluations_are_too_few() -> None:
    found = compare_accuracy(evaluated({50: 0.5, 100: 0.6}), evaluated({50: 0.5, 100: 0.6}))
    assert found.verdict == "insufficient-data"
    assert found.baseline.estimate == pytest.approx(0.55)
    assert "2 and 2 evaluations" in found.notices[-1].message
    never = compare_accuracy(evaluated({}), evaluated({50: 0.5}))
    assert never.baseline.estimate is None


def test_response_length_has_no_better_or_worse() -> None:
    arms = [
        make_run({"time.step_s": np.full(100, 10.0), "length.response_mean": noisy(level=level, sigma=10, seed=seed)})
        for level, seed in ((1000, 1), (950, 2))
    ]
    found = compare_quality(*arms, window(1, 100), window(1, 100), metric="length.response_mean", margin=20)
    assert found.verdict == "inconclusive"
    assert found.baseline.unit == "tokens"
    assert found.notices[0].code == "RR472"
    assert "less in the variant" in found.notices[0].message
    alike = compare_quality(arms[0], arms[0], window(1, 100), window(1, 100), metric="length.response_mean", margin=20)
    assert alike.verdict == "equivalent"


def test_a_summary_has_first_last_and_mean() -> None:
    run = make_run(
        {
            "time.step_s": [NAN, 10.0, 10.0, 10.0],
            "quality.reward_mean": [NAN, 0.2, 0.4, 0.6],
            "quality.accuracy": [0.1, NAN, 0.5, 0.7],
        },
        first_step=0,
    )
    found = summarise_quality(run, window(2, 3))
    assert found.entropy is found.score_mean is found.response_length_mean is None
    reward = found.reward_mean
    assert reward is not None
    assert (reward.first, reward.first_step, reward.last, reward.last_step) == (0.2, 1, 0.6, 3)
    assert reward.mean == pytest.approx(0.5)
    assert reward.mean_of == "the 2 steps of the window"
    accuracy = found.accuracy
    assert accuracy is not None
    assert (accuracy.first_step, accuracy.last, accuracy.mean_of) == (0, 0.7, "the last 3 evaluations")


def test_a_summary_without_a_window_has_no_mean() -> None:
    nothing = SteadyState("none", None, None, (), None, ())
    reward = summarise_quality(rewarded([0.5]), nothing).reward_mean
    assert reward is not None
    assert reward.mean is None
