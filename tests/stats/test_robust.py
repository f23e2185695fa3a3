from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rlreport.stats.robust import count_unusual_start, find_stalls, robust_sigma, running_median, volatility


def test_the_robust_scale_agrees_with_scipy() -> None:
    values = np.random.default_rng(1).normal(3, 2, 101)
    assert robust_sigma(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"))


def test_volatility_is_the_noise_about_a_trend() -> None:
    rng = np.random.default_rng(2)
    values = np.linspace(0, 10, 4000) + 0.3 * rng.normal(size=4000)
    assert volatility(values) == pytest.approx(0.3, rel=0.05)
    values[::97] += 50  # a few wild values do not own it
    assert volatility(values) == pytest.approx(0.3, rel=0.1)
    assert volatility(np.linspace(0, 1, 50)) == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(volatility(np.array([1.0])))


def test_the_running_median_uses_what_exists_at_the_ends() -> None:
    found = running_median(np.array([1.0, 5.0, 2.0, 8.0, 3.0]), 3)
    assert found.tolist() == [3.0, 2.0, 5.0, 3.0, 5.5]


def test_a_stall_is_far_out_on_both_scales() -> None:
    rng = np.random.default_rng(3)
    durations = 100 * np.exp(0.05 * rng.normal(size=120))
    durations[[40, 41]] = [22_543.0, 301.0 + durations.max()]
    durations[60] = 250.0  # 2.5 times the median: slow, no stall
    durations[80] = 5.0  # fast steps are never stalls
    assert np.flatnonzero(find_stalls(durations)).tolist() == [40, 41]


def test_alternating_durations_hold_no_stall() -> None:
    durations = np.where(np.arange(60) % 2 == 0, 100.0, 450.0)
    assert not find_stalls(durations).any()


def test_a_stall_is_told_from_a_run_that_grows_slower() -> None:
    durations = np.linspace(100.0, 400.0, 200)
    assert not find_stalls(durations).any()
    durations[190] = 1300.0
    assert np.flatnonzero(find_stalls(durations)).tolist() == [190]


@pytest.mark.parametrize(("first", "expected"), [([], 0), ([1.4], 1), ([0.2, 0.2], 2), ([1.5, 1.4, 1.3], 3), ([1.08], 0)])
def test_unusual_first_values_are_counted_in_either_direction(first: list[float], expected: int) -> None:
    rest = np.exp(0.02 * np.random.default_rng(4).normal(size=40))
    assert count_unusual_start(np.log(np.concatenate([first, rest]))) == expected


def test_an_ordinary_first_value_ends_the_count() -> None:
    rest = np.exp(0.02 * np.random.default_rng(5).normal(size=40))
    assert count_unusual_start(np.log(np.concatenate([[1.0, 2.0, 2.0], rest]))) == 0


def test_at_most_five_are_counted_and_eight_must_follow() -> None:
    rest = np.exp(0.02 * np.random.default_rng(6).normal(size=40))
    assert count_unusual_start(np.log(np.concatenate([np.full(7, 3.0), rest]))) == 5
    assert count_unusual_start(np.log(np.concatenate([[3.0], rest[:7]]))) == 0


def test_a_noisy_run_hides_what_a_quiet_one_would_show() -> None:
    rest = np.exp(0.3 * np.random.default_rng(7).normal(size=60))
    assert count_unusual_start(np.log(np.concatenate([[2.0], rest]))) == 0
