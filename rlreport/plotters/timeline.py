"""Timelines: lanes in windows of time, and the whole run as stacked occupancy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import new_figure, place_axes, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in, put_x_label
from rlreport.plotters.scale import ticks
from rlreport.plotters.text import by_items, line_height_in, width_in, wrap
from rlreport.plotters.timeline_legend import looks, set_legend
from rlreport.plotters.timeline_raster import Canvas, colour, columns_of, pixel_size, show, stacked
from rlreport.plotters.timeline_style import VERSION_COLOUR, VERSION_TEXT_COLOUR, StateStyle
from rlreport.report.figures_timeline import (
    IDLE_PREFIX,
    LaneFigure,
    LanePanel,
    LaneRow,
    OccupancyFigure,
    OccupancyPanel,
    OccupancyStrip,
    State,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rlreport.plotters.timeline_raster import Codes

_EDGE_IN = 0.04
_GAP_IN = 0.08
_ROW_IN = 0.135
_ROW_GAP_IN = 0.025
_GROUP_GAP_IN = 0.07
_STRIP_IN = 0.36
_STRIP_GAP_IN = 0.05
_PANEL_GAP_IN = 0.14
_MOST_LABEL_IN = 1.5
_MOST_NOTE_IN = 1.0
_TEXT_PAD_IN = 0.05
_MOST_DETAIL_LINES = 3
_MANY_ROWS = 16
_VERY_MANY_ROWS = 32
_TITLE_IN = line_height_in(style.TEXT_PT) + 0.02
_DETAIL_IN = line_height_in(style.SMALL_PT)


def draw_lanes(spec: LaneFigure) -> Figure:
    """Draw every window below the other, all as wide as the page allows, each with an axis of its own."""
    rows = [row for panel in spec.panels for row in panel.rows]
    left = _EDGE_IN + _widest([label for panel in spec.panels for label in _labels(panel.rows)], _MOST_LABEL_IN) + _GAP_IN
    right = _widest([row.note for row in rows], _MOST_NOTE_IN)
    width = style.WIDTH_IN - left - (right + _GAP_IN if right else 0.0) - 0.12
    details = [
        by_items(panel.detail, style.WIDTH_IN - left - _EDGE_IN, style.SMALL_PT, most_lines=_MOST_DETAIL_LINES)
        for panel in spec.panels
    ]
    used = _used(spec, width)
    has_versions = any(panel.versions for panel in spec.panels)
    legend = set_legend(
        [spec.states[code] for code in used], style.WIDTH_IN - left - _EDGE_IN, spec.version_text if has_versions else ""
    )
    x_lines = label_lines(spec.x_label, width)
    foot = labels_height_in(x_lines) + 0.08 + legend.height_in + _EDGE_IN
    heights = [_lane_panel_in(panel, lines) for panel, lines in zip(spec.panels, details, strict=True)]
    height = foot + sum(heights) + _PANEL_GAP_IN * max(len(heights) - 1, 0) + _EDGE_IN
    figure = new_figure(height)
    top = height - _EDGE_IN
    box = Box(left, foot, width, 0.0)
    for panel, lines, tall in zip(spec.panels, details, heights, strict=True):
        box = _draw_lane_panel(figure, panel, lines, Box(left, top - tall, width, tall), spec)
        top -= tall + _PANEL_GAP_IN
    put_x_label(figure, box, x_lines)
    legend.draw(figure, left, _EDGE_IN + legend.height_in)
    return figure


def _widest(texts: Sequence[str], most: float) -> float:
    shown = [line for text in texts if text.strip() for line in wrap(text, most, style.SMALL_PT, most_lines=1)]
    return max((width_in(line, style.SMALL_PT) for line in shown), default=0.0)


def _used(spec: LaneFigure, width: float) -> list[int]:
    """The states that are seen at this width, in the order of the figure's list."""
    columns = pixel_size(Box(0, 0, width, 1))[0]
    found: set[int] = set()
    for panel in spec.panels:
        for row in panel.rows:
            found.update(columns_of(row.edges, row.states, panel.begin, panel.end, columns).tolist())
    return [code for code in range(len(spec.states)) if code in found]


