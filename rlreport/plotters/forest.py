"""Estimates with their intervals, one a row: ratios to the baseline, and estimates of several runs on one axis."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.fonts import drawable
from rlreport.plotters.layout import Entry, Key, flow, new_figure, place_axes, put_middle, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in, put_x_label
from rlreport.plotters.scale import LARGEST, Limits, Ticks, padded, tick_texts, ticks
from rlreport.plotters.text import Weight, line_height_in, run_label, width_in, wrap
from rlreport.report.figures import IntervalFigure, IntervalRow, RatioFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABEL_IN = 2.3
_MOST_TEXT_IN = 2.0
_ROW_PAD_IN = 0.1
_GAP_IN = 0.14
_COLUMN_GAP_IN = 0.16
_COLUMNS = re.compile(r"\s{2,}")  # two spaces or more part the two columns of a text
_LEAST_RATIOS = (0.95, 1.05)  # always on a ratio's axis, so that a small difference looks small
_RATIOS = (1e-3, 1e3)  # beyond, a ratio is told by its text alone
_LOG_FROM = 2.5  # an axis whose ends differ by more than this factor is logarithmic


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its texts set; its values are None where unknown and never beyond what an axis can show.

    `text` is what stands right of the axes; `more` is the second column of a text that has two.
    """

    row: IntervalRow
    label: tuple[str, ...]
    text: tuple[str, ...]
    more: tuple[str, ...]
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def weight(self) -> Weight:
        """The headline is bold."""
        return "bold" if self.row.headline else "normal"

    @property
    def height_in(self) -> float:
        """Height of the row."""
        return max(len(self.label), len(self.text), len(self.more)) * line_height_in(style.TEXT_PT) + _ROW_PAD_IN


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
    entries = (
        (Entry(Key("swatch", style.WASH, outlined=True), spec.margin_text),) if spec.margin and spec.margin_text else ()
    )
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
    reference = spec.reference if spec.reference is not None and abs(spec.reference) <= LARGEST else None
    return _draw(_Forest(spec.rows, spec.x_label, reference, None, False, entries))


def _draw(forest: _Forest) -> Figure:
    rows = [_set(row, log=forest.log) for row in forest.rows]
    left = (
        0.04 + max((width_in(line, style.TEXT_PT, row.weight) for row in rows for line in row.label), default=0.0) + _GAP_IN
    )
    first_column, text_width = _text_widths(rows)
    width = style.WIDTH_IN - left - text_width - _GAP_IN - 0.04
    limits = _limits(forest, rows)
    x_lines = label_lines(forest.x_label, width + text_width)
    legend = flow(forest.entries, style.WIDTH_IN - left)
    direction = line_height_in(style.SMALL_PT) + 0.04 if forest.lower_text or forest.higher_text else 0.0
    below = TICK_ROW_IN + labels_height_in(x_lines) + (0.05 + legend.height_in if legend.rows else 0.0) + 0.04
    height = max(sum(row.height_in for row in rows), 0.3) + 0.04
    box = Box(left, below, width, height)

    figure = new_figure(below + height + direction + 0.03)
    known = forest.log or any(row.estimate is not None for row in rows)
    axes = _axes(figure, box, limits, _ticks(limits, width, log=forest.log) if known else Ticks((), ()), log=forest.log)
    if forest.band is not None:
        axes.axvspan(*forest.band, color=style.WASH, linewidth=0, zorder=0)
    if forest.reference is not None:
        axes.axvline(forest.reference, color=style.INK, linewidth=0.8, zorder=1)
        _put_directions(figure, box, forest, _share(forest.reference, limits, log=forest.log))
    top = box.top - 0.02
    for row in rows:
        _draw_row(
            figure, axes, box, row, top, limits, text_left=box.right + _GAP_IN, more_left=box.right + _GAP_IN + first_column
        )
        top -= row.height_in
    put_x_label(figure, box, x_lines)
    legend.draw(figure, left, 0.04 + legend.height_in)
    return figure


def _set(row: IntervalRow, *, log: bool) -> _Row:
    weight: Weight = "bold" if row.headline else "normal"
    label = wrap(run_label(row.label, row.role), _MOST_LABEL_IN, style.TEXT_PT, weight=weight)
    columns = _COLUMNS.split(row.text.strip(), maxsplit=1)
    text, more = (wrap(c, _MOST_TEXT_IN, style.TEXT_PT, weight=weight) if c else () for c in (*columns, "")[:2])
    least, most = _RATIOS if log else (-LARGEST, LARGEST)
    estimate = _within(row.estimate, least, most)
    if estimate != row.estimate:  # beyond all axes: the text tells it
        estimate = None
    return _Row(row, label, text, more, estimate, _within(row.ci_low, least, most), _within(row.ci_high, least, most))


