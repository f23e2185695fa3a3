"""Statistics beside the throughput ratio, counted in made data: what each promises, and what it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from calibration_pairs import autoregressive, columns_of, compare, make_run
from numpy.typing import NDArray

from rlreport.comparators.horizon import speed_by_horizon
from rlreport.comparators.volatility import compare_volatility
from rlreport.run.model import Run
from rlreport.stats.means import difference_of_means, mean_about_line, mean_of_independent, mean_of_series
from rlreport.stats.replicates import compare_groups, rank_p

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Other:
    """One row: a statistic, the data it meets, the share that is promised, and how to count what it holds."""

    statistic: str
    setting: str
    promised: str
    measure: Callable[[int, int], float]


def _matched_reward(pairs: int, seed: int, phi: float) -> float:
    """Rewards on one learning curve, compared step by step: the interval of the difference holds 0.02."""
    rng = np.random.default_rng([seed, 1, round(10 * phi)])
    held = 0
    for _ in range(pairs):
        difference = 0.02 + 0.03 * (autoregressive(rng, 100, phi, 1.0) - autoregressive(rng, 100, phi, 1.0))
        low, high = mean_of_series(difference).interval()
        held += low <= 0.02 <= high
    return held / pairs


def _unmatched_reward(pairs: int, seed: int, phi: float) -> float:
    """Rewards without a common course: the interval of the difference of means holds 0."""
    rng = np.random.default_rng([seed, 2, round(10 * phi)])
    held = 0
    for _ in range(pairs):
        means = [mean_of_series(0.5 + 0.03 * autoregressive(rng, 100, phi, 1.0)) for _ in range(2)]
        low, high = difference_of_means(*means).interval()
        held += low <= 0 <= high
    return held / pairs


def _about_line(pairs: int, seed: int, phi: float) -> float:
    """Twenty steps of two rising rewards: the interval of the difference of means about their lines holds the true one."""
    rng = np.random.default_rng([seed, 9, round(10 * phi)])
    rise = np.linspace(0.0, 0.1, 20)
    held = 0
    for _ in range(pairs):
        means = [mean_about_line(slope * rise + 0.03 * autoregressive(rng, 20, phi, 1.0)) for slope in (1.0, 2.0)]
        low, high = difference_of_means(*means).interval()
        held += low <= rise.mean() <= high
    return held / pairs


def _evaluations(pairs: int, seed: int) -> float:
    """Means of five evaluations an arm, independent: the interval of the difference holds 0."""
    rng = np.random.default_rng([seed, 3])
    held = 0
    for _ in range(pairs):
        means = [mean_of_independent(0.6 + 0.01 * rng.standard_normal(5)) for _ in range(2)]
        low, high = difference_of_means(*means).interval()
        held += low <= 0 <= high
    return held / pairs


def _volatility(pairs: int, seed: int, steps: int) -> float:
    """Two series of equal roughness: the bootstrap interval of the volatility ratio holds 1."""
    rng = np.random.default_rng([seed, 4, steps])
    held = 0
    for _ in range(pairs):
        found = compare_volatility(autoregressive(rng, steps, 0.5, 1.0), autoregressive(rng, steps, 0.5, 1.0))
        held += found.ci_low is not None and found.ci_high is not None and found.ci_low <= 1 <= found.ci_high
    return held / pairs


def _groups(pairs: int, seed: int, runs: int) -> float:
    """Runs that differ by 3 % within a configuration: the interval between runs holds the true ratio of 1."""
    rng = np.random.default_rng([seed, 5, runs])
    held = 0
    for _ in range(pairs):
        low, high = compare_groups(*(np.exp(0.03 * rng.standard_normal(runs)) for _ in range(2))).interval()
        held += low <= 1 <= high
    return held / pairs


def _one_against_group(pairs: int, seed: int, runs: int) -> float:
    """One variant run against several of the baseline, all of one spread: the interval holds 1."""
    rng = np.random.default_rng([seed, 6, runs])
    held = 0
    for _ in range(pairs):
        low, high = compare_groups(
            np.exp(0.03 * rng.standard_normal(runs)), np.exp(0.03 * rng.standard_normal(1))
        ).interval()
        held += low <= 1 <= high
    return held / pairs


def _ranks(pairs: int, seed: int, runs: int) -> float:
    """Runs of one configuration: the exact rank test at 5 % rejects."""
    rng = np.random.default_rng([seed, 7, runs])
    return sum(rank_p(*(rng.standard_normal(runs) for _ in range(2))) <= 0.05 for _ in range(pairs)) / pairs


def _horizon(pairs: int, seed: int, phi: float, growth: float) -> float:
    """Parts of training are said to differ, where the true ratio stays at 1 or grows by `growth` along 300 steps."""
    rng = np.random.default_rng([seed, 8, round(10 * phi), round(100 * growth)])
    course = 1 / np.linspace(1.0, 1.0 + growth, 300)
    found = 0
    for _ in range(pairs):
        baseline, variant = _run(rng, phi, 1.0), _run(rng, phi, course)
        horizon = speed_by_horizon(baseline, variant, compare(baseline, variant))
        found += horizon is not None and horizon.agreement in ("differ", "agree after the first")
    return found / pairs


def _run(rng: np.random.Generator, phi: float, course: Array | float) -> Run:
    return make_run(columns_of(rng, autoregressive(rng, 300, phi), course))


_REWARD = "difference of rewards"
_BY_STEP = "100 steps on one learning curve, matched, correlation"
_GROUPS = "ratio of groups of runs"
_PARTS = "windows are said to differ"

OTHERS: tuple[Other, ...] = (
    *(Other(_REWARD, f"{_BY_STEP} {phi:g}", "holds in 95 %", partial(_matched_reward, phi=phi)) for phi in (0.0, 0.5, 0.8)),
    *(
        Other(_REWARD, f"100 steps, not matched, correlation {phi:g}", "holds in 95 %", partial(_unmatched_reward, phi=phi))
        for phi in (0.0, 0.5, 0.8)
    ),
    *(
        Other(
            "reward at equal cost", f"20 rising steps, correlation {phi:g}", "holds in 95 %", partial(_about_line, phi=phi)
        )
        for phi in (0.0, 0.5, 0.8)
    ),
    Other("difference of accuracies", "5 evaluations an arm", "holds in 95 %", _evaluations),
    *(
        Other("volatility ratio", f"{steps} steps, correlation 0.5", "holds in 95 %", partial(_volatility, steps=steps))
        for steps in (50, 100, 300)
    ),
    *(Other(_GROUPS, f"{runs} runs an arm", "holds in 95 %", partial(_groups, runs=runs)) for runs in (2, 3, 5)),
    *(
        Other(_GROUPS, f"1 run against {runs} of one spread", "holds in 95 %", partial(_one_against_group, runs=runs))
        for runs in (2, 3, 5)
    ),
    *(
        Other(
            "rank test of runs", f"{runs} runs an arm, no difference", "rejects in at most 5 %", partial(_ranks, runs=runs)
        )
        for runs in (3, 4, 5)
    ),
    *(
        Other(
            _PARTS, f"300 steps, no difference, correlation {phi:g}", "at most 1 %", partial(_horizon, phi=phi, growth=0.0)
        )
        for phi in (0.0, 0.5, 0.8)
    ),
    *(
        Other(
            _PARTS, f"300 steps, the ratio grows by 30 %, correlation {phi:g}", "–", partial(_horizon, phi=phi, growth=0.3)
        )
        for phi in (0.0, 0.5, 0.8)
    ),
)
