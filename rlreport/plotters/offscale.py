"""Points beyond an axis: an arrow at its edge, the value beside the arrow where it stands free, one line in the legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, put_text
from rlreport.plotters.text import width_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rlreport.plotters.panel import Box, Scale
    from rlreport.plotters.scale import Array, Limits

STRIP_IN = 0.2  # room that the arrows and values need at an edge
_ARROW_HALF_IN = 0.05


@dataclass(frozen=True, slots=True)
class OffScale:
    """A point beyond the axis: where, how much, of which run, and whether it is above."""

    x: float
    value: float
    role: int
    above: bool


def find_off_scale(x: Array, y: Array, role: int, limits: Limits) -> list[OffScale]:
    """The points of one series whose values lie beyond the limits."""
    return [
        OffScale(float(place), float(value), role, above=bool(value > limits.high))
        for place, value in zip(x, y, strict=True)
        if value < limits.low or value > limits.high
    ]


def farthest_first(points: Iterable[OffScale], limits: Limits) -> list[OffScale]:
    """Points in the order in which their values are worth telling."""
    middle = (limits.low + limits.high) / 2
    return sorted(points, key=lambda point: (-abs(point.value - middle), point.x, point.role))


def draw_off_scale(figure: Figure, axes: Axes, box: Box, x: Scale, points: Sequence[OffScale], texts: Sequence[str]) -> None:
    """Draw the arrows, and of the texts those that neither meet another text nor an arrow, first come first served."""
    for above in (False, True):
        side = [(point, text) for point, text in zip(points, texts, strict=True) if point.above == above]
        edge = axes.get_ylim()[1 if above else 0]
        level = box.top - 0.09 if above else box.bottom + 0.09
        places = [box.left + x.share(point.x) * box.width for point, _text in side]
        taken = [(place - _ARROW_HALF_IN, place + _ARROW_HALF_IN) for place in places]
        for (point, text), place in zip(side, places, strict=True):
            (arrow,) = axes.plot([point.x], [edge], linestyle="none", marker="^" if above else "v", markersize=4.6)
            arrow.set(color=style.run_style(point.role).colour, clip_on=False, markeredgewidth=0)
            wide = width_in(text, style.SMALL_PT)
            for start in (place + 0.08, place - 0.08 - wide):
                end = start + wide
                inside = box.left + 0.04 <= start and end <= box.right
                if inside and all(end <= low or high <= start for low, high in taken):
                    put_text(figure, start, level, text, size_pt=style.SMALL_PT)
                    taken.append((start - 0.06, end + 0.06))
                    break


def off_scale_entry(points: Sequence[OffScale], farthest: str, one: str) -> Entry:
    """The legend's line for at least one point, farthest first: how many there are, and the farthest in words.

    Args:
        points: The points.
        farthest: The first of them in words, with its unit.
        one: What a point is called ("step", "value").
    """
    mark = "^" if all(point.above for point in points) else "v"
    text = farthest if len(points) == 1 else f"{len(points):,} {one}s, the farthest {farthest}"
    return Entry(Key("arrow", style.MUTED, marker=mark), f"off the scale: {text}")
