"""When a noisy series first reaches a target, and between which measurements that happened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where a series reached a target.

    `index` is the first measurement at or above it; `fraction` how far between the measurement before (0) and this one (1)
    the straight line between them reaches the target, 1 where there is no measurement before. `held` says whether the mean
    of everything from `index` on is at or above the target too: one lucky measurement is not a level.
    """

    index: int
    fraction: float
    held: bool


def first_crossing(values: Array, target: float, run: int = 1) -> Crossing | None:
    """The first of `run` measurements in a row whose mean is at or above the target; None when it is never reached.

    Noise makes it early: the more measurements, the sooner one of them is lucky. `run` above 1 is for series that are
    measured at every step; then the crossing is told without interpolation.
    """
    n = len(values)
    if n < run:
        return None
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means = (sums[run:] - sums[:-run]) / run
    reached = np.flatnonzero(means >= target - 1e-12 * abs(target))
    if not reached.size:
        return None
    index = int(reached[0])
    fraction = 1.0
    if run == 1 and index > 0:
        before, here = float(values[index - 1]), float(values[index])
        fraction = (target - before) / (here - before)
    held = bool(values[index:].mean() >= target - 1e-12 * abs(target))
    return Crossing(index, fraction, held)
