"""Throughput over steps: the window as a line with its mean and interval, what is left out as hollow markers by cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, set_dashes
from rlreport.plotters.offscale import (
    STRIP_IN,
    OffScale,
    draw_off_scale,
    farthest_first,
    find_off_scale,
    off_scale_entry,
)
from rlreport.plotters.panel import (
    POINT_IN,
    TICK_ROW_IN,
    Box,
    PanelTexts,
    Scale,
    draw_line,
    draw_panel,
    label_lines,
    labels_height_in,
    note_nothing,
    tick_width_in,
)
from rlreport.plotters.runlabels import RunLabel, column_height_in, column_width_in, draw_column
from rlreport.plotters.scale import Limits, Ticks, finite, padded, robust_limits, thin_points, ticks, to_array, within
from rlreport.plotters.text import role_name
from rlreport.report.figures import ThroughputFigure, ThroughputSeries
from rlreport.run import format as fmt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rlreport.plotters.scale import Array

OUTSIDE = "outside window"
_STRETCH_CAUSES = ("warm-up", OUTSIDE)  # causes of steps in a row; the others are of single steps
_AXES_HEIGHT_IN = 2.0
_EDGE_IN = 0.04
_CELL_PT = 2.5  # markers nearer than this hide each other


@dataclass(frozen=True, slots=True)
class _Lane:
    """A series as arrays: all values, the kept ones, and the causes of the others by step."""

    series: ThroughputSeries
    steps: Array
    values: Array
    kept: Array
    left_out: Array
    causes: dict[int, str]

    @property
    def look(self) -> style.RunStyle:
        """The run's look."""
        return style.run_style(self.series.role)


def draw_throughput(spec: ThroughputFigure) -> Figure:
    """Draw the figure: axes with a column of run labels to their right and one legend for all runs below."""
    lanes = [_lane(series) for series in spec.series]
    x, y = _x_scale(lanes), _y_scale(lanes)
    labels = [_run_label(lane.series, lane, y) for lane in lanes]
    beyond = [find_off_scale(lane.steps, lane.values, lane.series.role, y.limits) for lane in lanes]
    off_scale = farthest_first(chain.from_iterable(beyond), y.limits)

    left = _EDGE_IN + tick_width_in(y)
    column = column_width_in(labels)
    width = style.WIDTH_IN - left - column - 0.02
    y_lines = label_lines(", ".join(part for part in (spec.y_label, spec.unit) if part), width)
    x_lines = label_lines(spec.x_label, width)
    legend = flow(_entries(spec, lanes, x.limits, off_scale), style.WIDTH_IN - left - 0.05)
    height = max(_AXES_HEIGHT_IN, column_height_in(labels))
    below = TICK_ROW_IN + labels_height_in(x_lines) + (0.1 + legend.height_in if legend.rows else 0.0) + 0.03
    box = Box(left, below, width, height)

    figure = new_figure(below + height + 0.08 + labels_height_in(y_lines) + 0.04)
    axes = draw_panel(figure, box, x, y, PanelTexts(x_lines, y_lines, label_left=_EDGE_IN))
    for start, end in _outside_all(lanes, x.limits):
        axes.axvspan(start, end, color=style.WASH, linewidth=0, zorder=0)
    for lane in lanes:
        _draw_lane(axes, box, lane, x, y, few=len(lanes) <= 3)
    texts = [f"step {point.x:.0f}: {fmt.number(point.value)}" for point in off_scale]
    draw_off_scale(figure, axes, box, x, off_scale, texts)
    if not any(finite(lane.values).size for lane in lanes):
        note_nothing(figure, axes, box)
    draw_column(figure, labels, box, left=box.right)
    legend.draw(figure, left, 0.03 + legend.height_in)
    return figure


def _lane(series: ThroughputSeries) -> _Lane:
    import numpy as np

    steps, values = to_array(series.steps), to_array(series.values)
    kept = np.array(series.kept, dtype=bool)
    causes: dict[int, str] = {}
    for step, cause in series.exclusions:
        causes.setdefault(step, cause)
    for step, is_kept in zip(series.steps, series.kept, strict=True):
        if not is_kept:
            causes.setdefault(step, OUTSIDE)
    if series.window is None:  # nothing is compared: all values make one line, and the causes are marked on it
        return _Lane(series, steps, values, values, np.full_like(values, np.nan), causes)
    return _Lane(series, steps, values, np.where(kept, values, np.nan), np.where(kept, np.nan, values), causes)


