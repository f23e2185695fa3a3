"""A page of fixed width on which everything is placed in inches, measured before it is drawn.

Nothing is left to automatic layout: what stands where follows from the measured text, so labels do not overlap and the
same specification gives the same bytes. Positions are inches from the lower left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.plotters import style
from rlreport.plotters.text import Weight, line_height_in, width_in, wrap

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY_WIDTH_IN = 0.26
KEY_GAP_IN = 0.07
ENTRY_GAP_IN = 0.22
_HALF_CAPITAL = 0.36  # half the height of capitals and digits, as a share of the size; near enough for all text families
Align = Literal["left", "center", "right"]
KeyKind = Literal["line", "marker", "band", "swatch", "idle", "wait", "arrow"]


@dataclass(frozen=True, slots=True)
class Key:
    """The sample that stands before a legend's text.

    `line` is a line with its dashes, crossed by `marker` if one is given; `marker` the marker alone, hollow or filled;
    `band` a translucent band with a line; `swatch` a filled box, outlined if it is pale; `idle` a hatched box, `wait` one
    for waiting; `arrow` a filled triangle.
    """

    kind: KeyKind
    colour: str
    dashes: style.Dashes = ()
    marker: str = ""
    hollow: bool = False
    outlined: bool = False
    width_pt: float = 1.4


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a legend: a sample (or none) and what it stands for."""

    key: Key | None
    text: str


@dataclass(frozen=True, slots=True)
class Legend:
    """Entries set in rows of a given width, ready to be placed."""

    rows: tuple[tuple[tuple[float, Entry, tuple[str, ...]], ...], ...]
    size_pt: float

    @property
    def height_in(self) -> float:
        """Height of all rows."""
        return sum(self._row_height(row) for row in self.rows)

    def _row_height(self, row: tuple[tuple[float, Entry, tuple[str, ...]], ...]) -> float:
        return line_height_in(self.size_pt) * max(len(lines) for _x, _entry, lines in row) + 0.04

    def draw(self, figure: Figure, left: float, top: float) -> None:
        """Draw with the upper left corner at the given place."""
        for row in self.rows:
            middle = top - line_height_in(self.size_pt) / 2
            for x, entry, lines in row:
                start = left + x
                if entry.key is not None:
                    draw_key(figure, entry.key, start, middle)
                    start += KEY_WIDTH_IN + KEY_GAP_IN
                for number, line in enumerate(lines):
                    put_text(figure, start, middle - number * line_height_in(self.size_pt), line, size_pt=self.size_pt)
            top -= self._row_height(row)


def flow(entries: Sequence[Entry], most_in: float, size_pt: float = style.SMALL_PT) -> Legend:
    """Set legend entries in rows no wider than `most_in`; an entry wider than a row is wrapped to three lines at most."""
    rows: list[list[tuple[float, Entry, tuple[str, ...]]]] = []
    x = 0.0
    for entry in entries:
        lead = KEY_WIDTH_IN + KEY_GAP_IN if entry.key is not None else 0.0
        lines = wrap(entry.text, most_in - lead, size_pt, most_lines=3)
        width = lead + max(width_in(line, size_pt) for line in lines)
        if not rows or x + width > most_in:
            rows.append([])
            x = 0.0
        rows[-1].append((x, entry, lines))
        x += width + ENTRY_GAP_IN
    return Legend(tuple(tuple(row) for row in rows), size_pt)


