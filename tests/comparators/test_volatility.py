"""Volatility of one run and of two against each other."""

from __future__ import annotations

import numpy as np
import pytest
from support.made_chains import made

from rlreport.comparators.results import SteadyState
from rlreport.comparators.volatility import compare_volatility, logged_values, measure_volatility
from rlreport.run.model import Run

REWARD = "quality.reward_mean"
WINDOW = SteadyState("flat", 2, 121, tuple(range(2, 122)), 120.0, ())


def rewarded(values: np.ndarray) -> Run:
    return made("r", steps=len(values), columns={REWARD: values})


def test_independent_noise_has_the_volatility_of_its_spread() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.02, 5000)
    window = SteadyState("flat", 2, 5001, tuple(range(2, 5002)), 5000.0, ())
    found = measure_volatility(rewarded(values), window, REWARD)
    assert found.estimate == pytest.approx(0.02, rel=0.05)
    assert found.ci_low is not None and found.ci_high is not None
    assert found.ci_low < 0.02 < found.ci_high
    assert found.ci_high / found.ci_low < 1.15


def test_a_slow_trend_and_the_level_do_not_count() -> None:
    noise = np.random.default_rng(3).normal(0, 0.02, 120)
    flat = measure_volatility(rewarded(0.5 + noise), WINDOW, REWARD)
    rising = measure_volatility(rewarded(np.linspace(0.1, 0.2, 120) + noise), WINDOW, REWARD)
    assert rising.estimate == pytest.approx(flat.estimate, rel=0.03)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(60):
        values = np.random.default_rng(seed).normal(0.5, 0.02, 120)
        found = measure_volatility(rewarded(values), WINDOW, REWARD)
        assert found.ci_low is not None and found.ci_high is not None
        hits += found.ci_low < 0.02 < found.ci_high
    assert hits >= 51  # 57 are expected; fewer than 51 have a chance of 0.1 % at 95 %


def test_values_of_excluded_steps_count_and_those_outside_do_not() -> None:
    values = np.arange(120.0)
    window = SteadyState("flat", 12, 21, (12, 21), 2.0, ())
    assert list(logged_values(rewarded(values), window, REWARD)) == list(range(10, 20))
    nowhere = SteadyState("none", None, None, (), None, ())
    assert len(logged_values(rewarded(values), nowhere, REWARD)) == 0


def test_few_values_and_unmoved_ones() -> None:
    assert measure_volatility(rewarded(np.random.default_rng(1).random(29)), WINDOW, REWARD).estimate is None
    constant = measure_volatility(rewarded(np.full(120, 0.5)), WINDOW, REWARD)
    assert (constant.estimate, constant.ci_low) == (0.0, None)
    rough = np.random.default_rng(1).random(120)
    assert compare_volatility(np.full(120, 0.5), rough).estimate is None
    assert compare_volatility(rough[:29], rough).estimate is None


def test_a_ratio_has_an_interval_and_no_clock() -> None:
    rng = np.random.default_rng(7)
    calm, rough = rng.normal(0, 0.01, 400), rng.normal(0, 0.02, 400)
    found = compare_volatility(calm, rough)
    assert found.estimate == pytest.approx(2.0, rel=0.15)
    assert found.ci_low is not None and found.ci_high is not None
    assert 1 < found.ci_low < 2 < found.ci_high
    assert compare_volatility(calm, rough) == found
    back = compare_volatility(rough, calm)
    assert back.estimate == pytest.approx(1 / found.estimate)  # type: ignore[operator]
