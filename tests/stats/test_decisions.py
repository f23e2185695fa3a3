from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rlreport.stats.decisions import excludes, holm, within
from rlreport.stats.means import difference_of_means, mean_of_independent


def test_equivalence_by_interval_is_two_one_sided_tests() -> None:
    rng = np.random.default_rng(1)
    decisions = []
    for _ in range(200):
        first, second = rng.normal(0, 1, 15), rng.normal(0.1, 1.5, 20)
        difference = difference_of_means(mean_of_independent(first), mean_of_independent(second))
        above = stats.ttest_ind(second, first - 0.9, equal_var=False, alternative="greater").pvalue
        below = stats.ttest_ind(second, first + 0.9, equal_var=False, alternative="less").pvalue
        expected = max(above, below) < 0.05
        assert within(difference.interval(0.90), -0.9, 0.9) == expected
        decisions.append(expected)
    assert 20 < sum(decisions) < 180


def test_an_end_on_the_margin_is_not_within() -> None:
    assert within((0.96, 1.04), 0.95, 1.05)
    assert not within((0.96, 1.05), 0.95, 1.05)


@pytest.mark.parametrize(("interval", "expected"), [((0.9, 1.1), False), ((1.0, 1.1), False), ((1.01, 1.1), True)])
def test_excluding_means_lying_outside_of_the_closed_interval(interval: tuple[float, float], expected: bool) -> None:
    assert excludes(interval, 1.0) is expected


def test_holms_worked_example() -> None:
    # sorted 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1 = 0.02, 0.03, 0.06, 0.04, made non-decreasing
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()


def test_holm_keeps_the_family_error_at_its_level() -> None:
    rng = np.random.default_rng(2)
    false = [min(holm(rng.random(6))) < 0.05 for _ in range(4000)]
    assert np.mean(false) == pytest.approx(0.05, abs=0.012)
