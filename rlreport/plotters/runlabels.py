"""The column of run labels beside a pair of axes: each as near to its line as the others allow, joined to it by a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import KEY_GAP_IN, KEY_WIDTH_IN, Key, draw_key, put_lines, spread
from rlreport.plotters.panel import Box
from rlreport.plotters.text import line_height_in, run_label, width_in, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_TEXT_IN = 1.68
_LEADER_IN = 0.16
_GAP_IN = 0.07


@dataclass(frozen=True, slots=True)
class RunLabel:
    """A run's label with an optional second text, and where along the axis (0 to 1) it wants to stand.

    `leader` joins it to that place; a run without a value there has none. `marker` is shown on the sample of the line.
    """

    label: str
    role: int
    detail: str
    near: float
    leader: bool = True
    marker: str = ""

    @property
    def label_lines(self) -> tuple[str, ...]:
        """The label, wrapped."""
        return wrap(run_label(self.label, self.role), _MOST_TEXT_IN, style.SMALL_PT, most_lines=2, weight="bold")

    @property
    def detail_lines(self) -> tuple[str, ...]:
        """The second text, wrapped."""
        return wrap(self.detail, _MOST_TEXT_IN, style.SMALL_PT, most_lines=3) if self.detail.strip() else ()

    @property
    def height_in(self) -> float:
        """Height of all lines."""
        return line_height_in(style.SMALL_PT) * (len(self.label_lines) + len(self.detail_lines))


def column_width_in(labels: Sequence[RunLabel]) -> float:
    """Room that the column needs, from the axes' edge on."""
    widest = max(
        (
            width_in(line, style.SMALL_PT, weight)
            for label in labels
            for lines, weight in ((label.label_lines, "bold"), (label.detail_lines, "normal"))
            for line in lines
        ),
        default=0.0,
    )
    return _LEADER_IN + KEY_WIDTH_IN + KEY_GAP_IN + widest


def column_height_in(labels: Sequence[RunLabel]) -> float:
    """Height that the labels need when they stand one below the other."""
    return sum(label.height_in for label in labels) + _GAP_IN * max(len(labels) - 1, 0)


def draw_column(figure: Figure, labels: Sequence[RunLabel], box: Box, left: float) -> None:
    """Draw the labels to the right of the axes in `box`."""
    from matplotlib.lines import Line2D

    heights = [label.height_in for label in labels]
    # The first line of a label is what its leader points at, so that line wants to be level with the value.
    first_line = line_height_in(style.SMALL_PT) / 2
    wishes = [
        box.bottom + label.near * box.height + first_line - height / 2 for label, height in zip(labels, heights, strict=True)
    ]
    for label, height, middle in zip(labels, heights, spread(wishes, heights, box.bottom, box.top, _GAP_IN), strict=True):
        look = style.run_style(label.role)
        top = middle + height / 2
        level = top - first_line
        start = left + _LEADER_IN
        if label.leader:
            value = box.bottom + label.near * box.height
            leader = Line2D([left + 0.02, left + 0.06, start - 0.03, start], [value, value, level, level], color=look.colour)
            leader.set(linewidth=0.6, alpha=0.8, transform=figure.dpi_scale_trans)
            figure.add_artist(leader)
        draw_key(figure, Key("line", look.colour, look.dashes, label.marker), start, level)
        text_left = start + KEY_WIDTH_IN + KEY_GAP_IN
        after = put_lines(figure, text_left, top, label.label_lines, size_pt=style.SMALL_PT, weight="bold")
        put_lines(figure, text_left, after, label.detail_lines, size_pt=style.SMALL_PT)