def new_figure(height_in: float) -> Figure:
    """An empty figure of the house's width."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(style.WIDTH_IN, height_in))


def place_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, with the left and lower spine only and short ticks."""
    page_width, page_height = figure.get_size_inches()
    axes = figure.add_axes((left / page_width, bottom / page_height, width / page_width, height / page_height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=style.AXIS, labelcolor=style.MUTED, labelsize=style.SMALL_PT, length=3, width=0.7, pad=3)
    return axes


def put_text(
    figure: Figure,
    x: float,
    y: float,
    text: str,
    *,
    size_pt: float = style.TEXT_PT,
    colour: str = style.INK,
    weight: Weight = "normal",
    align: Align = "left",
) -> None:
    """One line of text at a place in inches; the middle of its capitals and digits stands at the given height."""
    figure.text(
        x,
        y - _HALF_CAPITAL * size_pt / 72,
        text,
        transform=figure.dpi_scale_trans,
        fontsize=size_pt,
        color=colour,
        fontweight=weight,
        ha=align,
        va="baseline",
    )


def put_lines(
    figure: Figure,
    x: float,
    top: float,
    lines: Sequence[str],
    *,
    size_pt: float,
    colour: str = style.INK,
    weight: Weight = "normal",
) -> float:
    """Several lines of text below a place; returns the lower end."""
    for line in lines:
        put_text(figure, x, top - line_height_in(size_pt) / 2, line, size_pt=size_pt, colour=colour, weight=weight)
        top -= line_height_in(size_pt)
    return top


def put_middle(
    figure: Figure, x: float, middle: float, lines: Sequence[str], *, align: Align = "left", weight: Weight = "normal"
) -> None:
    """Lines of text centred on a height."""
    step = line_height_in(style.TEXT_PT)
    for number, line in enumerate(lines):
        put_text(figure, x, middle + (len(lines) / 2 - number - 0.5) * step, line, align=align, weight=weight)


def draw_key(figure: Figure, key: Key, x: float, y: float) -> None:
    """A legend's sample, `KEY_WIDTH_IN` wide, with its left middle at the given place."""
    for artist in _key_artists(key, x, y):
        artist.set_transform(figure.dpi_scale_trans)
        figure.add_artist(artist)


def _key_artists(key: Key, x: float, y: float) -> list[Artist]:
    from matplotlib.lines import Line2D

    centre, right = x + KEY_WIDTH_IN / 2, x + KEY_WIDTH_IN
    if key.kind == "line":
        line = Line2D(
            [x, right], [y, y], color=key.colour, linewidth=key.width_pt, solid_capstyle="butt", dash_capstyle="butt"
        )
        set_dashes(line, key.dashes)
        if not key.marker:
            return [line]
        return [line, Line2D([centre], [y], linestyle="none", marker=key.marker, markersize=4.2, color=key.colour)]
    if key.kind in ("marker", "arrow"):
        face = "none" if key.hollow else key.colour
        marker = Line2D([centre], [y], linestyle="none", marker=key.marker or "v", markersize=4.6, markeredgewidth=0.9)
        marker.set(markeredgecolor=key.colour, markerfacecolor=face)
        return [marker]
    return _box_artists(key, x, y)


def _box_artists(key: Key, x: float, y: float) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    corner, height = (x, y - 0.05), 0.1
    if key.kind == "band":
        band = Rectangle(corner, KEY_WIDTH_IN, height, facecolor=key.colour, alpha=0.18, linewidth=0)
        return [band, Line2D([x, x + KEY_WIDTH_IN], [y, y], color=key.colour, linewidth=1.3, solid_capstyle="butt")]
    box = Rectangle(corner, KEY_WIDTH_IN, height, facecolor=key.colour, linewidth=0)
    if key.outlined:
        box.set(edgecolor=style.AXIS, linewidth=0.5)
    if key.kind == "idle":
        box.set(hatch=style.IDLE_HATCH, edgecolor=style.IDLE_HATCH_COLOUR, linewidth=0.5)
    if key.kind == "wait":
        box.set(hatch=style.WAIT_HATCH, edgecolor=style.WAIT_HATCH_COLOUR, linewidth=0.5)
    return [box]


def set_dashes(line: Artist, dashes: style.Dashes) -> None:
    """Give a line its dash pattern, in units of its width; empty is solid."""
    from matplotlib.lines import Line2D

    if isinstance(line, Line2D) and dashes:
        line.set_linestyle((0, dashes))


def spread(centres: Sequence[float], heights: Sequence[float], low: float, high: float, gap: float = 0.05) -> list[float]:
    """Move blocks along a line until none overlap, each as near to where it wants to be as the others allow.

    Blocks that touch move as one and settle at the mean of their wishes (the pooling step of isotonic regression). All stay
    within low..high as long as they fit; the order of the wishes is kept.

    Args:
        centres: Where the middle of each block wants to be.
        heights: Size of each block.
        low: Lower bound.
        high: Upper bound.
        gap: Least distance between blocks.

    Returns:
        The middle of each block, in the order given.
    """
    order = sorted(range(len(centres)), key=lambda i: (centres[i], i))
    # A pool is [members, sum of wished lower ends of the pool, size]; its place is the mean wish.
    pools: list[tuple[list[int], float, float]] = []
    for index in order:
        members, wish, size = [index], centres[index] - heights[index] / 2, heights[index]
        while pools and _start(pools[-1], low, high) + pools[-1][2] + gap > _start((members, wish, size), low, high):
            before, before_wish, before_size = pools.pop()
            shift = before_size + gap
            members, wish, size = before + members, before_wish + wish - shift * len(members), shift + size
        pools.append((members, wish, size))
    placed = [0.0] * len(centres)
    for pool in pools:
        start = _start(pool, low, high)
        for index in pool[0]:
            placed[index] = start + heights[index] / 2
            start += heights[index] + gap
    return placed


def _start(pool: tuple[list[int], float, float], low: float, high: float) -> float:
    members, wish, size = pool
    return max(low, min(wish / len(members), high - size))
