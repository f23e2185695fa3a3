"""Distributions: response lengths as step curves with quantiles, and shares by a whole number as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, set_dashes
from rlreport.plotters.panel import (
    TICK_ROW_IN,
    Box,
    PanelTexts,
    Scale,
    draw_panel,
    label_lines,
    labels_height_in,
    note_nothing,
    tick_width_in,
)
from rlreport.plotters.scale import Limits, Ticks, finite, padded, ticks, to_array
from rlreport.plotters.text import run_label, width_in, wrap
from rlreport.report.figures_timeline import EcdfFigure, SharesFigure
from rlreport.run import format as fmt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDGE_IN = 0.04
_ECDF_IN = 2.0
_BARS_IN = 1.3
_BAR_SHARE = 0.8


def draw_ecdf(spec: EcdfFigure) -> Figure:
    """Draw all distributions in one pair of axes; thin lines are what the thick ones are compared with."""
    xs = [finite(to_array(curve.x)) for curve in spec.curves]
    high = max((float(x.max()) for x in xs if x.size), default=1.0)
    x_scale = Scale(Limits(0.0, high or 1.0), ticks(0.0, high or 1.0, 7))
    marks = Ticks((0.0, *spec.quantiles, 1.0), ("0", *(fmt.percent(q, 0) for q in spec.quantiles), ""))
    y_scale = Scale(Limits(0.0, 1.02), marks)
    left = _EDGE_IN + tick_width_in(y_scale)
    width = style.WIDTH_IN - left - 0.14
    entries = [
        Entry(
            Key("line", style.run_style(c.role).colour, style.run_style(c.role).dashes, width_pt=0.8 if c.thin else 1.6),
            f"{c.label}: {c.note}" if c.note else c.label,
        )
        for c in spec.curves
    ]
    legend = flow(entries, style.WIDTH_IN - left - _EDGE_IN)
    x_lines = label_lines(spec.x_label, width)
    y_lines = label_lines(spec.y_label, style.WIDTH_IN - 2 * _EDGE_IN)
    foot = TICK_ROW_IN + labels_height_in(x_lines) + 0.08 + legend.height_in + _EDGE_IN
    figure = new_figure(foot + _ECDF_IN + labels_height_in(y_lines) + 0.1 + _EDGE_IN)
    box = Box(left, foot, width, _ECDF_IN)
    axes = draw_panel(figure, box, x_scale, y_scale, PanelTexts(x_lines, y_lines, _EDGE_IN))
    if not any(x.size for x in xs):
        note_nothing(figure, axes, box)
    for curve in spec.curves:
        x, y = to_array(curve.x), to_array(curve.y)
        if not finite(x).size:
            continue
        look = style.run_style(curve.role)
        (line,) = axes.plot(x, y, color=look.colour, linewidth=0.8 if curve.thin else 1.6, drawstyle="steps-post")
        set_dashes(line, look.dashes)
    legend.draw(figure, left, _EDGE_IN + legend.height_in)
    return figure


def draw_shares(spec: SharesFigure) -> Figure:
    """Draw a group of bars a value, one bar a run, with the run's marker on top."""
    from matplotlib.patches import Rectangle

    most = max((share for series in spec.series for share in series.shares), default=1.0) or 1.0
    y_limits = padded(Limits(0.0, most))
    y_ticks = ticks(0.0, y_limits.high * 100, 4)
    y_scale = Scale(y_limits, Ticks(tuple(value / 100 for value in y_ticks.values), tuple(f"{t} %" for t in y_ticks.texts)))
    n = max(len(spec.values), 1)
    left = _EDGE_IN + tick_width_in(y_scale)
    width = style.WIDTH_IN - left - 0.14
    x_scale = Scale(Limits(-0.5, n - 0.5), Ticks(tuple(range(len(spec.values))), _fitting(spec.values, width / n)))
    entries = [
        Entry(
            Key("marker", style.run_style(series.role).colour, marker=style.run_style(series.role).marker),
            f"{run_label(series.label, series.role)}: {series.note}"
            if series.note
            else run_label(series.label, series.role),
        )
        for series in spec.series
    ]
    legend = flow(entries, style.WIDTH_IN - left - _EDGE_IN)
    x_lines = label_lines(spec.x_label, width)
    y_lines = label_lines(spec.y_label, style.WIDTH_IN - 2 * _EDGE_IN)
    foot = TICK_ROW_IN + labels_height_in(x_lines) + 0.08 + legend.height_in + _EDGE_IN
    figure = new_figure(foot + _BARS_IN + labels_height_in(y_lines) + 0.1 + _EDGE_IN)
    box = Box(left, foot, width, _BARS_IN)
    axes = draw_panel(figure, box, x_scale, y_scale, PanelTexts(x_lines, y_lines, _EDGE_IN))
    bar = _BAR_SHARE / max(len(spec.series), 1)
    for number, series in enumerate(spec.series):
        look = style.run_style(series.role)
        for place, share in enumerate(series.shares):
            start = place - _BAR_SHARE / 2 + number * bar
            axes.add_patch(Rectangle((start, 0), bar * 0.92, share, facecolor=look.colour, linewidth=0, alpha=0.85))
            if share > 0:
                top = axes.plot([start + bar * 0.46], [share], linestyle="none", marker=look.marker, markersize=4.6)
                top[0].set(markerfacecolor=look.colour, markeredgecolor=style.PAPER, markeredgewidth=0.6, clip_on=False)
    legend.draw(figure, left, _EDGE_IN + legend.height_in)
    return figure


def _fitting(values: tuple[str, ...], room: float) -> tuple[str, ...]:
    """Tick texts that fit into their share of the axis."""
    return tuple(
        v if width_in(v, style.SMALL_PT) <= room else wrap(v, room, style.SMALL_PT, most_lines=1)[0] for v in values
    )
