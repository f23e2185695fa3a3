"""Is a window steady? A transient at its start, a drift along it, or a level that wanders.

Truncation chosen from the data costs coverage of the intervals computed from the same data, so nothing is cut where no test
finds a transient; and truncation alone never sees a slow drift, so drift is tested on what is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array, effective_sample_size, variance_of_mean
from rlreport.stats.student import half_width, two_sided_p

#: Level of the test for a transient. Low, because the cut is searched for among many and each costs data.
TRANSIENT_LEVEL = 0.003
#: Level of the test for a change of level anywhere: lower still, among twice as many splits.
SHIFT_LEVEL = 0.0005
#: Transients smaller than this fraction of the level are left in: they move the mean of the whole by less.
SMALLEST_TRANSIENT = 0.02
#: A transient must fit better than a line by this many effective observations' worth of squared error.
_PENALTY = 4.0
#: Time constants tried for an exponential approach, as fractions of the series.
_TIME_CONSTANTS = (1 / 40, 1 / 20, 1 / 10, 1 / 6)
#: A level wanders when it keeps its course for longer than one fortieth of the series (correlation above 0.95) ...
_WANDERING_FRACTION = 1 / 40
#: ... in a series of at least this length: shorter ones cannot tell it from slow noise.
_WANDERING_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Truncation:
    """Where MSER cuts: `start` values are dropped. `enough` is False when the rule asks for more data instead."""

    start: int
    enough: bool


@dataclass(frozen=True, slots=True)
class Transient:
    """An initial part that differs from the rest.

    `length` values belong to it; `difference` is its mean minus that of the rest, as a fraction of the rest; `p_value` of
    the test. `settled` is False when the best split lies at half of the series, so that what follows may still be transient.
    """

    length: int
    difference: float
    p_value: float
    settled: bool


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of level: where the new one starts, its difference as a fraction of the old, `p_value` of the test."""

    start: int
    difference: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Change from first to last value along a fitted line, as a fraction of the mean, with a 95 % interval."""

    fraction: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes no change."""
        return self.low > 0 or self.high < 0


def mser(values: Array, batch: int = 5) -> Truncation:
    """Truncation point by the marginal standard error rule on means of `batch` values (MSER-5).

    Of all d up to half of the k batches, the one that minimises sum over j > d of (z_j - mean)^2 / (k - d)^2, the squared
    standard error of the remaining mean as if batches were independent (White 1997, Simulation 69; White, Cobb and Spratt
    2000, Winter Simulation Conference). A minimum at half of the batches means "not enough data". Suffix sums make it O(n).
    On a series without a transient it still cuts a random part; use `find_transient` to decide whether to cut at all.
    """
    k = len(values) // batch
    if k < 2:
        return Truncation(0, enough=False)
    means = _batch_means(values, batch)
    means = means - means.mean()
    kept = np.arange(k, 0, -1, dtype=np.float64)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means * means)[::-1])[::-1]
    errors = (squares - sums * sums / kept) / kept**2
    half = k // 2
    best = int(np.argmin(errors[: half + 1]))
    return Truncation(best * batch, enough=best < half)


