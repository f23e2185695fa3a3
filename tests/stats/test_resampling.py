from __future__ import annotations

import numpy as np
import pytest
from support.made_series import autoregressive

from rlreport.stats.resampling import bootstrap_log_ratio, stationary_bootstrap_indices


def test_indices_run_on_in_blocks_of_the_mean_length_and_wrap() -> None:
    chosen = stationary_bootstrap_indices(50, 400, 5.0, np.random.default_rng(1))
    assert chosen.shape == (400, 50)
    assert set(np.unique(chosen)) == set(range(50))
    runs_on = (chosen[:, 1:] - chosen[:, :-1]) % 50 == 1
    assert runs_on.mean() == pytest.approx(1 - 1 / 5 + 1 / 5 / 50, abs=0.01)


def test_the_spread_of_resampled_means_is_that_of_the_series() -> None:
    rng = np.random.default_rng(2)
    values = autoregressive(rng, 4000, 0.5)
    chosen = stationary_bootstrap_indices(4000, 400, 40.0, rng)
    truth = np.sqrt(3 / 4000)  # (1 + 0.5) / (1 - 0.5) of independent values
    assert values[chosen].mean(axis=1).std() == pytest.approx(truth, rel=0.15)


def _spread(values: np.ndarray) -> np.ndarray:
    return values.std(axis=-1)


def test_the_same_seed_gives_the_same_interval_and_it_holds_the_ratio() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(60):
        first, second = rng.normal(size=100), 1.5 * rng.normal(size=100)
        found = bootstrap_log_ratio(first, second, _spread, seed=seed, resamples=200)
        assert found is not None
        assert found == bootstrap_log_ratio(first, second, _spread, seed=seed, resamples=200)
        held += found[0] <= 1.5 <= found[1]
    assert held >= 50


def test_no_interval_without_variation() -> None:
    assert bootstrap_log_ratio(np.ones(40), np.arange(40.0), _spread, seed=1) is None