def _labels(rows: Sequence[LaneRow]) -> list[str]:
    """What stands before the rows: their labels; of many rows whose labels differ in a number, the number alone.

    Every tenth of them, and the first, has all of its words. Of very many every fifth row has a label at all.
    """
    labels = [row.label for row in rows]
    if len(rows) <= _MANY_ROWS:
        return labels
    shown = list(labels)
    since = 0
    for place in range(1, len(labels)):
        head, _, number = labels[place].rpartition(" ")
        same = bool(head) and number.isdecimal() and labels[place - 1].rpartition(" ")[0] == head
        since = since + 1 if same and since < 9 else 0
        if since:
            shown[place] = number if len(rows) <= _VERY_MANY_ROWS or since % 5 == 0 else ""
    return shown


def _groups(rows: Sequence[LaneRow]) -> list[list[LaneRow]]:
    groups: list[list[LaneRow]] = []
    for row in rows:
        if not groups or groups[-1][0].group != row.group:
            groups.append([])
        groups[-1].append(row)
    return groups


def _rows_in(rows: Sequence[LaneRow]) -> float:
    groups = _groups(rows)
    return sum(len(group) * (_ROW_IN + _ROW_GAP_IN) - _ROW_GAP_IN for group in groups) + _GROUP_GAP_IN * max(
        len(groups) - 1, 0
    )


def _lane_panel_in(panel: LanePanel, detail: Sequence[str]) -> float:
    head = _TITLE_IN + len(detail) * _DETAIL_IN + (_DETAIL_IN if panel.versions else 0.0) + 0.05
    return head + _rows_in(panel.rows) + TICK_ROW_IN + 0.02


def _draw_lane_panel(figure: Figure, panel: LanePanel, detail: Sequence[str], outer: Box, spec: LaneFigure) -> Box:
    """Draw a window; gives the box of its lanes."""
    top = outer.top
    (title,) = wrap(panel.title, style.WIDTH_IN - outer.left, style.TEXT_PT, most_lines=1, weight="bold")
    put_text(figure, outer.left, top - _TITLE_IN / 2, title, weight="bold")
    top -= _TITLE_IN
    for line in detail:
        put_text(figure, outer.left, top - _DETAIL_IN / 2, line, size_pt=style.SMALL_PT, colour=style.MUTED)
        top -= _DETAIL_IN
    top -= 0.05 + (_DETAIL_IN if panel.versions else 0.0)
    tall = _rows_in(panel.rows)
    box = Box(outer.left, top - tall, outer.width, tall)
    axes = _time_axes(figure, box, panel.begin, panel.end)
    at = top
    styles, canvas = looks(spec.states), Canvas(box)
    labels = iter(_labels(panel.rows))
    for group in _groups(panel.rows):
        codes = []
        group_top = at
        for row in group:
            lane = Box(box.left, at - _ROW_IN, box.width, _ROW_IN)
            codes.append(_draw_row(figure, canvas, replace(row, label=next(labels)), lane, panel, styles))
            at -= _ROW_IN + _ROW_GAP_IN
        at += _ROW_GAP_IN
        _label_idle(figure, codes, Box(box.left, at, box.width, group_top - at), spec.states)
        at -= _GROUP_GAP_IN
    if panel.rows:
        canvas.show(figure)
    _draw_versions(figure, axes, box, panel)
    return box


def _time_axes(figure: Figure, box: Box, begin: float, end: float) -> Axes:
    axes = place_axes(figure, box.left, box.bottom - 0.02, box.width, box.height + 0.02)
    axes.set_xlim(begin, end if end > begin else begin + 1)
    axes.set_ylim(0, 1)
    marks = ticks(begin, end, 7)
    axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return axes


def _draw_row(
    figure: Figure, canvas: Canvas, row: LaneRow, box: Box, panel: LanePanel, styles: Sequence[StateStyle]
) -> Codes:
    """Paint one lane with its label and note; gives the state of every column."""
    import numpy as np

    width, height = pixel_size(box)
    codes = columns_of(row.edges, row.states, panel.begin, panel.end, width)
    canvas.paste(box, colour(np.repeat(codes[None, :], height, axis=0), styles))
    middle = box.bottom + box.height / 2
    if row.label.strip():
        (label,) = wrap(row.label, _MOST_LABEL_IN, style.SMALL_PT, most_lines=1)
        put_text(figure, box.left - _GAP_IN, middle, label, size_pt=style.SMALL_PT, align="right")
    if row.note.strip():
        (note,) = wrap(row.note, _MOST_NOTE_IN, style.SMALL_PT, most_lines=1)
        put_text(figure, box.right + _GAP_IN, middle, note, size_pt=style.SMALL_PT, colour=style.MUTED)
    return codes


