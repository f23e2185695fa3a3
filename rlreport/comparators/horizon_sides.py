"""One arm along training, and two of them against each other part by part. The numbers behind `horizon`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rlreport.comparators.alignment import Places
from rlreport.comparators.arm import Metric
from rlreport.comparators.results import SteadyState
from rlreport.comparators.series import Clock, progress
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.model import Run
from rlreport.stats.autocorrelation import effective_sample_size, variance_of_mean
from rlreport.stats.ratio import LogRatio, RatioOfSums, compare_ratios, relative_influence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Causes of exclusion that a part leaves out as well; it keeps warm-up and what lies outside the common window, because
#: they are part of the course.
ONE_OFF = frozenset({"validation", "checkpoint", "restart", "stall", "partial", "no step time"})
#: About how many steps a part has at least where there are enough, and how many parts there are at most.
_STEPS_A_PART, _FEWEST_PARTS, _MOST_PARTS = 25, 3, 6
#: A part worth fewer independent steps than this has no interval.
_FEWEST_EFFECTIVE = 2.0


@dataclass(frozen=True, slots=True)
class Side:
    """One arm along training, a value a step from its first trained step to its last.

    `begin` and `end` are places along training; `time_s` and `work` those of the step, `usable` whether a part may use it;
    steps that were not logged are not usable and count as typical ones. `hours` has one value more: the time at the first
    step's beginning (0) and at each step's end. `factor` turns work a second into the metric's unit.
    """

    steps: NDArray[np.int64]
    begin: Array
    end: Array
    time_s: Array
    work: Array | None
    lengths: Array
    usable: NDArray[np.bool_]
    hours: Array
    factor: float

    def hours_at(self, place: float) -> float:
        """Hours since the beginning of the first step."""
        return self._at(place, self.hours)

    def work_at(self, place: float) -> float | None:
        """Work done since the beginning of the first step, None where it is not known."""
        import numpy as np

        return None if self.work is None else self._at(place, np.concatenate([[0.0], np.cumsum(self.work)]))

    def _at(self, place: float, totals: Array) -> float:
        import numpy as np

        return float(np.interp(place, np.concatenate([self.begin[:1], self.end]), totals))

    def mean_length(self, begin: float, end: float) -> float | None:
        """Mean response length between two places, None where it is not logged."""
        import numpy as np

        known = self.lengths[self.within(begin, end) & np.isfinite(self.lengths)]
        return float(known.mean()) if known.size else None

    def within(self, begin: float, end: float) -> NDArray[np.bool_]:
        """Which steps have their middle between two places."""
        middle = (self.begin + self.end) / 2
        return (middle > begin) & (middle <= end)


def common_clock(runs: Sequence[Run]) -> Clock:
    """The clock that all runs have: the wall clock, or else the sum of step times."""
    found = [progress(run) for run in runs]
    return "wall clock" if all(one is not None and one.clock == "wall clock" for one in found) else "sum of step times"


def make_side(run: Run, window: SteadyState, places: Places, metric: Metric, clock: Clock) -> Side:
    """An arm on the common axis; the run has a step with a time."""
    import numpy as np

    logged = np.asarray(run.steps.index, dtype=np.int64)
    trained = np.asarray(run.trained_steps.index, dtype=np.int64)
    steps = np.arange(trained[0], trained[-1] + 1)
    rows = np.searchsorted(logged, steps)
    present = np.isin(steps, trained)
    rows = np.where(present, rows, 0)

    def column(name: str) -> Array:
        return np.where(present, column_array(run, name)[rows], np.nan)

    time_s = column("time.step_s")
    left_out = [exclusion.step for exclusion in window.excluded if exclusion.reason in ONE_OFF]
    usable = present & np.isfinite(time_s) & (time_s > 0) & ~np.isin(steps, left_out)
    work = np.where(present, 1.0, np.nan) if metric.work == "steps" else column(f"work.{metric.work}")
    known = np.isfinite(work) & (work > 0)
    usable &= known if bool(known[usable].any()) else usable
    time_s = _filled(time_s)
    return Side(
        steps=steps,
        begin=np.array([places.begin.get(int(step), step - 1.0) for step in steps]),
        end=np.array([places.end.get(int(step), float(step)) for step in steps]),
        time_s=time_s,
        work=_filled(work) if bool(known.any()) else None,
        lengths=column("length.response_mean"),
        usable=usable,
        hours=_hours(run, steps, time_s, clock),
        factor=metric.scale / (run.devices.total or 1) if metric.per_device else metric.scale,
    )


def _filled(values: Array) -> Array:
    import numpy as np

    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, known.mean() if known.size else 0.0)


def hours_by_step(run: Run, clock: Clock) -> dict[int, float]:
    """Hours from the beginning of the first trained step to the end of each; without a wall clock, sums of step times."""
    found = progress(run)
    if found is None:
        return {}
    if found.clock == clock:
        return dict(zip(found.steps, found.hours, strict=True))
    seconds = run.trained_steps["time.step_s"].cumsum()
    return {step: float(total) / 3600 for step, total in zip(found.steps, seconds, strict=True)}


def _hours(run: Run, steps: NDArray[np.int64], time_s: Array, clock: Clock) -> Array:
    import numpy as np

    if clock == "wall clock":
        found = hours_by_step(run, clock)
        return np.concatenate([[0.0], np.interp(steps, list(found), list(found.values()))])
    return np.concatenate([[0.0], np.cumsum(time_s) / 3600])


def edges_along(begin: float, end: float, steps: int) -> tuple[float, ...]:
    """Places that part training from `begin` to `end` into equal parts of a round length; `steps` is how many steps it has.

    At most six parts of about 25 steps or more; a last part of less than half the length is added to the one before.
    """
    parts = min(max(steps // _STEPS_A_PART, _FEWEST_PARTS), _MOST_PARTS) if steps >= 2 * _FEWEST_PARTS else max(steps, 1)
    width = _round_width((end - begin) / parts, whole=end - begin >= steps)
    edges = [begin]
    place = math.floor(begin / width + 1 + 1e-9) * width
    while place < end - width / 2:
        if place - begin >= width / 2:
            edges.append(place)
        place += width
    return (*edges, end)


def _round_width(least: float, *, whole: bool) -> float:
    """The smallest round length that is not below; whole numbers only, where asked for."""
    power = 10.0 ** math.floor(math.log10(least))
    widths = [power * factor for factor in (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)]
    return next(w for w in widths if w >= least * (1 - 1e-9) and not (whole and w != round(w)))


def part_ratios(sides: Sequence[Side], edges: Sequence[float]) -> list[tuple[float | None, LogRatio | None]]:
    """For each part the ratio of work a second, variant over baseline, and that with its error where it has one.

    The dependence between steps is estimated from all parts together, as deviations from each part's own ratio, and so holds
    in parts too short to tell it; the spread is the part's own.
    """
    parts = [[_part(side, begin, end) for begin, end in pairwise(edges)] for side in sides]
    taus = [_tau([one for one in side_parts if one is not None]) for side_parts in parts]
    found: list[tuple[float | None, LogRatio | None]] = []
    for pair in zip(*parts, strict=True):
        if pair[0] is None or pair[1] is None:
            found.append((None, None))
            continue
        factor = sides[1].factor / sides[0].factor
        rates = [float(work.sum() / time.sum()) for work, time in (pair[0], pair[1])]
        value = rates[1] / rates[0] * factor
        measured = [_measured(work, time, tau) for (work, time), tau in zip((pair[0], pair[1]), taus, strict=True)]
        if measured[0] is None or measured[1] is None:
            found.append((value, None))
            continue
        ratio = compare_ratios(measured[0], measured[1])
        found.append((value, LogRatio(value, ratio.error, ratio.degrees)))
    return found


def _part(side: Side, begin: float, end: float) -> tuple[Array, Array] | None:
    rows = side.within(begin, end) & side.usable
    return None if side.work is None or not rows.any() else (side.work[rows], side.time_s[rows])


def _tau(parts: Sequence[tuple[Array, Array]]) -> float:
    """How many steps are worth one independent step, by the deviations within parts."""
    import numpy as np

    long = [relative_influence(work, time) for work, time in parts if len(work) >= FEWEST_STEPS]
    if not long:
        return 1.0
    values = np.concatenate(long)
    return len(values) / effective_sample_size(values, fitted=len(long))


def _measured(work: Array, time: Array, tau: float) -> RatioOfSums | None:
    n = len(work)
    n_effective = n / tau
    if n < FEWEST_STEPS or n_effective < _FEWEST_EFFECTIVE:
        return None
    error = math.sqrt(variance_of_mean(relative_influence(work, time), n_effective))
    return RatioOfSums(float(work.sum() / time.sum()), error, n, n_effective)
