"""Device time as stacked bars: work and idle time by cause, side by side for every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import new_figure, place_axes, put_middle, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in, put_x_label
from rlreport.plotters.scale import ticks
from rlreport.plotters.text import by_items, line_height_in, run_label, width_in, wrap
from rlreport.plotters.timeline_legend import looks, set_legend
from rlreport.plotters.timeline_raster import colour, pixel_size, show
from rlreport.plotters.timeline_style import StateStyle
from rlreport.report.figures_timeline import DeviceBar, DeviceFigure, DevicePart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDGE_IN = 0.04
_BAR_IN = 0.3
_BAR_GAP_IN = 0.06
_RUN_GAP_IN = 0.12
_GAP_IN = 0.08
_PAD_IN = 0.04
_MOST_LABEL_IN = 1.1
_MOST_RUN_IN = 1.3
_MOST_TOTAL_IN = 1.3


def draw_device_time(spec: DeviceFigure) -> Figure:
    """Draw the bars below each other, grouped by run, with totals behind them and the causes in a legend below."""
    sides = max((width_in(bar.label, style.SMALL_PT) for bar in spec.bars), default=0.0)
    names = {bar.group: wrap(run_label(bar.group, bar.role), _MOST_RUN_IN, style.TEXT_PT) for bar in spec.bars}
    widest = max((width_in(line, style.TEXT_PT) for lines in names.values() for line in lines), default=0.0)
    totals = [
        by_items(bar.total_text, _MOST_TOTAL_IN, style.SMALL_PT) if bar.total_text.strip() else () for bar in spec.bars
    ]
    right = max((width_in(line, style.SMALL_PT) for lines in totals for line in lines), default=0.0)
    left = _EDGE_IN + widest + _GAP_IN + min(sides, _MOST_LABEL_IN) + _GAP_IN
    width = style.WIDTH_IN - left - right - _GAP_IN - _EDGE_IN
    longest = max((sum(part.value for part in bar.parts) for bar in spec.bars), default=0.0) or 1.0
    used = [
        code
        for code in range(len(spec.states))
        if any(p.state == code and p.value > 0.003 * longest for b in spec.bars for p in b.parts)
    ]
    legend = set_legend([spec.states[code] for code in used], style.WIDTH_IN - left - _EDGE_IN)
    x_lines = label_lines(spec.x_label, width)
    foot = TICK_ROW_IN + labels_height_in(x_lines) + 0.08 + legend.height_in + _EDGE_IN
    tall = _bars_in(spec.bars)
    figure = new_figure(foot + tall + _EDGE_IN)
    box = Box(left, foot, width, tall)
    axes = place_axes(figure, left, foot, width, tall)
    axes.set_xlim(0, longest)
    marks = ticks(0, longest, 6)
    axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    at = box.top
    for number, bar in enumerate(spec.bars):
        first = number == 0 or spec.bars[number - 1].group != bar.group
        at -= _RUN_GAP_IN if first and number else 0.0
        lane = Box(left, at - _BAR_IN, width, _BAR_IN)
        if first:
            count = sum(1 for other in spec.bars if other.group == bar.group)
            middle = at - (count * (_BAR_IN + _BAR_GAP_IN) - _BAR_GAP_IN) / 2
            put_middle(figure, _EDGE_IN, middle, names[bar.group])
        _draw_bar(figure, bar, lane, longest, looks(spec.states), totals[number])
        at -= _BAR_IN + _BAR_GAP_IN
    put_x_label(figure, box, x_lines)
    legend.draw(figure, left, _EDGE_IN + legend.height_in)
    return figure


def _bars_in(bars: Sequence[DeviceBar]) -> float:
    groups = len(dict.fromkeys(bar.group for bar in bars))
    return len(bars) * (_BAR_IN + _BAR_GAP_IN) + _RUN_GAP_IN * max(groups - 1, 0)


def _draw_bar(
    figure: Figure, bar: DeviceBar, box: Box, longest: float, styles: Sequence[StateStyle], total: Sequence[str]
) -> None:
    import numpy as np

    middle = box.bottom + box.height / 2
    (label,) = wrap(bar.label, _MOST_LABEL_IN, style.SMALL_PT, most_lines=1)
    put_text(figure, box.left - _GAP_IN, middle, label, size_pt=style.SMALL_PT, align="right")
    length = sum(part.value for part in bar.parts)
    end = box.left
    if length > 0:
        lane = Box(box.left, box.bottom, max(length / longest * box.width, 0.01), box.height)
        end = lane.right
        width, height = pixel_size(lane)
        ends = np.cumsum([part.value for part in bar.parts]) / length
        places = np.searchsorted(ends, (np.arange(width) + 0.5) / width)
        codes = np.array([part.state for part in bar.parts], np.int16)[np.minimum(places, len(bar.parts) - 1)]
        show(figure, lane, colour(np.repeat(codes[None, :], height, axis=0), styles))
        start = lane.left
        for part in bar.parts:
            wide = part.value / longest * box.width
            _label_part(figure, part, Box(start, lane.bottom, wide, lane.height), styles)
            start += wide
    for number, line in enumerate(total):
        level = middle + (len(total) / 2 - number - 0.5) * line_height_in(style.SMALL_PT)
        put_text(figure, end + _GAP_IN, level, line, size_pt=style.SMALL_PT)


def _label_part(figure: Figure, part: DevicePart, box: Box, styles: Sequence[StateStyle]) -> None:
    """The words of a part within it, on a ground of its own where it is hatched; none where they do not fit or hide it."""
    from matplotlib.patches import Rectangle

    if not part.text.strip() or box.width < 0.2:
        return
    lines = wrap(part.text, box.width - 2 * _PAD_IN, style.SMALL_PT)
    if " ".join(lines) != " ".join(part.text.split()):
        return
    look = styles[part.state]
    middle, centre = box.bottom + box.height / 2, box.left + box.width / 2
    if look.hatch:
        wide = max(width_in(line, style.SMALL_PT) for line in lines) + 0.06
        tall = min(len(lines) * line_height_in(style.SMALL_PT) + 0.01, box.height - 0.02)
        if not style.leaves_hatch(wide * tall, box.width * box.height):
            return
        ground = Rectangle((centre - wide / 2, middle - tall / 2), wide, tall, facecolor=style.PAPER, linewidth=0)
        ground.set_transform(figure.dpi_scale_trans)
        figure.add_artist(ground)
    ink = style.INK if look.hatch else style.text_on(look.fill)
    for number, line in enumerate(lines):
        level = middle + (len(lines) / 2 - number - 0.5) * line_height_in(style.SMALL_PT)
        put_text(figure, centre, level, line, size_pt=style.SMALL_PT, colour=ink, align="center")
