from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from support.made_series import autoregressive, balanced

from rlreport.stats.ratio import (
    LogRatio,
    compare_matched,
    compare_ratios,
    influence_values,
    ratio_of_sums,
    relative_influence,
)


def test_throughput_is_a_ratio_of_sums_not_a_mean_of_ratios() -> None:
    found = ratio_of_sums(np.array([100.0, 300.0]), np.array([1.0, 1.0 / 3]))
    assert found.value == pytest.approx(300.0)  # the mean of 100 and 900 would be 500
    assert found.n == 2


def test_influence_values_by_hand() -> None:
    # R = 40 / 4 = 10, mean time 2
    assert influence_values(np.array([8.0, 32.0]), np.array([1.0, 3.0])) == pytest.approx(np.array([-1.0, 1.0]))
    assert relative_influence(np.array([8.0, 32.0]), np.array([1.0, 3.0])) == pytest.approx(np.array([-0.1, 0.1]))


def test_with_equal_times_it_is_the_mean_and_its_standard_error() -> None:
    work = 100 + balanced(np.random.default_rng(1), 50)
    found = ratio_of_sums(work, np.full(50, 2.0))
    assert found.n_effective == 50.0
    assert found.value == pytest.approx(work.mean() / 2)
    assert found.relative_error == pytest.approx(stats.sem(work) / work.mean())
    low, high = found.interval()
    expected = stats.t.interval(0.95, 49, loc=math.log(found.value), scale=found.relative_error)
    assert (math.log(low), math.log(high)) == pytest.approx(expected)


def test_the_error_agrees_with_the_jackknife() -> None:
    rng = np.random.default_rng(2)
    time = rng.gamma(20, 5, 400)
    work = 50 * time + rng.normal(0, 300, 400)
    found = ratio_of_sums(work, time)
    left_out = (work.sum() - work) / (time.sum() - time)
    jackknife = math.sqrt(399 / 400 * ((left_out - left_out.mean()) ** 2).sum())
    independent = found.relative_error * found.value * math.sqrt((found.n_effective - 1) / 399)
    assert independent == pytest.approx(jackknife, rel=0.02)


@pytest.mark.parametrize(
    ("work", "time", "message"),
    [([1.0], [1.0], "two steps"), ([0.0, 0.0], [1.0, 1.0], "positive"), ([1.0, 1.0], [0.0, 0.0], "positive")],
)
def test_what_has_no_ratio_is_refused(work: list[float], time: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ratio_of_sums(np.array(work), np.array(time))


def test_two_arms_agree_with_welchs_test() -> None:
    rng = np.random.default_rng(3)
    first, second = 100 + balanced(rng, 40), 100 + 4 * balanced(rng, 24)
    second = second - second.mean() + first.mean()  # equal means: relative and absolute errors are proportional
    found = compare_ratios(ratio_of_sums(first, np.ones(40)), ratio_of_sums(second, np.ones(24)))
    welch = stats.ttest_ind(second, first, equal_var=False)
    assert found.value == pytest.approx(1.0)
    assert found.degrees == pytest.approx(welch.df)
    half = (welch.confidence_interval().high - welch.confidence_interval().low) / 2
    assert math.log(found.interval()[1]) == pytest.approx(half / first.mean(), rel=1e-6)


def test_swapping_the_arms_inverts_the_interval() -> None:
    rng = np.random.default_rng(4)
    arms = [ratio_of_sums(1e6 * np.exp(0.05 * autoregressive(rng, n, 0.5)), np.full(n, 100.0)) for n in (60, 90)]
    low, high = compare_ratios(arms[0], arms[1]).interval()
    assert compare_ratios(arms[1], arms[0]).interval() == pytest.approx((1 / high, 1 / low))


def test_arms_without_noise_have_an_interval_of_no_width() -> None:
    still = ratio_of_sums(np.full(10, 5.0), np.full(10, 2.0))
    assert compare_ratios(still, still).interval() == (1.0, 1.0)


def test_an_interval_too_wide_to_write_is_infinite() -> None:
    assert LogRatio(1.0, 100.0, 1.0).interval() == (0.0, math.inf)


@pytest.mark.parametrize("degrees", [6.0, 40.0])
def test_the_smallest_detectable_ratio_is_found_with_80_percent_power(degrees: float) -> None:
    error = 0.02
    effect = math.log(LogRatio(1.0, error, degrees).minimum_detectable())
    critical = stats.t.ppf(0.975, degrees)
    power = stats.nct.sf(critical, degrees, effect / error) + stats.nct.cdf(-critical, degrees, effect / error)
    assert power == pytest.approx(0.8, abs=0.02)


def test_a_common_course_cancels_between_matched_steps() -> None:
    rng = np.random.default_rng(5)
    course = np.linspace(1.0, 2.0, 80)
    noise = [np.exp(0.01 * rng.normal(size=80)) for _ in range(2)]
    work = np.full(80, 1000.0)
    found, n_effective = compare_matched(work, course * noise[0], work, course / 1.2 * noise[1])
    low, high = found.interval()
    assert low < 1.2 < high
    assert high / low < 1.02
    assert n_effective > 20
    apart = compare_ratios(ratio_of_sums(work, course * noise[0]), ratio_of_sums(work, course / 1.2 * noise[1]))
    assert apart.error > 5 * found.error


def test_matched_steps_agree_with_the_paired_t_test() -> None:
    rng = np.random.default_rng(6)
    first, second = 100 + balanced(rng, 30), 100 + np.roll(balanced(rng, 30), 1)
    second = second - second.mean() + first.mean()
    found, n_effective = compare_matched(first, np.ones(30), second, np.ones(30))
    paired = stats.ttest_rel(second, first).confidence_interval()
    assert n_effective == 30.0
    assert math.log(found.interval()[1]) == pytest.approx(paired.high / first.mean(), rel=1e-6)
