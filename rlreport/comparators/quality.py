"""What training quality did meanwhile: reward, accuracy and response length at equal training, with margins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlreport.comparators.results import QualityComparison, QualityVerdict, SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array, mean_over
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.format import number, plural, ratio, ratio_interval
from rlreport.run.format import steps as format_steps
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.decisions import excludes, within
from rlreport.stats.means import Mean, difference_of_means, mean_of_independent, mean_of_series
from rlreport.stats.resampling import bootstrap_log_ratio
from rlreport.stats.robust import MAD_TO_SIGMA, volatility

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Metrics that are logged by evaluations now and then, not by every step.
_EVALUATED = frozenset({"quality.accuracy"})
#: Metrics in which more is neither better nor worse in itself.
_NEUTRAL = frozenset({"length.response_mean", "length.response_max", "quality.entropy", "quality.kl", "length.clip_ratio"})
#: Evaluations at the end of the common training that are averaged; the best of them would grow with their number.
LAST_EVALUATIONS = 5
#: Fewer evaluations an arm than this have no interval.
_FEWEST_EVALUATIONS = 3
#: Fewer effective steps than this carry no verdict, as for throughput.
_FEWEST_EFFECTIVE = 4.0
#: Share of each arm's steps that must have a partner before steps are matched.
_MATCHED_SHARE = 0.8
#: Fewer steps an arm than this do not show how volatile it is.
_FEWEST_FOR_VOLATILITY = 30
_SEED = 20_250_819


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


@dataclass(frozen=True, slots=True)
class _Values:
    """Finite values of a metric with their steps, ascending."""

    steps: tuple[int, ...]
    values: Array


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
    if metric in _EVALUATED:
        arms, notices = _evaluations(baseline, variant, window_b, window_v, metric)
        means = [_mean(arm, independent=True, fewest=_FEWEST_EVALUATIONS) for arm in arms]
        matched = None
    else:
        arms, notices = (_within_window(baseline, window_b, metric), _within_window(variant, window_v, metric)), []
        means = [_mean(arm, independent=False, fewest=FEWEST_STEPS) for arm in arms]
        matched = _matched_difference(baseline, variant, arms)
    result = replace(result, baseline=_estimate(arms[0], means[0], unit), variant=_estimate(arms[1], means[1], unit))
    if means[0] is None or means[1] is None:
        what = "evaluation" if metric in _EVALUATED else "step"
        counts = " and ".join(str(len(arm.steps)) for arm in arms)
        notices.append(Notice("RR471", f"{METRICS[metric].label}: {counts} {what}s in the arms, too few for an interval"))
        return replace(result, notices=tuple(notices))
    difference = matched or difference_of_means(means[0], means[1])
    low, high = difference.interval()
    result = replace(result, difference=difference.value, ci_low=low, ci_high=high)
    if comparable and not (metric not in _EVALUATED and difference.degrees + 1 < _FEWEST_EFFECTIVE):
        result = replace(result, verdict=_verdict(metric, difference, margin))
    notices.extend(_margin_notices(metric, result, unit))
    if metric not in _EVALUATED:
        found, notice = _volatility_ratio(metric, arms)
        result = replace(result, volatility_ratio=found)
        notices.extend(notice)
    return replace(result, notices=tuple(notices))


def _verdict(metric: str, difference: Mean, margin: float | None) -> QualityVerdict:
    different = excludes(difference.interval(), 0.0)
    if margin is not None and within(difference.interval(0.90), -margin, margin):
        return "equivalent"
    if metric in _NEUTRAL or not different or abs(difference.value) < (margin or 0.0):
        return "inconclusive"
    return "better" if difference.value > 0 else "worse"


def _margin_notices(metric: str, result: QualityComparison, unit: str) -> list[Notice]:
    """What the interval says beside the verdict: a neutral difference, and "not worse by more than the margin"."""
    low, high, margin = result.ci_low, result.ci_high, result.margin
    if result.difference is None or low is None or high is None:
        return []
    label, suffix = METRICS[metric].label, f" {unit}" if unit else ""
    notices: list[Notice] = []
    if metric in _NEUTRAL and excludes((low, high), 0.0):
        more = "more" if result.difference > 0 else "less"
        message = (
            f"{label}: {number(abs(result.difference))}{suffix} {more} in the variant, neither better nor worse in itself"
        )
        notices.append(Notice("RR472", message))
    if margin is not None and metric not in _NEUTRAL and result.verdict == "inconclusive":
        if low > -margin:
            message = f"{label}: not worse by more than the margin of {number(margin)}, but not shown to be equivalent"
        else:
            message = f"{label}: the interval reaches beyond the margin of {number(margin)}: it is not shown to be unchanged"
        notices.append(Notice("RR473", message))
    return notices


def _within_window(run: Run, window: SteadyState, metric: str) -> _Values:
    import numpy as np

    values = column_array(run, metric)
    steps = np.asarray(run.steps.index)
    rows = np.isfinite(values)
    if window.first_step is None or window.last_step is None:
        rows[:] = False
    else:
        rows &= (steps >= window.first_step) & (steps <= window.last_step)
    return _Values(tuple(int(step) for step in steps[rows]), values[rows])


def _evaluations(
    baseline: Run, variant: Run, window_b: SteadyState, window_v: SteadyState, metric: str
) -> tuple[tuple[_Values, _Values], list[Notice]]:
    """The last evaluations of both arms over the same part of training, which the sparser arm decides."""
    arms = [_trained_values(run, window, metric) for run, window in ((baseline, window_b), (variant, window_v))]
    ends = [window.last_step or 1 for window in (window_b, window_v)]
    starts = [
        arm.steps[-min(LAST_EVALUATIONS, len(arm.steps))] / end if arm.steps else 0.0
        for arm, end in zip(arms, ends, strict=True)
    ]
    start = min(starts)
    chosen: list[_Values] = []
    for arm, end in zip(arms, ends, strict=True):
        first = next((i for i, step in enumerate(arm.steps) if step / end >= start - 1e-9), 0)
        chosen.append(_Values(arm.steps[first:], arm.values[first:]))
    which = " and ".join(f"{plural(len(arm.steps), 'evaluation')} (steps {format_steps(arm.steps)})" for arm in chosen)
    notice = Notice("RR474", f"{METRICS[metric].label}: mean of the last {which} of baseline and variant, not the best of them")
    return (chosen[0], chosen[1]), [notice] if all(arm.steps for arm in chosen) else []


def _trained_values(run: Run, window: SteadyState, metric: str) -> _Values:
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
    return _Values(tuple(int(step) for step in steps[rows]), values[rows])


def _mean(arm: _Values, *, independent: bool, fewest: int) -> Mean | None:
    if len(arm.steps) < fewest:
        return None
    return mean_of_independent(arm.values) if independent else mean_of_series(arm.values)


def _matched_difference(baseline: Run, variant: Run, arms: tuple[_Values, _Values]) -> Mean | None:
    """The mean of step-by-step differences, where equal steps mean equal training and most of them correspond."""
    import numpy as np

    prompts = [mean_over(run, "work.prompts", arm.steps) for run, arm in zip((baseline, variant), arms, strict=True)]
    if prompts[0] is not None and prompts[1] is not None and not math.isclose(prompts[0], prompts[1], rel_tol=0.02):
        return None
    common = sorted(set(arms[0].steps) & set(arms[1].steps))
    if len(common) < max(FEWEST_STEPS, _MATCHED_SHARE * max(len(arm.steps) for arm in arms)):
        return None
    first, second = (arm.values[np.isin(arm.steps, common)] for arm in arms)
    return mean_of_series(second - first)


def _estimate(arm: _Values, mean: Mean | None, unit: str) -> Estimate:
    if mean is not None:
        return Estimate(mean.value, *mean.interval(), unit)
    return Estimate(float(arm.values.mean()), None, None, unit) if arm.steps else Estimate.unknown(unit)


def _volatility_ratio(metric: str, arms: Sequence[_Values]) -> tuple[float | None, list[Notice]]:
    """Robust step-to-step volatility of the variant over the baseline's, and its interval in words."""
    import numpy as np

    if any(len(arm.steps) < _FEWEST_FOR_VOLATILITY for arm in arms):
        return None, []
    found = [volatility(arm.values) for arm in arms]
    if not all(value > 0 for value in found):
        return None, []

    def scale(differences: Array) -> Array:
        centre = np.median(differences, axis=-1, keepdims=True)
        return np.asarray(MAD_TO_SIGMA * np.median(np.abs(differences - centre), axis=-1))

    jumps = [np.diff(arm.values) for arm in arms]
    value = found[1] / found[0]
    found_interval = bootstrap_log_ratio(jumps[0], jumps[1], scale, seed=_SEED)
    if found_interval is None:
        return value, []
    low, high = found_interval
    sure = "" if excludes((low, high), 1.0) else ": no difference shown"
    message = (
        f"{METRICS[metric].label}: step-to-step volatility {ratio(value)} that of the baseline "
        f"(95 % interval {ratio_interval(low, high)}){sure}"
    )
    return value, [Notice("RR475", message)]


def _summary(run: Run, window: SteadyState, metric: str) -> MetricSummary | None:
    import numpy as np

    values = column_array(run, metric)
    places = np.flatnonzero(np.isfinite(values))
    if not places.size:
        return None
    steps = run.steps.index
    first, last = int(places[0]), int(places[-1])
    if metric in _EVALUATED:
        chosen = places[-LAST_EVALUATIONS:]
        mean: float | None = float(values[chosen].mean())
        mean_of = f"the last {plural(len(chosen), 'evaluation')}"
    else:
        mean = mean_over(run, metric, window.kept)
        mean_of = f"the {plural(window.n, 'step')} of the window"
    return MetricSummary(
        float(values[first]), int(steps[first]), float(values[last]), int(steps[last]), mean, mean_of, METRICS[metric].unit
    )
