from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.made_series import autoregressive

from rlreport.stats.autocorrelation import (
    autocorrelation,
    effective_sample_size,
    effective_size_geyer,
    effective_size_lag_one,
    lag_one,
    variance_of_mean,
)


def test_autocorrelation_is_the_sum_of_products_over_the_sum_of_squares() -> None:
    values = np.random.default_rng(1).normal(size=37)
    centred = values - values.mean()
    by_hand = [sum(centred[t] * centred[t + lag] for t in range(37 - lag)) / sum(centred**2) for lag in range(37)]
    assert autocorrelation(values) == pytest.approx(np.array(by_hand), abs=1e-12)
    assert autocorrelation(values, 3) == pytest.approx(np.array(by_hand[:4]), abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_a_constant_series_has_no_correlation_and_counts_fully(value: float) -> None:
    values = np.full(11, value)
    assert autocorrelation(values).tolist() == [1.0] + [0.0] * 10
    assert lag_one(values) == 0.0
    assert effective_sample_size(values) == 11.0
    assert variance_of_mean(values) == pytest.approx(0.0, abs=1e-12)


def test_lag_one_with_its_bias_correction_by_hand() -> None:
    # deviations -1.5 -0.5 0.5 1.5: products 0.75 - 0.25 + 0.75 = 1.25 over squares 5, r = 0.25
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert lag_one(values) == pytest.approx(0.25 + (1 + 4 * 0.25) / 4)
    assert lag_one(values, fitted=2) == pytest.approx(0.25 + (2 + 5 * 0.25) / 4)


@pytest.mark.parametrize(("fitted", "phi"), [(1, 0.0), (1, 0.6), (2, 0.3), (2, 0.6)])
def test_the_correction_removes_the_bias_of_a_short_series(fitted: int, phi: float) -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(3000):
        values = autoregressive(rng, 120, phi)
        if fitted == 2:
            places = np.arange(120) - 59.5
            values = values - values.mean() - places * (places @ values) / (places @ places)
        found.append(lag_one(values, fitted))
    assert np.mean(found) == pytest.approx(phi, abs=0.008)  # uncorrected it is off by 0.01 to 0.04


def test_geyers_sequence_against_a_plain_loop() -> None:
    values = autoregressive(np.random.default_rng(3), 200, 0.7)
    rho = autocorrelation(values)
    tau, smallest, lag = -1.0, np.inf, 0
    while lag + 1 < 200 and rho[lag] + rho[lag + 1] >= 0:
        smallest = min(smallest, rho[lag] + rho[lag + 1])
        tau += 2 * smallest
        lag += 2
    lags = 2 * lag - 1  # of both signs: -(lag - 1) to lag - 1
    assert lags < 100
    assert effective_size_geyer(values) == pytest.approx((200 - lags) / tau)


def test_a_slow_component_does_not_more_than_double_its_correction() -> None:
    values = np.cos(np.linspace(0, np.pi, 40))  # half a wave: its correlations are positive up to a third of its length
    rho = autocorrelation(values)
    pairs = rho[0:40:2] + rho[1:40:2]
    m = int(np.flatnonzero(pairs <= 0)[0])
    assert 4 * m - 1 > 20
    assert effective_size_geyer(values) == pytest.approx(40 / (2 * (-1 + 2 * pairs[:m].sum())))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_both_methods_find_the_effective_size_of_a_long_autoregressive_series(phi: float) -> None:
    rng = np.random.default_rng(4)
    series = [autoregressive(rng, 5000, phi) for _ in range(20)]
    expected = 5000 * (1 - phi) / (1 + phi)
    assert np.mean([effective_size_lag_one(values) for values in series]) == pytest.approx(expected, rel=0.03)
    assert np.mean([effective_size_geyer(values) for values in series]) == pytest.approx(expected, rel=0.08)


def test_the_effective_size_is_never_above_n_nor_below_the_fit() -> None:
    alternating = np.tile([1.0, -1.0], 20) + 0.1 * np.random.default_rng(5).normal(size=40)
    assert effective_size_lag_one(alternating) > 100
    assert effective_sample_size(alternating) == 40.0
    assert effective_sample_size(np.linspace(0.0, 1.0, 12)) == 2.0
    assert effective_sample_size(np.linspace(0.0, 1.0, 12) ** 2, fitted=2) == 3.0


def test_a_slow_component_is_seen_by_geyer_though_neighbours_hardly_correlate() -> None:
    rng = np.random.default_rng(6)
    values = 3 * rng.normal(size=2000) + autoregressive(rng, 2000, 0.98)
    assert lag_one(values) < 0.2
    assert effective_sample_size(values) < effective_size_lag_one(values) / 2


def test_the_variance_of_independent_values_is_the_squared_standard_error() -> None:
    values = np.random.default_rng(7).normal(size=25)
    assert variance_of_mean(values, 25.0) == pytest.approx(stats.sem(values) ** 2)


def test_the_variance_of_the_mean_is_unbiased_under_dependence() -> None:
    n, phi = 40, 0.6
    rng = np.random.default_rng(8)
    series = [autoregressive(rng, n, phi) for _ in range(6000)]
    lags = np.arange(1, n)
    tau = 1 + 2 * float(((1 - lags / n) * phi**lags).sum())  # exact for this n
    truth = np.var([values.mean() for values in series])
    assert np.mean([variance_of_mean(values, n / tau) for values in series]) == pytest.approx(truth, rel=0.05)


def test_one_value_has_no_variance() -> None:
    with pytest.raises(ValueError, match="two values"):
        variance_of_mean(np.array([1.0]))
