"""Matplotlib's SVG made small and self-contained.

What matplotlib writes names the address of a document type, spells every coordinate with six decimals on a line of its own
and calls each glyph by its font's whole name. None of that is drawn. The rewriting here keeps every shape to 1/100 point
(long noisy lines to 1/10) and halves the size, which counts because a page carries its figures as base64.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

_PROLOGUE = re.compile(r"\A.*?(?=<svg )", re.DOTALL)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_INDENT = re.compile(r">\s*\n\s*<")
_EMPTY_GROUP = re.compile(r"<g id=\"[^\"]*\"/>")
_PATH = re.compile(r'(?<= d=")[^"]*(?=")')
_PLACE = re.compile(r'(?<= )(?:x|y)="[^"]*"|translate\([^)]*\)')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_TOKEN = re.compile(r"[A-Za-z]|-?\d+(?:\.\d+)?(?:e-?\d+)?")
_SHIFT = re.compile(r'transform="translate\((-?[\d.]+) 0\)"')
_ALIKE = re.compile(r'<g([^>]*)>((?:<use [^>]*?)( style="[^"]*")/>(?:<use [^>]*?\3/>)*)</g>')
_GLYPH = re.compile(r'(?<=<path id=")[^"]+(?=" d="[^"]*" transform="scale)')

#: A noisy line of hundreds of points is told in 1/10 point, which is a fifth of a pixel at 150 dpi.
_LONG_LINE_TOKENS = 600
_LONG_LINE_UNIT = 10


def finish_svg(svg: str, title: str, description: str) -> str:
    """The SVG without prologue, comments and white space, with short numbers and ids, a title and a description.

    Args:
        svg: What matplotlib wrote.
        title: The figure's title, one line.
        description: The figure told in sentences, one line.
    """
    svg = _COMMENT.sub("", _PROLOGUE.sub("", svg, count=1))
    svg = _INDENT.sub("><", _PATH.sub(lambda match: _shorten_path(match.group()), svg))
    svg = _short_glyph_names(_PLACE.sub(lambda match: _LONG_NUMBER.sub(_round_match, match.group()), svg))
    svg = _ALIKE.sub(_hoist_style, _SHIFT.sub(r'x="\1"', svg))
    head, body = _EMPTY_GROUP.sub("", svg).split(">", 1)
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return f'{head} role="img">{words}{body}'


def _hoist_style(match: re.Match[str]) -> str:
    """A group of markers of one style, with the style on the group."""
    attributes, uses, shared = match.groups()
    return f"<g{attributes}{shared}>{uses.replace(shared, '')}</g>"


def _short_glyph_names(svg: str) -> str:
    names = dict.fromkeys(_GLYPH.findall(svg))
    for number, name in enumerate(names):
        svg = svg.replace(f'id="{name}"', f'id="g{number}"').replace(f'="#{name}"', f'="#g{number}"')
    return svg


def _round_match(match: re.Match[str]) -> str:
    return _text(round(float(match.group()), 2))


def _shorten_path(path: str) -> str:
    """The path with rounded numbers; a path of straight lines only is told by the steps from point to point."""
    tokens = _TOKEN.findall(path)
    if any(token.isalpha() and token not in "MLz" for token in tokens):
        return " ".join(token if token.isalpha() else _text(round(float(token), 2)) for token in tokens)
    unit = _LONG_LINE_UNIT if len(tokens) > _LONG_LINE_TOKENS else 100
    out: list[str] = []
    numbers: list[int] = []
    at, start, command, before = (0, 0), (0, 0), "M", ""
    for token in tokens:
        if token.isalpha():
            command = token
            if token == "z":
                out.append("z")
                at, before = start, "z"
            continue
        numbers.append(round(float(token) * unit))  # whole parts of a point, so that steps add up exactly
        if len(numbers) == 2:
            x, y = numbers
            if command == "M":
                out.append(f"M{_text(x / unit)} {_text(y / unit)}")
                start = (x, y)
            else:
                lead = " " if before == "L" else "l"
                out.append(f"{lead}{_text((x - at[0]) / unit)} {_text((y - at[1]) / unit)}")
            at, numbers, before = (x, y), [], command
    return "".join(out)


def _text(value: float) -> str:
    """A number with at most two decimals, without what is not needed to read it."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
