"""The statistics against other libraries, which only these tests use."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from support.made_series import autoregressive, balanced

from rlreport.stats.adjusted import compare_at_equal_load
from rlreport.stats.autocorrelation import autocorrelation, variance_of_mean
from rlreport.stats.decisions import holm, within
from rlreport.stats.means import difference_of_means, mean_of_independent
from rlreport.stats.ratio import LogRatio, compare_ratios, ratio_of_sums
from rlreport.stats.resampling import stationary_bootstrap_indices
from rlreport.stats.stationarity import find_shift, find_transient, fit_trend, mser
from rlreport.stats.student import chi_square_quantile, two_sided_p


def test_autocorrelation_against_statsmodels() -> None:
    tools = pytest.importorskip("statsmodels.tsa.stattools")
    values = autoregressive(np.random.default_rng(1), 157, 0.6)
    assert autocorrelation(values, 30) == pytest.approx(tools.acf(values, nlags=30, fft=False), abs=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_the_error_of_a_mean_against_a_heteroskedasticity_and_autocorrelation_consistent_one(phi: float) -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    values = autoregressive(np.random.default_rng(2), 20_000, phi)
    fitted = linear.OLS(values, np.ones((len(values), 1))).fit(cov_type="HAC", cov_kwds={"maxlags": 100})
    assert math.sqrt(variance_of_mean(values)) == pytest.approx(float(fitted.bse[0]), rel=0.1)


def test_the_spread_of_the_stationary_bootstrap_against_arch() -> None:
    bootstrap = pytest.importorskip("arch.bootstrap")
    values = autoregressive(np.random.default_rng(3), 200, 0.6)
    chosen = stationary_bootstrap_indices(200, 4000, 12.0, np.random.default_rng(4))
    theirs = bootstrap.StationaryBootstrap(12, values, seed=np.random.default_rng(5))
    expected = float(theirs.apply(np.mean, 4000).std())
    assert float(values[chosen].mean(axis=1).std()) == pytest.approx(expected, rel=0.05)


def test_holm_against_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(6).random(9) ** 3
    assert holm(p_values.tolist()) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize("seed", range(8))
def test_equivalence_of_a_ratio_against_two_one_sided_tests(seed: int) -> None:
    weights = pytest.importorskip("statsmodels.stats.weightstats")
    rng = np.random.default_rng(seed)
    first, second = np.exp(rng.normal(0, 0.08, 20)), np.exp(rng.normal(0.02, 0.08, 25))
    logs = difference_of_means(mean_of_independent(np.log(first)), mean_of_independent(np.log(second)))
    p = weights.ttost_ind(second, first, 1 / 1.05, 1.05, usevar="unequal", transform=np.log)[0]
    assert within(logs.interval(0.90), -math.log(1.05), math.log(1.05)) == (p < 0.05)


@pytest.mark.parametrize("seed", range(5))
def test_the_ratio_at_equal_load_against_a_regression(seed: int) -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    rng = np.random.default_rng(seed)
    loads = [np.exp(rng.normal(mean, 0.2, n)) for mean, n in ((10.0, 60), (10.1, 50))]
    times = [
        load**0.8 * np.exp(0.05 * balanced(rng, len(load))) / speed for load, speed in zip(loads, (1.0, 1.2), strict=True)
    ]
    found = compare_at_equal_load(times[0], loads[0], times[1], loads[1])
    arm = np.repeat([0.0, 1.0], [60, 50])
    design = np.column_stack([np.ones(110), arm, np.log(np.concatenate(loads))])
    fitted = linear.OLS(np.log(np.concatenate(times)), design).fit()
    assert found.exponent == pytest.approx(fitted.params[2])
    assert math.log(found.ratio.value) == pytest.approx(-fitted.params[1])
    assert found.ratio.error == pytest.approx(fitted.bse[1], rel=0.15)  # arms with variances of their own


@pytest.mark.parametrize("seed", range(6))
def test_the_place_of_a_change_against_ruptures(seed: int) -> None:
    ruptures = pytest.importorskip("ruptures")
    rng = np.random.default_rng(seed)
    values = 100 + 2 * rng.normal(size=120)
    values[int(rng.integers(20, 100)) :] += 6
    found = find_shift(values)
    exact = ruptures.Dynp(model="l2", min_size=5, jump=1).fit(values).predict(n_bkps=1)
    assert found is not None
    assert found.start == exact[0]


def test_the_length_of_a_step_shaped_transient_against_ruptures() -> None:
    ruptures = pytest.importorskip("ruptures")
    values = 100 + np.random.default_rng(7).normal(size=150)
    values[:30] -= 15
    found = find_transient(values)
    means = values.reshape(30, 5).mean(axis=1)
    exact = ruptures.Dynp(model="l2", min_size=1, jump=1).fit(means).predict(n_bkps=1)
    assert found is not None
    assert 5 * exact[0] == 30
    assert found.length == max(30, mser(values).start)


def test_the_slope_and_its_error_against_a_regression_with_autoregressive_errors() -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    rng = np.random.default_rng(8)
    places = np.arange(2000.0)
    values = 1000 - 0.01 * places + autoregressive(rng, 2000, 0.7)
    found = fit_trend(values)
    theirs = linear.GLSAR(values, np.column_stack([np.ones(2000), places]), rho=1).iterative_fit(maxiter=20)
    scale = 1999 / values.mean()
    assert found.fraction == pytest.approx(theirs.params[1] * scale, rel=0.05)
    half = 1.96 * float(theirs.bse[1]) * scale
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)  # the wider of two estimates


def test_p_values_against_scipy() -> None:
    rng = np.random.default_rng(9)
    first, second = 100 + balanced(rng, 30), 101 + balanced(rng, 40)
    ratio = compare_ratios(ratio_of_sums(first, np.ones(30)), ratio_of_sums(second, np.ones(40)))
    expected = 2 * stats.t.sf(abs(math.log(ratio.value)) / ratio.error, ratio.degrees)
    assert ratio.p_value == pytest.approx(expected)
    difference = difference_of_means(mean_of_independent(first), mean_of_independent(second))
    assert difference.p_value == pytest.approx(stats.ttest_ind(second, first, equal_var=False).pvalue)
    low, high = ratio.interval()
    assert (ratio.p_value < 0.05) == (not low <= 1 <= high)


def test_a_ratio_without_noise_is_certain() -> None:
    assert LogRatio(1.0, 0.0, 5.0).p_value == 1.0
    assert LogRatio(1.1, 0.0, 5.0).p_value == 0.0


@pytest.mark.parametrize("degrees", [1, 2, 7, 40])
def test_quantiles_against_scipy(degrees: int) -> None:
    assert chi_square_quantile(0.025, degrees) == pytest.approx(stats.chi2.ppf(0.025, degrees))
    assert two_sided_p(-2.1, degrees) == pytest.approx(2 * stats.t.sf(2.1, degrees))
