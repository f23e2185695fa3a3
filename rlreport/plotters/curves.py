"""Curves in panels: reward and accuracy against samples and against time, response length over steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, put_text
from rlreport.plotters.panel import (
    POINT_IN,
    TICK_ROW_IN,
    Box,
    Scale,
    draw_line,
    draw_panel,
    label_lines,
    labels_height_in,
    note_nothing,
    tick_width_in,
)
from rlreport.plotters.runlabels import RunLabel, column_height_in, column_width_in, draw_column
from rlreport.plotters.scale import Limits, Ticks, finite, padded, robust_limits, thin_points, ticks, to_array
from rlreport.plotters.text import line_height_in, run_label, wrap
from rlreport.report.figures import CurveFigure, CurvePanel, CurveSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES_HEIGHT_IN = 1.75
_COLUMN_GAP_IN = 0.3
_ROW_GAP_IN = 0.14
_CELL_PT = 3.0


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
    left = 0.04 + tick_width_in(y)
    width = style.WIDTH_IN - left - column_width_in(labels) - 0.04
    cell = _cell(panel, y, width, shares_y=False)
    height = max(_AXES_HEIGHT_IN, column_height_in(labels))
    legend = flow(_reading_entries([panel]), style.WIDTH_IN - left)
    below = cell.below_in + (0.06 + legend.height_in if legend.rows else 0.0)
    box = Box(left, below, width, height)
    figure = new_figure(below + height + cell.above_in)
    _draw_cell(figure, box, cell)
    draw_column(figure, labels, box, left=box.right)
    legend.draw(figure, left, 0.03 + legend.height_in)
    return figure


def _draw_grid(spec: CurveFigure) -> Figure:
    rows = [spec.panels[i : i + 2] for i in range(0, len(spec.panels), 2)]
    scales = [_row_scales(row) for row in rows]
    left = 0.04 + max((tick_width_in(row_scales[0]) for row_scales in scales), default=0.0)
    between = _COLUMN_GAP_IN + max(
        (tick_width_in(pair[1]) for pair, row in zip(scales, rows, strict=True) if len(row) == 2 and not _shared(row)),
        default=0.0,
    )
    width = (style.WIDTH_IN - left - between - 0.16) / 2
    cells = [
        [
            _cell(panel, y, width, shares_y=number > 0 and _shared(row))
            for number, (panel, y) in enumerate(zip(row, ys, strict=True))
        ]
        for row, ys in zip(rows, scales, strict=True)
    ]
    legend = flow([*_run_entries(spec.panels), *_reading_entries(spec.panels)], style.WIDTH_IN - left)
    height = 0.03 + legend.height_in + 0.08
    height += sum(max(c.above_in for c in row) + max(c.below_in for c in row) + _AXES_HEIGHT_IN for row in cells)
    figure = new_figure(height + _ROW_GAP_IN * max(len(cells) - 1, 0))
    top = float(figure.get_size_inches()[1]) - 0.03
    legend.draw(figure, left, top)
    top -= legend.height_in + 0.08
    for row_cells in cells:
        top -= max(cell.above_in for cell in row_cells)
        bottom = top - _AXES_HEIGHT_IN
        for number, cell in enumerate(row_cells):
            _draw_cell(figure, Box(left + number * (width + between), bottom, width, _AXES_HEIGHT_IN), cell)
        top = bottom - max(cell.below_in for cell in row_cells) - _ROW_GAP_IN
    return figure


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
    limits = padded(robust_limits(core, raw, most_clipped=4))
    known = any(finite(array).size for array in (*core, *raw))
    return Scale(limits, ticks(limits.low, limits.high, 5) if known else Ticks((), ()))


def _run_label(series: CurveSeries, y: Scale) -> RunLabel:
    known = finite(to_array(series.smoothed if series.smoothed is not None else series.y))
    near = y.share(float(known[-1])) if known.size else 0.5
    marker = style.run_style(series.role).marker if series.points_only else ""
    return RunLabel(
        series.label, series.role, "" if known.size else "not known", near, leader=bool(known.size), marker=marker
    )


def _draw_cell(figure: Figure, box: Box, cell: _Cell) -> None:
    axes = draw_panel(figure, box, cell.x, cell.y, x_lines=cell.x_lines, y_lines=cell.y_lines, y_ticks=not cell.shares_y)
    top = box.top + cell.above_in - 0.04
    for line in cell.title:
        put_text(figure, box.left, top - line_height_in(style.TEXT_PT) / 2, line, weight="bold")
        top -= line_height_in(style.TEXT_PT)
    known = False
    for series in cell.panel.series:
        known |= _draw_series(axes, box, series, cell)
    if not known:
        note_nothing(figure, box)


def _draw_series(axes: Axes, box: Box, series: CurveSeries, cell: _Cell) -> bool:
    """Draw one curve; returns whether it has any value."""
    import numpy as np

    look = style.run_style(series.role)
    x, y = to_array(series.x), to_array(series.y)
    if series.points_only:
        cell_x = _CELL_PT * POINT_IN * (cell.x.limits.high - cell.x.limits.low) / box.width
        cell_y = _CELL_PT * POINT_IN * (cell.y.limits.high - cell.y.limits.low) / box.height
        shown = thin_points(x, y, cell_x, cell_y)
        axes.plot(
            x[shown],
            y[shown],
            linestyle="none",
            marker=look.marker,
            markersize=4.2,
            color=look.colour,
            markeredgewidth=0,
            clip_on=True,
        )
    elif series.smoothed is None:
        draw_line(axes, box, x, y, colour=look.colour, width_pt=1.2, dashes=look.dashes)
    else:
        smoothed = to_array(series.smoothed)
        draw_line(axes, box, x, y, colour=look.colour, width_pt=0.5, alpha=0.4)
        draw_line(axes, box, x, smoothed, colour=look.colour, width_pt=1.5, dashes=look.dashes)
    for beyond, edge, marker in (
        (y < cell.y.limits.low, cell.y.limits.low, "v"),
        (y > cell.y.limits.high, cell.y.limits.high, "^"),
    ):
        if beyond.any():
            axes.plot(
                x[beyond],
                np.full(int(beyond.sum()), edge),
                linestyle="none",
                marker=marker,
                markersize=4.4,
                color=look.colour,
                markeredgewidth=0,
                clip_on=False,
            )
    return bool(finite(y).size)


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


def _reading_entries(panels: Sequence[CurvePanel]) -> list[Entry]:
    """What thin and thick lines mean, where both are drawn."""
    if not any(series.smoothed is not None and not series.points_only for panel in panels for series in panel.series):
        return []
    return [
        Entry(Key("line", style.MUTED, width_pt=0.5), "as measured"),
        Entry(Key("line", style.MUTED, width_pt=1.5), "smoothed for the eye"),
    ]