def _x_scale(lanes: Sequence[_Lane]) -> Scale:
    steps = [step for lane in lanes for step in lane.series.steps] or [0, 1]
    margin = max(0.5, 0.012 * (max(steps) - min(steps)))
    limits = Limits(min(steps) - margin, max(steps) + margin)
    known = any(lane.series.steps for lane in lanes)
    return Scale(limits, ticks(limits.low, limits.high, 8, whole=True) if known else Ticks((), ()))


def _y_scale(lanes: Sequence[_Lane]) -> Scale:
    import numpy as np

    intervals = [to_array([lane.series.mean, lane.series.ci_low, lane.series.ci_high]) for lane in lanes]
    core = [np.concatenate([lane.kept, interval]) for lane, interval in zip(lanes, intervals, strict=True)]
    limits = robust_limits(core, [lane.left_out for lane in lanes])
    strip = STRIP_IN / _AXES_HEIGHT_IN
    limits = padded(limits, low_share=strip * limits.clips_low, high_share=strip * limits.clips_high)
    known = any(finite(array).size for array in core) or any(finite(lane.values).size for lane in lanes)
    return Scale(limits, ticks(limits.low, limits.high, 5) if known else Ticks((), ()))


def _run_label(series: ThroughputSeries, lane: _Lane, y: Scale) -> RunLabel:
    anchor = None if series.mean is None else y.share(series.mean)
    known = finite(lane.values)
    near = anchor if anchor is not None else (y.share(float(known[-1])) if known.size else 0.5)
    return RunLabel(series.label, series.role, series.mean_text, near, leader=anchor is not None)


def _draw_lane(axes: Axes, box: Box, lane: _Lane, x: Scale, y: Scale, *, few: bool) -> None:
    series, look = lane.series, lane.look
    strong = (0.85 if few else 0.55) if series.window else 0.6
    kept = within(lane.kept, y.limits)
    bridges = _bridges(lane.steps, kept)
    draw_line(axes, box, *bridges, colour=look.colour, width_pt=0.5, alpha=0.5, dots=False, column_pt=0)
    column_pt = 1.0 if few else 2.0
    draw_line(axes, box, lane.steps, kept, colour=look.colour, width_pt=0.9, alpha=strong, column_pt=column_pt)
    draw_line(axes, box, *_stretches(lane, y.limits), colour=look.colour, width_pt=0.5, alpha=0.5, dots=False)
    if series.window is not None and series.mean is not None:
        first, last = series.window[0] - 0.5, series.window[1] + 0.5
        if series.ci_low is not None and series.ci_high is not None:
            axes.fill_between([first, last], series.ci_low, series.ci_high, color=look.colour, alpha=0.18, linewidth=0)
        (mean,) = axes.plot([first, last], [series.mean] * 2, color=look.colour, linewidth=1.3, solid_capstyle="butt")
        set_dashes(mean, look.dashes)
    cell_x = _CELL_PT * POINT_IN * (x.limits.high - x.limits.low) / box.width
    cell_y = _CELL_PT * POINT_IN * (y.limits.high - y.limits.low) / box.height
    for cause, marker in _cause_markers([lane]).items():
        places = [i for i, step in enumerate(series.steps) if lane.causes.get(step) == cause]
        marked_x, marked_y = lane.steps[places], within(lane.values[places], y.limits)
        drawn = thin_points(marked_x, marked_y, cell_x, cell_y)
        axes.plot(
            marked_x[drawn],
            marked_y[drawn],
            linestyle="none",
            marker=marker,
            markersize=4.0,
            markeredgewidth=0.8,
            markeredgecolor=look.colour,
            markerfacecolor="none",
            clip_on=False,
        )


def _stretches(lane: _Lane, limits: Limits) -> tuple[Array, Array]:
    """The values of the stretches left out, before and after the window, as lines that pass over single steps left out."""
    import numpy as np

    causes = [lane.causes.get(step) for step in lane.series.steps]
    chosen = [i for i, cause in enumerate(causes) if cause is None or cause in _STRETCH_CAUSES]
    values = np.where(np.isfinite(lane.kept), np.nan, lane.left_out)
    return lane.steps[chosen], within(values, limits)[chosen]


