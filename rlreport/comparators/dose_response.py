"""Waiting and accuracy of one dose, and where waiting stops falling over doses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.estimate import Estimate
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.stats.means import Mean, difference_of_means, mean_of_series
from rlreport.stats.ratio import ratio_of_sums
from rlreport.stats.stationarity import fit_trend

#: Whether a metric still changes late in training: an interval of its trend excludes no change, or does not.
Course = Literal["rising", "falling", "no-trend", "unknown"]

#: Evaluations after the start of training that are needed before their second half is judged for a trend.
_FEWEST_EVALUATIONS = 8


@dataclass(frozen=True, slots=True)
class Waiting:
    """The Trainer's waiting over a window: as a share of step time, and in seconds a step.

    `mean` is the mean of the seconds with its error, `step_s` the mean step time; None where not known.
    """

    share: Estimate
    seconds: Estimate
    mean: Mean | None
    step_s: float | None


def measure_waiting(run: Run, window: SteadyState) -> Waiting:
    """Sum of waiting over sum of step time, and mean seconds a step, with 95 % intervals by effective sample size.

    Unknown in modes where both sides share their devices, or where no timer of waiting is logged. Without intervals below
    eight steps, or when the Trainer never waits.
    """
    import numpy as np

    unknown = Waiting(Estimate.unknown(""), Estimate.unknown("s"), None, None)
    if run.mode not in SEPARATED_MODES:
        return unknown
    rows = run.steps.index.isin(window.kept)
    wait_s, step_s = column_array(run, "time.wait_s")[rows], column_array(run, "time.step_s")[rows]
    known = np.isfinite(wait_s)
    wait_s, step_s = wait_s[known], step_s[known]
    if not wait_s.size:
        return unknown
    mean_s, mean_step_s = float(wait_s.mean()), float(step_s.mean())
    share = mean_s / mean_step_s
    if wait_s.size < FEWEST_STEPS or mean_s <= 0:
        return Waiting(Estimate(share, None, None, ""), Estimate(mean_s, None, None, "s"), None, mean_step_s)
    low, high = ratio_of_sums(wait_s, step_s).interval()
    mean = mean_of_series(wait_s)
    ends = mean.interval()
    return Waiting(
        Estimate(share, low, min(high, 1.0), ""), Estimate(mean_s, max(ends[0], 0.0), ends[1], "s"), mean, mean_step_s
    )


def levels_off(waiting: Sequence[Waiting], run_ids: Sequence[str], margin: float) -> str | None:
    """The smallest dose from which on waiting falls no more: no higher dose waits less by more than `margin` of a step.

    By interval: for every higher dose the upper end of the 95 % interval of the fall lies below the margin, which is a
    fraction of the longest mean step. And the waiting of the first dose must be shown to be longer than this dose's: what
    never fell cannot stop. None where a dose is unknown, for the first and the last dose, or where this is not shown.
    """
    means = [one.mean for one in waiting]
    steps = [one.step_s for one in waiting]
    if any(mean is None for mean in means) or any(step is None for step in steps):
        return None
    known = [mean for mean in means if mean is not None]
    least_s = margin * max(step for step in steps if step is not None)
    for place in range(1, len(known) - 1):
        fell = difference_of_means(known[place], known[0])
        rest = [difference_of_means(later, known[place]) for later in known[place + 1 :]]
        if fell.interval()[0] > 0 and all(further.interval()[1] < least_s for further in rest):
            return run_ids[place]
    return None


def accuracy_course(run: Run, window: SteadyState) -> Course:
    """Whether validation accuracy still rises or falls over the second half of its evaluations up to the window's end.

    By the 95 % interval of a fitted line's change. "no-trend" means that none is shown, not that there is none.
    """
    import numpy as np

    values = column_array(run, "quality.accuracy")
    trained = run.trained_steps.index
    if window.last_step is None or not len(trained):
        return "unknown"
    steps = np.asarray(run.steps.index, dtype=np.float64)
    rows = np.isfinite(values) & (steps >= max(1, int(trained[0]))) & (steps <= window.last_step)
    values, steps = values[rows], steps[rows]
    if len(values) < _FEWEST_EVALUATIONS or float(values.mean()) <= 0:
        return "unknown"
    half = len(values) // 2
    trend = fit_trend(values[half:], steps[half:])
    if not trend.significant:
        return "no-trend"
    return "rising" if trend.fraction > 0 else "falling"
