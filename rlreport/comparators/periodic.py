"""Bubbles that come back every so many steps, and what in the schedule has the same period."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from rlreport.comparators.cycles_events import seconds_of
from rlreport.comparators.window import column_array
from rlreport.run.model import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Timers that happen in some steps only, with what they are called and the configuration keys that set their period.
SCHEDULED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("time.validate_s", "validation", ("trainer.test_freq", "rollout.test_freq")),
    ("time.checkpoint_s", "checkpoint", ("trainer.save_freq",)),
)
#: So many times a bubble must come back to have a period.
FEWEST_TIMES = 3
#: A period found in a series explains at least this share of its variance.
EXPLAINED = 0.5
#: And its steps stand out from the others by this many times their usual spread.
STANDS_OUT = 4.0
#: What takes less than this share of all time is not worth a sentence.
SMALLEST_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class PeriodicBubble:
    """A bubble that comes back every `period` steps, first in `first_step`.

    `cause` is "validation", "checkpoint" or "unknown"; `seconds` what it takes each time (the median); `share` its share of
    the wall time from the first to the last step. `tied_to` is the configuration that has the same period, empty where none
    has.
    """

    period: int
    first_step: int
    times: int
    cause: str
    seconds: float
    share: float
    tied_to: str


def find_periodic(run: Run) -> tuple[PeriodicBubble, ...]:
    """Bubbles with a period, the largest share first.

    Scheduled phases are looked for by the steps that time them. What else comes back in step times is found by folding them
    at every trial period (epoch folding: Leahy and others, Astrophysical Journal 266, 1983): the period of which one phase
    explains most of the variance.
    """
    wall_s = _wall_s(run)
    if not wall_s:
        return ()
    scheduled = [found for row in SCHEDULED if (found := _scheduled(run, row, wall_s)) is not None]
    other = _folded(run, scheduled, wall_s)
    every = [*scheduled, *([other] if other is not None else [])]
    worth = [found for found in every if found.share >= SMALLEST_SHARE]
    return tuple(sorted(worth, key=lambda found: (-found.share, found.period)))


def _wall_s(run: Run) -> float:
    """All time that the log accounts for: steps and what lies outside of them."""
    import numpy as np

    outside = [phase for phase in run.semantics.excludes if run.metric(phase) is not None]
    return float(sum(np.nansum(column_array(run, name)) for name in ("time.step_s", *outside)))


def _scheduled(run: Run, row: tuple[str, str, tuple[str, ...]], wall_s: float) -> PeriodicBubble | None:
    metric, cause, keys = row
    seconds = {step: value for step, value in seconds_of(run, metric).items() if step > 0 < value}
    if len(seconds) < FEWEST_TIMES:
        return None
    steps = sorted(seconds)
    gaps = [later - before for before, later in itertools.pairwise(steps)]
    period = max(set(gaps), key=lambda gap: (gaps.count(gap), -gap))
    if gaps.count(period) < max(FEWEST_TIMES - 1, len(gaps) - 1):
        return None
    typical = median(seconds.values())
    return PeriodicBubble(
        period, steps[0], len(steps), cause, typical, math.fsum(seconds.values()) / wall_s, _tied(run, keys, period)
    )


def _tied(run: Run, keys: Sequence[str], period: int) -> str:
    """The first of some keys that is set to the period, as "key = value"."""
    for key in keys:
        value = run.value(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == period:
            return f"{key} = {period}"
    return ""


def _folded(run: Run, scheduled: Sequence[PeriodicBubble], wall_s: float) -> PeriodicBubble | None:
    """A period of the step times that no scheduled phase has, after these are taken out."""
    import numpy as np

    step_s = column_array(run, "time.step_s")
    known = np.isfinite(step_s)
    steps, values = np.asarray(run.steps.index, np.int64)[known], step_s[known].copy()
    for metric in (metric for metric, _, _ in SCHEDULED if metric in run.semantics.contains):
        values -= np.nan_to_num(column_array(run, metric)[known])
    if len(values) < 4 * FEWEST_TIMES:
        return None
    found = best_period(steps, values)
    if found is None or any(found.period % other.period == 0 for other in scheduled):
        return None
    extra = found.extra
    return PeriodicBubble(
        found.period,
        found.first_step,
        found.times,
        "unknown",
        extra,
        extra * found.times / wall_s,
        _tied(run, [key for key in run.config if key.endswith(("_freq", "_interval", "_steps"))], found.period),
    )


@dataclass(frozen=True, slots=True)
class Fold:
    """Steps of one phase of a period stand out: how often, from which step on, by how much on average."""

    period: int
    first_step: int
    times: int
    extra: float


def best_period(steps: NDArray[np.int64], values: Array) -> Fold | None:
    """The smallest period of which one phase stands out from all others and explains most of the variance; None without one.

    A slow drift is taken out first (a running median over two of the longest periods), so that it is no period.
    """
    import numpy as np

    longest = len(values) // FEWEST_TIMES
    detrended = values - _running_median(values, max(2 * longest // 2 + 1, 5))
    total = float(np.square(detrended - detrended.mean()).sum())
    if total <= 0:
        return None
    best: tuple[float, Fold] | None = None
    for period in range(2, longest + 1):
        for phase in range(period):
            mine = (steps - steps[0]) % period == phase
            if mine.sum() < FEWEST_TIMES:
                continue
            inside, outside = detrended[mine], detrended[~mine]
            extra = float(inside.mean() - outside.mean())
            explained = extra**2 * len(inside) * len(outside) / len(detrended) / total
            if extra <= 0 or explained < EXPLAINED or float(inside.min()) <= outside.mean():
                continue
            spread = float(np.median(np.abs(outside - np.median(outside)))) * 1.4826
            if extra > STANDS_OUT * spread:
                fold = Fold(period, int(steps[mine][0]), int(mine.sum()), extra)
                if best is None or explained > best[0] + 0.02:
                    best = (explained, fold)
    return None if best is None else best[1]


def _running_median(values: Array, width: int) -> Array:
    import numpy as np

    half = width // 2
    padded = np.pad(values, half, mode="reflect" if half < len(values) else "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    return np.asarray(np.median(windows, axis=1), np.float64)