def _bridges(x: Array, y: Array) -> tuple[Array, Array]:
    """Lines across the gaps of a curve, from the last known value before to the first after, with gaps between them."""
    import numpy as np

    known = np.flatnonzero(np.isfinite(y))
    before = known[:-1][np.diff(known) > 1]
    after = known[1:][np.diff(known) > 1]
    gap = np.full(before.size, np.nan)
    return np.stack([x[before], x[after], x[after]], axis=1).ravel(), np.stack([y[before], y[after], gap], axis=1).ravel()


def _cause_markers(lanes: Sequence[_Lane]) -> dict[str, str]:
    """The causes that are marked, in a legend's order. Steps outside the window are a thin line without markers."""
    present = {cause for lane in lanes for cause in lane.causes.values()}
    known = [cause for cause in style.CAUSE_MARKERS if cause in present and cause != OUTSIDE]
    other = sorted(present.difference(style.CAUSE_MARKERS))
    return {cause: style.CAUSE_MARKERS.get(cause, style.UNKNOWN_CAUSE_MARKER) for cause in (*known, *other)}


def _outside_all(lanes: Sequence[_Lane], limits: Limits) -> list[tuple[float, float]]:
    """Where steps lie before or after all windows, on the axis; nothing where a run has no window."""
    windows = [lane.series.window for lane in lanes]
    known = [window for window in windows if window is not None]
    if not known or len(known) < len(windows):
        return []
    steps = [step for lane in lanes for step in lane.series.steps]
    first, last = min(window[0] for window in known), max(window[1] for window in known)
    before = [(limits.low, first - 0.5)] if steps and min(steps) < first else []
    after = [(last + 0.5, limits.high)] if steps and max(steps) > last else []
    return before + after


def _entries(spec: ThroughputFigure, lanes: Sequence[_Lane], limits: Limits, off_scale: Sequence[OffScale]) -> list[Entry]:
    entries: list[Entry] = []
    if any(lane.series.mean is not None and lane.series.window for lane in lanes):
        entries.append(Entry(Key("band", style.MUTED), f"mean of the window, with its {100 * spec.confidence:g} % interval"))
    for cause, marker in _cause_markers(lanes).items():
        drawn = any(
            lane.causes.get(step) == cause
            for lane in lanes
            for step, value in zip(lane.series.steps, lane.series.values, strict=True)
            if value is not None
        )
        key = Key("marker", style.MUTED, marker=marker, hollow=True) if drawn else None
        entries.append(Entry(key, f"{cause}: {_cause_steps(lanes, cause)}"))
    if any(lane.series.window and OUTSIDE in lane.causes.values() for lane in lanes):
        entries.append(Entry(Key("line", style.MUTED, width_pt=0.6), f"{OUTSIDE}: {_cause_steps(lanes, OUTSIDE)}"))
    elif _outside_all(lanes, limits):
        entries.append(Entry(Key("swatch", style.WASH, outlined=True), "outside the window" + "s" * (len(lanes) > 1)))
    if off_scale:
        farthest = f"step {off_scale[0].x:.0f} at {fmt.number(off_scale[0].value)} {spec.unit}".rstrip()
        entries.append(off_scale_entry(off_scale, farthest, "step"))
    return entries


def _cause_steps(lanes: Sequence[_Lane], cause: str) -> str:
    """Which steps have a cause, in few words: the steps where the runs agree, else how many of each run."""
    steps = [sorted(step for step, why in lane.causes.items() if why == cause) for lane in lanes]
    having = [found for found in steps if found]
    if all(found == having[0] for found in having[1:]):
        told = fmt.steps(having[0], most=4)
        regular = "every" in told or told.count(",") < 2
        text = f"step{'s' if len(having[0]) > 1 else ''} {told}" if regular else fmt.plural(len(having[0]), "step")
        if len(having) == len(lanes):
            return text if regular or len(lanes) == 1 else f"{text} a run"
        if len(having) == 1:
            return f"{text} ({role_name(next(lane.series.role for lane, found in zip(lanes, steps, strict=True) if found))})"
    counts = sorted({len(found) for found in steps})
    if len(counts) == 1:
        return f"{fmt.plural(counts[0], 'step')} a run"
    return f"{counts[0]} to {counts[-1]} steps a run"
