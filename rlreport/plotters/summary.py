"""Published speed-ups: what each window gives beside what the run from its start gives. Hollow points have no interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, put_text, set_dashes
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
from rlreport.plotters.scale import Limits, Ticks, padded, ticks
from rlreport.plotters.text import line_height_in, run_label, width_in, wrap
from rlreport.report.figures_summary import SpeedUpFigure, SpeedUpPoint, SpeedUpSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES_HEIGHT_IN = 1.85
_BETWEEN_IN = 0.34
_EDGE_IN = 0.04
_MOST_TICKS = 8
_TEXTS_UP_TO = 2  # so many series have their values written beside their points
_RATIOS = (1e-3, 1e3)  # beyond, a ratio is told by its text alone


def draw_speed_up(spec: SpeedUpFigure) -> Figure:
    """Draw the two panels under one legend."""
    y = _y_scale(spec.series)
    x = _x_scale(spec.series)
    left = _EDGE_IN + tick_width_in(y)
    width = (style.WIDTH_IN - left - 0.16 - _BETWEEN_IN) / 2
    x_lines, y_lines = label_lines(spec.x_label, width), label_lines(spec.y_label, width)
    titles = [wrap(title, width, style.TEXT_PT, weight="bold") for title in (spec.window_title, spec.start_title)]
    legend = flow(_entries(spec), style.WIDTH_IN - left)
    title_height = max(len(lines) for lines in titles) * line_height_in(style.TEXT_PT)
    above = labels_height_in(y_lines) + title_height + 0.14
    below = TICK_ROW_IN + labels_height_in(x_lines) + 0.03
    height = 0.11 + legend.height_in + above + _AXES_HEIGHT_IN + below

    shares = {series.role: (place + 1) / (len(spec.series) + 1) for place, series in enumerate(spec.series)}

    figure = new_figure(height)
    legend.draw(figure, left, height - 0.03)
    for number, lines in enumerate(titles):
        box = Box(left + number * (width + _BETWEEN_IN), below, width, _AXES_HEIGHT_IN)
        start = _EDGE_IN if number == 0 else box.left
        axes = draw_panel(figure, box, x, y, PanelTexts(x_lines, () if number else y_lines, start, y_ticks=number == 0))
        for place, line in enumerate(lines):
            level = box.top + above - 0.06 - (place + 0.5) * line_height_in(style.TEXT_PT)
            put_text(figure, start, level, line, weight="bold")
        axes.axhline(1.0, color=style.INK, linewidth=0.8, zorder=1)
        known = False
        for series in spec.series:
            points = series.windows if number == 0 else series.cumulative
            known |= _draw_points(axes, series.role, points, share=shares[series.role] if number == 0 else None)
            if len(spec.series) <= _TEXTS_UP_TO:
                _put_values(figure, box, (x, y), points, share=shares[series.role] if number == 0 else None)
        if not known:
            note_nothing(figure, axes, box)
    return figure


def _entries(spec: SpeedUpFigure) -> list[Entry]:
    entries = []
    for series in spec.series:
        look = style.run_style(series.role)
        entries.append(Entry(Key("line", look.colour, look.dashes, look.marker), run_label(series.label, series.role)))
    entries.append(Entry(Key("line", style.INK, width_pt=0.8), spec.reference_text))
    if spec.note.strip():
        entries.append(Entry(Key("marker", style.MUTED, marker="o", hollow=True), spec.note))
    return entries


def _points(series: Sequence[SpeedUpSeries]) -> list[SpeedUpPoint]:
    return [point for one in series for point in (*one.windows, *one.cumulative)]


def _shown(point: SpeedUpPoint) -> float | None:
    """The ratio where an axis can show it."""
    ratio = point.ratio
    return ratio if ratio is not None and math.isfinite(ratio) and _RATIOS[0] <= ratio <= _RATIOS[1] else None


def _y_scale(series: Sequence[SpeedUpSeries]) -> Scale:
    values = [1.0, *(value for point in _points(series) if (value := _shown(point)) is not None)]
    low, high = min(values), max(values)
    if low == high:
        low, high = 0.95, 1.05
    limits = padded(Limits(low, high), low_share=0.04, high_share=0.1)
    return Scale(limits, ticks(limits.low, limits.high, 5))


def _x_scale(series: Sequence[SpeedUpSeries]) -> Scale:
    """From zero to the last horizon, with a tick at every horizon while they are few."""
    ends = sorted({point.to_step for point in _points(series)})
    if not ends:
        return Scale(Limits(0.0, 1.0), Ticks((), ()))
    limits = Limits(0.0, ends[-1] * 1.04)
    if len(ends) > _MOST_TICKS:
        return Scale(limits, ticks(limits.low, limits.high, _MOST_TICKS, whole=True))
    return Scale(limits, Ticks((0.0, *map(float, ends)), ("0", *(f"{end:,}" for end in ends))))


def _placed(points: Sequence[SpeedUpPoint], share: float | None) -> list[tuple[SpeedUpPoint, float, float]]:
    """The points that an axis can show, each with its place and ratio: a share of its window along, or at its end (None).

    Pairs have shares of their own, so that markers of equal speed-ups stand beside each other.
    """
    placed = []
    for point in points:
        ratio = _shown(point)
        if ratio is not None:
            start = point.from_step - 1
            place = float(point.to_step) if share is None else start + share * (point.to_step - start)
            placed.append((point, place, ratio))
    return placed


def _draw_points(axes: Axes, role: int, points: Sequence[SpeedUpPoint], share: float | None) -> bool:
    """Draw the known points of one pair, windows with a bar over their steps; gives whether there are any."""
    look = style.run_style(role)
    placed = _placed(points, share)
    places, ratios = [place for _, place, _ in placed], [ratio for _, _, ratio in placed]
    if share is None:
        (line,) = axes.plot(places, ratios, color=look.colour, linewidth=0.7, alpha=0.7)
        set_dashes(line, look.dashes)
    else:
        for point, _, ratio in placed:
            (bar,) = axes.plot([point.from_step - 1, point.to_step], [ratio] * 2, color=look.colour, linewidth=1.6)
            bar.set_solid_capstyle("butt")
    (marks,) = axes.plot(places, ratios, linestyle="none", marker=look.marker, markersize=5.2, clip_on=False, zorder=3)
    marks.set(markerfacecolor=style.PAPER, markeredgecolor=look.colour, markeredgewidth=1.2)
    return bool(placed)


def _put_values(
    figure: Figure, box: Box, scales: tuple[Scale, Scale], points: Sequence[SpeedUpPoint], share: float | None
) -> None:
    """Each point's value above it, held within the panel."""
    for point, place, ratio in _placed(points, share):
        half = width_in(point.text, style.SMALL_PT) / 2
        centre = box.left + scales[0].share(place) * box.width
        centre = min(max(centre, box.left + half + 0.02), box.right - half + 0.1)
        level = box.bottom + scales[1].share(ratio) * box.height + 0.12
        put_text(figure, centre, level, point.text, size_pt=style.SMALL_PT, align="center")