def find_transient(values: Array, batch: int = 5) -> Transient | None:
    """The initial transient of a series in time order, or None where a test finds none.

    1. The split into two levels with the least squared error, at a batch boundary in the first half.
    2. A t test of the first part's mean against that of a steady part, whose variance and effective sample size it uses:
       what follows the cut of step 4, or the second half. The smaller p-value of both, doubled, must be below
       `TRANSIENT_LEVEL`, and the difference exceed `SMALLEST_TRANSIENT`. All that follows the split would not do: the tail
       of a slow approach makes it look correlated and hides the transient.
    3. Two levels, or an exponential approach to one, must explain the series better than a straight line, else it is a drift
       (see `fit_trend`) and cutting it would hide it.
    4. The cut is MSER's or that of the split, whichever is later, as long as MSER has enough data.

    Levels must be positive. Fewer than five batches: None, whatever the series looks like.
    """
    n, k = len(values), len(values) // batch
    if k < 5:
        return None
    cut = _best_split(_batch_means(values, batch), 1, k // 2) * batch
    truncation = mser(values, batch)
    length = max(cut, truncation.start) if truncation.enough else cut
    test = min((_against(values[:cut], values[start:]) for start in (length, n // 2)), key=lambda one: one.p_value)
    p_value = min(1.0, 2 * test.p_value)
    if abs(test.difference) <= SMALLEST_TRANSIENT or p_value >= TRANSIENT_LEVEL:
        return None
    steps = np.arange(n, dtype=np.float64)
    shapes = [(steps < cut).astype(np.float64), *(np.exp(-steps / (n * part)) for part in _TIME_CONSTANTS)]
    best = min(_squared_error(values, shape) for shape in shapes)
    if best * (1 + _PENALTY / test.n_effective) >= _squared_error(values, steps):
        return None
    rest = float(values[length:].mean())
    return Transient(length, float(values[:length].mean()) / rest - 1, p_value, settled=cut < (k // 2) * batch)


@dataclass(frozen=True, slots=True)
class _Test:
    """A first part against a steady one: relative difference of the means, p-value, effective size of the steady part."""

    difference: float
    p_value: float
    n_effective: float


def _against(first: Array, steady: Array) -> _Test:
    size = effective_sample_size(steady)
    tau = len(steady) / size
    variance = variance_of_mean(steady, size) * size
    error = math.sqrt(variance * (min(1.0, tau / len(first)) + tau / len(steady)))
    difference = float(first.mean() - steady.mean())
    p_value = two_sided_p(difference / error, size - 1) if error > 0 else float(difference == 0)
    return _Test(difference / float(steady.mean()), p_value, size)


def fit_trend(values: Array, positions: Array | None = None, confidence: float = 0.95) -> Trend:
    """Least-squares line through the series: the change along it as a fraction of the mean, with an interval.

    `positions` are the places of the values in time (step numbers; default 0, 1, 2 ...). The slope's variance uses the
    residuals' effective sample size with the bias correction of a fitted line; the degrees of freedom allow for estimating
    both the variance (n_eff - 2) and, to first order, the correlation r itself, whose variance is (1 - r^2)/n:
    1/df = 1/(n_eff - 2) + 2/(n (1 - r^2)). Least squares is efficient for a trend under stationary noise (Grenander and
    Rosenblatt 1957). An interval that includes 0 means "no drift shown", not "no drift".

    Raises:
        ValueError: fewer than four values.
    """
    n = len(values)
    if n < 4:
        raise ValueError("a trend with an interval needs four values at least")
    places = np.arange(n, dtype=np.float64) if positions is None else positions
    centred = places - places.mean()
    spread = float(centred @ centred)
    slope = float(centred @ values) / spread
    residuals = values - values.mean() - slope * centred
    size = effective_sample_size(residuals, fitted=2)
    tau = n / size
    variance = float(residuals @ residuals) / (n - 2 * tau) * tau / spread
    span = float(places[-1] - places[0])
    scale = span / float(values.mean())
    half = half_width(confidence, _degrees(n, size)) * math.sqrt(variance) * abs(scale)
    fraction = slope * scale
    return Trend(fraction, fraction - half, fraction + half)


def find_shift(values: Array, shortest: int = 5) -> Shift | None:
    """A change from one level to another anywhere in the series, or None where a test finds none.

    The split with the least squared error that leaves `shortest` values on each side is tested by t, with the variance,
    effective sample size and degrees of freedom (see `fit_trend`) of the residuals from both levels. The level of the test
    is low because the split is searched for (Hawkins 1977, JASA 72, has the exact distribution for independent values).
    Levels must be positive. A change within the last steps of a series is not found. Fewer than 40 values: None, because
    the split that fits best also takes slow noise for a change there; a change in their middle shows as a trend.
    """
    n = len(values)
    if n < 8 * shortest:
        return None
    cut = _best_split(values, shortest, n - shortest)
    first, second = values[:cut], values[cut:]
    residuals = np.concatenate([first - first.mean(), second - second.mean()])
    size = effective_sample_size(residuals, fitted=2)
    tau = n / size
    variance = float(residuals @ residuals) / (n - 2 * tau)
    error = math.sqrt(variance * (min(1.0, tau / cut) + min(1.0, tau / (n - cut))))
    difference = float(second.mean() - first.mean())
    p_value = two_sided_p(difference / error, _degrees(n, size)) if error > 0 else float(difference == 0)
    if p_value >= SHIFT_LEVEL:
        return None
    return Shift(cut, difference / float(first.mean()), p_value)


def lacks_level(n: int, n_effective: float) -> bool:
    """Whether a series of n values, worth `n_effective` independent ones, holds no level at all: it moves about so slowly
    that its mean says where the window was taken, and an interval for it would be beside the point.

    True when n_eff is a fortieth of n or less (neighbours correlated above 0.95), for 80 values or more; shorter series
    cannot tell this from slow noise.
    """
    return n >= _WANDERING_LENGTH and n_effective <= n * _WANDERING_FRACTION


def wanders(values: Array) -> bool:
    """Whether the series lacks a level (see `lacks_level`).

    It need not have a trend: it may sink and rise again, and a fitted line would miss it.
    """
    return lacks_level(len(values), effective_sample_size(values))


def _degrees(n: int, size: float) -> float:
    """Degrees of freedom of a variance from n residuals of two coefficients, worth `size` independent ones."""
    correlation = (n / size - 1) / (n / size + 1)
    return 1 / (1 / (size - 2) + 2 / (n * (1 - correlation**2)))


def _batch_means(values: Array, batch: int) -> Array:
    k = len(values) // batch
    return np.asarray(values[: k * batch].reshape(k, batch).mean(axis=1), dtype=np.float64)


def _best_split(values: Array, least: int, most: int) -> int:
    """The number of first values, `least` to `most`, whose own level reduces the squared error most."""
    n = len(values)
    counts = np.arange(least, most + 1, dtype=np.float64)
    sums = np.cumsum(values - values.mean())[least - 1 : most]
    return int(np.argmax(sums * sums / (counts * (n - counts)))) + least


def _squared_error(values: Array, shape: Array) -> float:
    """Residual sum of squares of the least-squares fit by a constant and one shape."""
    centred = values - values.mean()
    x = shape - shape.mean()
    projection = float(x @ centred)
    return max(float(centred @ centred) - projection**2 / float(x @ x), 0.0)
