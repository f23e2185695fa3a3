"""Words shared by the manifest's diagnostics: what was found, what was probably meant."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from typing import Any

_LONGEST = 40
_LISTED = 8


def describe(value: Any) -> str:
    """A value as a message shows it: `'abc'`, `12`, `true`, `nothing`, `a list`."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
        case int() | float():
            return shorten(str(value))
        case str():
            return quote(value)
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return type(value).__name__


def quote(text: str) -> str:
    """A text in single quotes, on one line and not too long."""
    return f"'{shorten(text)}'"


def shorten(text: str) -> str:
    """A text on one line, without control characters, cut in the middle when it is long."""
    line = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in " ".join(text.split()))
    if len(line) <= _LONGEST:
        return line
    half = (_LONGEST - 3) // 2
    return f"{line[:half]}...{line[-half:]}"


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, or None when none is."""
    choices = list(known)
    folded = {choice.casefold(): choice for choice in reversed(choices)}
    found = difflib.get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.55)
    return folded[found[0]] if found else None


def suggest(word: str, known: Sequence[str], noun: str) -> str:
    """A hint: the closest known word, or the known words where none is close.

    Args:
        word: what was written.
        known: what could have been written, in the order in which it is shown.
        noun: what the known words are, in the plural ("runs").
    """
    found = closest(word, known)
    if found is not None:
        return f"did you mean '{found}'?"
    return listing(known, noun)


def listing(known: Sequence[str], noun: str) -> str:
    """A hint that lists what there is, the first few of it."""
    if not known:
        return f"there are no {noun}"
    rest = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"the {noun} are: {', '.join(known[:_LISTED])}{rest}"
