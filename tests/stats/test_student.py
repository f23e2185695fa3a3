from __future__ import annotations

import pytest
from scipy import stats

from rlreport.stats.student import half_width, t_probability, t_quantile, two_sided_p


@pytest.mark.parametrize("degrees", [1.0, 2.7, 30.0, 500.0])
@pytest.mark.parametrize("probability", [0.01, 0.5, 0.8, 0.975])
def test_quantiles_and_probabilities_agree_with_scipy_stats(degrees: float, probability: float) -> None:
    quantile = t_quantile(probability, degrees)
    assert quantile == pytest.approx(stats.t.ppf(probability, degrees), abs=1e-9)
    assert t_probability(quantile, degrees) == pytest.approx(probability)
    assert two_sided_p(quantile, degrees) == pytest.approx(2 * stats.t.sf(abs(quantile), degrees))


def test_the_textbook_value_of_a_95_percent_interval() -> None:
    assert half_width(0.95, 10) == pytest.approx(2.228, abs=5e-4)


def test_degrees_below_one_count_as_one() -> None:
    assert half_width(0.95, 0.2) == pytest.approx(12.706, abs=5e-4)
