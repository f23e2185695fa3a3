"""What training quality did meanwhile: reward, accuracy and response length at equal training, with margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rlreport.comparators.quality_values import (
    EVALUATED,
    FEWEST_EFFECTIVE,
    FEWEST_EVALUATIONS,
    LAST_EVALUATIONS,
    NEUTRAL,
    MetricValues,
    is_non_inferior,
    judge_difference,
    matched_difference,
)
from rlreport.comparators.results import QualityComparison, QualityVerdict, SteadyState
from rlreport.comparators.volatility import compare_volatility
from rlreport.comparators.window import FEWEST_STEPS, column_array, mean_over
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.format import number, plural, ratio, ratio_interval
from rlreport.run.format import steps as format_steps
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.decisions import excludes
from rlreport.stats.means import difference_of_means


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric over a run: its first and last logged values with their steps, and a mean of what `mean_of` names."""

    first: float
    first_step: int
    last: float
    last_step: int
    mean: float | None
    mean_of: str
    unit: str


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """Quality of one run; None for what it does not log."""

    reward_mean: MetricSummary | None
    score_mean: MetricSummary | None
    accuracy: MetricSummary | None
    response_length_mean: MetricSummary | None
    entropy: MetricSummary | None


def summarise_quality(run: Run, window: SteadyState) -> QualitySummary:
    """First, last and mean values: the mean over the window's steps, of accuracy over the last evaluations."""
    return QualitySummary(
        reward_mean=_summary(run, window, "quality.reward_mean"),
        score_mean=_summary(run, window, "quality.score_mean"),
        accuracy=_summary(run, window, "quality.accuracy"),
        response_length_mean=_summary(run, window, "length.response_mean"),
        entropy=_summary(run, window, "quality.entropy"),
    )


def compare_quality(
    baseline: Run,
    variant: Run,
    window_b: SteadyState,
    window_v: SteadyState,
    *,
    metric: str,
    margin: float | None = None,
    comparable: bool = True,
) -> QualityComparison:
    """Variant minus baseline of one metric at equal training, in the metric's unit.

    Of metrics that every step logs: the means of all logged steps between first and last of each arm's window (also of
    steps whose time is excluded: a checkpoint does not spoil a reward). Where the steps of both arms correspond, the
    interval comes from step-by-step differences, in which a common learning curve cancels. Of accuracy: the means of the
    last `LAST_EVALUATIONS` evaluations before the end of the window and after the start of training, over the same part of
    training in both arms, taken as independent.

    Verdict with a margin (the smallest difference that matters): "equivalent" when the 90 % interval lies within the
    margins (equivalence at the 5 % level); "better" or "worse" when the 95 % interval excludes 0 and the estimate is at or
    beyond a margin; else "inconclusive". Without a margin nothing is called equivalent, and any interval that excludes 0
    decides. Metrics of which more is neither good nor bad (response length) are "equivalent" or "inconclusive"; a notice
    tells the difference. An absence of significance is never called unchanged.
    """
    unit = METRICS[metric].unit
    unknown = Estimate.unknown(unit)
    fallback: QualityVerdict = "insufficient-data" if comparable else "not-comparable"
    result = QualityComparison(metric, unknown, unknown, None, None, None, margin, fallback, None)
    if metric in EVALUATED:
        arms, notices = _evaluations(baseline, variant, window_b, window_v, metric)
        means = [arm.mean(independent=True, fewest=FEWEST_EVALUATIONS) for arm in arms]
        matched = None
    else:
        arms, notices = (_within_window(baseline, window_b, metric), _within_window(variant, window_v, metric)), []
        means = [arm.mean(independent=False, fewest=FEWEST_STEPS) for arm in arms]
        matched = matched_difference((baseline, variant), arms)
    result = replace(result, baseline=arms[0].estimate(means[0], unit), variant=arms[1].estimate(means[1], unit))
    if means[0] is None or means[1] is None:
        what = "evaluation" if metric in EVALUATED else "step"
        counts = " and ".join(str(len(arm.steps)) for arm in arms)
        notices.append(Notice("RR471", f"{METRICS[metric].label}: {counts} {what}s in the arms, too few for an interval"))
        return replace(result, notices=tuple(notices))
    difference = matched or difference_of_means(means[0], means[1])
    low, high = difference.interval()
    result = replace(
        result,
        difference=difference.value,
        ci_low=low,
        ci_high=high,
        p_value=difference.p_value,
        non_inferior=is_non_inferior(metric, difference, margin),
    )
    if comparable and not (metric not in EVALUATED and difference.degrees + 1 < FEWEST_EFFECTIVE):
        result = replace(result, verdict=judge_difference(metric, difference, margin))
    notices.extend(_margin_notices(metric, result, unit))
    result = replace(result, notices=tuple(notices))
    return result if metric in EVALUATED else _with_volatility(result, arms)


