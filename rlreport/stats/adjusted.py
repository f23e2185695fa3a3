"""The ratio of two speeds at equal load: what is left of a difference when a covariate is held fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array, effective_sample_size, variance_of_mean
from rlreport.stats.ratio import LogRatio


@dataclass(frozen=True, slots=True)
class AdjustedRatio:
    """Speed of the variant over the baseline at equal load.

    `exponent` is how time grows with load within an arm: 1 when a step of twice the tokens takes twice as long.
    `baseline_log` and `variant_log` are the predicted logarithms of time at `load_log`, the mean log load of both arms;
    `n_effective` are the effective sample sizes of both arms' residuals.
    """

    ratio: LogRatio
    exponent: float
    baseline_log: float
    variant_log: float
    load_log: float
    n_effective: tuple[float, float]


def compare_at_equal_load(
    baseline_time: Array, baseline_load: Array, variant_time: Array, variant_load: Array
) -> AdjustedRatio:
    """Fit log(time) = level of the arm + exponent x log(load) and compare the levels (analysis of covariance).

    Cochran 1957, Biometrics 13, with two changes for series: each arm's residual mean has a variance by effective sample
    size, and so has the common exponent, by that of its score (load deviation x residual). Speed is the inverse of time, so
    a ratio of 1.2 is a step of equal load in 1/1.2 of the time. All arrays are positive, one value a step, in time order.

    Raises:
        ValueError: an arm has fewer than four steps, or the load does not vary within either arm.
    """
    if min(len(baseline_time), len(variant_time)) < 4:
        raise ValueError("an adjustment needs four steps an arm at least")
    times = [np.log(baseline_time), np.log(variant_time)]
    loads = [np.log(baseline_load), np.log(variant_load)]
    deviations = [load - load.mean() for load in loads]
    spread = sum(float(x @ x) for x in deviations)
    if spread <= 0:
        raise ValueError("the load does not vary within an arm")
    exponent = sum(float(x @ y) for x, y in zip(deviations, times, strict=True)) / spread
    shift = float(loads[1].mean() - loads[0].mean())
    variances, sizes, slope_variance = [], [], 0.0
    for x, y in zip(deviations, times, strict=True):
        residuals = y - y.mean() - exponent * x
        size = effective_sample_size(residuals)
        variances.append(variance_of_mean(residuals, size))
        sizes.append(size)
        score = x * residuals
        slope_variance += len(x) ** 2 * variance_of_mean(score) / spread**2
    total = variances[0] + variances[1]
    spent = sum(v**2 / (size - 1) for v, size in zip(variances, sizes, strict=True))
    freedom = total**2 / spent if spent > 0 else sum(sizes) - 2
    error = math.sqrt(total + shift**2 * slope_variance)
    load_log = float(np.concatenate(loads).mean())
    at_mean = [float(y.mean()) + exponent * (load_log - float(load.mean())) for y, load in zip(times, loads, strict=True)]
    ratio = LogRatio(math.exp(at_mean[0] - at_mean[1]), error, freedom)
    return AdjustedRatio(ratio, exponent, at_mean[0], at_mean[1], load_log, (sizes[0], sizes[1]))
