"""Figure specifications from results: what each figure shows and the words around it."""

from __future__ import annotations

import itertools

from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.results import RatioComparison
from rlreport.comparators.series import StepSeries, smooth
from rlreport.report.figures import (
    CurveFigure,
    CurvePanel,
    CurveSeries,
    FigureSpec,
    IntervalRow,
    RatioFigure,
    ThroughputFigure,
    ThroughputSeries,
    TimeSplitBar,
    TimeSplitFigure,
    TimeSplitPart,
)
from rlreport.report.words import STEADY_WORDS, metric_words
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS, PHASES, phase_key

#: Width in steps of the smoothing that curves show, for display only, and the length from which a curve gets one.
SMOOTHING_STEPS = 15
SMOOTHING_FROM = 60


def roles(analysis: Analysis) -> dict[str, int]:
    """The look of each run: the baseline grey, variants in colours in their order; the only run of a profile in a colour."""
    if not analysis.comparisons:
        return {analysis.request.baseline: 1}
    return {run_id: index for index, run_id in enumerate(analysis.request.run_ids)}


def throughput_figure(analysis: Analysis) -> FigureSpec | None:
    """Throughput by step with the window and what is left out."""
    look = roles(analysis)
    shown = {run_id: result for run_id, result in analysis.runs.items() if result.throughput_series is not None}
    if not shown:
        return None
    per_device = all(result.run.devices.total is not None for result in shown.values())
    series = tuple(_throughput_series(result, look[run_id], per_device=per_device) for run_id, result in shown.items())
    semantics = next(iter(shown.values())).run.semantics
    unit = "tokens/s per device" if per_device else "tokens/s"
    told = [f"{s.label}: {s.mean_text}, {_left_out(analysis.runs[run_id])}" for run_id, s in zip(shown, series, strict=True)]
    return ThroughputFigure(
        id="throughput",
        title="Throughput by step",
        caption=_throughput_caption(analysis),
        how_to_read=(
            f"Line: steps in the window. Hollow: left out, by cause. Band: mean with its 95 % interval from the effective "
            f"sample size. A step is {semantics.step_is}."
        ),
        alt=f"Throughput in {unit} over steps. {'. '.join(told)}.",
        series=series,
        unit=unit,
        x_label="step",
    )


def _throughput_series(result: RunResult, role: int, *, per_device: bool) -> ThroughputSeries:
    found, steady = result.throughput_series, result.steady_state
    assert found is not None
    rate = result.throughput.tokens_per_s_per_device if per_device else result.throughput.tokens_per_s
    kept = set(steady.kept)
    # The series is per device where the device count is known; a figure that mixes both kinds of run shows totals.
    scale = 1 if per_device else result.run.devices.total or 1
    text = f"{fmt.estimate(rate)} {'tokens/s per device' if per_device else 'tokens/s'}"
    return ThroughputSeries(
        label=result.run.label,
        role=role,
        steps=found.steps,
        values=tuple(None if value is None else value * scale for value in found.values),
        kept=tuple(step in kept for step in found.steps),
        exclusions=tuple((e.step, e.reason) for e in steady.excluded if e.step in set(found.steps)),
        window=None if steady.first_step is None or steady.last_step is None else (steady.first_step, steady.last_step),
        mean=rate.estimate,
        ci_low=rate.ci_low,
        ci_high=rate.ci_high,
        mean_text=text if rate.estimate is not None else STEADY_WORDS[steady.steady_class],
    )


def _throughput_caption(analysis: Analysis) -> str:
    words = []
    for result in analysis.runs.values():
        steady = result.steady_state
        prefix = f"{result.run.label} is " if len(analysis.runs) > 1 else "The run is "
        state = STEADY_WORDS[steady.steady_class] if steady.n else "without a usable window"
        drift = (
            f" by {fmt.signed_percent(steady.drift.fraction)} over its window"
            if steady.drift and state == "drifting"
            else ""
        )
        words.append(f"{prefix}{state}{drift}, {steady.n:,} steps used.")
    return " ".join(words)


def _left_out(result: RunResult) -> str:
    causes = [reason for reason, _ in itertools.groupby(sorted(e.reason for e in result.steady_state.excluded))]
    return (
        f"{fmt.plural(len(result.steady_state.excluded), 'step')} left out ({fmt.join_words(causes)})"
        if causes
        else "none left out"
    )


