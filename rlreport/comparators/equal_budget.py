"""Training quality at equal cost: at equal samples, at equal wall-clock hours, at equal device-hours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.alignment import align
from rlreport.comparators.horizon_sides import common_clock, hours_by_step
from rlreport.comparators.quality_values import (
    EVALUATED,
    FEWEST_EFFECTIVE,
    FEWEST_EVALUATIONS,
    LAST_EVALUATIONS,
    MetricValues,
    is_non_inferior,
    judge_difference,
    matched_difference,
)
from rlreport.comparators.results import QualityVerdict
from rlreport.comparators.series import Clock
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.estimate import Estimate
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.means import Mean, difference_of_means, mean_about_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Basis = Literal["samples", "hours", "device-hours"]
BASES: tuple[Basis, ...] = ("samples", "hours", "device-hours")

#: Of metrics that every step logs, this last part of the budget is averaged.
LAST_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Budget:
    """One metric in both arms when both have spent the same: prompts (or steps), hours or device-hours.

    `budget` is what both have spent, in `unit`: the smaller of both arms' totals, counted from the beginning of the first
    training step. `step_*` is the last step within it. Values are means over the last fifth of the budget, of accuracy over
    the last evaluations within it (`counts` of them). `clock` says what hours are made of. Verdict and `non_inferior` as in
    `quality.compare_quality`.
    """

    basis: Basis
    metric: str
    budget: float
    unit: str
    clock: Clock
    step_baseline: int
    step_variant: int
    counts: tuple[int, int]
    baseline: Estimate
    variant: Estimate
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    margin: float | None
    verdict: QualityVerdict
    non_inferior: bool | None


def compare_at_equal_cost(
    baseline: Run, variant: Run, *, metric: str, margin: float | None = None, comparable: bool = True
) -> tuple[Budget, ...]:
    """Compare a quality metric when both arms have trained on equally many samples, and have cost equally much.

    A faster arm has trained on more samples in the same hours, one of fewer devices longer in the same device-hours; so the
    three answers differ, and which one counts is a question of what is scarce. Bases that the runs do not tell are left out.
    """
    import numpy as np

    runs = (baseline, variant)
    if any(run.trained_steps.empty or not bool(np.isfinite(column_array(run, metric)).any()) for run in runs):
        return ()
    clock = common_clock(runs)
    found = []
    for basis in BASES:
        spent = _spent(runs, basis, clock)
        if spent is not None:
            found.append(_compare(runs, spent, basis, clock, metric, margin, comparable=comparable))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Spent:
    """What each arm had spent by the end of each trained step, as step -> total; and the unit."""

    totals: tuple[dict[int, float], dict[int, float]]
    unit: str


def _spent(runs: tuple[Run, Run], basis: Basis, clock: Clock) -> _Spent | None:
    if basis == "samples":
        aligned = align(runs)
        trained = [[int(step) for step in run.trained_steps.index] for run in runs]
        ends = [{s: places.end[s] for s in steps} for places, steps in zip(aligned.places, trained, strict=True)]
        return _Spent((ends[0], ends[1]), aligned.unit)
    devices = [run.devices.total for run in runs]
    if basis == "device-hours" and not all(devices):
        return None
    totals = [hours_by_step(run, clock) for run in runs]
    if basis == "device-hours":
        totals = [{s: h * (n or 0) for s, h in hours.items()} for hours, n in zip(totals, devices, strict=True)]
    return _Spent((totals[0], totals[1]), basis)


def _compare(
    runs: tuple[Run, Run], spent: _Spent, basis: Basis, clock: Clock, metric: str, margin: float | None, *, comparable: bool
) -> Budget:
    budget = min(max(totals.values()) for totals in spent.totals)
    values = [_within(run, totals, budget, metric) for run, totals in zip(runs, spent.totals, strict=True)]
    chosen = _last(values, spent.totals, budget, metric)
    evaluated = metric in EVALUATED
    fewest = FEWEST_EVALUATIONS if evaluated else FEWEST_STEPS
    means = [_mean(one, independent=evaluated, fewest=fewest) for one in chosen]
    unit = METRICS[metric].unit
    last = [max((s for s, total in totals.items() if total <= budget * (1 + 1e-9)), default=0) for totals in spent.totals]
    result = Budget(
        basis=basis,
        metric=metric,
        budget=budget,
        unit=spent.unit,
        clock=clock,
        step_baseline=last[0],
        step_variant=last[1],
        counts=(len(chosen[0].steps), len(chosen[1].steps)),
        baseline=chosen[0].estimate(means[0], unit),
        variant=chosen[1].estimate(means[1], unit),
        difference=None,
        ci_low=None,
        ci_high=None,
        margin=margin,
        verdict="insufficient-data" if comparable else "not-comparable",
        non_inferior=None,
    )
    if means[0] is None or means[1] is None:
        return result
    matched = matched_difference(runs, (chosen[0], chosen[1])) if basis == "samples" and not evaluated else None
    difference = matched or difference_of_means(means[0], means[1])
    low, high = difference.interval()
    enough = evaluated or difference.degrees >= FEWEST_EFFECTIVE - 1
    return replace(
        result,
        difference=difference.value,
        ci_low=low,
        ci_high=high,
        verdict=judge_difference(metric, difference, margin) if comparable and enough else result.verdict,
        non_inferior=is_non_inferior(metric, difference, margin),
    )


def _mean(values: MetricValues, *, independent: bool, fewest: int) -> Mean | None:
    """The mean with its error; of every step's values about a line, since what is learned meanwhile is no noise."""
    if independent or len(values.steps) < fewest:
        return values.mean(independent=independent, fewest=fewest)
    return mean_about_line(values.values)


def _within(run: Run, totals: dict[int, float], budget: float, metric: str) -> MetricValues:
    """The metric's values at trained steps within the budget."""
    import numpy as np

    values = column_array(run, metric)
    steps = [int(step) for step in run.steps.index]
    rows = [
        place
        for place, step in enumerate(steps)
        if np.isfinite(values[place]) and totals.get(step, np.inf) <= budget * (1 + 1e-9)
    ]
    return MetricValues(tuple(steps[place] for place in rows), values[rows])


def _last(
    values: list[MetricValues], totals: tuple[dict[int, float], dict[int, float]], budget: float, metric: str
) -> list[MetricValues]:
    """The values of the last part of the budget, the same part in both arms; the sparser evaluations decide its length."""
    start = (1 - LAST_SHARE) * budget
    if metric in EVALUATED:
        starts = [
            spent[one.steps[-min(LAST_EVALUATIONS, len(one.steps))]] if one.steps else budget
            for one, spent in zip(values, totals, strict=True)
        ]
        start = min(starts) * (1 - 1e-9)
    chosen = []
    for one, spent in zip(values, totals, strict=True):
        first = next((place for place, step in enumerate(one.steps) if spent[step] >= start), len(one.steps))
        chosen.append(MetricValues(one.steps[first:], one.values[first:]))
    return chosen
