"""The lead of the Rollouters over time: finished mini-batches that wait for the Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import new_figure, put_text
from rlreport.plotters.panel import (
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
from rlreport.plotters.scale import Limits, finite, padded, thin_points, ticks, to_array
from rlreport.plotters.text import line_height_in, run_label, wrap
from rlreport.report.figures_timeline import LeadFigure, LeadLine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rlreport.plotters.scale import Array

_EDGE_IN = 0.04
_AXES_IN = 0.8
_PANEL_GAP_IN = 0.1
_CAPACITY_DASHES: style.Dashes = (2.0, 1.5)


def draw_lead(spec: LeadFigure) -> Figure:
    """Draw a panel a run, all on one scale."""
    xs = [finite(to_array(line.x)) for line in spec.lines]
    ys = [finite(to_array((*line.y, *line.asked_y, line.capacity))) for line in spec.lines]
    low = min((float(x.min()) for x in xs if x.size), default=0.0)
    high = max((float(x.max()) for x in xs if x.size), default=1.0)
    top_value = max((float(y.max()) for y in ys if y.size), default=1.0)
    y_limits = padded(Limits(0.0, max(top_value, 0.5)))
    x_scale = Scale(Limits(low, high if high > low else low + 1), ticks(low, high if high > low else low + 1, 7))
    y_scale = Scale(y_limits, ticks(y_limits.low, y_limits.high, 4))
    left = _EDGE_IN + tick_width_in(y_scale)
    width = style.WIDTH_IN - left - 0.14
    x_lines = label_lines(spec.x_label, width)
    head = line_height_in(style.TEXT_PT) + 0.03 + line_height_in(style.SMALL_PT) + 0.08
    panel = head + _AXES_IN + TICK_ROW_IN
    foot = labels_height_in(x_lines) + _EDGE_IN
    height = foot + len(spec.lines) * panel + _PANEL_GAP_IN * max(len(spec.lines) - 1, 0) + _EDGE_IN
    figure = new_figure(height)
    top = height - _EDGE_IN
    for number, line in enumerate(spec.lines):
        box = Box(left, top - head - _AXES_IN, width, _AXES_IN)
        last = number == len(spec.lines) - 1
        y_lines = label_lines(spec.y_label, style.WIDTH_IN - 2 * _EDGE_IN)
        _draw_panel(figure, line, box, top, (x_scale, y_scale), PanelTexts(x_lines if last else (), y_lines, _EDGE_IN))
        top -= panel + _PANEL_GAP_IN
    return figure


def _held(x: Array, y: Array) -> tuple[Array, Array]:
    """A count as a staircase: it stands until the next sample."""
    import numpy as np

    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _draw_panel(
    figure: Figure, line: LeadLine, box: Box, top: float, scales: tuple[Scale, Scale], texts: PanelTexts
) -> None:
    label = run_label(line.label, line.role)
    words = f"{label}: {line.note}" if line.note else label
    (title,) = wrap(words, style.WIDTH_IN - 2 * _EDGE_IN, style.TEXT_PT, most_lines=1, weight="bold")
    put_text(figure, _EDGE_IN, top - line_height_in(style.TEXT_PT) / 2, title, weight="bold")
    axes = draw_panel(figure, box, scales[0], scales[1], texts)
    x, y = to_array(line.x), to_array(line.y)
    if not finite(y).size:
        note_nothing(figure, axes, box)
        return
    look = style.run_style(line.role)
    if line.capacity is not None:
        axes.axhline(line.capacity, color=style.MUTED, linewidth=0.9, linestyle=(0, _CAPACITY_DASHES))
    held_x, held_y = _held(x, y)
    draw_line(axes, box, held_x, held_y, colour=look.colour, width_pt=1.0)
    asked_x, asked_y = to_array(line.asked_x), to_array(line.asked_y)
    if finite(asked_y).size:
        span_x, span_y = scales[0].limits.high - scales[0].limits.low, scales[1].limits.high - scales[1].limits.low
        kept = thin_points(asked_x, asked_y, span_x * 0.05 / box.width, span_y * 0.05 / box.height)
        axes.plot(
            asked_x[kept],
            asked_y[kept],
            linestyle="none",
            marker=look.marker,
            markersize=3.4,
            markerfacecolor=style.PAPER,
            markeredgecolor=look.colour,
            markeredgewidth=0.9,
        )
