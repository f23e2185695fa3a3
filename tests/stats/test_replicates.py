from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rlreport.stats.replicates import (
    NoiseFloor,
    compare_groups,
    hodges_lehmann_ratio,
    noise_floor,
    rank_p,
    smallest_rank_p,
)

BASELINE = np.array([100.0, 104.0, 98.0])
VARIANT = np.array([118.0, 131.0, 122.0, 125.0])


def test_groups_are_compared_by_welchs_t_of_logarithms() -> None:
    found = compare_groups(BASELINE, VARIANT)
    welch = stats.ttest_ind(np.log(VARIANT), np.log(BASELINE), equal_var=False)
    assert found.value == pytest.approx(stats.gmean(VARIANT) / stats.gmean(BASELINE))
    assert found.degrees == pytest.approx(welch.df)
    assert found.p_value == pytest.approx(welch.pvalue)
    low, high = welch.confidence_interval()
    assert found.interval() == pytest.approx((math.exp(low), math.exp(high)))


def test_a_single_run_is_held_against_the_spread_of_the_others() -> None:
    # the interval for one further run of the same configuration: s sqrt(1/3 + 1), two degrees
    found = compare_groups(BASELINE, np.array([115.0]))
    logs = np.log(BASELINE)
    half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) * math.sqrt(1 / 3 + 1)
    centre = math.log(115.0) - logs.mean()
    assert found.interval() == pytest.approx((math.exp(centre - half), math.exp(centre + half)))
    mirrored = compare_groups(np.array([115.0]), BASELINE)
    assert mirrored.interval() == pytest.approx((1 / found.interval()[1], 1 / found.interval()[0]))


def test_one_run_an_arm_has_no_spread() -> None:
    with pytest.raises(ValueError, match="two runs"):
        compare_groups(np.array([1.0]), np.array([2.0]))
    assert noise_floor([np.array([1.0]), np.array([2.0])]) is None


def test_the_noise_floor_is_the_pooled_standard_deviation() -> None:
    found = noise_floor([BASELINE, VARIANT, np.array([7.0])])
    assert found is not None
    pooled = (2 * np.log(BASELINE).var(ddof=1) + 3 * np.log(VARIANT).var(ddof=1)) / 5
    assert found.sigma == pytest.approx(math.sqrt(pooled))
    assert found.degrees == 5
    assert found.low == pytest.approx(math.sqrt(5 * pooled / stats.chi2.ppf(0.975, 5)))
    assert found.high == pytest.approx(math.sqrt(5 * pooled / stats.chi2.ppf(0.025, 5)))


def test_the_smallest_visible_ratio_is_found_with_80_percent_power() -> None:
    floor = NoiseFloor(0.03, 6, 0.02, 0.06)
    effect = math.log(floor.smallest_visible(4, 4)) / (0.03 * math.sqrt(1 / 2))
    critical = stats.t.ppf(0.975, 6)
    assert stats.nct.sf(critical, 6, effect) == pytest.approx(0.8, abs=0.02)


def test_the_runs_needed_agree_with_a_power_calculation() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    floor = NoiseFloor(0.03, 1, 0.01, 0.9)
    expected = math.ceil(power.TTestIndPower().solve_power(effect_size=math.log(1.05) / 0.03, alpha=0.05, power=0.8))
    assert floor.runs_needed(1.05) == expected
    assert floor.runs_needed(1 / 1.05) == expected
    assert floor.runs_needed(1.0001) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sizes", [(3, 3), (4, 6), (5, 2)])
def test_the_rank_test_is_exact(seed: int, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=sizes[0]), rng.normal(0.8, 1, sizes[1])
    expected = stats.mannwhitneyu(first, second, method="exact").pvalue
    assert rank_p(first, second) == pytest.approx(expected)


def test_equal_values_share_their_ranks() -> None:
    # ranks 1.5 1.5 against 3 4: of the 6 choices of two ranks, sums 3 and 7 are as far from 5: 2 of 6
    assert rank_p(np.array([1.0, 1.0]), np.array([2.0, 3.0])) == pytest.approx(2 / 6)
    assert rank_p(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 1.0


@pytest.mark.parametrize(("sizes", "p"), [((3, 3), 0.1), ((4, 4), 2 / 70), ((1, 1), 1.0), ((2, 5), 2 / 21)])
def test_the_smallest_p_is_that_of_groups_that_do_not_overlap(sizes: tuple[int, int], p: float) -> None:
    assert smallest_rank_p(*sizes) == pytest.approx(p)
    assert rank_p(np.arange(sizes[0], dtype=float), 100.0 + np.arange(sizes[1])) == pytest.approx(p)


def test_the_median_ratio_is_not_moved_by_one_wild_run() -> None:
    # ratios of VARIANT to BASELINE, sorted: the two in the middle of twelve
    ratios = sorted(v / b for v in VARIANT for b in BASELINE)
    assert hodges_lehmann_ratio(BASELINE, VARIANT) == pytest.approx(math.sqrt(ratios[5] * ratios[6]))
    wild = np.array([*VARIANT[:3], 900.0])
    assert hodges_lehmann_ratio(BASELINE, wild) < 1.3 < stats.gmean(wild) / stats.gmean(BASELINE)