def _label_idle(figure: Figure, codes: Sequence[Codes], box: Box, states: Sequence[State]) -> None:
    """Write each cause once into the widest stretch in which most lanes of the group idle for it, if the words fit."""
    import numpy as np
    from matplotlib.patches import Rectangle

    table = np.stack(codes)
    scale = box.width / table.shape[1]
    taken: list[tuple[float, float]] = []
    for code, state in enumerate(states):
        run = _longest_run((table == code).sum(axis=0) >= max(1, math.ceil(0.85 * len(codes))))
        if run is None or not state.name.startswith(IDLE_PREFIX):
            continue
        words = state.label.removeprefix("idle: ")
        lines = wrap(words, (run[1] - run[0]) * scale - 2 * _TEXT_PAD_IN - 0.04, style.SMALL_PT, most_lines=3)
        wide = max(width_in(line, style.SMALL_PT) for line in lines) + 2 * _TEXT_PAD_IN
        tall = len(lines) * line_height_in(style.SMALL_PT) + 0.02
        centre = box.left + (run[0] + run[1]) / 2 * scale
        free = all(b <= centre - wide / 2 or a >= centre + wide / 2 for a, b in taken)
        hides = not style.leaves_hatch(wide * tall, (run[1] - run[0]) * scale * box.height)
        if " ".join(lines) != words or tall > box.height + 0.01 or not free or hides:
            continue
        middle = box.bottom + box.height / 2
        ground = Rectangle((centre - wide / 2, middle - tall / 2), wide, tall, facecolor=style.PAPER, linewidth=0, zorder=3)
        ground.set_transform(figure.dpi_scale_trans)
        figure.add_artist(ground)
        put_middle_small(figure, centre, middle, lines)
        taken.append((centre - wide / 2, centre + wide / 2))


def put_middle_small(figure: Figure, x: float, middle: float, lines: Sequence[str]) -> None:
    """Small lines of text centred on a place."""
    step = line_height_in(style.SMALL_PT)
    for number, line in enumerate(lines):
        level = middle + (len(lines) / 2 - number - 0.5) * step
        put_text(figure, x, level, line, size_pt=style.SMALL_PT, align="center")


def _longest_run(mask: object) -> tuple[int, int] | None:
    """Begin and end of the longest stretch of true values."""
    import numpy as np

    flags = np.concatenate([[False], np.asarray(mask, bool), [False]])
    changes = np.flatnonzero(flags[1:] != flags[:-1])
    if not len(changes):
        return None
    starts, ends = changes[::2], changes[1::2]
    widest = int((ends - starts).argmax())
    return int(starts[widest]), int(ends[widest])


def _draw_versions(figure: Figure, axes: Axes, box: Box, panel: LanePanel) -> None:
    """Yellow lines through all lanes, with the version above where there is room."""
    taken = -1.0
    for moment, text in panel.versions:
        if not panel.begin <= moment <= panel.end or panel.end <= panel.begin:
            continue
        line = axes.axvline(moment, color=VERSION_COLOUR, linewidth=1.5, zorder=5, ymin=0, ymax=1)
        line.set_clip_on(False)
        centre = box.left + (moment - panel.begin) / (panel.end - panel.begin) * box.width
        half = width_in(text, style.SMALL_PT) / 2
        if text and centre - half > taken:
            put_text(
                figure,
                centre,
                box.top + _DETAIL_IN / 2 + 0.01,
                text,
                size_pt=style.SMALL_PT,
                colour=VERSION_TEXT_COLOUR,
                align="center",
            )
            taken = centre + half + 0.06


