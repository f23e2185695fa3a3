"""Figures of published numbers: speed-ups by horizon and window, or ratios where there is one horizon only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlreport.comparators.summary import SpeedUp, SummaryComparison, SummaryStudy
from rlreport.comparators.summary_pair_traps import DISAGREEMENT
from rlreport.comparators.summary_trap import spread
from rlreport.report.figures import FigureSpec, IntervalRow, RatioFigure
from rlreport.report.figures_summary import SpeedUpFigure, SpeedUpPoint, SpeedUpSeries
from rlreport.run import format as fmt

NO_INTERVAL = "hollow: one published number an arm, no interval"


def speed_up_figure(study: SummaryStudy, roles: Mapping[str, int]) -> FigureSpec | None:
    """Speed-ups by window beside those from the start; None unless a pair has two horizons."""
    pairs = [pair for pair in study.comparisons if len(pair.windows) > 1]
    if not pairs:
        return None
    series = tuple(
        SpeedUpSeries(
            label=pair.variant.label,
            role=roles[pair.variant.run.run_id],
            windows=_points(pair.windows),
            cumulative=_points(pair.cumulative),
        )
        for pair in pairs
    )
    told = [
        f"{pair.variant.label} against {pair.baseline.label}: in the windows {_listed(pair.windows)}; from the start "
        f"{_listed(pair.cumulative)}"
        for pair in pairs
    ]
    return SpeedUpFigure(
        id="published-speed-up",
        title="Speed-up by window and from the start",
        caption=_caption(pairs),
        how_to_read=(
            "Left: time between two horizons, baseline over variant, drawn over its steps. Right: time from the first step "
            "to each horizon. Each point is a ratio of two published times, without an interval."
        ),
        alt=f"Speed-up as baseline's time over variant's time, without intervals. {'. '.join(told)}.",
        series=series,
        note=NO_INTERVAL,
    )


def _points(found: Sequence[SpeedUp]) -> tuple[SpeedUpPoint, ...]:
    return tuple(
        SpeedUpPoint(from_step=one.from_step or 1, to_step=one.to_step, ratio=one.ratio, text=fmt.ratio(one.ratio))
        for one in found
        if one.to_step is not None
    )


def _listed(found: Sequence[SpeedUp]) -> str:
    return fmt.join_words(
        [f"{fmt.ratio(one.ratio)} ({fmt.count(one.from_step)} to {fmt.count(one.to_step)})" for one in found]
    )


def _caption(pairs: Sequence[SummaryComparison]) -> str:
    """How far the speed-ups of each pair lie apart; that no number describes it only where they do."""
    told = [
        f"{pair.variant.label} lies between {fmt.ratio(min(pair.ratios))} and {fmt.ratio(max(pair.ratios))}"
        for pair in pairs
        if spread(pair.ratios) > DISAGREEMENT
    ]
    if not told:
        return "The speed-ups hardly depend on the steps that they are taken over."
    if len(told) == 1:
        return f"By the steps it is taken over, {told[0]}: no single number describes it."
    return f"By the steps they are taken over, {fmt.join_words(told)}: no single number describes any of them."


def ratio_figure(study: SummaryStudy, roles: Mapping[str, int]) -> FigureSpec | None:
    """Every published ratio of each pair, without intervals; None when there is none."""
    rows = [row for pair in study.comparisons for row in _rows(study, pair, roles[pair.variant.run.run_id])]
    if not rows:
        return None
    return RatioFigure(
        id="published-ratio",
        title="Published ratios to the baseline",
        caption="One published number an arm: the points have no interval, and none can be given.",
        how_to_read="Times are baseline over variant, rates variant over baseline: above 1 the variant does better.",
        alt="Ratios to the baseline, without intervals. " + "; ".join(f"{row.label}: {row.text}" for row in rows) + ".",
        rows=tuple(rows),
        x_label="ratio to the baseline, without interval",
        lower_text="slower",
        higher_text="faster",
    )


def _rows(study: SummaryStudy, pair: SummaryComparison, role: int) -> list[IntervalRow]:
    prefix = f"{pair.variant.label}: " if len(study.comparisons) > 1 else ""
    ratios: list[tuple[str, float | None]] = [("by mean step time", None if pair.step is None else pair.step.ratio)]
    if pair.cumulative:
        last = pair.cumulative[-1]
        over = "" if last.to_step is None else f", {fmt.count(last.to_step)} steps"
        ratios.append((f"by total time{over}", last.ratio))
    ratios.append(("by tokens/s", pair.rate))
    return [
        IntervalRow(
            label=f"{prefix}{words}",
            role=role,
            estimate=value,
            ci_low=None,
            ci_high=None,
            text=f"{fmt.ratio(value)}  no interval",
        )
        for words, value in ratios
        if value is not None
    ]
