"""Robust scale, volatility, one-off stalls and unusual first values: what a few wild steps must not own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlreport.stats.autocorrelation import Array

#: Makes the median absolute deviation estimate the standard deviation of normal values (1 / Phi^-1(3/4)).
MAD_TO_SIGMA = 1.482602218505602


def robust_sigma(values: Array) -> float:
    """Standard deviation by the median absolute deviation from the median, in the unit of the values.

    1.4826 x MAD estimates sigma for normal values and is moved by less than half of the values being wild (Hampel 1974,
    JASA 69).
    """
    return MAD_TO_SIGMA * float(np.median(np.abs(values - np.median(values))))


def volatility(values: Array) -> float:
    """Robust step-to-step volatility of a series in time order: 1.4826 MAD(first differences) / sqrt(2).

    Differencing removes the level and any trend that is slow against one step; sqrt(2) makes it sigma for independent noise
    about the trend. It falls below sigma when neighbours are positively correlated: it measures roughness, not spread.
    NaN for fewer than two values.
    """
    if len(values) < 2:
        return float("nan")
    return robust_sigma(np.diff(values)) / float(np.sqrt(2.0))


def running_median(values: Array, width: int) -> Array:
    """Median of the `width` values around each (an odd number); at the ends, of those that exist within half the width."""
    half = width // 2
    padded = np.concatenate([np.full(half, np.nan), values, np.full(half, np.nan)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    return np.asarray(np.nanmedian(windows, axis=1), dtype=np.float64)


def find_stalls(durations: Array, *, factor: float = 3.0, sigmas: float = 8.0, width: int = 41) -> NDArray[np.bool_]:
    """Mark durations that stand out so far that no noise explains them.

    A step is marked when it takes more than `factor` times the median of the `width` steps around it, and lies more than
    `sigmas` robust standard deviations (of all deviations from that running median) above it. Both together: the first keeps
    ordinary slow steps, the second keeps series that alternate between fast and slow. Only slow steps are marked.
    """
    centre = running_median(durations, width)
    deviation = durations - centre
    spread = MAD_TO_SIGMA * float(np.median(np.abs(deviation)))
    return np.asarray((durations > factor * centre) & (deviation > sigmas * spread), dtype=np.bool_)


def count_unusual_start(
    logs: Array, *, most: int = 5, reference: int = 30, sigmas: float = 5.0, smallest: float = 0.1
) -> int:
    """How many first values in a row differ from those that follow: 0 up to `most`.

    A value is unusual when it lies more than `sigmas` robust standard deviations, and more than `smallest`, from the median
    of the `reference` values after it. `logs` are natural logarithms, so 0.1 is 10 %. Either direction counts: kernels that
    compile make the first steps slow, an inventory of prefetched samples makes them fast. At least eight values must follow.
    """
    found = 0
    for index in range(min(most, len(logs) - 8)):
        after = logs[index + 1 : index + 1 + reference]
        distance = abs(float(logs[index]) - float(np.median(after)))
        if distance <= max(sigmas * robust_sigma(after), smallest):
            break
        found = index + 1
    return found
