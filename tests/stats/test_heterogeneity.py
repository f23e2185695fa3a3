from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rlreport.stats.heterogeneity import compare_levels


def groups(*sizes: int, seed: int = 1, shift: float = 0.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(10 + shift * k, 1 + k, size) for k, size in enumerate(sizes)]


def of(samples: list[np.ndarray]):
    return compare_levels(
        np.array([sample.mean() for sample in samples]),
        np.array([stats.sem(sample) for sample in samples]),
        np.array([len(sample) - 1.0 for sample in samples]),
    )


@pytest.mark.parametrize("sizes", [(5, 9), (8, 12, 20), (4, 6, 10, 15, 7)])
def test_it_is_welchs_analysis_of_variance(sizes: tuple[int, ...]) -> None:
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    samples = groups(*sizes, shift=0.7)
    found, expected = of(samples), oneway.anova_oneway(samples, use_var="unequal", welch_correction=True)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.degrees == pytest.approx(expected.df)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_two_estimates_give_welchs_t() -> None:
    samples = groups(7, 11, shift=2.0)
    expected = stats.ttest_ind(*samples, equal_var=False)
    found = of(samples)
    assert found.statistic == pytest.approx(expected.statistic**2)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_the_common_level_is_weighted_by_precision() -> None:
    found = compare_levels(np.array([1.0, 4.0]), np.array([1.0, 2.0]), np.array([10.0, 10.0]))
    assert found.common == pytest.approx((1.0 * 1 + 4.0 * 0.25) / 1.25)


def test_equal_levels_are_rejected_as_often_as_the_level_says() -> None:
    rejected = [of(groups(8, 8, 8, seed=seed)).p_value < 0.05 for seed in range(600)]
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.025)


def test_what_cannot_be_weighed_is_refused() -> None:
    with pytest.raises(ValueError, match="two estimates"):
        compare_levels(np.array([1.0]), np.array([1.0]), np.array([3.0]))
    with pytest.raises(ValueError, match="without noise"):
        compare_levels(np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.array([3.0, 3.0]))
