"""Where the step time goes: a stacked bar a run, one colour a phase, waiting hatched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, place_axes, put_middle, put_text
from rlreport.plotters.panel import TICK_ROW_IN, Box, label_lines, labels_height_in, put_x_label
from rlreport.plotters.scale import ticks
from rlreport.plotters.text import line_height_in, run_label, width_in, wrap
from rlreport.report.figures import TimeSplitBar, TimeSplitFigure, TimeSplitPart
from rlreport.run import format as fmt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR_IN = 0.36
_BAR_GAP_IN = 0.16
_MOST_LABEL_IN = 1.7
_MOST_TOTAL_IN = 1.1
_GAP_IN = 0.1
_PAD_IN = 0.03  # least room on both sides of a text in its segment


@dataclass(frozen=True, slots=True)
class _Segment:
    """A part of a bar, placed: start and length in the axis's unit."""

    part: TimeSplitPart
    start: float
    length: float
    look: style.PhaseStyle


def draw_time_split(spec: TimeSplitFigure) -> Figure:
    """Draw the bars with their labels to the left, totals to the right and all phases in a legend below."""
    looks = _looks(spec)
    bars = [(bar, _segments(bar, spec.basis, looks)) for bar in spec.bars]
    names = [wrap(run_label(bar.label, bar.role), _MOST_LABEL_IN, style.TEXT_PT) for bar in spec.bars]
    totals = [wrap(bar.total_text, _MOST_TOTAL_IN, style.TEXT_PT) if bar.total_text.strip() else () for bar in spec.bars]
    left = 0.04 + max((width_in(line, style.TEXT_PT) for lines in names for line in lines), default=0.0) + _GAP_IN
    total_width = max((width_in(line, style.TEXT_PT) for lines in totals for line in lines), default=0.0)
    # What follows a bar stands after its end; the longest bar ends at the right end of the axes.
    width = style.WIDTH_IN - left - (total_width + _GAP_IN if total_width else 0.0) - 0.16
    longest = max((segment.start + segment.length for _bar, segments in bars for segment in segments), default=0.0)
    if spec.basis == "fraction":
        longest = max(longest, 1.0)
    x_lines = label_lines(spec.x_label, width)
    legend = flow(_entries(bars, width / (longest or 1.0)), style.WIDTH_IN - left - 0.04)
    below = TICK_ROW_IN + labels_height_in(x_lines) + (0.1 + legend.height_in if legend.rows else 0.0) + 0.03
    height = max(len(bars), 1) * (_BAR_IN + _BAR_GAP_IN)
    box = Box(left, below, width, height)

    figure = new_figure(below + height + 0.05)
    axes = _axes(figure, box, longest or 1.0, spec.basis)
    for number, (_bar, segments) in enumerate(bars):
        middle = box.top - (number + 0.5) * (_BAR_IN + _BAR_GAP_IN)
        put_middle(figure, box.left - _GAP_IN, middle, names[number], align="right")
        for segment in segments:
            _draw_segment(figure, axes, box, segment, middle, longest or 1.0)
        end = max((segment.start + segment.length for segment in segments), default=0.0)
        if not segments:
            put_text(figure, box.left + 0.06, middle, "not known", colour=style.MUTED)
        put_middle(
            figure, box.left + end / (longest or 1.0) * box.width + _GAP_IN, middle, totals[number] if segments else ()
        )
    put_x_label(figure, box, x_lines)
    legend.draw(figure, left, 0.03 + legend.height_in)
    return figure


def _looks(spec: TimeSplitFigure) -> dict[str, style.PhaseStyle]:
    """The look of every phase of the figure; those without a row in the style's table are told apart by their order."""
    keys = dict.fromkeys(part.key for bar in spec.bars for part in bar.parts)
    unnamed = [key for key in keys if key not in style.PHASE_STYLES]
    return {key: style.phase_style(key, unnamed.index(key) if key in unnamed else 0) for key in keys}


def _segments(bar: TimeSplitBar, basis: str, looks: dict[str, style.PhaseStyle]) -> list[_Segment]:
    segments: list[_Segment] = []
    start = 0.0
    for part in bar.parts:
        length = part.fraction if basis == "fraction" else part.seconds
        if length is None or not math.isfinite(length) or length <= 0:
            continue
        segments.append(_Segment(part, start, length, looks[part.key]))
        start += length
    return segments


