from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from support.made_series import autoregressive, balanced

from rlreport.stats.means import difference_of_means, mean_about_line, mean_of_independent, mean_of_series


def test_independent_values_give_the_textbook_interval() -> None:
    values = np.array([0.871, 0.880, 0.876, 0.869, 0.883])
    found = mean_of_independent(values)
    assert found.interval() == pytest.approx(stats.t.interval(0.95, 4, loc=values.mean(), scale=stats.sem(values)))


def test_the_difference_agrees_with_welchs_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(1, 0.1, 12), rng.normal(1.2, 0.4, 7)
    found = difference_of_means(mean_of_independent(first), mean_of_independent(second))
    welch = stats.ttest_ind(second, first, equal_var=False)
    assert found.degrees == pytest.approx(welch.df)
    assert found.interval() == pytest.approx((welch.confidence_interval().low, welch.confidence_interval().high))


def test_a_series_counts_by_its_effective_size() -> None:
    rng = np.random.default_rng(2)
    correlated, plain = mean_of_series(autoregressive(rng, 200, 0.8)), mean_of_series(balanced(rng, 200))
    assert plain.degrees == 199.0
    assert correlated.degrees < 60
    assert correlated.error > 1.5 / np.sqrt(200)


def test_equal_constants_differ_by_nothing() -> None:
    still = mean_of_series(np.full(10, 0.5))
    assert difference_of_means(still, still).interval() == (0.0, 0.0)


def test_a_mean_about_a_line_has_the_error_of_a_regression() -> None:
    rng = np.random.default_rng(4)
    values = np.linspace(0, 50, 40) + balanced(rng, 40)
    found = mean_about_line(values)
    # with the places centred the intercept of the least-squares line is the mean
    design = np.column_stack([np.ones(40), np.arange(40) - 19.5])
    _, squares, *_ = np.linalg.lstsq(design, values, rcond=None)
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(math.sqrt(float(squares[0]) / 38 / 40))
    assert found.degrees == 38
    assert mean_of_series(values).error > 10 * found.error
    with pytest.raises(ValueError, match="four values"):
        mean_about_line(values[:3])
