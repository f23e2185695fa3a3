from __future__ import annotations

import numpy as np
import pytest
from support.made_series import autoregressive

from rlreport.stats.adjusted import compare_at_equal_load


def test_without_noise_the_speed_at_equal_load_is_exact() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.uniform(800, 1200, 20), rng.uniform(1200, 1800, 30)
    found = compare_at_equal_load(2 * first**0.7, first, 2 * second**0.7 / 1.25, second)
    assert found.ratio.value == pytest.approx(1.25)
    assert found.exponent == pytest.approx(0.7)
    assert found.ratio.error == pytest.approx(0.0, abs=1e-9)
    assert np.exp(found.baseline_log) == pytest.approx(2 * np.exp(found.load_log) ** 0.7)
    assert np.exp(found.baseline_log - found.variant_log) == pytest.approx(1.25)


def test_point_estimates_agree_with_least_squares() -> None:
    rng = np.random.default_rng(2)
    loads = [rng.uniform(800, 1200, 25), rng.uniform(900, 1500, 35)]
    times = [np.exp(0.1 * rng.normal(size=len(load))) * load**0.8 for load in loads]
    design = np.column_stack([np.ones(60), np.repeat([0.0, 1.0], [25, 35]), np.log(np.concatenate(loads))])
    coefficients = np.linalg.lstsq(design, np.log(np.concatenate(times)), rcond=None)[0]
    found = compare_at_equal_load(times[0], loads[0], times[1], loads[1])
    assert np.log(found.ratio.value) == pytest.approx(-coefficients[1])
    assert found.exponent == pytest.approx(coefficients[2])


def test_the_interval_holds_the_true_speed() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        loads = [1000 * np.exp(0.1 * rng.normal(size=60)), 1100 * np.exp(0.1 * rng.normal(size=60))]
        times = [load**0.7 * np.exp(0.05 * autoregressive(rng, 60, 0.5)) for load in loads]
        low, high = compare_at_equal_load(times[0], loads[0], times[1] / 1.1, loads[1]).ratio.interval()
        held += low <= 1.1 <= high
    assert held >= 0.91 * 300


def test_what_cannot_be_adjusted_is_refused() -> None:
    four = np.array([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="four steps"):
        compare_at_equal_load(four[:3], four[:3], four, four)
    with pytest.raises(ValueError, match="does not vary"):
        compare_at_equal_load(four, np.ones(4), four, np.ones(4))