def ratio_figure(analysis: Analysis) -> FigureSpec | None:
    """Every ratio to the baseline with its interval; none when no ratio could be computed."""
    look = roles(analysis)
    rows: list[IntervalRow] = []
    many = len(analysis.comparisons) > 1
    for comparison in analysis.comparisons:
        role = look[comparison.variant_id]
        shown = (
            (comparison.throughput.headline,) if many else (comparison.throughput.headline, *comparison.throughput.others)
        )
        rows.extend(_ratio_row(analysis, comparison, r, role, many=many) for r in shown if r.ratio is not None)
    if not rows:
        return None
    headline = analysis.comparisons[0].throughput.headline
    margin = headline.margin
    return RatioFigure(
        id="ratio",
        title="Ratio to the baseline",
        caption=_ratio_caption(analysis),
        how_to_read=(
            f"Ratio of sums over the common window, {_window(analysis.comparisons[0])}. Grey: differences that do not "
            f"matter, ±{fmt.percent(margin, 0)}."
        ),
        alt="Ratio to the baseline. " + "; ".join(f"{row.label}: {row.text}" for row in rows) + ".",
        rows=tuple(rows),
        lower_text="lower",
        higher_text="higher",
        margin=(1 - margin, 1 + margin),
        margin_text=f"differences that do not matter: ±{fmt.percent(margin, 0)}",
    )


def _ratio_row(
    analysis: Analysis, comparison: ComparisonResult, ratio: RatioComparison, role: int, *, many: bool
) -> IntervalRow:
    headline = ratio is comparison.throughput.headline
    words = metric_words(ratio.metric)
    return IntervalRow(
        label=analysis.runs[comparison.variant_id].run.label if many else words,
        role=role if headline or many else 0,
        estimate=ratio.ratio,
        ci_low=ratio.ci_low,
        ci_high=ratio.ci_high,
        text=f"{fmt.ratio(ratio.ratio, ratio.ci_low, ratio.ci_high)}   {fmt.ratio_interval(ratio.ci_low, ratio.ci_high)}",
        headline=headline,
    )


def _ratio_caption(analysis: Analysis) -> str:
    comparison = analysis.comparisons[0]
    if not comparison.comparable:
        return "These ratios describe two runs that differ in more than one way; they say nothing about any one change."
    headline = comparison.throughput.headline
    total = next((o for o in comparison.throughput.others if o.metric == "tokens_per_s"), None)
    if headline.metric == "tokens_per_s_per_device" and headline.verdict == "improved" and total is not None:
        if total.verdict in ("equivalent", "within-noise"):
            return "The gain is one of devices saved, not of speed gained."
        if total.verdict == "improved":
            return "Both the throughput of a device and that of all devices together rise."
        return "The throughput of a device rises; that of all devices together does not."
    return "Ratios to the baseline, the headline first."


def _window(comparison: ComparisonResult) -> str:
    window = comparison.throughput.window_baseline
    return f"steps {window.first_step} to {window.last_step}" if window.n else "which is empty"


def time_split_figure(analysis: Analysis) -> FigureSpec | None:
    """Where the time of a step goes, a bar a run: by length in seconds where the runs' steps do the same work."""
    look = roles(analysis)
    shown = {run_id: result for run_id, result in analysis.runs.items() if result.time_split.fractions}
    if not shown:
        return None
    bars = tuple(
        TimeSplitBar(
            label=result.run.label,
            role=look[run_id],
            parts=tuple(
                TimeSplitPart(
                    label=METRICS[phase].label,
                    key=phase_key(phase),
                    fraction=result.time_split.fractions[phase],
                    seconds=result.time_split.seconds[phase],
                )
                for phase in PHASES
                if phase in result.time_split.fractions
            ),
            total_text=f"{fmt.seconds(result.time_split.step_s)} a step",
        )
        for run_id, result in shown.items()
    )
    told = [
        f"{bar.label}: "
        + ", ".join(f"{part.label} {fmt.percent(part.fraction)}" for part in bar.parts if (part.fraction or 0) >= 0.001)
        for bar in bars
    ]
    seconds = len(bars) > 1 and _same_work(shown)
    return TimeSplitFigure(
        id="time-split",
        title="Where the time of a step goes",
        caption=_time_caption(shown),
        how_to_read=(
            "Sum of each timer over the window, over the sum of step times. Hatched: waiting. Untimed: the part of the step "
            "that no timer covers. What happens outside of a step's time is not in it."
        ),
        alt=f"Shares of step time. {'. '.join(told)}.",
        bars=bars,
        basis="seconds" if seconds else "fraction",
        x_label="seconds a step" if seconds else "share of step time (%)",
    )


def _same_work(shown: dict[str, RunResult]) -> bool:
    rates = []
    for result in shown.values():
        prompts, step_s = result.throughput.prompts_per_s.estimate, result.time_split.step_s
        if prompts is None or step_s is None:
            return False
        rates.append(prompts * step_s)
    return max(rates) <= 1.01 * min(rates)


