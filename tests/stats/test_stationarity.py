from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.made_series import autoregressive, balanced

from rlreport.stats.stationarity import find_shift, find_transient, fit_trend, lacks_level, mser, wanders


@pytest.mark.parametrize("seed", range(5))
def test_mser_against_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = 100 + autoregressive(rng, 63, 0.4)
    values[:10] -= 5
    means = [values[5 * j : 5 * j + 5].mean() for j in range(12)]
    errors = [np.var(means[d:]) * (12 - d) / (12 - d) ** 2 for d in range(7)]
    best = int(np.argmin(errors))
    assert mser(values).start == 5 * best
    assert mser(values).enough == (best < 6)


def test_mser_cuts_a_step_where_it_ends_and_asks_for_data_when_it_ends_late() -> None:
    rng = np.random.default_rng(1)
    values = 100 + rng.normal(size=200)
    values[:40] = 60
    assert mser(values).start in {40, 45}
    assert mser(values).enough
    values[:100] = 60
    assert not mser(values).enough
    assert not mser(np.array([1.0, 2.0, 3.0])).enough


def test_a_transient_is_found_and_cut() -> None:
    rng = np.random.default_rng(2)
    values = 100 * np.exp(0.05 * autoregressive(rng, 300, 0.5)) * (1 - 0.4 * np.exp(-np.arange(300) / 20))
    found = find_transient(values)
    assert found is not None
    assert found.settled
    assert 25 <= found.length <= 110
    assert found.difference < -0.05
    fast = find_transient(20_000 / values)
    assert fast is not None
    assert fast.difference > 0.05


def test_nothing_is_cut_from_a_flat_series() -> None:
    rng = np.random.default_rng(3)
    flat = [find_transient(100 * np.exp(0.05 * autoregressive(rng, 100, 0.5))) for _ in range(300)]
    assert sum(found is not None for found in flat) <= 9  # measured 1 %


def test_a_drift_is_no_transient() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        values = np.linspace(100, 80, 300) * np.exp(0.02 * autoregressive(rng, 300, 0.3))
        assert find_transient(values) is None


def test_a_small_transient_and_a_short_series_are_left_alone() -> None:
    values = 100 + 0.01 * np.random.default_rng(5).normal(size=100)
    values[:20] -= 1.5
    assert find_transient(values) is None
    values[:20] -= 5
    assert find_transient(values) is not None
    assert find_transient(values[:24]) is None


def test_a_change_in_the_middle_has_not_settled() -> None:
    values = 100 + np.random.default_rng(6).normal(size=100)
    values[:50] -= 20
    found = find_transient(values)
    assert found is not None
    assert not found.settled


def test_the_trend_agrees_with_linear_regression() -> None:
    rng = np.random.default_rng(7)
    places = np.arange(1.0, 61.0)
    values = 200 - 0.5 * places + 3 * balanced(rng, 60)
    found = fit_trend(values, places)
    line = stats.linregress(places, values)
    scale = 59 / values.mean()
    assert found.fraction == pytest.approx(line.slope * scale)
    assert found.significant
    # anti-correlated residuals: n_eff = n, r = 0; degrees 1 / (1/58 + 2/60)
    half = stats.t.ppf(0.975, 1 / (1 / 58 + 2 / 60)) * line.stderr * scale
    assert (found.low, found.high) == pytest.approx((found.fraction - half, found.fraction + half))


def test_the_trend_uses_positions_and_is_a_fraction_of_the_mean() -> None:
    places = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    found = fit_trend(100 + places, places)
    assert found.fraction == pytest.approx(12 / 106)
    assert (found.low, found.high) == pytest.approx((12 / 106, 12 / 106), abs=1e-6)
    with pytest.raises(ValueError, match="four values"):
        fit_trend(np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(("phi", "least_power"), [(0.0, 0.99), (0.5, 0.95), (0.8, 0.75)])
def test_the_drift_test_has_level_and_power(phi: float, least_power: float) -> None:
    rng = np.random.default_rng(8)
    flat = [np.exp(0.05 * autoregressive(rng, 300, phi)) for _ in range(400)]
    course = np.linspace(1.05, 0.95, 300)
    assert np.mean([fit_trend(values).significant for values in flat]) < 0.08  # nominal 0.05, error of the count 0.011
    assert np.mean([fit_trend(values * course).significant for values in flat]) > least_power


def test_a_level_that_sinks_and_rises_wanders_though_no_line_fits() -> None:
    rng = np.random.default_rng(9)
    course = 100 + 20 * np.cos(np.linspace(0, 2 * np.pi, 170))
    assert wanders(course + rng.normal(size=170))
    assert not fit_trend(course + rng.normal(size=170)).significant
    noise = [wanders(100 + autoregressive(rng, 100, 0.8)) for _ in range(200)]
    assert np.mean(noise) < 0.05


def test_short_series_are_not_said_to_lack_a_level() -> None:
    assert lacks_level(80, 2.0)
    assert not lacks_level(79, 2.0)
    assert not lacks_level(80, 2.1)


@pytest.mark.parametrize("place", [33, 50, 80])
def test_a_change_of_level_is_found_where_it_is(place: int) -> None:
    values = 100 * np.exp(0.02 * np.random.default_rng(10).normal(size=100))
    values[place:] *= 1.1
    found = find_shift(values)
    assert found is not None
    assert abs(found.start - place) <= 1
    assert found.difference == pytest.approx(0.1, abs=0.015)
    assert found.p_value < 1e-6


def test_the_shift_test_agrees_with_a_t_test_when_neighbours_do_not_correlate() -> None:
    rng = np.random.default_rng(11)
    values = 100 + balanced(rng, 40)
    values[20:] += 2.5
    found = find_shift(values)
    assert found is not None
    assert found.start == 20
    pooled = stats.ttest_ind(values[20:], values[:20]).statistic  # degrees 1 / (1/38 + 2/40) instead of 38
    assert found.p_value == pytest.approx(2 * stats.t.sf(pooled, 1 / (1 / 38 + 2 / 40)))


def test_correlated_noise_is_seldom_a_change_of_level() -> None:
    rng = np.random.default_rng(12)
    found = [find_shift(100 * np.exp(0.05 * autoregressive(rng, 100, 0.8))) for _ in range(300)]
    assert sum(one is not None for one in found) <= 9  # measured 1 %
    assert find_shift(100 + rng.normal(size=19)) is None
