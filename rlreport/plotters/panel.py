"""One pair of axes with its labels and ticks, placed in inches, and lines drawn in it.

The y label stands level above the axes instead of turned beside them: it is read without turning the head, and a long one
has the whole width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import place_axes, put_text, set_dashes
from rlreport.plotters.scale import Limits, Ticks, decimate
from rlreport.plotters.text import line_height_in, width_in, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rlreport.plotters.scale import Array

TICK_GAP_IN = 0.1  # from the axis to its tick texts, with the tick
TICK_ROW_IN = 0.23  # height of the row of x tick texts
POINT_IN = 1 / 72


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in inches from the lower left corner of the page."""

    left: float
    bottom: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.bottom + self.height


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: what it shows and its ticks."""

    limits: Limits
    ticks: Ticks

    def share(self, value: float) -> float:
        """Where a value lies along the axis, 0 to 1, held within it."""
        span = self.limits.high - self.limits.low
        return min(max((value - self.limits.low) / span, 0.0), 1.0)


def tick_width_in(scale: Scale) -> float:
    """Room that the tick texts of a y axis need to its left."""
    return max((width_in(text, style.SMALL_PT) for text in scale.ticks.texts), default=0.0) + TICK_GAP_IN


def label_lines(label: str, width: float) -> tuple[str, ...]:
    """An axis label in at most two lines of a width."""
    return wrap(label, width, style.SMALL_PT) if label.strip() else ()


def labels_height_in(lines: tuple[str, ...]) -> float:
    """Room that the lines of an axis label need."""
    return len(lines) * line_height_in(style.SMALL_PT)


@dataclass(frozen=True, slots=True)
class PanelTexts:
    """The texts around a pair of axes.

    Args:
        x_lines: Label below the tick texts, centred.
        y_lines: Label above the axes.
        label_left: Where the y label begins.
        y_ticks: Whether to write the y tick texts (the left panel of a row that shares them does).
    """

    x_lines: tuple[str, ...]
    y_lines: tuple[str, ...]
    label_left: float
    y_ticks: bool = True


def draw_panel(figure: Figure, box: Box, x: Scale, y: Scale, texts: PanelTexts) -> Axes:
    """Axes with grid, ticks and labels; `box` is where the axes stand, without their ticks and labels."""
    axes = place_axes(figure, box.left, box.bottom, box.width, box.height)
    axes.set_xlim(x.limits.low, x.limits.high)
    axes.set_ylim(y.limits.low, y.limits.high)
    axes.set_xticks(list(x.ticks.values), list(x.ticks.texts))
    axes.set_yticks(list(y.ticks.values), list(y.ticks.texts) if texts.y_ticks else ["" for _ in y.ticks.texts])
    axes.grid(color=style.GRID, linewidth=0.6, axis="y")
    axes.tick_params(axis="y", length=0)
    put_x_label(figure, box, texts.x_lines)
    bottom = box.top + 0.07
    for number, line in enumerate(reversed(texts.y_lines)):
        middle = bottom + (number + 0.5) * line_height_in(style.SMALL_PT)
        put_text(figure, texts.label_left, middle, line, size_pt=style.SMALL_PT, colour=style.MUTED)
    return axes


def put_x_label(figure: Figure, box: Box, lines: tuple[str, ...]) -> None:
    """The lines of an axis label, centred below the tick texts."""
    for number, line in enumerate(lines):
        level = box.bottom - TICK_ROW_IN - (number + 0.5) * line_height_in(style.SMALL_PT)
        centre = box.left + box.width / 2
        put_text(figure, centre, level, line, size_pt=style.SMALL_PT, colour=style.MUTED, align="center")


def draw_line(
    axes: Axes,
    box: Box,
    x: Array,
    y: Array,
    *,
    colour: str,
    width_pt: float,
    dashes: style.Dashes = (),
    alpha: float = 1.0,
    dots: bool = True,
    column_pt: float = 1.0,
) -> None:
    """A line with gaps where values are unknown, thinned to columns of `column_pt` points (0: not thinned).

    A known value between two unknown ones has no line to be on; with `dots` it is drawn as a dot.
    """
    import numpy as np

    low, high = axes.get_xlim()
    columns = max(int(box.width / (column_pt * POINT_IN)), 1) if column_pt else x.size + 1
    thin_x, thin_y = decimate(x, y, low, high, columns)
    (line,) = axes.plot(
        thin_x, thin_y, color=colour, linewidth=width_pt, alpha=alpha, solid_joinstyle="round", dash_capstyle="butt"
    )
    set_dashes(line, dashes)
    known = np.isfinite(thin_y)
    before, after = np.roll(known, 1), np.roll(known, -1)
    if known.size:
        before[0] = after[-1] = False
    alone = known & ~before & ~after
    if dots and alone.any():
        axes.plot(
            thin_x[alone],
            thin_y[alone],
            linestyle="none",
            marker="o",
            markersize=3.2,
            color=colour,
            alpha=alpha,
            markeredgewidth=0,
        )


def note_nothing(figure: Figure, axes: Axes, box: Box) -> None:
    """Say in the middle of empty axes that nothing is known."""
    axes.grid(visible=False)
    put_text(
        figure,
        box.left + box.width / 2,
        box.bottom + box.height / 2,
        "no values are known",
        colour=style.MUTED,
        align="center",
    )
