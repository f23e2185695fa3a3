"""When two configuration values are the same, whatever they look like, and how they are written for a reader."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Sequence
from typing import Any

from rlreport.comparators.results import ABSENT
from rlreport.run.format import config_value
from rlreport.run.knobs import KnobRow, ValueKind, plain_value

#: Relative distance of two numbers that are still equal.
TOLERANCE = 1e-9
#: Longest value that a sentence spells out.
SHOWN_CHARACTERS = 60

_HUB = re.compile(r"models--(?P<name>.+)")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def normal(value: Any, kind: ValueKind = "plain") -> Any:
    """A value in the form in which it is compared.

    Text that is a number or a word of logic becomes one; a list becomes a tuple of normal values, and a list of one is that
    value. Paths lose what depends on the machine: files keep their last two parts, a model its name (the last part, or the
    name within a Hugging Face cache), other paths are written without `.`, `..` and a trailing slash.
    """
    value = plain_value(value)
    if isinstance(value, list | tuple):
        items = tuple(normal(item, kind) for item in value)
        return items[0] if len(items) == 1 else items
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        text = value.strip()
        try:
            return float(text)
        except ValueError:
            return _path(text, kind) if "/" in text or kind != "plain" else text
    return value


def _path(text: str, kind: ValueKind) -> str:
    text = text.removeprefix("file://")
    if "://" in text:
        return text
    parts = posixpath.normpath(text).split("/")
    if kind == "model":
        for part in parts:
            hub = _HUB.fullmatch(part)
            if hub is not None:
                return hub["name"].split("--")[-1]
        return parts[-1]
    if kind == "files":
        return "/".join(parts[-2:])
    return "/".join(parts)


def same_value(left: Any, right: Any, row: KnobRow | None = None) -> bool:
    """Whether two values mean the same for a knob: numerically equal, element by element, by name for models and files."""
    kind: ValueKind = "plain" if row is None else row.kind
    left, right = normal(left, kind), normal(right, kind)
    if row is not None and row.same and _among(left, row.same) and _among(right, row.same):
        return True
    return _same_normal(left, right)


def is_default(value: Any, row: KnobRow | None) -> bool:
    """Whether a value is one that the framework uses when the key is not given, as far as its row tells."""
    return row is not None and _among(normal(value, row.kind), row.defaults)


def is_off(value: Any) -> bool:
    """Whether a value switches nothing on: null, false, empty text, an empty list or mapping."""
    value = plain_value(value)
    return value is None or value is False or (isinstance(value, str | list | tuple | dict) and len(value) == 0)


def same_name_elsewhere(left: Any, right: Any) -> bool:
    """Whether two values differ as texts: they were then found equal by name only."""
    return isinstance(left, str) and isinstance(right, str) and posixpath.normpath(left) != posixpath.normpath(right)


def _among(value: Any, values: Sequence[Any]) -> bool:
    return any(_same_normal(value, normal(other)) for other in values)


def _same_normal(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(_same_normal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=TOLERANCE) or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and bool(left == right)


def written(value: Any) -> str:
    """A value as a sentence shows it: short, a list by its items, null in words."""
    if value is ABSENT:
        return "not given"
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        text = ", ".join(written(item) for item in value)
    elif isinstance(value, bool):
        text = "on" if value else "off"
    else:
        text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"...{text[-SHOWN_CHARACTERS:]}"


def named(value: Any, row: KnobRow | None) -> str:
    """A value for a table or a list: models and files by name, other values as they are configured."""
    if value is ABSENT:
        return "not given"
    if row is None or row.kind not in ("model", "files"):
        return config_value(value)
    short = normal(value, row.kind)
    return ", ".join(str(item) for item in short) if isinstance(short, tuple) else config_value(short)


def counted(value: Any) -> int:
    """How many items a value has: the length of a list, else one."""
    return len(value) if isinstance(value, list | tuple) else 1


def count_word(number: int) -> str:
    """A small number in words."""
    return _COUNTS[number] if number < len(_COUNTS) else str(number)
