"""Curves in panels: reward and accuracy against samples and against time, response length over steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, put_text
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
from rlreport.plotters.text import line_height_in, run_label, wrap
from rlreport.report.figures import CurveFigure, CurvePanel, CurveSeries
from rlreport.run import format as fmt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES_HEIGHT_IN = 1.75
_COLUMN_GAP_IN = 0.3
_ROW_GAP_IN = 0.14
_CELL_PT = 3.0
_EDGE_IN = 0.04


@dataclass(frozen=True, slots=True)
class _Cell:
    """A panel with its scales and set texts, and where it stands in the grid."""

    panel: CurvePanel
    x: Scale
    y: Scale
    shares_y: bool
    title: tuple[str, ...]
    x_lines: tuple[str, ...]
    y_lines: tuple[str, ...]

    @property
    def above_in(self) -> float:
        """Room above the axes."""
        return labels_height_in(self.y_lines) + len(self.title) * line_height_in(style.TEXT_PT) + 0.12

    @property
    def below_in(self) -> float:
        """Room below the axes."""
        return TICK_ROW_IN + labels_height_in(self.x_lines) + 0.03


def draw_curves(spec: CurveFigure) -> Figure:
    """Draw the panels: one across with run labels beside it, or rows of two under one legend."""
    return _draw_single(spec.panels[0]) if len(spec.panels) == 1 else _draw_grid(spec)


def _draw_single(panel: CurvePanel) -> Figure:
    y = _y_scale([panel])
    labels = [_run_label(series, y) for series in panel.series]
    left = _EDGE_IN + tick_width_in(y)
    width = style.WIDTH_IN - left - column_width_in(labels) - 0.04
    cell = _cell(panel, y, width, shares_y=False)
    height = max(_AXES_HEIGHT_IN, column_height_in(labels))
    legend = flow(_reading_entries([cell]), style.WIDTH_IN - left)
    below = cell.below_in + (0.06 + legend.height_in if legend.rows else 0.0)
    box = Box(left, below, width, height)
    figure = new_figure(below + height + cell.above_in)
    _draw_cell(figure, box, cell, cell.above_in, label_left=_EDGE_IN)
    draw_column(figure, labels, box, left=box.right)
    legend.draw(figure, left, 0.03 + legend.height_in)
    return figure


def _draw_grid(spec: CurveFigure) -> Figure:
    rows = [spec.panels[i : i + 2] for i in range(0, len(spec.panels), 2)]
    scales = [_row_scales(row) for row in rows]
    left = _EDGE_IN + max((tick_width_in(row_scales[0]) for row_scales in scales), default=0.0)
    second_ticks = [tick_width_in(ys[1]) for ys, row in zip(scales, rows, strict=True) if len(row) == 2 and not _shared(row)]
    between = _COLUMN_GAP_IN + max(second_ticks, default=0.0)
    whole = style.WIDTH_IN - left - 0.16
    widths = [(whole - between) / 2 if len(row) == 2 else whole for row in rows]  # a last panel alone has the whole row
    cells = [_row_cells(row, ys, width) for row, ys, width in zip(rows, scales, widths, strict=True)]
    legend = flow([*_run_entries(spec.panels), *_reading_entries([c for row in cells for c in row])], style.WIDTH_IN - left)

    above = [max(cell.above_in for cell in row) for row in cells]
    below = [max(cell.below_in for cell in row) + _ROW_GAP_IN for row in cells]
    height = 0.11 + legend.height_in + sum(above) + sum(below) + _AXES_HEIGHT_IN * len(cells) - _ROW_GAP_IN
    figure = new_figure(height)
    legend.draw(figure, left, height - 0.03)
    top = height - 0.11 - legend.height_in
    for row_cells, width, above_in, below_in in zip(cells, widths, above, below, strict=True):
        bottom = top - above_in - _AXES_HEIGHT_IN
        for number, cell in enumerate(row_cells):
            box = Box(left + number * (width + between), bottom, width, _AXES_HEIGHT_IN)
            _draw_cell(figure, box, cell, above_in, label_left=None if number else _EDGE_IN)
        top = bottom - below_in
    return figure


def _row_cells(row: Sequence[CurvePanel], ys: Sequence[Scale], width: float) -> list[_Cell]:
    shared = _shared(row)
    return [
        _cell(panel, y, width, shares_y=shared and number > 0) for number, (panel, y) in enumerate(zip(row, ys, strict=True))
    ]


def _shared(row: Sequence[CurvePanel]) -> bool:
    """Whether the panels of a row share their y axis."""
    return len({panel.y_label for panel in row}) == 1


def _row_scales(row: Sequence[CurvePanel]) -> list[Scale]:
    return [_y_scale(row)] * len(row) if _shared(row) else [_y_scale([panel]) for panel in row]


def _cell(panel: CurvePanel, y: Scale, width: float, *, shares_y: bool) -> _Cell:
    title = wrap(panel.title, width, style.TEXT_PT, weight="bold") if panel.title.strip() else ()
    y_lines = () if shares_y else label_lines(panel.y_label, width)
    return _Cell(panel, _x_scale(panel, width), y, shares_y, title, label_lines(panel.x_label, width), y_lines)


def _x_scale(panel: CurvePanel, width: float) -> Scale:
    import numpy as np

    known = [finite(to_array(series.x)) for series in panel.series]
    values = np.concatenate([array for array in known if array.size] or [np.array([])])
    if not values.size:
        return Scale(Limits(0.0, 1.0), Ticks((), ()))
    low, high = float(values.min()), float(values.max())
    margin = 0.015 * (high - low) or 0.5 * abs(high) or 0.5
    limits = Limits(low - margin, high + margin)
    whole = bool(np.all(values == np.round(values)))
    return Scale(limits, ticks(limits.low, limits.high, max(int(width / 0.6), 2), whole=whole))


def _y_scale(panels: Sequence[CurvePanel]) -> Scale:
    series = [one for panel in panels for one in panel.series]
    core = [to_array(one.smoothed if one.smoothed is not None else one.y) for one in series]
    raw = [to_array(one.y) for one in series]
    # The beginning of training lies far from the rest and is no outlier: only what is far beyond all of it is.
    limits = robust_limits(core, raw, reach=4.0, gap=9.0)
    strip = STRIP_IN / _AXES_HEIGHT_IN
    limits = padded(limits, low_share=strip * limits.clips_low, high_share=strip * limits.clips_high)
    known = any(finite(array).size for array in (*core, *raw))
    return Scale(limits, ticks(limits.low, limits.high, 5) if known else Ticks((), ()))


def _run_label(series: CurveSeries, y: Scale) -> RunLabel:
    known = finite(to_array(series.smoothed if series.smoothed is not None else series.y))
    near = y.share(float(known[-1])) if known.size else 0.5
    marker = style.run_style(series.role).marker if series.points_only else ""
    return RunLabel(
        series.label, series.role, "" if known.size else "not known", near, leader=bool(known.size), marker=marker
    )


def _draw_cell(figure: Figure, box: Box, cell: _Cell, above_in: float, label_left: float | None) -> None:
    """Draw a panel; its title stands at the top of the room above, from `label_left` on (None: from its tick texts on)."""
    start = label_left if label_left is not None else box.left - (0.0 if cell.shares_y else tick_width_in(cell.y))
    texts = PanelTexts(cell.x_lines, cell.y_lines, label_left=start, y_ticks=not cell.shares_y)
    axes = draw_panel(figure, box, cell.x, cell.y, texts)
    top = box.top + above_in - 0.04
    for line in cell.title:
        put_text(figure, start, top - line_height_in(style.TEXT_PT) / 2, line, weight="bold")
        top -= line_height_in(style.TEXT_PT)
    crowded = len(cell.panel.series) > 3
    for series in cell.panel.series:  # what is measured lies below all that is smoothed
        if series.smoothed is not None and not series.points_only:
            _draw_measured(axes, box, series, cell.y.limits, crowded=crowded)
    for series in cell.panel.series:
        _draw_series(axes, box, series, cell, crowded=crowded)
    if not any(_has_values(series) for series in cell.panel.series):
        note_nothing(figure, axes, box)
    points = _off_scale(cell)
    draw_off_scale(figure, axes, box, cell.x, points, [fmt.number(point.value) for point in points])


def _draw_measured(axes: Axes, box: Box, series: CurveSeries, limits: Limits, *, crowded: bool) -> None:
    """The measured values behind a smoothed curve: thin and faint."""
    look = style.run_style(series.role)
    draw_line(
        axes,
        box,
        to_array(series.x),
        within(to_array(series.y), limits),
        colour=look.colour,
        width_pt=0.5,
        alpha=0.22 if crowded else 0.4,
        column_pt=2.0 if crowded else 1.0,
    )


def _draw_series(axes: Axes, box: Box, series: CurveSeries, cell: _Cell, *, crowded: bool) -> None:
    look = style.run_style(series.role)
    x, y = to_array(series.x), within(to_array(series.y), cell.y.limits)
    if series.points_only:
        cell_x = _CELL_PT * POINT_IN * (cell.x.limits.high - cell.x.limits.low) / box.width
        cell_y = _CELL_PT * POINT_IN * (cell.y.limits.high - cell.y.limits.low) / box.height
        shown = thin_points(x, y, cell_x, cell_y)
        (points,) = axes.plot(x[shown], y[shown], linestyle="none", marker=look.marker, markersize=4.2, markeredgewidth=0)
        points.set_color(look.colour)
        return
    drawn = y if series.smoothed is None else within(to_array(series.smoothed), cell.y.limits)
    width_pt = 1.2 if series.smoothed is None else 1.5
    column_pt = 2.0 if crowded else 1.0
    draw_line(axes, box, x, drawn, colour=look.colour, width_pt=width_pt, dashes=look.dashes, column_pt=column_pt)


def _has_values(series: CurveSeries) -> bool:
    import numpy as np

    return bool(np.any(np.isfinite(to_array(series.x)) & np.isfinite(to_array(series.y))))


def _off_scale(cell: _Cell) -> list[OffScale]:
    """The measured points beyond the axes, the farthest first; those without a place are not drawn at all."""
    beyond = [find_off_scale(to_array(one.x), to_array(one.y), one.role, cell.y.limits) for one in cell.panel.series]
    return farthest_first((point for point in chain.from_iterable(beyond) if math.isfinite(point.x)), cell.y.limits)


def _run_entries(panels: Sequence[CurvePanel]) -> list[Entry]:
    """One entry a run, over all panels, in the order of roles."""
    looks: dict[int, tuple[str, bool]] = {}
    for panel in panels:
        for series in panel.series:
            _label, points = looks.get(series.role, (series.label, False))
            looks[series.role] = (series.label, points or series.points_only)
    return [
        Entry(
            Key(
                "line",
                style.run_style(role).colour,
                style.run_style(role).dashes,
                style.run_style(role).marker if points else "",
            ),
            run_label(label, role),
        )
        for role, (label, points) in sorted(looks.items())
    ]


def _reading_entries(cells: Sequence[_Cell]) -> list[Entry]:
    """What thin and thick lines mean, where both are drawn, and what lies off the scale."""
    entries: list[Entry] = []
    if any(series.smoothed is not None and not series.points_only for cell in cells for series in cell.panel.series):
        entries.append(Entry(Key("line", style.MUTED, width_pt=0.5), "as measured"))
        entries.append(Entry(Key("line", style.MUTED, width_pt=1.5), "smoothed for the eye"))
    for cell in cells:
        off_scale = _off_scale(cell)
        if off_scale:
            farthest = f"{fmt.number(off_scale[0].value)} {cell.panel.unit}".rstrip()
            entries.append(off_scale_entry(off_scale, farthest, "value"))
    return list(dict.fromkeys(entries))
