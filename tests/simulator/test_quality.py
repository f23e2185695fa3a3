from __future__ import annotations

import math

import numpy as np
import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.quality import CURVES, LearningCurves


def test_the_curves_without_noise() -> None:
    curves = LearningCurves(tiny(quality__reward_noise=0, quality__validation_samples=10**12))
    # start + gain x (1 - exp(-step / 60)); the batch of step 1 is sampled before any training.
    assert curves.reward(1, 0.0) == pytest.approx(0.35)
    assert curves.reward(61, 0.0) == pytest.approx(0.35 + 0.3 * (1 - math.exp(-1)))
    assert curves.accuracy(0) == pytest.approx(0.3, abs=1e-5)
    assert curves.accuracy(60) == pytest.approx(0.3 + 0.25 * (1 - math.exp(-1)), abs=1e-5)


def test_reward_noise_grows_with_staleness() -> None:
    def spread(staleness: float) -> float:
        curves = LearningCurves(tiny(quality__noise_per_version=0.5, quality__reward_gain=0))
        return float(np.std([curves.reward(step, staleness) for step in range(1, 3000)]))

    assert spread(0.0) == pytest.approx(0.015, rel=0.1)
    assert spread(2.0) == pytest.approx(2 * spread(0.0), rel=1e-9)  # the same draws, twice as large


def test_validation_noise_is_binomial() -> None:
    curves = LearningCurves(tiny(quality__accuracy_gain=0, quality__validation_samples=100))
    assert np.std([curves.accuracy(0) for _ in range(4000)]) == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.05)


def test_rewards_stay_between_0_and_1() -> None:
    curves = LearningCurves(tiny(quality__reward_start=1.0, quality__reward_noise=0.2))
    drawn = [curves.reward(step, 0.0) for step in range(1, 200)]
    assert max(drawn) == 1.0
    assert min(drawn) < 1.0


def test_every_statistic_is_drawn_once() -> None:
    assert len({curve.key for curve in CURVES}) == len(CURVES)
    assert LearningCurves(tiny()).statistics(1, 0.0).keys() == {curve.key for curve in CURVES}
