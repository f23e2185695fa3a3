"""The scalars of the YAML 1.2 core schema: which plain texts are null, booleans, integers and floats.

Source of the patterns: YAML 1.2.2, section 10.3.2 (tag resolution of the core schema). Everything that matches none of them
is text: `on`, `yes`, `16:16`, `12:30`, `2024-01-01`, `1_000`, `0b1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Scalar = None | bool | int | float | str

#: What YAML 1.2.2 (section 5.1) does not allow in a stream. Escapes could bring it in; a manifest has no use for it.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

TAG_PREFIX = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One type of the core schema: its tag, the pattern of its plain texts, and how a text becomes a value."""

    tag: str
    pattern: re.Pattern[str]
    convert: Callable[[str], Scalar]
    noun: str


def _integer(text: str) -> int:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text if base == 10 else text[2:], base)


def _float(text: str) -> float:
    """`.inf` and `.nan` carry a dot that Python's float does not know."""
    special = text.lower()
    return float(special.replace(".", "")) if special.endswith(("inf", "nan")) else float(text)


#: The order matters: the first pattern that matches decides, so that `1` is an integer and not a float.
SCALAR_TYPES: tuple[ScalarType, ...] = (
    ScalarType(TAG_PREFIX + "null", re.compile(r"null|Null|NULL|~|"), lambda _: None, "null"),
    ScalarType(
        TAG_PREFIX + "bool",
        re.compile(r"true|True|TRUE|false|False|FALSE"),
        lambda text: text[0] in "tT",
        "true or false",
    ),
    ScalarType(TAG_PREFIX + "int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"), _integer, "a whole number"),
    ScalarType(
        TAG_PREFIX + "float",
        re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
        _float,
        "a number",
    ),
)

BY_TAG: dict[str, ScalarType] = {kind.tag: kind for kind in SCALAR_TYPES}
TEXT_TAG = TAG_PREFIX + "str"


def plain_tag(text: str) -> str:
    """The core schema's tag of a plain (unquoted) scalar."""
    for kind in SCALAR_TYPES:
        if kind.pattern.fullmatch(text):
            return kind.tag
    return TEXT_TAG


def plain_value(text: str) -> Scalar:
    """The value of a plain (unquoted) scalar by the core schema.

    Raises:
        ValueError: an integer with more digits than Python converts (4,300).
    """
    kind = BY_TAG.get(plain_tag(text))
    return text if kind is None else kind.convert(text)
