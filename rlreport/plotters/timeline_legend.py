"""Legends of states: a swatch with the state's own fill and hatch, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.plotters import style
from rlreport.plotters.layout import ENTRY_GAP_IN, KEY_GAP_IN, KEY_WIDTH_IN, put_text
from rlreport.plotters.panel import Box
from rlreport.plotters.text import line_height_in, width_in, wrap
from rlreport.plotters.timeline_raster import Canvas, colour, pixel_size
from rlreport.plotters.timeline_style import VERSION_COLOUR, StateStyle, state_style
from rlreport.report.figures_timeline import State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rlreport.plotters.timeline_raster import Pixels

_SWATCH_IN = 0.12


def looks(states: Sequence[State]) -> list[StateStyle]:
    """The look of each state of a figure."""
    unnamed = [state.name for state in states if state.name not in style.PHASE_STYLES]
    return [state_style(s.name, unnamed.index(s.name) if s.name in unnamed else 0) for s in states]


@dataclass(frozen=True, slots=True)
class StateLegend:
    """Entries set in rows: (left, state or None for the line of versions, text)."""

    rows: tuple[tuple[tuple[float, State | None, str], ...], ...]

    @property
    def height_in(self) -> float:
        """Height of all rows."""
        return len(self.rows) * (line_height_in(style.SMALL_PT) + 0.05)

    def draw(self, figure: Figure, left: float, top: float) -> None:
        """Draw with the upper left corner at a place."""
        from matplotlib.lines import Line2D

        right = max((x for row in self.rows for x, state, _ in row if state is not None), default=0.0) + KEY_WIDTH_IN
        canvas = Canvas(Box(left, top - self.height_in, right, self.height_in))
        for row in self.rows:
            middle = top - line_height_in(style.SMALL_PT) / 2
            for x, state, text in row:
                start = left + x
                if state is None:
                    line = Line2D([start + KEY_WIDTH_IN / 2] * 2, [middle - 0.07, middle + 0.07], color=VERSION_COLOUR)
                    line.set(linewidth=1.6, transform=figure.dpi_scale_trans, solid_capstyle="butt")
                    figure.add_artist(line)
                else:
                    canvas.paste(*_swatch(Box(start, middle - _SWATCH_IN / 2, KEY_WIDTH_IN, _SWATCH_IN), state))
                put_text(figure, start + KEY_WIDTH_IN + KEY_GAP_IN, middle, text, size_pt=style.SMALL_PT)
            top -= line_height_in(style.SMALL_PT) + 0.05
        if self.rows:
            canvas.show(figure)


def _swatch(box: Box, state: State) -> tuple[Box, Pixels]:
    """A sample of a state's fill and hatch; a pale one has an outline."""
    import numpy as np

    width, height = pixel_size(box)
    pixels = colour(np.zeros((height, width), np.int16), looks([state]), outline=True)
    if style.is_pale(looks([state])[0].fill):
        pixels[:, [0, -1]] = pixels[0, 0]
    return box, pixels


def set_legend(states: Sequence[State], most_in: float, version_text: str = "") -> StateLegend:
    """Set the entries in rows no wider than a width; the line of parameter versions comes last, if it has a text."""
    entries: list[tuple[State | None, str]] = [(state, state.label) for state in states]
    if version_text:
        entries.append((None, version_text))
    rows: list[list[tuple[float, State | None, str]]] = []
    x = 0.0
    for state, words in entries:
        lead = KEY_WIDTH_IN + KEY_GAP_IN
        (text,) = wrap(words, most_in - lead, style.SMALL_PT, most_lines=1)
        width = lead + width_in(text, style.SMALL_PT)
        if not rows or x + width > most_in:
            rows.append([])
            x = 0.0
        rows[-1].append((x, state, text))
        x += width + ENTRY_GAP_IN
    return StateLegend(tuple(tuple(row) for row in rows))
