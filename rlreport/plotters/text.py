"""Text measured in inches, wrapped and shortened. SVG draws text as paths at exactly the measured size."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rlreport.plotters.fonts import MISSING, drawable, font_families, missing_characters

Weight = Literal["normal", "bold"]
ELLIPSIS = "…"
LINE_SPACING = 1.28

#: Where a label may break: after white space and after the signs that names are built with, never within a number ("3.5 %").
_PIECES = re.compile(r"\s+|(?:\d+(?:[.,:]\d+)*(?: %)?|[^\s\d\-_/.,:|=])+[\-_/.,:|=]*|[\-_/.,:|=]+")


_ITEM_ENDS = re.compile(r"(?<=[,.:]) +")


@lru_cache(maxsize=16_384)
def width_in(text: str, size_pt: float, weight: Weight = "normal") -> float:
    """Width of one line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if not text:
        return 0.0
    properties = FontProperties(family=list(font_families()), size=size_pt, weight=weight)
    width, _height, _descent = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(width) / 72


def line_height_in(size_pt: float) -> float:
    """Distance of two base lines in inches."""
    return size_pt * LINE_SPACING / 72


def wrap(text: str, most_in: float, size_pt: float, *, most_lines: int = 2, weight: Weight = "normal") -> tuple[str, ...]:
    """The text in at most `most_lines` lines of at most `most_in` inches; what does not fit is cut out of the middle.

    The middle is cut because names of runs share their beginnings and differ at their ends.
    """
    shown = drawable(text)
    lines = _fill(shown, most_in, size_pt, weight)
    if len(lines) <= most_lines:
        return lines
    low, high = 0, len(shown)
    while low < high:  # the longest shortened text that fits
        middle = (low + high + 1) // 2
        if len(_fill(_shorten(shown, middle), most_in, size_pt, weight)) <= most_lines:
            low = middle
        else:
            high = middle - 1
    return _fill(_shorten(shown, low), most_in, size_pt, weight)[:most_lines]


def by_items(text: str, most_in: float, size_pt: float, *, most_lines: int = 2) -> tuple[str, ...]:
    """The text in lines that break between its items: after a comma, a colon or a sentence; wrapped where that fails."""
    lines: list[str] = []
    for item in _ITEM_ENDS.split(drawable(text)):
        joined = f"{lines[-1]} {item}" if lines else item
        if lines and width_in(joined, size_pt) <= most_in:
            lines[-1] = joined
        else:
            lines.append(item)
    if len(lines) > most_lines or any(width_in(line, size_pt) > most_in for line in lines):
        return wrap(text, most_in, size_pt, most_lines=most_lines)
    return tuple(lines)


def run_label(label: str, role: int) -> str:
    """The label of a run; one that cannot be drawn whole is led by the run's role, so that it still tells which it is."""
    if not label.strip():
        return role_name(role)
    return f"{role_name(role)}: {drawable(label)}" if missing_characters(label) or MISSING in label else label


def role_name(role: int) -> str:
    """What a role is called: "baseline", "variant 1"."""
    return "baseline" if role == 0 else f"variant {role}"


def _shorten(text: str, keep: int) -> str:
    if keep >= len(text):
        return text
    head = (keep + 1) // 2
    tail = keep - head
    return f"{text[:head].rstrip()}{ELLIPSIS}{text[len(text) - tail :].lstrip() if tail else ''}"


def _fill(text: str, most_in: float, size_pt: float, weight: Weight) -> tuple[str, ...]:
    """Greedy lines; a piece that is wider than a line is broken between characters."""
    lines: list[str] = [""]
    for piece in _PIECES.findall(text):
        if width_in((lines[-1] + piece).rstrip(), size_pt, weight) <= most_in:
            lines[-1] += piece
        elif piece.isspace():
            lines.append("")
        elif width_in(piece.rstrip(), size_pt, weight) <= most_in:
            lines.append(piece)
        else:
            for character in piece:
                if lines[-1] and width_in(lines[-1] + character, size_pt, weight) > most_in:
                    lines.append("")
                lines[-1] += character
    filled = tuple(line.strip() for line in lines if line.strip())
    return filled or ("",)