@dataclass(frozen=True, slots=True)
class _Page:
    """The common measures of an occupancy figure."""

    left: float
    width: float
    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value lies on the page."""
        return self.left + (value - self.low) / (self.high - self.low) * self.width


def draw_occupancy(spec: OccupancyFigure) -> Figure:
    """Draw the strips of all runs below each other on one axis."""
    strips = [strip for panel in spec.panels for strip in panel.strips]
    left = _EDGE_IN + _widest([strip.label for strip in strips], _MOST_LABEL_IN) + _GAP_IN
    right = _widest([strip.note for strip in strips], _MOST_NOTE_IN)
    width = style.WIDTH_IN - left - (right + _GAP_IN if right else 0.0) - 0.12
    low, high = min(panel.begin for panel in spec.panels), max(panel.end for panel in spec.panels)
    page = _Page(left, width, low, high if high > low else low + 1)
    used = [
        code
        for code in range(len(spec.states))
        if any(share[code] > 0.02 for strip in strips for share in strip.shares if code < len(share))
    ]
    legend = set_legend([spec.states[code] for code in used], style.WIDTH_IN - left - _EDGE_IN)
    x_lines = label_lines(spec.x_label, width)
    foot = TICK_ROW_IN + labels_height_in(x_lines) + 0.08 + legend.height_in + _EDGE_IN
    heights = [_occupancy_in(panel) for panel in spec.panels]
    height = foot + sum(heights) + _PANEL_GAP_IN * max(len(heights) - 1, 0) + _EDGE_IN
    figure = new_figure(height)
    top = height - _EDGE_IN
    for panel, tall in zip(spec.panels, heights, strict=True):
        _draw_occupancy_panel(figure, panel, top, page, spec)
        top -= tall + _PANEL_GAP_IN
    box = Box(left, foot, width, 0.001)
    axes = place_axes(figure, left, foot, width, 0.001)
    axes.set_xlim(page.low, page.high)
    marks = ticks(page.low, page.high, 8)
    axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    put_x_label(figure, box, x_lines)
    legend.draw(figure, left, _EDGE_IN + legend.height_in)
    return figure


def _occupancy_in(panel: OccupancyPanel) -> float:
    window = _DETAIL_IN + 0.04 if panel.window else 0.0
    return _TITLE_IN + window + len(panel.strips) * (_STRIP_IN + _STRIP_GAP_IN) + 0.02


def _draw_occupancy_panel(figure: Figure, panel: OccupancyPanel, top: float, page: _Page, spec: OccupancyFigure) -> None:
    from matplotlib.lines import Line2D

    (title,) = wrap(panel.title, style.WIDTH_IN - page.left, style.TEXT_PT, most_lines=1, weight="bold")
    put_text(figure, page.left, top - _TITLE_IN / 2, title, weight="bold")
    top -= _TITLE_IN
    if panel.window:
        start, end = page.at(panel.window[0]), page.at(panel.window[1])
        level = top - _DETAIL_IN - 0.01
        bracket = Line2D([start, start, end, end], [level - 0.03, level, level, level - 0.03], color=style.MUTED)
        bracket.set(linewidth=0.8, transform=figure.dpi_scale_trans)
        figure.add_artist(bracket)
        wide = width_in(panel.window_text, style.SMALL_PT)
        centre = min(max((start + end) / 2, page.left + wide / 2), page.left + page.width - wide / 2)
        put_text(
            figure,
            centre,
            top - _DETAIL_IN / 2,
            panel.window_text,
            size_pt=style.SMALL_PT,
            colour=style.MUTED,
            align="center",
        )
        top -= _DETAIL_IN + 0.04
    for strip in panel.strips:
        _draw_strip(figure, strip, panel, top, page, spec)
        top -= _STRIP_IN + _STRIP_GAP_IN


def _draw_strip(
    figure: Figure, strip: OccupancyStrip, panel: OccupancyPanel, top: float, page: _Page, spec: OccupancyFigure
) -> None:
    left, right = page.at(panel.begin), page.at(panel.end)
    box = Box(left, top - _STRIP_IN, max(right - left, 0.02), _STRIP_IN)
    width, height = pixel_size(box)
    show(figure, box, colour(stacked(strip.shares, width, height), looks(spec.states), outline=False))
    middle = box.bottom + box.height / 2
    (label,) = wrap(strip.label, _MOST_LABEL_IN, style.SMALL_PT, most_lines=1)
    put_text(figure, page.left - _GAP_IN, middle, label, size_pt=style.SMALL_PT, align="right")
    (note,) = wrap(strip.note, _MOST_NOTE_IN, style.SMALL_PT, most_lines=1)
    put_text(figure, box.right + _GAP_IN, middle, note, size_pt=style.SMALL_PT, colour=style.MUTED)
