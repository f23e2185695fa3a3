"""Means of correlated series and their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array, effective_sample_size, variance_of_mean
from rlreport.stats.student import half_width, two_sided_p


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error (in the unit of the values) and degrees of freedom."""

    value: float
    error: float
    degrees: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The t interval of the given confidence."""
        half = half_width(confidence, self.degrees) * self.error
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float:
        """The chance of a value at least as far from 0, in either direction, when the true one is 0."""
        return two_sided_p(self.value / self.error, self.degrees) if self.error > 0 else float(self.value == 0)


def mean_of_series(values: Array) -> Mean:
    """The mean of a correlated series in time order; its error and degrees by effective sample size.

    Raises:
        ValueError: fewer than two values.
    """
    n_effective = effective_sample_size(values)
    error = math.sqrt(variance_of_mean(values, n_effective))
    return Mean(float(values.mean()), error, n_effective - 1)


def mean_about_line(values: Array) -> Mean:
    """The mean of a correlated series that rises or falls along a line: its error is the noise about the line.

    The plain mean takes a trend for slow noise and its error becomes as large as the trend. Variance of the residuals of a
    least-squares line, with their effective sample size and bias correction (see `stationarity.fit_trend`), over that size;
    n_eff - 2 degrees. What a curved course does to the mean is not in the error, so it is for short parts of a course.

    Raises:
        ValueError: fewer than four values.
    """
    n = len(values)
    if n < 4:
        raise ValueError("a mean about a line needs four values at least")
    places = np.arange(n) - (n - 1) / 2
    residuals = values - values.mean() - places * (float(places @ values) / float(places @ places))
    n_effective = effective_sample_size(residuals, fitted=2)
    variance = float(residuals @ residuals) / (n - 2 * n / n_effective) / n_effective
    return Mean(float(values.mean()), math.sqrt(variance), n_effective - 2)


def mean_of_independent(values: Array) -> Mean:
    """The mean of independent values: standard error s/sqrt(n), n - 1 degrees of freedom.

    Raises:
        ValueError: fewer than two values.
    """
    return Mean(float(values.mean()), math.sqrt(variance_of_mean(values, float(len(values)))), len(values) - 1.0)


def difference_of_means(baseline: Mean, variant: Mean) -> Mean:
    """Variant minus baseline for two independent series, degrees by Welch and Satterthwaite (Welch 1947, Biometrika 34)."""
    first, second = baseline.error**2, variant.error**2
    total = first + second
    spent = first**2 / baseline.degrees + second**2 / variant.degrees if total > 0 else 0.0
    degrees = total**2 / spent if spent > 0 else baseline.degrees + variant.degrees
    return Mean(variant.value - baseline.value, math.sqrt(total), degrees)