def _text_widths(rows: Sequence[_Row]) -> tuple[float, float]:
    """Where the second column of the texts begins, and the width of all, in inches."""

    def widest(texts: Sequence[tuple[_Row, tuple[str, ...]]]) -> float:
        return max((width_in(line, style.TEXT_PT, row.weight) for row, lines in texts for line in lines), default=0.0)

    second = widest([(row, row.more) for row in rows])
    start = widest([(row, row.text) for row in rows if row.more]) + _COLUMN_GAP_IN if second else 0.0
    return start, max(start + second, widest([(row, row.text) for row in rows if not row.more]))


def _within(value: float | None, low: float, high: float) -> float | None:
    """The value held within an interval; None when it is not known."""
    return None if value is None or math.isnan(value) else min(max(value, low), high)


def _limits(forest: _Forest, rows: Sequence[_Row]) -> Limits:
    """All estimates, the reference and the band; of the intervals what lies within three times that reach.

    A hopelessly wide interval would press all others into a point; it leaves the axis with an arrow instead.
    """
    scale, unscale = (math.log, math.exp) if forest.log else (float, float)
    anchors = [
        *(row.estimate for row in rows),
        forest.reference,
        *(forest.band or ()),
        *(_LEAST_RATIOS if forest.log else ()),
    ]
    fixed = [scale(value) for value in anchors if value is not None]
    if not fixed:
        return Limits(0.0, 1.0)
    intervals = [(scale(row.low), scale(row.high)) for row in rows if row.low is not None and row.high is not None]
    typical = median(high - low for low, high in intervals) if intervals else 0.0
    reach = 3 * max(max(fixed) - min(fixed), typical, 0.02 * abs(max(fixed)))
    near = [end for ends in intervals for end in ends if min(fixed) - reach <= end <= max(fixed) + reach]
    low, high = min(fixed + near), max(fixed + near)
    if not forest.log:
        return padded(Limits(low, high))
    margin = 0.06 * (high - low)
    return Limits(unscale(low - margin), unscale(high + margin))


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


def _draw_row(
    figure: Figure, axes: Axes, box: Box, row: _Row, top: float, limits: Limits, text_left: float, more_left: float
) -> None:
    middle = top - row.height_in / 2
    put_middle(figure, box.left - _GAP_IN, middle, row.label, align="right", weight=row.weight)
    put_middle(figure, text_left, middle, row.text, weight=row.weight)
    put_middle(figure, more_left, middle, row.more, weight=row.weight)
    look = style.run_style(row.row.role)
    if row.low is not None and row.high is not None:
        low, high = max(row.low, limits.low), min(row.high, limits.high)
        if low < high:
            width = 2.8 if row.row.headline else 1.7
            axes.plot([low, high], [middle] * 2, color=look.colour, linewidth=width, solid_capstyle="butt")
        for beyond, end, marker in ((row.low < limits.low, limits.low, "<"), (row.high > limits.high, limits.high, ">")):
            if beyond:
                axes.plot([end], [middle], linestyle="none", marker=marker, markersize=4.6, color=look.colour, clip_on=False)
    if row.estimate is not None:
        (point,) = axes.plot(
            [row.estimate], [middle], linestyle="none", marker=look.marker, color=look.colour, clip_on=False
        )
        point.set(markersize=7.0 if row.row.headline else 5.8, markeredgecolor=style.PAPER, markeredgewidth=0.7)


def _put_directions(figure: Figure, box: Box, forest: _Forest, share: float) -> None:
    """What lies on each side of the reference, above the axes, where there is room for the words."""
    place = box.left + share * box.width
    level = box.top + 0.02 + line_height_in(style.SMALL_PT) / 2
    lower, higher = f"← {drawable(forest.lower_text)}", f"{drawable(forest.higher_text)} →"
    if forest.lower_text and width_in(lower, style.SMALL_PT) + 0.08 < place - 0.02:
        put_text(figure, place - 0.08, level, lower, size_pt=style.SMALL_PT, colour=style.MUTED, align="right")
    if forest.higher_text and place + 0.08 + width_in(higher, style.SMALL_PT) < style.WIDTH_IN:
        put_text(figure, place + 0.08, level, higher, size_pt=style.SMALL_PT, colour=style.MUTED)
