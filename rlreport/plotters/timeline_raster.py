"""States painted as pixels: any number of spans costs the same, and every cause keeps its own hatch.

A timeline of 50,000 bars is 8 MB as vectors and takes seconds to print. Here a row of a timeline is a row of pixels: which
state it shows at each column is looked up, fills and hatches are computed for all pixels at once, and the picture is set
into axes whose ticks, labels and lines stay vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rlreport.plotters.panel import Box
from rlreport.plotters.timeline_style import StateStyle, is_outlined

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Codes = NDArray[np.int16]

#: Pixels an inch: hatches stay clean when a page is printed, and pictures small.
DPI = 200
#: No state: the paper shows.
NOTHING = -1
_OUTLINE = (0x9A, 0xA3, 0xAD)


def columns_of(edges: Sequence[float], states: Sequence[int], begin: float, end: float, width: int) -> Codes:
    """The state at each of `width` columns between two ends of an axis.

    A column shows the state that holds for most of it; so a span narrower than half a pixel is not seen, and many of them
    together show what they mostly are.
    """
    import numpy as np

    if end <= begin or not states:
        return np.full(width, NOTHING, np.int16)
    moments, codes = np.asarray(edges, np.float64), np.asarray(states, np.int16)
    borders = begin + (end - begin) * np.arange(width + 1) / width
    present = np.unique(codes)
    lengths = np.diff(moments)
    held = np.empty((len(present), width))
    for row, code in enumerate(present):
        done = np.concatenate([[0.0], np.cumsum(np.where(codes == code, lengths, 0.0))])
        held[row] = np.diff(np.interp(borders, moments, done))
    most = present[held.argmax(axis=0)]
    column = (end - begin) / width
    return np.where(held.sum(axis=0) >= 0.5 * column, most, NOTHING).astype(np.int16)


def stacked(shares: Sequence[Sequence[float]], width: int, height: int) -> Codes:
    """Stacked shares as pixels: one column a stretch of time (repeated to the width), states from below upwards."""
    import numpy as np

    table = np.asarray(shares, np.float64)
    if table.size == 0:
        return np.full((height, width), NOTHING, np.int16)
    tops = np.cumsum(table, axis=1)
    stretch = np.minimum((np.arange(width) + 0.5) / width * len(table), len(table) - 1).astype(int)
    levels = (np.arange(height)[::-1] + 0.5) / height
    codes = (levels[:, None, None] >= tops[stretch][None, :, :]).sum(axis=2)
    return np.where(codes >= table.shape[1], NOTHING, codes).astype(np.int16)


def colour(codes: Codes, looks: Sequence[StateStyle], *, outline: bool = True) -> Pixels:
    """RGBA pixels of a table of states. Pale states get an outline where another state begins beside them."""
    import numpy as np

    height, width = codes.shape
    fills = np.zeros((len(looks) + 1, 4), np.uint8)  # the last one is for `NOTHING`
    for code, look in enumerate(looks):
        fills[code] = (*_rgb(look.fill), 255)
    pixels = fills[codes]
    for code in np.unique(codes).tolist():
        if code != NOTHING and looks[code].hatch:
            pixels[(codes == code) & _hatch(looks[code], height, width)] = (*_rgb(looks[code].ink), 255)
    if outline:
        pale = np.isin(codes, [code for code, look in enumerate(looks) if is_outlined(look)])
        edge = np.zeros_like(pale)
        changes = codes[:, 1:] != codes[:, :-1]
        edge[:, 1:] |= changes & pale[:, 1:]
        edge[:, :-1] |= changes & pale[:, :-1] & ~edge[:, 1:]
        edge[0] |= pale[0]
        edge[-1] |= pale[-1]
        pixels[edge] = (*_OUTLINE, 255)
    return pixels


@lru_cache(maxsize=64)
def _hatch(look: StateStyle, height: int, width: int) -> NDArray[np.bool_]:
    """Which pixels of a picture a hatch covers. Its lines are two pixels wide (0.7 pt)."""
    import numpy as np

    rows, columns = np.mgrid[0:height, 0:width]
    found: NDArray[np.bool_] = _lines(look, rows, columns)
    found.flags.writeable = False  # it is kept for the next row of this size
    return found


def _lines(look: StateStyle, rows: NDArray[np.int_], columns: NDArray[np.int_]) -> NDArray[np.bool_]:
    pitch = max(round(DPI / 20 * look.pitch), 4)
    wide = 2
    if look.hatch == "/":
        return (columns + rows) % pitch < wide
    if look.hatch == "\\":
        return (columns - rows) % pitch < wide
    if look.hatch == "x":
        return ((columns + rows) % pitch < wide) | ((columns - rows) % pitch < wide)
    if look.hatch == "|":
        return columns % pitch < wide
    if look.hatch == "-":
        return rows % pitch < wide
    if look.hatch == "+":
        return (columns % pitch < wide) | (rows % pitch < wide)
    offset = (rows // pitch % 2) * (pitch // 2)
    dot = 3 if look.hatch == "o" else 2
    return (rows % pitch < dot) & ((columns + offset) % pitch < dot)


def _rgb(text: str) -> tuple[int, int, int]:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


class Canvas:
    """One picture for several boxes: what a page embeds once costs less than many small pictures."""

    def __init__(self, box: Box) -> None:
        import numpy as np

        self.box = box
        width, height = pixel_size(box)
        self.pixels: Pixels = np.zeros((height, width, 4), np.uint8)

    def paste(self, box: Box, pixels: Pixels) -> None:
        """Set pixels with their upper left corner at that of a box, as far as they lie within the picture."""
        top, left = max(round((self.box.top - box.top) * DPI), 0), max(round((box.left - self.box.left) * DPI), 0)
        height, width = self.pixels[top:, left:].shape[:2]
        shown = pixels[:height, :width]
        self.pixels[top : top + shown.shape[0], left : left + shown.shape[1]] = shown

    def show(self, figure: Figure) -> None:
        """Set the picture into its page."""
        show(figure, self.box, self.pixels)


def pixel_size(box: Box) -> tuple[int, int]:
    """Width and height of a box in pixels."""
    return max(round(box.width * DPI), 1), max(round(box.height * DPI), 1)


def show(figure: Figure, box: Box, pixels: Pixels) -> None:
    """Set a picture into a box of the page. An SVG holds its pixels as they are; in a PNG they are averaged."""
    from matplotlib.image import AxesImage

    class Picture(AxesImage):
        """An image that is resampled only where the drawing has pixels of its own."""

        def draw(self, renderer: Any) -> None:
            self.set_interpolation("none" if renderer.option_scale_image() else "hanning")
            super().draw(renderer)

    page_width, page_height = figure.get_size_inches()
    axes = figure.add_axes(
        (box.left / page_width, box.bottom / page_height, box.width / page_width, box.height / page_height), zorder=-1
    )
    axes.set_axis_off()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    picture = Picture(axes, extent=(0, 1, 0, 1), origin="upper", interpolation_stage="rgba")
    picture.set_data(pixels)
    picture.set_clip_path(axes.patch)
    axes.add_image(picture)
