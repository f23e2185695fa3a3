"""Estimates with their intervals, one a row: ratios to the baseline, and estimates of several runs on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, place_axes, put_lines, put_middle, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in
from rlreport.plotters.scale import Limits, Ticks, padded, tick_texts, ticks
from rlreport.plotters.text import Weight, line_height_in, run_label, width_in, wrap
from rlreport.report.figures import IntervalFigure, IntervalRow, RatioFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABEL_IN = 2.3
_MOST_TEXT_IN = 2.0
_ROW_PAD_IN = 0.1
_GAP_IN = 0.14
_LOG_FROM = 2.5  # an axis whose ends differ by more than this factor is logarithmic


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its texts set."""

    row: IntervalRow
    label: tuple[str, ...]
    text: tuple[str, ...]

    @property
    def weight(self) -> Weight:
        """The headline is bold."""
        return "bold" if self.row.headline else "normal"

    @property
    def height_in(self) -> float:
        """Height of the row."""
        return max(len(self.label), len(self.text)) * line_height_in(style.TEXT_PT) + _ROW_PAD_IN


@dataclass(frozen=True, slots=True)
class _Forest:
    """What the two kinds of figure have in common."""

    rows: tuple[IntervalRow, ...]
    x_label: str
    reference: float | None
    band: tuple[float, float] | None
    log: bool
    entries: tuple[Entry, ...]
    lower_text: str = ""
    higher_text: str = ""


def draw_ratio(spec: RatioFigure) -> Figure:
    """Draw ratios against 1 and the band that does not matter; a ratio and its inverse are equally far from 1 (log axis)."""
    entries = (Entry(Key("swatch", style.WASH), spec.margin_text),) if spec.margin and spec.margin_text else ()
    return _draw(
        _Forest(
            spec.rows,
            spec.x_label,
            1.0,
            spec.margin,
            True,
            entries,
            lower_text=spec.lower_text,
            higher_text=spec.higher_text,
        )
    )


def draw_interval(spec: IntervalFigure) -> Figure:
    """Draw estimates of runs on one axis, against a reference if there is one."""
    entries: tuple[Entry, ...] = ()
    if spec.reference is not None and spec.reference_text:
        entries = (Entry(Key("line", style.INK, width_pt=0.8), spec.reference_text),)
    return _draw(_Forest(spec.rows, spec.x_label, spec.reference, None, False, entries))


def _draw(forest: _Forest) -> Figure:
    rows = [_set(row) for row in forest.rows]
    left = (
        0.04 + max((width_in(line, style.TEXT_PT, row.weight) for row in rows for line in row.label), default=0.0) + _GAP_IN
    )
    text_width = max((width_in(line, style.TEXT_PT, row.weight) for row in rows for line in row.text), default=0.0)
    width = style.WIDTH_IN - left - text_width - _GAP_IN - 0.04
    limits = _limits(forest)
    x_lines = label_lines(forest.x_label, width + text_width)
    legend = flow(forest.entries, style.WIDTH_IN - left)
    direction = line_height_in(style.SMALL_PT) + 0.04 if forest.lower_text or forest.higher_text else 0.0
    below = TICK_ROW_IN + labels_height_in(x_lines) + (0.05 + legend.height_in if legend.rows else 0.0) + 0.04
    height = max(sum(row.height_in for row in rows), 0.3) + 0.04
    box = Box(left, below, width, height)

    figure = new_figure(below + height + direction + 0.03)
    axes = _axes(figure, box, limits, _ticks(limits, width, log=forest.log), log=forest.log)
    if forest.band is not None:
        axes.axvspan(*forest.band, color=style.WASH, linewidth=0, zorder=0)
    if forest.reference is not None:
        axes.axvline(forest.reference, color=style.INK, linewidth=0.8, zorder=1)
        _put_directions(figure, box, forest, _share(forest.reference, limits, log=forest.log))
    top = box.top - 0.02
    for row in rows:
        _draw_row(figure, axes, box, row, top, limits, text_left=box.right + _GAP_IN)
        top -= row.height_in
    _put_below(figure, box, x_lines)
    legend.draw(figure, left, 0.04 + legend.height_in)
    return figure