def _time_caption(shown: dict[str, RunResult]) -> str:
    words = []
    for result in shown.values():
        phase, share = max(result.time_split.fractions.items(), key=lambda item: item[1])
        prefix = f"{result.run.label}: " if len(shown) > 1 else ""
        label = METRICS[phase].label
        name = label if prefix else f"{label[0].upper()}{label[1:]}"
        words.append(f"{prefix}{name} is the largest part, {fmt.percent(share)} of a step.")
    return " ".join(words)


def curve_figure(
    analysis: Analysis, metric: str, *, id: str, title: str, caption: str, points: bool = False
) -> FigureSpec | None:
    """A quality metric of every run against prompts trained (or steps, when prompts are unknown) and against hours."""
    look = roles(analysis)
    shown = {run_id: result for run_id, result in analysis.runs.items() if metric in result.series and result.progress}
    if not shown:
        return None
    by_prompts = all(result.progress and result.progress.prompts for result in shown.values())
    wall = all(result.progress and result.progress.clock == "wall clock" for result in shown.values())
    panels = (
        CurvePanel(
            x_label="thousand prompts trained" if by_prompts else "step",
            y_label=METRICS[metric].label,
            series=tuple(
                _curve(r, metric, look[i], "prompts" if by_prompts else "step", points=points) for i, r in shown.items()
            ),
            title="at equal samples" if by_prompts else "at equal steps",
        ),
        CurvePanel(
            x_label="hours, wall clock" if wall else "hours, sum of step times",
            y_label=METRICS[metric].label,
            series=tuple(_curve(r, metric, look[i], "hours", points=points) for i, r in shown.items()),
            title="at equal time",
        ),
    )
    smoothing = f" Thick: display smoothing over {SMOOTHING_STEPS} steps; tests use the raw values." if not points else ""
    return CurveFigure(
        id=id,
        title=title,
        caption=caption,
        how_to_read=f"{METRICS[metric].meaning[0].upper()}{METRICS[metric].meaning[1:]}.{smoothing}",
        alt=f"{title}. " + " ".join(_curve_words(result, metric) for result in shown.values()),
        panels=panels,
    )


def length_figure(analysis: Analysis, caption: str) -> FigureSpec | None:
    """Mean response length over steps: what moves throughput without any tuning."""
    metric = "length.response_mean"
    look = roles(analysis)
    shown = {run_id: result for run_id, result in analysis.runs.items() if metric in result.series}
    if not shown:
        return None
    panel = CurvePanel(
        x_label="step",
        y_label="response length (tokens)",
        unit="tokens",
        series=tuple(_curve(result, metric, look[run_id], "step", points=False) for run_id, result in shown.items()),
    )
    return CurveFigure(
        id="response-length",
        title="Response length by step",
        caption=caption,
        how_to_read=f"Mean of a step's responses. Thick: display smoothing over {SMOOTHING_STEPS} steps.",
        alt="Mean response length by step. " + " ".join(_curve_words(result, metric) for result in shown.values()),
        panels=(panel,),
    )


def _curve(result: RunResult, metric: str, role: int, axis: str, *, points: bool) -> CurveSeries:
    series = result.series[metric]
    where = _positions(result, axis)
    pairs = [(where[step], value) for step, value in zip(series.steps, series.values, strict=True) if step in where]
    if points:
        pairs = [(x, value) for x, value in pairs if value is not None]
    x, y = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    smoothed = smooth(y, SMOOTHING_STEPS) if not points and len(y) >= SMOOTHING_FROM else None
    return CurveSeries(label=result.run.label, role=role, x=x, y=y, smoothed=smoothed, points_only=points)


def _positions(result: RunResult, axis: str) -> dict[int, float]:
    """Where a step lies on an axis. A validation before training lies at its beginning."""
    found = result.progress
    assert found is not None or axis == "step"
    if axis == "step" or found is None:
        return {step: float(step) for series in result.series.values() for step in series.steps}
    if axis == "hours":
        where = dict(zip(found.steps, found.hours, strict=True))
    else:
        assert found.prompts is not None
        where = {step: prompts / 1000 for step, prompts in zip(found.steps, found.prompts, strict=True)}
    if found.steps:
        before = (step for series in result.series.values() for step in series.steps if step < found.steps[0])
        where.update(dict.fromkeys(before, 0.0))
    return where


def _curve_words(result: RunResult, metric: str) -> str:
    first, last = _ends(result.series[metric])
    return f"{result.run.label}: from {fmt.number(first)} to {fmt.number(last)}."


def _ends(series: StepSeries) -> tuple[float | None, float | None]:
    values = [value for value in series.values if value is not None]
    return (values[0], values[-1]) if values else (None, None)
