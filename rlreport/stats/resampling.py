"""Resampling of correlated series with an explicit seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rlreport.stats.autocorrelation import Array


def stationary_bootstrap_indices(n: int, resamples: int, block: float, generator: np.random.Generator) -> NDArray[np.intp]:
    """Index sets of the stationary bootstrap: blocks of geometric length with mean `block`, wrapped around the end.

    Politis and Romano 1994, JASA 89. Shape (resamples, n). Each row is a resample of the series in time order.
    """
    starts = generator.integers(0, n, size=(resamples, n))
    new_block = generator.random((resamples, n)) < 1 / block
    new_block[:, 0] = True
    positions = np.arange(n)
    last_start = np.maximum.accumulate(np.where(new_block, positions, 0), axis=1)
    chosen = np.take_along_axis(starts, last_start, axis=1)
    return np.asarray((chosen + positions - last_start) % n, dtype=np.intp)


def bootstrap_log_ratio(
    baseline: Array,
    variant: Array,
    statistic: Callable[[Array], Array],
    *,
    seed: int,
    resamples: int = 500,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile interval of statistic(variant) / statistic(baseline) for independent series in time order.

    `statistic` takes an array of shape (resamples, n) and gives one positive value a row. Mean block length n^(1/3). It
    covers too rarely below some 50 values; not for means, which have an interval by effective sample size. None when a
    resample gives no positive value (values that hardly differ).
    """
    generator = np.random.default_rng(seed)
    logs = []
    for values in (baseline, variant):
        n = len(values)
        chosen = stationary_bootstrap_indices(n, resamples, math.ceil(n ** (1 / 3)), generator)
        found = statistic(values[chosen])
        if not bool((found > 0).all()):
            return None
        logs.append(np.log(found))
    tail = (1 - confidence) / 2
    low, high = np.quantile(logs[1] - logs[0], [tail, 1 - tail])
    return math.exp(low), math.exp(high)
