"""Figures printed faster than WeasyPrint does it alone, with the same marks on the page.

Matplotlib draws a text as references to glyphs, several thousand a report. WeasyPrint looks up every one of them and reads
its path anew, which would be most of the time that a PDF takes. Here a glyph is turned into PDF operators once a figure, and
a text into one run of them. All else of a figure is left to WeasyPrint, and so is a text of another form than matplotlib's.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

import weasyprint
from weasyprint.images import SVGImage, get_image_from_uri
from weasyprint.svg import SVG

_FIGURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_TOKEN = re.compile(r"[A-Za-z]|-?\d+(?:\.\d+)?(?:e-?\d+)?")
_PLACE = re.compile(r"(translate\([^()]*\)) scale\((-?[\d.]+) (-?[\d.]+)\)")
_FILL_ONLY = re.compile(r"\s*fill:\s*#[0-9a-fA-F]{6}\s*;?\s*")

#: Matplotlib defines glyphs at 1/64 of the unit in which it places them, and says so by this transformation.
_GLYPH_UNITS = 64
_GLYPH_SCALE = f"scale({1 / _GLYPH_UNITS})"
#: The attribute by which a text's element is told to `_Drawing`: the place of its operators in a list.
_RUN = "data-run"

_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Context:
    """What an SVG image asks of the page that it stands on: fonts, and the images inside of it."""

    font_config: Any
    get_image_from_uri: Callable[..., Any]


class Figure(SVGImage):  # type: ignore[misc]
    """An SVG image for WeasyPrint, of which the texts are drawn by operators that were made before."""

    def __init__(self, svg: bytes, url: str, fetcher: Any, context: _Context) -> None:
        tree = ElementTree.fromstring(svg)
        runs = take_texts(tree)
        super().__init__(tree, url, fetcher, context)
        self._drawing = _Drawing(tree, url, context.font_config, fetcher)
        self._drawing.runs = runs
        self._svg = self._drawing

    def draw(self, stream: Any, concrete_width: float, concrete_height: float, _style: Any) -> None:
        """Draw it. Unlike WeasyPrint's own, this leaves out no figure in silence: what goes wrong is raised."""
        self._drawing.draw(stream, concrete_width, concrete_height, self._base_url, self._context)


class _Drawing(SVG):  # type: ignore[misc]
    runs: list[bytes]

    def draw_node(self, node: Any, font_size: Any, *args: Any, **options: Any) -> None:
        """Draw a node; a text that was taken by its operators."""
        place = node.get(_RUN)
        if place is None:
            super().draw_node(node, font_size, *args, **options)
            return
        self.stream.push_state()
        self.transform(node, font_size)
        self.set_graphical_state(node, font_size)
        self.stream.stream.append(self.runs[int(place)])
        self.stream.pop_state()


def figures_of(html: str, fetcher: Any, font_config: Any) -> dict[str, Any]:
    """The SVG images of a page by their data URI, as WeasyPrint's `cache` takes them; what is no SVG is left to it."""
    cache: dict[str, Any] = {}
    images = partial(get_image_from_uri, cache=cache, url_fetcher=fetcher, options=weasyprint.DEFAULT_OPTIONS)
    context = _Context(font_config, images)
    for match in _FIGURE.finditer(html):
        if match.group() not in cache:
            with suppress(binascii.Error, ElementTree.ParseError):
                cache[match.group()] = Figure(base64.b64decode(match.group(1)), match.group(), fetcher, context)
    return cache


def take_texts(tree: ElementTree.Element) -> list[bytes]:
    """Replace the content of every text that matplotlib drew as glyphs by the number of its run of PDF operators.

    The operators fill the glyphs in the colour that is set, in 1/64 of the unit in which the text places them; the element's
    transformation is changed accordingly. Returns the runs.
    """
    glyphs = {
        element.get("id", ""): operators
        for element in tree.iter(f"{_SVG}path")
        if element.get("transform") == _GLYPH_SCALE and (operators := path_operators(element.get("d", ""))) is not None
    }
    runs: list[bytes] = []
    for group in tree.iter(f"{_SVG}g"):
        place = _PLACE.fullmatch(group.get("transform", ""))
        if place is None or set(group.attrib) - {"transform", "style"}:
            continue
        if not _FILL_ONLY.fullmatch(group.get("style", "fill: #000000")):
            continue
        run = _run(group, glyphs)
        if run is None:
            continue
        scales = " ".join(f"{float(scale) / _GLYPH_UNITS:.8f}" for scale in place.groups()[1:])
        group.set("transform", f"{place.group(1)} scale({scales})")
        group.set(_RUN, str(len(runs)))
        group[:] = [child for child in group if child.tag == f"{_SVG}defs"]  # other texts may be left that use them
        runs.append(run)
    return runs


def _run(group: ElementTree.Element, glyphs: dict[str, bytes]) -> bytes | None:
    """The operators of a text, or None when it is more than known glyphs in a row."""
    at = (0, 0)
    lines: list[bytes] = []
    for child in group:
        if child.tag == f"{_SVG}defs":
            continue
        glyph = glyphs.get(child.get(_HREF, "")[1:])
        if child.tag != f"{_SVG}use" or glyph is None or set(child.attrib) - {_HREF, "x", "y"}:
            return None
        x, y = (round(float(child.get(name, "0")) * _GLYPH_UNITS) for name in ("x", "y"))
        if glyph:
            if (x, y) != at:
                lines.append(f"1 0 0 1 {x - at[0]} {y - at[1]} cm".encode())
            lines.append(glyph)
            at = (x, y)
    return b"\n".join(lines) if lines else None


def path_operators(path: str) -> bytes | None:
    """An SVG path as PDF operators that fill it: M, L, C, Q and Z with places, l with steps. None for any other path."""
    out: list[str] = []
    at: _Point = (0.0, 0.0)
    start = at
    for command, numbers in _commands(path):
        if command in "zZ":
            out.append("h")
            at = start
            continue
        step = {"M": 2, "L": 2, "l": 2, "C": 6, "Q": 4}.get(command)
        if step is None or not numbers or len(numbers) % step:
            return None
        for first in range(0, len(numbers), step):
            points = [(numbers[i], numbers[i + 1]) for i in range(first, first + step, 2)]
            if command == "l":
                points = [(at[0] + points[0][0], at[1] + points[0][1])]
            elif command == "Q":
                (control, end) = points
                points = [_between(at, control), _between(end, control), end]
            at = points[-1]
            if command == "M" and first == 0:
                start = at
            operator = "c" if len(points) == 3 else "m" if command == "M" and first == 0 else "l"
            out.append(" ".join(f"{_number(x)} {_number(y)}" for x, y in points) + f" {operator}")
    return "\n".join([*out, "f"]).encode() if out else b""


def _commands(path: str) -> Iterator[tuple[str, list[float]]]:
    command, numbers = "", list[float]()
    for token in _TOKEN.findall(path):
        if token.isalpha():
            if command:
                yield command, numbers
            command, numbers = token, []
        else:
            numbers.append(float(token))
    if command:
        yield command, numbers


def _between(end: _Point, control: _Point) -> _Point:
    """A control point of the cubic curve that equals a quadratic one: two thirds of the way from an end to its control."""
    return end[0] + (control[0] - end[0]) * 2 / 3, end[1] + (control[1] - end[1]) * 2 / 3


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
