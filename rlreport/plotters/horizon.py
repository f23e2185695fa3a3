"""Speed-up along training: a bar and a band for each part, a line for the cumulative ratio, against 1 and the margin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure
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
from rlreport.plotters.runlabels import RunLabel, column_height_in, column_width_in, draw_column
from rlreport.plotters.scale import Limits, Ticks, padded, ticks, to_array, within
from rlreport.report.figures_horizon import HorizonFigure, HorizonTrack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES_HEIGHT_IN = 1.9
_EDGE_IN = 0.04
#: Cumulative ratios of the first steps jump about; before this share of training they do not set the axis.
_SETTLED_FROM = 0.1
#: Ends of intervals farther out than this many times the reach of the ratios leave the axis with an arrow.
_REACH = 2.0


def draw_horizon(spec: HorizonFigure) -> Figure:
    """Draw the figure: axes with a column of labels to their right and one legend below."""
    y = _y_scale(spec)
    x = _x_scale(spec)
    labels = [_label(track, y) for track in spec.tracks]
    left = _EDGE_IN + tick_width_in(y)
    width = style.WIDTH_IN - left - column_width_in(labels) - 0.02
    x_lines, y_lines = label_lines(spec.x_label, width), label_lines(spec.y_label, width)
    legend = flow(_entries(spec), style.WIDTH_IN - left - 0.05)
    height = max(_AXES_HEIGHT_IN, column_height_in(labels))
    below = TICK_ROW_IN + labels_height_in(x_lines) + 0.1 + legend.height_in + 0.03
    box = Box(left, below, width, height)

    figure = new_figure(below + height + 0.08 + labels_height_in(y_lines) + 0.04)
    axes = draw_panel(figure, box, x, y, PanelTexts(x_lines, y_lines, label_left=_EDGE_IN))
    if spec.margin is not None:
        axes.axhspan(*spec.margin, color=style.WASH, linewidth=0, zorder=0)
    axes.axhline(1.0, color=style.INK, linewidth=0.8, zorder=1)
    for track in spec.tracks:
        _draw_parts(axes, track, y.limits, crowded=len(spec.tracks) > 1)
    for track in spec.tracks:
        look = style.run_style(track.role)
        values = within(to_array(track.cumulative), y.limits)
        draw_line(axes, box, to_array(track.places), values, colour=look.colour, width_pt=1.3, dashes=look.dashes)
    if not any(part.ratio is not None for track in spec.tracks for part in track.parts):
        note_nothing(figure, axes, box)
    draw_column(figure, labels, box, left=box.right)
    legend.draw(figure, left, 0.03 + legend.height_in)
    return figure


def _x_scale(spec: HorizonFigure) -> Scale:
    ends = [end for track in spec.tracks for part in track.parts for end in (part.begin, part.end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    margin = 0.015 * (high - low) or 0.5
    limits = Limits(low - margin, high + margin)
    return Scale(limits, ticks(low, high, 7) if ends else Ticks((), ()))


def _y_scale(spec: HorizonFigure) -> Scale:
    """All parts' ratios, 1, the margin and the settled cumulative ratios; of the intervals what lies near."""
    anchors = [1.0, *(spec.margin or ())]
    anchors += [part.ratio for track in spec.tracks for part in track.parts if part.ratio is not None]
    for track in spec.tracks:
        if track.places:
            settled = track.places[0] + _SETTLED_FROM * (track.places[-1] - track.places[0])
            pairs = zip(track.places, track.cumulative, strict=True)
            anchors += [value for place, value in pairs if value is not None and place >= settled]
    low, high = min(anchors), max(anchors)
    reach = _REACH * max(high - low, 0.02)
    ends = chain.from_iterable((part.ci_low, part.ci_high) for track in spec.tracks for part in track.parts)
    near = [end for end in ends if end is not None and low - reach <= end <= high + reach]
    limits = padded(Limits(min([low, *near]), max([high, *near])))
    return Scale(limits, ticks(limits.low, limits.high, 5))


def _label(track: HorizonTrack, y: Scale) -> RunLabel:
    known = [value for value in track.cumulative if value is not None]
    near = y.share(known[-1]) if known else 0.5
    return RunLabel(track.label, track.role, track.end_text if known else "not known", near, leader=bool(known))


def _draw_parts(axes: Axes, track: HorizonTrack, limits: Limits, *, crowded: bool) -> None:
    """Bars over the parts; where one pair is shown their intervals as bands, of several as thin rules."""
    colour = style.run_style(track.role).colour
    for part in track.parts:
        if part.ratio is None:
            continue
        axes.plot([part.begin, part.end], [part.ratio] * 2, color=colour, linewidth=2.4, solid_capstyle="butt", zorder=3)
        if part.ci_low is None or part.ci_high is None:
            continue
        low, high = max(part.ci_low, limits.low), min(part.ci_high, limits.high)
        middle = (part.begin + part.end) / 2
        if crowded:
            axes.plot([middle] * 2, [low, high], color=colour, linewidth=0.9, solid_capstyle="butt", zorder=2)
        else:
            axes.fill_between([part.begin, part.end], low, high, color=colour, alpha=0.16, linewidth=0, zorder=2)
        beyond = ((part.ci_low < limits.low, limits.low, "v"), (part.ci_high > limits.high, limits.high, "^"))
        for is_beyond, end, marker in beyond:
            if is_beyond:
                axes.plot([middle], [end], linestyle="none", marker=marker, markersize=4.2, color=colour, clip_on=False)


def _entries(spec: HorizonFigure) -> Sequence[Entry]:
    role = spec.tracks[0].role if len(spec.tracks) == 1 else None
    look = style.run_style(role) if role is not None else style.RunStyle(style.MUTED, (), "o")
    entries = [
        Entry(Key("band", look.colour) if role is not None else Key("line", look.colour, width_pt=2.4), spec.part_text),
        Entry(Key("line", look.colour, look.dashes), spec.cumulative_text),
    ]
    if spec.margin is not None:
        entries.append(Entry(Key("swatch", style.WASH, outlined=True), spec.margin_text))
    return entries
