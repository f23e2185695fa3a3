"""Throughput as a ratio of sums, and the ratio of two throughputs, with intervals that allow for dependence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array, effective_sample_size, variance_of_mean
from rlreport.stats.student import half_width, t_quantile, two_sided_p


@dataclass(frozen=True, slots=True)
class RatioOfSums:
    """sum(work) / sum(time) over n steps.

    `relative_error` is the standard error as a fraction of the value; `n_effective` the effective sample size of the
    influence values, from which it was computed.
    """

    value: float
    relative_error: float
    n: int
    n_effective: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """A t interval with n_eff - 1 degrees of freedom on the log scale, so that it is never below 0."""
        reach = _reach(half_width(confidence, self.n_effective - 1), self.relative_error)
        return self.value / reach, self.value * reach


@dataclass(frozen=True, slots=True)
class LogRatio:
    """A ratio whose logarithm has the given standard error and degrees of freedom."""

    value: float
    error: float
    degrees: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval that holds the true ratio with the given confidence."""
        reach = _reach(half_width(confidence, self.degrees), self.error)
        return self.value / reach, self.value * reach

    @property
    def p_value(self) -> float:
        """The chance of a ratio at least as far from 1, in either direction, when the true one is 1."""
        distance = math.log(self.value)
        if self.error == 0:
            return float(distance == 0)
        return two_sided_p(distance / self.error, self.degrees)

    def minimum_detectable(self, power: float = 0.8, level: float = 0.05) -> float:
        """The smallest true ratio above 1 that data of this spread would tell from 1 with the given power.

        exp((t(1 - level/2) + t(power)) x error), the usual approximation for a two-sided t test (Bloom 1995, Evaluation
        Review 19). Its inverse is the smallest decrease.
        """
        return _reach(t_quantile(1 - level / 2, self.degrees) + t_quantile(power, self.degrees), self.error)


def influence_values(work: Array, time: Array) -> Array:
    """How far each step moves the ratio of sums: (work_t - R time_t) / mean(time), in units of the ratio.

    Their mean is 0 and the variance of their mean is, to first order, that of R = sum(work)/sum(time) (delta method for a
    ratio estimator; Cochran 1977, Sampling Techniques, 2.11 and 6.5). Both arrays have one value a step, in time order.
    """
    ratio = work.sum() / time.sum()
    return np.asarray((work - ratio * time) / time.mean(), dtype=np.float64)


def ratio_of_sums(work: Array, time: Array) -> RatioOfSums:
    """Throughput of a window, sum(work)/sum(time), with its standard error by effective sample size.

    Not the mean of the per-step ratios: that weighs a short step as much as a long one. Work and time are positive sums.

    Raises:
        ValueError: fewer than two steps, or a sum that is not positive.
    """
    total_work, total_time = float(work.sum()), float(time.sum())
    if len(work) < 2:
        raise ValueError("a ratio with an interval needs two steps at least")
    if not (total_work > 0 and total_time > 0):
        raise ValueError("work and time must have positive sums")
    influence = influence_values(work, time)
    n_effective = effective_sample_size(influence)
    value = total_work / total_time
    error = math.sqrt(variance_of_mean(influence, n_effective)) / value
    return RatioOfSums(value, error, len(work), n_effective)


def compare_ratios(baseline: RatioOfSums, variant: RatioOfSums) -> LogRatio:
    """Variant over baseline for two independent series, on the log scale.

    Standard errors add in squares; degrees of freedom by Welch and Satterthwaite (Welch 1947, Biometrika 34) on n_eff - 1 of
    each arm.
    """
    first, second = baseline.relative_error**2, variant.relative_error**2
    total = first + second
    spent = first**2 / (baseline.n_effective - 1) + second**2 / (variant.n_effective - 1)
    degrees = total**2 / spent if spent > 0 else baseline.n_effective + variant.n_effective - 2
    return LogRatio(variant.value / baseline.value, math.sqrt(total), degrees)


def relative_influence(work: Array, time: Array) -> Array:
    """Influence values as fractions of the ratio: what each step does to its logarithm."""
    return np.asarray(influence_values(work, time) / (work.sum() / time.sum()), dtype=np.float64)


def compare_matched(
    baseline_work: Array, baseline_time: Array, variant_work: Array, variant_time: Array
) -> tuple[LogRatio, float]:
    """Variant over baseline for two series matched step by step, and the effective number of matched steps.

    What moves both arms alike at a step (responses that grow with training, the order of the dataset) cancels in the
    difference of their relative influence values, so the interval holds only what differs. Four arrays of equal length:
    element t of each belongs to the same samples.

    Raises:
        ValueError: fewer than two matched steps.
    """
    difference = relative_influence(variant_work, variant_time) - relative_influence(baseline_work, baseline_time)
    n_effective = effective_sample_size(difference)
    ratio = (variant_work.sum() / variant_time.sum()) / (baseline_work.sum() / baseline_time.sum())
    error = math.sqrt(variance_of_mean(difference, n_effective))
    return LogRatio(float(ratio), error, n_effective - 1), n_effective


def _reach(multiples: float, error: float) -> float:
    """exp(multiples x error), infinite where it would overflow."""
    exponent = multiples * error
    return math.exp(exponent) if exponent < 700 else math.inf
