"""Responses to the doses of one knob: small multiples with one x axis, intervals, the candidate marked in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, place_axes, put_lines, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, Scale, label_lines, labels_height_in, note_nothing, tick_width_in
from rlreport.plotters.scale import LARGEST, Limits, Ticks, padded, ticks
from rlreport.plotters.text import line_height_in, width_in, wrap
from rlreport.report.figures_series import DoseFigure, DosePanel, DosePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES_HEIGHT_IN = 1.2
_COLUMN_GAP_IN = 0.3
_ROW_GAP_IN = 0.16
_EDGE_IN = 0.04
_MOST_COLUMNS = 3
_LEAST_REACH = 0.1
_SIDE = 0.09  # free share of the axis left of the first and right of the last dose
_CANDIDATE_DASHES: style.Dashes = (3.0, 2.0)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A panel with its scale and set title."""

    panel: DosePanel
    y: Scale
    title: tuple[str, ...]


def draw_doses(spec: DoseFigure) -> Figure:
    """Draw the panels in rows of up to three, with the doses below every panel and the knob below the last row."""
    columns = _columns(len(spec.panels))
    rows = [spec.panels[i : i + columns] for i in range(0, len(spec.panels), columns)]
    scales = [[_scale(panel) for panel in row] for row in rows]
    lead = max((tick_width_in(scale) for row in scales for scale in row), default=0.0)
    width = (style.WIDTH_IN - 2 * _EDGE_IN - (columns - 1) * _COLUMN_GAP_IN) / columns - lead
    cells = [
        [_Cell(panel, y, wrap(panel.title, width + lead, style.SMALL_PT)) for panel, y in zip(row, ys, strict=True)]
        for row, ys in zip(rows, scales, strict=True)
    ]
    legend = flow(_entries(spec), style.WIDTH_IN - 2 * _EDGE_IN)
    x_lines = label_lines(spec.x_label, style.WIDTH_IN - 2 * _EDGE_IN)
    above = [max(len(cell.title) for cell in row) * line_height_in(style.SMALL_PT) + 0.1 for row in cells]
    foot = labels_height_in(x_lines) + (0.06 + legend.height_in if legend.rows else 0.0) + _EDGE_IN
    height = foot + sum(above) + len(cells) * (_AXES_HEIGHT_IN + TICK_ROW_IN) + (len(cells) - 1) * _ROW_GAP_IN + _EDGE_IN
    figure = new_figure(height)
    top = height - _EDGE_IN
    for row, above_in in zip(cells, above, strict=True):
        bottom = top - above_in - _AXES_HEIGHT_IN
        for number, cell in enumerate(row):
            left = _EDGE_IN + number * (lead + width + _COLUMN_GAP_IN)
            box = Box(left + lead, bottom, width, _AXES_HEIGHT_IN)
            put_lines(figure, left, box.top + above_in, cell.title, size_pt=style.SMALL_PT, colour=style.MUTED)
            _draw_cell(figure, box, spec, cell)
        top = bottom - TICK_ROW_IN - _ROW_GAP_IN
    for number, line in enumerate(x_lines):
        level = foot - (number + 0.5) * line_height_in(style.SMALL_PT)
        put_text(figure, style.WIDTH_IN / 2, level, line, size_pt=style.SMALL_PT, colour=style.MUTED, align="center")
    legend.draw(figure, _EDGE_IN, _EDGE_IN + legend.height_in)
    return figure


def _columns(panels: int) -> int:
    """How many panels stand in a row: three, or two where that leaves no hole."""
    return 2 if panels == 4 else max(min(panels, _MOST_COLUMNS), 1)


def _entries(spec: DoseFigure) -> list[Entry]:
    entries: list[Entry] = []
    if spec.band_text and any(panel.band is not None for panel in spec.panels):
        entries.append(Entry(Key("swatch", style.WASH, outlined=True), spec.band_text))
    if spec.candidate is not None and spec.candidate_text:
        entries.append(Entry(Key("line", style.MUTED, _CANDIDATE_DASHES, width_pt=1.0), spec.candidate_text))
    return entries


def _known(value: float | None) -> bool:
    return value is not None and abs(value) <= LARGEST