def _axes(figure: Figure, box: Box, longest: float, basis: str) -> Axes:
    axes = place_axes(figure, box.left, box.bottom, box.width, box.height)
    axes.set_xlim(0, longest)
    axes.set_ylim(box.bottom, box.top)  # the vertical unit is the inch
    if basis == "fraction":
        marks = ticks(0, 100 * longest, 5)
        axes.set_xticks([value / 100 for value in marks.values], list(marks.texts))
    else:
        marks = ticks(0, longest, 6)
        axes.set_xticks(list(marks.values), list(marks.texts))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return axes


def _draw_segment(figure: Figure, axes: Axes, box: Box, segment: _Segment, middle: float, longest: float) -> None:
    from matplotlib.patches import Rectangle

    corner = (segment.start, middle - _BAR_IN / 2)
    patch = Rectangle(corner, segment.length, _BAR_IN, facecolor=segment.look.colour, edgecolor=style.PAPER, linewidth=0.7)
    if segment.look.idle:
        patch.set(hatch=style.WAIT_HATCH, edgecolor=style.WAIT_HATCH_COLOUR, linewidth=0.6)
    elif style.is_pale(segment.look.colour):
        patch.set(edgecolor=style.AXIS, linewidth=0.5)
    axes.add_patch(patch)

    wide = segment.length / longest * box.width
    centre = box.left + (segment.start + segment.length / 2) / longest * box.width
    lines = _segment_texts(segment.part, wide, idle=segment.look.idle)
    first = middle + len(lines) * line_height_in(style.SMALL_PT) / 2
    colour = style.text_on(segment.look.colour)
    if segment.look.idle and lines:
        wide, tall = _ground_in(lines)
        ground = Rectangle((centre - wide / 2, middle - tall / 2), wide, tall, facecolor=segment.look.colour, linewidth=0)
        ground.set_transform(figure.dpi_scale_trans)
        figure.add_artist(ground)
    for number, line in enumerate(lines):
        level = first - (number + 0.5) * line_height_in(style.SMALL_PT)
        put_text(figure, centre, level, line, size_pt=style.SMALL_PT, colour=colour, align="center")


def _ground_in(lines: Sequence[str]) -> tuple[float, float]:
    """Width and height of the ground below words."""
    wide = max(width_in(line, style.SMALL_PT) for line in lines) + 2 * _PAD_IN
    return wide, len(lines) * line_height_in(style.SMALL_PT) + 0.01


def _segment_texts(part: TimeSplitPart, wide: float, *, idle: bool) -> tuple[str, ...]:
    """What fits into a segment: its name over its share and seconds, its name over its share, the share, or nothing.

    Words on a hatched segment leave enough of the hatch to be seen.
    """
    room = wide - 2 * _PAD_IN
    share = fmt.percent(part.fraction) if part.fraction is not None else ""
    seconds = fmt.seconds(part.seconds) if part.seconds is not None else ""
    both = ", ".join(text for text in (share, seconds) if text)
    (name,) = wrap(part.label, 99.0, style.SMALL_PT, most_lines=1)
    for lines in ((name, both), (name, share or seconds), (share or seconds,)):
        if not all(lines) or any(width_in(line, style.SMALL_PT) > room for line in lines):
            continue
        if not idle or style.leaves_hatch(math.prod(_ground_in(lines)), wide * _BAR_IN):
            return lines
    return ()


def _entries(bars: Sequence[tuple[TimeSplitBar, list[_Segment]]], unit_in: float) -> list[Entry]:
    """Every phase that is drawn, in the order in which it first appears.

    With one bar only, a phase whose segment is too small for its share has it here. `unit_in` is the length of the axis's
    unit in inches.
    """
    seen: dict[str, _Segment] = {}
    for _bar, segments in bars:
        for segment in segments:
            seen.setdefault(segment.part.key, segment)
    return [_entry(segment, whole=len(bars) == 1, wide=segment.length * unit_in) for segment in seen.values()]


def _entry(segment: _Segment, *, whole: bool, wide: float) -> Entry:
    part, look = segment.part, segment.look
    key = Key("wait" if look.idle else "swatch", look.colour, outlined=style.is_pale(look.colour))
    untold = whole and part.fraction is not None and not _segment_texts(part, wide, idle=look.idle)
    return Entry(key, f"{part.label}: {fmt.percent(part.fraction)}" if untold else part.label)