def _set(row: IntervalRow) -> _Row:
    weight: Weight = "bold" if row.headline else "normal"
    label = wrap(run_label(row.label, row.role), _MOST_LABEL_IN, style.TEXT_PT, weight=weight)
    return _Row(row, label, wrap(row.text, _MOST_TEXT_IN, style.TEXT_PT, weight=weight) if row.text.strip() else ())


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _limits(forest: _Forest) -> Limits:
    """All estimates, the reference and the band; of the intervals what lies within three times that reach.

    A hopelessly wide interval would press all others into a point; it leaves the axis with an arrow instead.
    """
    estimates = [row.estimate for row in forest.rows if row.estimate is not None and math.isfinite(row.estimate)]
    anchors = estimates + [forest.reference] * (forest.reference is not None) + list(forest.band or ())
    fixed = [value for value in anchors if value is not None and (value > 0 or not forest.log)]
    if not fixed:
        return Limits(0.5, 2.0) if forest.log else Limits(0.0, 1.0)
    ends = [end for row in forest.rows for end in (row.ci_low, row.ci_high) if end is not None and math.isfinite(end)]
    widths = sorted(
        row.ci_high - row.ci_low
        for row in forest.rows
        if row.ci_low is not None and row.ci_high is not None and _known(row.ci_high - row.ci_low)
    )
    typical = widths[len(widths) // 2] if widths else 0.0
    reach = 3 * max(max(fixed) - min(fixed), typical, 0.02 * abs(max(fixed)))
    near = [end for end in ends if min(fixed) - reach <= end <= max(fixed) + reach and (end > 0 or not forest.log)]
    low, high = min(fixed + near), max(fixed + near)
    if not forest.log:
        return padded(Limits(low, high))
    margin = max((high / low) ** 0.06, 1.01)
    return Limits(low / margin, high * margin)


def _ticks(limits: Limits, width: float, *, log: bool) -> Ticks:
    most = max(int(width / 0.55), 2)
    if not log or limits.high / limits.low < _LOG_FROM:
        return ticks(limits.low, limits.high, most)
    for steps in ((1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        decades = range(math.floor(math.log10(limits.low)), math.ceil(math.log10(limits.high)) + 1)
        values = [m * 10.0**d for d in decades for m in steps if limits.low <= m * 10.0**d <= limits.high]
        if len(values) <= most:
            break
    return Ticks(tuple(values), tuple(text for value in values for text in tick_texts((value,))))


def _share(value: float, limits: Limits, *, log: bool) -> float:
    if log:
        return math.log(value / limits.low) / math.log(limits.high / limits.low)
    return (value - limits.low) / (limits.high - limits.low)


def _axes(figure: Figure, box: Box, limits: Limits, marks: Ticks, *, log: bool) -> Axes:
    axes = place_axes(figure, box.left, box.bottom, box.width, box.height)
    if log:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xlim(limits.low, limits.high)
    axes.set_ylim(box.bottom, box.top)  # rows stand where their texts stand: the vertical unit is the inch
    axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=style.GRID, linewidth=0.6)
    return axes


def _draw_row(figure: Figure, axes: Axes, box: Box, row: _Row, top: float, limits: Limits, text_left: float) -> None:
    middle = top - row.height_in / 2
    put_middle(figure, box.left - _GAP_IN, middle, row.label, align="right", weight=row.weight)
    put_middle(figure, text_left, middle, row.text, weight=row.weight)
    source = row.row
    look = style.run_style(source.role)
    if source.ci_low is not None and source.ci_high is not None and _known(source.ci_low) and _known(source.ci_high):
        low, high = max(source.ci_low, limits.low), min(source.ci_high, limits.high)
        if low < high:
            axes.plot(
                [low, high],
                [middle] * 2,
                color=look.colour,
                linewidth=2.8 if source.headline else 1.7,
                solid_capstyle="butt",
            )
        for beyond, end, marker in (
            (source.ci_low < limits.low, limits.low, "<"),
            (source.ci_high > limits.high, limits.high, ">"),
        ):
            if beyond:
                axes.plot([end], [middle], linestyle="none", marker=marker, markersize=4.6, color=look.colour, clip_on=False)
    if source.estimate is not None and limits.low <= source.estimate <= limits.high:
        size = 6.5 if source.headline else 5.0
        axes.plot(
            [source.estimate],
            [middle],
            linestyle="none",
            marker=look.marker,
            markersize=size,
            color=look.colour,
            markeredgecolor=style.PAPER,
            markeredgewidth=0.7,
            clip_on=False,
        )


def _put_directions(figure: Figure, box: Box, forest: _Forest, share: float) -> None:
    """What lies on each side of the reference, above the axes, where there is room for the words."""
    place = box.left + share * box.width
    level = box.top + 0.02 + line_height_in(style.SMALL_PT) / 2
    lower, higher = f"← {forest.lower_text}", f"{forest.higher_text} →"
    if forest.lower_text and width_in(lower, style.SMALL_PT) + 0.08 < place - 0.02:
        put_text(figure, place - 0.08, level, lower, size_pt=style.SMALL_PT, colour=style.MUTED, align="right")
    if forest.higher_text and place + 0.08 + width_in(higher, style.SMALL_PT) < style.WIDTH_IN:
        put_text(figure, place + 0.08, level, higher, size_pt=style.SMALL_PT, colour=style.MUTED)


def _put_below(figure: Figure, box: Box, lines: Sequence[str]) -> None:
    put_lines(figure, box.left, box.bottom - TICK_ROW_IN, lines, size_pt=style.SMALL_PT, colour=style.MUTED)