def _scale(panel: DosePanel) -> Scale:
    """An axis that shows all estimates and the band, and of the intervals what lies within three times that reach."""
    fixed = [point.estimate for point in panel.points if point.estimate is not None and _known(point.estimate)]
    fixed += [end for end in panel.band or () if _known(end)]
    if not fixed:
        return Scale(Limits(0.0, 1.0), Ticks((), ()))
    widths = [
        point.ci_high - point.ci_low
        for point in panel.points
        if point.ci_low is not None and point.ci_high is not None and _known(point.ci_low) and _known(point.ci_high)
    ]
    ends = [end for point in panel.points for end in (point.ci_low, point.ci_high) if end is not None and _known(end)]
    typical = median(widths) if widths else 0.0
    reach = 3 * max(max(fixed) - min(fixed), typical, 0.1 * abs(max(fixed, key=abs)))
    near = [end for end in ends if min(fixed) - reach <= end <= max(fixed) + reach]
    limits = padded(_widened(min(fixed + near), max(fixed + near)), share=0.1)
    return Scale(limits, ticks(limits.low, limits.high, 4))


def _widened(low: float, high: float) -> Limits:
    """At least a tenth of the level each way, so that what hardly depends on the dose looks like it."""
    middle = (low + high) / 2
    half = max((high - low) / 2, _LEAST_REACH * abs(middle))
    return Limits(middle - half, middle + half)


def _draw_cell(figure: Figure, box: Box, spec: DoseFigure, cell: _Cell) -> None:
    axes = place_axes(figure, box.left, box.bottom, box.width, box.height)
    axes.set_xlim(-_SIDE, 1 + _SIDE)
    axes.set_ylim(cell.y.limits.low, cell.y.limits.high)
    axes.set_xticks(list(spec.positions), _tick_texts(spec, box.width))
    axes.set_yticks(list(cell.y.ticks.values), list(cell.y.ticks.texts))
    axes.grid(color=style.GRID, linewidth=0.6, axis="y")
    axes.tick_params(axis="y", length=0)
    points = [point for point in cell.panel.points if _known(point.estimate) and 0 <= point.dose < len(spec.positions)]
    if not points:
        note_nothing(figure, axes, box)
        return
    if cell.panel.band is not None and all(_known(end) for end in cell.panel.band):
        axes.axhspan(*cell.panel.band, color=style.WASH, linewidth=0, zorder=0)
    if spec.candidate is not None:
        line = axes.axvline(spec.positions[spec.candidate], color=style.MUTED, linewidth=1.0, zorder=1)
        line.set_linestyle((0, _CANDIDATE_DASHES))
    places = [spec.positions[point.dose] for point in points]
    axes.plot(places, [point.estimate for point in points], color=style.AXIS, linewidth=0.9, zorder=2)  # type: ignore[arg-type]
    for place, point in zip(places, points, strict=True):
        _draw_point(axes, place, point, cell.y.limits)


def _draw_point(axes: Axes, place: float, point: DosePoint, limits: Limits) -> None:
    look = style.run_style(point.role)
    if point.ci_low is not None and point.ci_high is not None:
        low, high = max(point.ci_low, limits.low), min(point.ci_high, limits.high)
        if low < high:
            axes.plot([place] * 2, [low, high], color=look.colour, linewidth=2.0, solid_capstyle="butt", zorder=3)
        for beyond, end, marker in (
            (point.ci_low < limits.low, limits.low, "v"),
            (point.ci_high > limits.high, limits.high, "^"),
        ):
            if beyond:
                axes.plot([place], [end], linestyle="none", marker=marker, markersize=4.6, color=look.colour, clip_on=False)
    (mark,) = axes.plot([place], [point.estimate or 0.0], linestyle="none", marker=look.marker, color=look.colour)
    mark.set(markersize=6.0, markeredgecolor=style.PAPER, markeredgewidth=0.7, clip_on=False, zorder=4)


def _tick_texts(spec: DoseFigure, width: float) -> list[str]:
    """The doses as tick texts; one that would touch the one before is left out, and its tick stays."""
    texts: list[str] = []
    taken = -1.0
    scale = width / (1 + 2 * _SIDE)
    room = width / max(len(spec.doses), 1) * 1.6
    for position, dose in zip(spec.positions, spec.doses, strict=True):
        (text,) = wrap(dose, room, style.SMALL_PT, most_lines=1)
        half = width_in(text, style.SMALL_PT) / 2
        middle = (position + _SIDE) * scale
        if middle - half < taken + 0.06:
            texts.append("")
            continue
        texts.append(text)
        taken = middle + half
    return texts