def _margin_notices(metric: str, result: QualityComparison, unit: str) -> list[Notice]:
    """What the interval says beside the verdict: a neutral difference, and "not worse by more than the margin"."""
    low, high, margin = result.ci_low, result.ci_high, result.margin
    if result.difference is None or low is None or high is None:
        return []
    label, suffix = METRICS[metric].label, f" {unit}" if unit else ""
    notices: list[Notice] = []
    if metric in NEUTRAL and excludes((low, high), 0.0):
        more = "more" if result.difference > 0 else "less"
        message = (
            f"{label}: {number(abs(result.difference))}{suffix} {more} in the variant, neither better nor worse in itself"
        )
        notices.append(Notice("RR472", message))
    if margin is not None and metric not in NEUTRAL and result.verdict == "inconclusive":
        if result.non_inferior:
            message = f"{label}: not worse by more than the margin of {number(margin)}, but not shown to be equivalent"
        else:
            message = f"{label}: the interval reaches beyond the margin of {number(margin)}: it is not shown to be unchanged"
        notices.append(Notice("RR473", message))
    return notices


def _within_window(run: Run, window: SteadyState, metric: str) -> MetricValues:
    import numpy as np

    values = column_array(run, metric)
    steps = np.asarray(run.steps.index)
    rows = np.isfinite(values)
    if window.first_step is None or window.last_step is None:
        rows[:] = False
    else:
        rows &= (steps >= window.first_step) & (steps <= window.last_step)
    return MetricValues(tuple(int(step) for step in steps[rows]), values[rows])


def _evaluations(
    baseline: Run, variant: Run, window_b: SteadyState, window_v: SteadyState, metric: str
) -> tuple[tuple[MetricValues, MetricValues], list[Notice]]:
    """The last evaluations of both arms over the same part of training, which the sparser arm decides."""
    arms = [_trained_values(run, window, metric) for run, window in ((baseline, window_b), (variant, window_v))]
    ends = [window.last_step or 1 for window in (window_b, window_v)]
    starts = [
        arm.steps[-min(LAST_EVALUATIONS, len(arm.steps))] / end if arm.steps else 0.0
        for arm, end in zip(arms, ends, strict=True)
    ]
    start = min(starts)
    chosen: list[MetricValues] = []
    for arm, end in zip(arms, ends, strict=True):
        first = next((i for i, step in enumerate(arm.steps) if step / end >= start - 1e-9), 0)
        chosen.append(MetricValues(arm.steps[first:], arm.values[first:]))
    which = " and ".join(f"{plural(len(arm.steps), 'evaluation')} (steps {format_steps(arm.steps)})" for arm in chosen)
    notice = Notice(
        "RR474", f"{METRICS[metric].label}: mean of the last {which} of baseline and variant, not the best of them"
    )
    return (chosen[0], chosen[1]), [notice] if all(arm.steps for arm in chosen) else []


def _trained_values(run: Run, window: SteadyState, metric: str) -> MetricValues:
    """Evaluations after the start of training and not after the window's end."""
    import numpy as np

    values = column_array(run, metric)
    steps = np.asarray(run.steps.index)
    trained = run.trained_steps.index
    rows = np.isfinite(values)
    if window.last_step is None or not len(trained):
        rows[:] = False
    else:
        rows &= (steps >= max(1, int(trained[0]))) & (steps <= window.last_step)
    return MetricValues(tuple(int(step) for step in steps[rows]), values[rows])


def _with_volatility(result: QualityComparison, arms: Sequence[MetricValues]) -> QualityComparison:
    """The result with the ratio of both arms' robust step-to-step volatility, where the series are long enough."""
    found = compare_volatility(arms[0].values, arms[1].values)
    if found.estimate is None:
        return result
    result = replace(result, volatility_ratio=found.estimate, volatility_low=found.ci_low, volatility_high=found.ci_high)
    if found.ci_low is None or found.ci_high is None:
        return result
    sure = "" if excludes((found.ci_low, found.ci_high), 1.0) else ": no difference shown"
    message = (
        f"{METRICS[result.metric].label}: step-to-step volatility {ratio(found.estimate)} that of the baseline "
        f"(95 % interval {ratio_interval(found.ci_low, found.ci_high)}){sure}"
    )
    return replace(result, notices=(*result.notices, Notice("RR475", message)))


def _summary(run: Run, window: SteadyState, metric: str) -> MetricSummary | None:
    import numpy as np

    values = column_array(run, metric)
    places = np.flatnonzero(np.isfinite(values))
    if not places.size:
        return None
    steps = run.steps.index
    first, last = int(places[0]), int(places[-1])
    if metric in EVALUATED:
        chosen = places[-LAST_EVALUATIONS:]
        mean: float | None = float(values[chosen].mean())
        mean_of = f"the last {plural(len(chosen), 'evaluation')}"
    else:
        mean = mean_over(run, metric, window.kept)
        mean_of = f"the {plural(window.n, 'step')} of the window"
    return MetricSummary(
        float(values[first]), int(steps[first]), float(values[last]), int(steps[last]), mean, mean_of, METRICS[metric].unit
    )
