"""Speed along training: by part and cumulatively, beside the reward; and the wall clock beside the steady state."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis, ComparisonResult
from rlreport.comparators.course import Course
from rlreport.comparators.horizon import Horizon, HorizonWindow, place_words
from rlreport.comparators.wall_clock import LOSS_CAUSES, LossCause, WallClock, WallClockComparison
from rlreport.report.figure_data import curve_figure, roles
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_horizon import HorizonFigure, HorizonPart, HorizonTrack
from rlreport.report.model import Block, Bullets, Column, Paragraph, Row, Section, Table, Text, add_figure
from rlreport.report.words import metric_words
from rlreport.run import format as fmt

#: What the time beyond the steady pace went into, in words.
LOSS_WORDS: dict[LossCause, str] = {
    "validation": "Validation",
    "checkpoint": "Checkpoints",
    "start-up": "Start-up, before the first step",
    "warm-up": "Warm-up steps, beyond the steady pace",
    "restart": "Restarts: down time and the steps after it",
    "stall": "Stalls, beyond the steady pace",
    "partial": "Steps whose work was not logged",
    "not logged": "Steps without a line, beyond the steady pace",
    "pace": "Other steps outside of the window, beyond the steady pace",
    "unexplained": "Between steps, covered by no timer",
}

_CLOCK_WORDS = {"wall clock": "the wall clock", "sum of step times": "the sum of step times"}


def horizon_section(analysis: Analysis, courses: Sequence[Course], *, reward: bool = True) -> Section | None:
    """How the speed-up depends on the horizon, and what the wall clock makes of it; None where the logs tell neither.

    `courses` are those of the analysis's comparisons, in their order. With `reward` the reward's curves stand beside it.
    """
    shown = [
        (comparison, course.horizon)
        for comparison, course in zip(analysis.comparisons, courses, strict=True)
        if course.horizon is not None and any(window.ratio is not None for window in course.horizon.windows)
    ]
    blocks: list[Block] = []
    if shown:
        blocks.append(_sentences(analysis, shown))
        add_figure(blocks, horizon_figure(analysis, shown))
        if reward:
            caption = "Reward against the same training and against time: a faster run gets farther in the same hours."
            add_figure(blocks, curve_figure(analysis, "quality.reward_mean", id="reward", title="Reward", caption=caption))
        blocks.append(_horizon_table(analysis, shown))
    clocked = [
        (comparison, course.wall_clock)
        for comparison, course in zip(analysis.comparisons, courses, strict=True)
        if course.wall_clock is not None
    ]
    if len(clocked) == 1:
        comparison, found = clocked[0]
        labels = [analysis.runs[run_id].run.label for run_id in (comparison.baseline_id, comparison.variant_id)]
        blocks.append(_wall_clock_table(labels, (found.baseline, found.variant), found))
    elif clocked:
        blocks.append(_wall_clock_ratios(analysis, clocked))
    return Section("horizon", "Speed along training", tuple(blocks)) if blocks else None


def wall_clock_section(label: str, found: WallClock | None) -> Section | None:
    """The wall clock of a single run, None without an absolute clock."""
    if found is None:
        return None
    return Section("horizon", "The wall clock", (_wall_clock_table([label], (found,), None),))


def horizon_figure(analysis: Analysis, shown: Sequence[tuple[ComparisonResult, Horizon]]) -> FigureSpec:
    """The figure of speed-up along training, a track a pair."""
    look = roles(analysis)
    first = shown[0][1]
    scale = 1000.0 if first.unit == "prompts" else 1.0
    tracks = tuple(_track(analysis, comparison, found, look[comparison.variant_id], scale) for comparison, found in shown)
    count = min(window.n_baseline for window in first.windows)
    intervals = any(window.ci_low is not None for _, found in shown for window in found.windows)
    told = [
        f"{analysis.runs[c.variant_id].run.label} against {analysis.runs[c.baseline_id].run.label}: "
        + "; ".join(f"{place_words(w, h.unit)} {fmt.ratio(w.ratio, w.ci_low, w.ci_high)}" for w in h.windows)
        + (f"; over all {fmt.ratio(h.last.ratio)}" if h.last.ratio is not None else "")
        for c, h in shown
    ]
    margin = first.margin
    other = "run before" if analysis.request.kind == "ladder" else "baseline"
    return HorizonFigure(
        id="horizon",
        title="Speed-up along training",
        caption=_caption(shown),
        how_to_read=(
            "Bars: the ratio over each part of training that is the same in both runs, one-off steps left out as in the "
            f"window. Line: all work over all time since the start ({first.clock}), nothing left out."
        ),
        alt=f"Ratio of {metric_words(first.metric)} to the {other} along training. {'. '.join(told)}.",
        tracks=tracks,
        margin=(1 / (1 + margin), 1 + margin),
        margin_text=f"differences that do not matter: ±{fmt.percent(margin, 0)}",
        x_label="step" if first.unit == "steps" else "thousand prompts trained",
        y_label=f"ratio to the {other}, {metric_words(first.metric)}",
        part_text=f"part of training ({fmt.plural(count, 'step')} or more{', with 95 % interval' if intervals else ''})",
        cumulative_text="cumulative, since the start",
    )


def _track(analysis: Analysis, comparison: ComparisonResult, found: Horizon, role: int, scale: float) -> HorizonTrack:
    return HorizonTrack(
        label=analysis.runs[comparison.variant_id].run.label,
        role=role,
        parts=tuple(
            HorizonPart(begin=w.begin / scale, end=w.end / scale, ratio=w.ratio, ci_low=w.ci_low, ci_high=w.ci_high)
            for w in found.windows
        ),
        places=tuple(point.place / scale for point in found.curve),
        cumulative=tuple(point.ratio for point in found.curve),
        end_text=f"{fmt.ratio(found.last.ratio)} over all" if found.last.ratio is not None else "",
    )


def _caption(shown: Sequence[tuple[ComparisonResult, Horizon]]) -> str:
    if len(shown) > 1:
        differing = sum(found.agreement in ("differ", "agree after the first") for _, found in shown)
        if not differing:
            return "No pair's speed-up changes along training by more than its noise."
        return f"The speed-up of {fmt.plural(differing, 'pair')} of {len(shown)} depends on how long one looks."
    found = shown[0][1]
    match found.agreement:
        case "differ":
            return "The speed-up depends on how long one looks: no single number describes this pair."
        case "agree after the first":
            return "After the start of training the speed-up stays where it is."
        case "agree":
            return "The speed-up does not change along training by more than its noise."
        case "unknown":
            return "Whether the speed-up changes along training cannot be told: there are too few steps a part."


def _sentences(analysis: Analysis, shown: Sequence[tuple[ComparisonResult, Horizon]]) -> Block:
    told = [" ".join(part for part in (found.sentence, found.length_sentence) if part) for _, found in shown]
    if len(shown) == 1:
        return Paragraph((told[0],))
    return Bullets(
        tuple((f"{analysis.runs[c.variant_id].run.label}: {text}",) for (c, _), text in zip(shown, told, strict=True))
    )


def _horizon_table(analysis: Analysis, shown: Sequence[tuple[ComparisonResult, Horizon]]) -> Table:
    columns = (
        Column("Training", width=27),
        Column("Steps used", numeric=True, width=9),
        Column("Ratio", numeric=True, width=9),
        Column("95 % interval", numeric=True, width=14),
        Column("Since the start", numeric=True, width=9),
        Column("Hours so far", numeric=True, width=14),
        Column("Time ratio", numeric=True, width=9),
        Column("Response length", numeric=True, width=9),
    )
    rows: list[Row] = []
    for comparison, found in shown:
        prefix = f"{analysis.runs[comparison.variant_id].run.label}: " if len(shown) > 1 else ""
        rows += [_horizon_row(prefix, window, found) for window in found.windows]
    note: Text = (
        f"Ratio of {metric_words(shown[0][1].metric)}. Since the start: all work over all time to the end of the part, "
        f"hours by {_CLOCK_WORDS[shown[0][1].clock]}. Time ratio: the baseline's hours over the variant's for the same "
        "training. Pairs of numbers are baseline / variant. Response length: variant over baseline.",
    )
    return Table("horizon-parts", "Speed-up by part of training", columns, tuple(rows), note)


def _horizon_row(prefix: str, window: HorizonWindow, found: Horizon) -> Row:
    point = window.cumulative
    return Row(
        (
            (f"{prefix}{place_words(window, found.unit)}",),
            (f"{window.n_baseline:,} / {window.n_variant:,}",),
            (fmt.ratio(window.ratio, window.ci_low, window.ci_high),),
            (fmt.ratio_interval(window.ci_low, window.ci_high),),
            (fmt.ratio(point.ratio),),
            (f"{fmt.number(point.hours_baseline)} / {fmt.number(point.hours_variant)}",),
            (fmt.ratio(point.time_ratio),),
            (fmt.ratio(window.length_ratio),),
        )
    )


def _wall_clock_table(labels: Sequence[str], found: Sequence[WallClock], pair: WallClockComparison | None) -> Table:
    columns = [Column("Time")]
    for label in labels:
        columns += [Column(label, numeric=True), Column("Share", numeric=True)]
    rows = [_time_row("Work at the steady pace", [(one.wall_s - one.lost_s, one) for one in found])]
    for cause in LOSS_CAUSES:
        if any(cause in one.losses for one in found):
            rows.append(_time_row(LOSS_WORDS[cause], [(one.losses.get(cause, 0.0), one) for one in found]))
    spans = [f"Wall clock, steps {one.first_step:,} to {one.last_step:,}" for one in found]
    head = spans[0] if len(set(spans)) == 1 else "Wall clock of the same training"
    rows.append(_time_row(head, [(one.wall_s, one) for one in found], marked=True))
    for title, values in (
        (f"Steady state, {found[0].unit}", [one.steady for one in found]),
        (f"By the wall clock, {found[0].unit}", [one.wall for one in found]),
    ):
        cells: list[Text] = [(title,)]
        for value, one in zip(values, found, strict=True):
            cells += [(fmt.number(value),), ("" if value is one.steady else fmt.percent(one.wall / one.steady),)]
        rows.append(Row(tuple(cells)))
    words = (
        f"Ratio in steady state {fmt.ratio(pair.steady_ratio)}, by the wall clock {fmt.ratio(pair.wall_ratio)}; the same "
        f"training takes the baseline {fmt.ratio(pair.time_ratio)} the time. "
        if pair
        else ""
    )
    unknown = [label for label, one in zip(labels, found, strict=True) if not one.start_up_known]
    start = f" Start-up is not in the clock of {fmt.join_words(unknown)}." if unknown else ""
    note: Text = (f"{words}A negative time is a gain: steps that were faster than the steady pace.{start}",)
    return Table("wall-clock", "Where the wall clock went", tuple(columns), tuple(rows), note)


def _time_row(title: str, values: Sequence[tuple[float, WallClock]], *, marked: bool = False) -> Row:
    cells: list[Text] = [(title,)]
    for seconds, one in values:
        cells += [(_duration(seconds),), (fmt.percent(seconds / one.wall_s),)]
    return Row(tuple(cells), marked=marked)


def _duration(seconds: float) -> str:
    return f"−{fmt.duration(-seconds)}" if seconds < 0 else fmt.duration(seconds)


def _wall_clock_ratios(analysis: Analysis, clocked: Sequence[tuple[ComparisonResult, WallClockComparison]]) -> Table:
    columns = (
        Column("Pair"),
        Column("Steady state", numeric=True),
        Column("By the wall clock", numeric=True),
        Column("Beside the steady pace, baseline", numeric=True),
        Column("Variant", numeric=True),
        Column("Largest part of it, variant"),
    )
    rows = []
    for comparison, found in clocked:
        names = [analysis.runs[run_id].run.label for run_id in (comparison.variant_id, comparison.baseline_id)]
        largest = max(found.variant.losses, key=lambda cause: abs(found.variant.losses[cause]), default=None)
        share = "" if largest is None else f"{LOSS_WORDS[largest]}: {fmt.percent(found.variant.share(largest))}"
        rows.append(
            Row(
                (
                    (" against ".join(names),),
                    (fmt.ratio(found.steady_ratio),),
                    (fmt.ratio(found.wall_ratio),),
                    (fmt.percent(found.baseline.lost_s / found.baseline.wall_s),),
                    (fmt.percent(found.variant.lost_s / found.variant.wall_s),),
                    (share,),
                )
            )
        )
    return Table("wall-clock", "Steady state and wall clock", columns, tuple(rows))
