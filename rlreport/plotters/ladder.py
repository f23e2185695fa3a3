"""The rungs of a ladder: a bar from the rung before to this one, a point with its interval, and both ratios as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.fonts import drawable
from rlreport.plotters.layout import Entry, Key, flow, new_figure, place_axes, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in, put_x_label
from rlreport.plotters.scale import Ticks, tick_texts, ticks
from rlreport.plotters.text import Weight, line_height_in, run_label, width_in, wrap
from rlreport.report.figures_series import LadderFigure, LadderRung

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL_IN = 2.35
_TEXT_IN = 1.05
_GAP_IN = 0.16
_EDGE_IN = 0.04
_ROW_PAD_IN = 0.16
_BAR_IN = 0.15
_MOST_DETAILS = 4
_COLUMNS = re.compile(r"\s{2,}")
_RATIOS = (1e-3, 1e3)  # beyond, a ratio is told by its text alone
_LEAST_RATIOS = (0.95, 1.05)  # always on the axis, so that a small difference looks small
_LOG_TICKS_FROM = 2.5  # an axis whose ends differ by more than this factor gets the ticks of a logarithmic one
_LOG_STEPS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

#: One line of a cell: its text, weight and colour.
_Line = tuple[str, Weight, str]


@dataclass(frozen=True, slots=True)
class _Row:
    """A rung with its texts set in lines, and its values held within what an axis can show."""

    rung: LadderRung
    label: tuple[_Line, ...]
    total: tuple[_Line, ...]
    step: tuple[_Line, ...]
    start: float | None
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def height_in(self) -> float:
        """Height of the row."""
        most = max(len(self.label), len(self.total), len(self.step), 1)
        return most * line_height_in(style.SMALL_PT) + _ROW_PAD_IN


def draw_ladder(spec: LadderFigure) -> Figure:
    """Draw the rungs from top to bottom on one logarithmic axis of ratios to the first."""
    rows = [_set(rung, last=number == len(spec.rungs) - 1) for number, rung in enumerate(spec.rungs)]
    titles = [wrap(title, _TEXT_IN, style.SMALL_PT) for title in (spec.total_title, spec.step_title)]
    cells = ([row.total for row in rows], [row.step for row in rows])
    columns = [_width([*column, _muted(title)]) for column, title in zip(cells, titles, strict=True)]
    left = _EDGE_IN + _width([row.label for row in rows]) + _GAP_IN
    width = style.WIDTH_IN - left - sum(columns) - 2 * _GAP_IN - _EDGE_IN
    x_lines = label_lines(spec.x_label, width + sum(columns))
    legend = flow(_entries(spec), style.WIDTH_IN - 2 * _EDGE_IN)
    below = TICK_ROW_IN + labels_height_in(x_lines) + (0.06 + legend.height_in if legend.rows else 0.0) + _EDGE_IN
    height = max(sum(row.height_in for row in rows), 0.3)
    above = max(len(lines) for lines in titles) * line_height_in(style.SMALL_PT) + 0.1
    box = Box(left, below, width, height)
    figure = new_figure(below + height + above)

    limits = _limits(spec, rows)
    axes = _axes(figure, box, limits)
    if spec.margin is not None:
        axes.axvspan(*spec.margin, color=style.WASH, linewidth=0, zorder=0)
    axes.axvline(1.0, color=style.INK, linewidth=0.8, zorder=1)
    _put_directions(figure, box, spec, limits)
    places = [box.right + _GAP_IN, box.right + 2 * _GAP_IN + columns[0]]
    for place, lines in zip(places, titles, strict=True):
        _put_cell(figure, place, box.top + 0.06 + _height(lines) / 2, _muted(lines))
    middles = _middles(rows, box)
    for row, middle in zip(rows, middles, strict=True):
        _put_cell(figure, _EDGE_IN, middle, row.label)
        _put_cell(figure, places[0], middle, row.total)
        _put_cell(figure, places[1], middle, row.step)
        _draw_rung(axes, row, middle, limits)
    _draw_connectors(axes, rows, middles, limits)
    put_x_label(figure, box, x_lines)
    legend.draw(figure, _EDGE_IN, _EDGE_IN + legend.height_in)
    return figure


def _set(rung: LadderRung, *, last: bool) -> _Row:
    weight: Weight = "bold"
    label: list[_Line] = [
        (line, weight, style.INK)
        for line in wrap(run_label(rung.label, rung.role), _LABEL_IN, style.SMALL_PT, weight=weight)
    ]
    shown = rung.detail[:_MOST_DETAILS]
    if len(rung.detail) > _MOST_DETAILS:
        shown = (*shown[:-1], f"and {len(rung.detail) - len(shown) + 1} more knobs")
    for text in shown:
        label += [(line, "normal", style.MUTED) for line in wrap(text, _LABEL_IN, style.SMALL_PT)]
    total = _ratio_lines(rung.total_text, weight="bold" if last else "normal")
    step = _ratio_lines(rung.step_text, weight="normal")
    if rung.mark:
        step += [(line, "bold", style.INK) for line in wrap(rung.mark, _TEXT_IN, style.SMALL_PT, weight="bold")]
    values = [_held(value) for value in (rung.start, rung.ratio, rung.ci_low, rung.ci_high)]
    return _Row(rung, tuple(label), tuple(total), tuple(step), *values)


def _ratio_lines(text: str, *, weight: Weight) -> list[_Line]:
    """The ratio on a line of its own, its interval below; words in as many lines as they need."""
    first, *rest = _COLUMNS.split(text.strip(), maxsplit=1) if text.strip() else [""]
    if not first:
        return []
    lines: list[_Line] = [(line, weight, style.INK) for line in wrap(first, _TEXT_IN, style.SMALL_PT, weight=weight)]
    for part in rest:
        lines += [(line, "normal", style.MUTED) for line in wrap(part, _TEXT_IN, style.SMALL_PT)]
    return lines


def _held(value: float | None) -> float | None:
    """The value within the ratios that an axis can show; None when it is not known."""
    return None if value is None or math.isnan(value) else min(max(value, _RATIOS[0]), _RATIOS[1])


def _entries(spec: LadderFigure) -> list[Entry]:
    entries: list[Entry] = []
    if spec.margin is not None and spec.margin_text:
        entries.append(Entry(Key("swatch", style.WASH, outlined=True), spec.margin_text))
    if spec.hatched_text and any(not rung.attributable for rung in spec.rungs):
        entries.append(Entry(Key("idle", style.PAPER), spec.hatched_text))
    return entries


def _limits(spec: LadderFigure, rows: Sequence[_Row]) -> tuple[float, float]:
    """All ratios, the band, and of the intervals what lies within three times that reach."""
    anchors = [*_LEAST_RATIOS, *(spec.margin or ()), *(value for row in rows if (value := row.ratio) is not None)]
    logs = [math.log(value) for value in anchors if value > 0]
    reach = 3 * (max(logs) - min(logs))
    ends = [math.log(end) for row in rows for end in (row.low, row.high) if end is not None]
    near = [end for end in ends if min(logs) - reach <= end <= max(logs) + reach]
    low, high = min(logs + near), max(logs + near)
    margin = 0.06 * (high - low)
    return math.exp(low - margin), math.exp(high + margin)


def _axes(figure: Figure, box: Box, limits: tuple[float, float]) -> Axes:
    axes = place_axes(figure, box.left, box.bottom, box.width, box.height)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlim(*limits)
    axes.set_ylim(box.bottom, box.top)  # rows stand where their texts stand: the vertical unit is the inch
    marks = _ticks(limits, box.width)
    axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=style.GRID, linewidth=0.6)
    return axes


def _ticks(limits: tuple[float, float], width: float) -> Ticks:
    low, high = limits
    most = max(int(width / 0.55), 2)
    if high / low < _LOG_TICKS_FROM:
        return ticks(low, high, most)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values: list[float] = []
    for steps in _LOG_STEPS:
        values = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(values) <= most:
            break
    return Ticks(tuple(values), tuple(text for value in values for text in tick_texts((value,))))


def _middles(rows: Sequence[_Row], box: Box) -> list[float]:
    middles: list[float] = []
    top = box.top
    for row in rows:
        middles.append(top - row.height_in / 2)
        top -= row.height_in
    return middles


def _draw_rung(axes: Axes, row: _Row, middle: float, limits: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    look = style.run_style(row.rung.role)
    if row.start is not None and row.ratio is not None:
        left, right = sorted((row.start, row.ratio))
        bar = Rectangle((left, middle - _BAR_IN / 2), right - left, _BAR_IN, linewidth=0.7, zorder=2)
        if row.rung.attributable:
            bar.set(facecolor=look.colour, alpha=0.3, linewidth=0)
        else:
            bar.set(facecolor=style.PAPER, hatch=style.IDLE_HATCH, edgecolor=style.IDLE_HATCH_COLOUR)
        axes.add_patch(bar)
    if row.low is not None and row.high is not None:
        low, high = max(row.low, limits[0]), min(row.high, limits[1])
        if low < high:
            axes.plot([low, high], [middle] * 2, color=look.colour, linewidth=2.2, solid_capstyle="butt", zorder=3)
        for beyond, end, marker in ((row.low < limits[0], limits[0], "<"), (row.high > limits[1], limits[1], ">")):
            if beyond:
                axes.plot([end], [middle], linestyle="none", marker=marker, markersize=4.6, color=look.colour, clip_on=False)
    if row.ratio is not None:
        (point,) = axes.plot([row.ratio], [middle], linestyle="none", marker=look.marker, color=look.colour, clip_on=False)
        point.set(markersize=6.4, markeredgecolor=style.PAPER, markeredgewidth=0.7, zorder=4)


def _draw_connectors(axes: Axes, rows: Sequence[_Row], middles: Sequence[float], limits: tuple[float, float]) -> None:
    """Thin lines from a rung down to where the next one starts."""
    for (upper, above), (lower, below) in pairwise(zip(rows, middles, strict=True)):
        if upper.ratio is not None and lower.start is not None and limits[0] <= lower.start <= limits[1]:
            (line,) = axes.plot([lower.start] * 2, [above, below], color=style.AXIS, linewidth=0.7, zorder=1)
            line.set_linestyle((0, (2.0, 2.0)))


def _muted(lines: Sequence[str]) -> tuple[_Line, ...]:
    return tuple((line, "normal", style.MUTED) for line in lines)


def _width(cells: Sequence[Sequence[_Line]]) -> float:
    """Width of the widest line of some cells."""
    return max((width_in(text, style.SMALL_PT, weight) for cell in cells for text, weight, _ in cell), default=0.0)


def _height(lines: Sequence[object]) -> float:
    return len(lines) * line_height_in(style.SMALL_PT)


def _put_cell(figure: Figure, left: float, middle: float, lines: Sequence[_Line]) -> None:
    level = middle + _height(lines) / 2 - line_height_in(style.SMALL_PT) / 2
    for text, weight, colour in lines:
        put_text(figure, left, level, text, size_pt=style.SMALL_PT, weight=weight, colour=colour)
        level -= line_height_in(style.SMALL_PT)


def _put_directions(figure: Figure, box: Box, spec: LadderFigure, limits: tuple[float, float]) -> None:
    """What lies on each side of 1, above the axes, where there is room for the words."""
    share = math.log(1 / limits[0]) / math.log(limits[1] / limits[0])
    place = box.left + share * box.width
    level = box.top + 0.03 + line_height_in(style.SMALL_PT) / 2
    lower, higher = f"← {drawable(spec.lower_text)}", f"{drawable(spec.higher_text)} →"
    if spec.lower_text and width_in(lower, style.SMALL_PT) + 0.08 < place - box.left:
        put_text(figure, place - 0.08, level, lower, size_pt=style.SMALL_PT, colour=style.MUTED, align="right")
    if spec.higher_text and place + 0.08 + width_in(higher, style.SMALL_PT) < box.right:
        put_text(figure, place + 0.08, level, higher, size_pt=style.SMALL_PT, colour=style.MUTED)
