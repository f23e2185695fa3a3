"""What it took to reach a target of training quality, in samples, hours and device-hours; censored where it was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.alignment import prompts_a_step
from rlreport.comparators.horizon_sides import common_clock, hours_by_step
from rlreport.comparators.quality_values import EVALUATED
from rlreport.comparators.series import Clock, progress
from rlreport.comparators.window import column_array
from rlreport.run.diagnostics import Notice
from rlreport.run.format import number, plural
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.crossing import first_crossing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A metric that every step logs has reached the target when the mean of this many steps in a row has: one lucky batch is
#: no level.
STEPS_IN_A_ROW = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """What had been spent at a moment of a run, since the beginning of its first training step; None where not known."""

    step: int
    samples: float | None
    hours: float
    device_hours: float | None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """Whether and when one run reached the target.

    `at` is the cost by interpolation between the measurements `after` and `by`: the last below the target and the first at
    or above it. All three are None where the target was not reached: then the run is censored at `end`, and what it would
    have taken is more than that. `held` says whether the mean of all measurements from the first at the target on is at the
    target too. `best` is the largest measurement, `measurements` their number.
    """

    run_id: str
    label: str
    metric: str
    target: float
    reached: bool
    at: Cost | None
    after: Cost | None
    by: Cost | None
    end: Cost
    held: bool | None
    best: float
    measurements: int
    clock: Clock


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Two runs on their way to the same target.

    Ratios are the baseline's cost over the variant's, so above 1 the variant needs less. Where only one arm reached the
    target a ratio is a bound: `bound` says "at least" (the baseline did not reach it) or "at most" (the variant did not).
    None where neither did, or where the cost is not known. There is no interval: each run reaches a target once.
    """

    baseline: TargetResult
    variant: TargetResult
    samples_ratio: float | None
    hours_ratio: float | None
    device_hours_ratio: float | None
    bound: str | None
    notices: tuple[Notice, ...] = ()


def reach_target(run: Run, metric: str, target: float, clock: Clock | None = None) -> TargetResult | None:
    """When a run first reached a target of a metric in which more is better; None when it has no measurement of it.

    Of accuracy: the first evaluation at or above the target after the start of training, its cost interpolated along the
    straight line from the evaluation before. Of metrics that every step logs: the end of the first ten steps whose mean is
    at or above it. The first moment is early by luck where measurements are noisy; `held` tells whether it lasted.
    """
    import numpy as np

    spent = progress(run)
    values = column_array(run, metric)
    if spent is None:
        return None
    steps = np.asarray(run.steps.index, dtype=np.int64)
    rows = np.flatnonzero(np.isfinite(values) & np.isin(steps, spent.steps))
    if not rows.size:
        return None
    in_a_row = 1 if metric in EVALUATED else STEPS_IN_A_ROW
    measured = steps[rows]
    costs = _Costs(run, clock or spent.clock)
    crossing = first_crossing(values[rows], target, in_a_row)
    at = after = by = None
    if crossing is not None:
        last = crossing.index + in_a_row - 1
        by = costs.at(float(measured[last]))
        at = by
        if in_a_row == 1 and crossing.index > 0:
            before = float(measured[crossing.index - 1])
            after = costs.at(before)
            at = costs.at(before + crossing.fraction * (float(measured[crossing.index]) - before))
    return TargetResult(
        run_id=run.run_id,
        label=run.label,
        metric=metric,
        target=target,
        reached=crossing is not None,
        at=at,
        after=after,
        by=by,
        end=costs.at(float(spent.steps[-1])),
        held=None if crossing is None else crossing.held,
        best=float(values[rows].max()),
        measurements=int(rows.size),
        clock=costs.clock,
    )


def compare_targets(baseline: Run, variant: Run, *, metric: str, target: float) -> TargetComparison | None:
    """Compare what both arms spent until they reached a target; None where an arm has no measurement of the metric."""
    clock = common_clock((baseline, variant))
    found = [reach_target(run, metric, target, clock) for run in (baseline, variant)]
    first, second = found
    if first is None or second is None:
        return None
    costs = [one.at if one.at is not None else one.end for one in (first, second)]
    either = first.reached or second.reached
    bound = None if first.reached == second.reached else "at most" if first.reached else "at least"
    return TargetComparison(
        baseline=first,
        variant=second,
        samples_ratio=_over(costs[0].samples, costs[1].samples) if either else None,
        hours_ratio=_over(costs[0].hours, costs[1].hours) if either else None,
        device_hours_ratio=_over(costs[0].device_hours, costs[1].device_hours) if either else None,
        bound=bound,
        notices=tuple(_notices(first, second)),
    )


class _Costs:
    """What a run had spent at any step, by interpolation between its logged steps."""

    def __init__(self, run: Run, clock: Clock) -> None:
        import numpy as np

        found = progress(run)
        assert found is not None
        self.clock = clock
        self.steps: NDArray[np.float64] = np.asarray(found.steps, dtype=np.float64)
        self.hours = np.asarray(list(hours_by_step(run, clock).values()))
        self.devices = run.devices.total
        typical = prompts_a_step(run)
        if found.prompts is not None:
            self.samples: NDArray[np.float64] | None = np.asarray(found.prompts)
        else:
            self.samples = None if typical is None else typical * self.steps

    def at(self, step: float) -> Cost:
        import numpy as np

        hours = float(np.interp(step, self.steps, self.hours))
        samples = None if self.samples is None else float(np.interp(step, self.steps, self.samples))
        return Cost(round(step), samples, hours, hours * self.devices if self.devices else None)


def _over(first: float | None, second: float | None) -> float | None:
    return first / second if first is not None and second else None


def _notices(first: TargetResult, second: TargetResult) -> list[Notice]:
    label = METRICS[first.metric].label
    notices = []
    for one in (first, second):
        if not one.reached:
            message = (
                f"{one.label} does not reach {label} {number(one.target)} in {plural(one.measurements, 'measurement')}; the "
                f"best is {number(one.best)}"
            )
            notices.append(Notice("RR476", message))
        elif one.held is False:
            message = (
                f"{one.label} reaches {label} {number(one.target)} but does not hold it: the mean of all measurements from "
                "then on is below"
            )
            notices.append(Notice("RR477", message))
    return notices
