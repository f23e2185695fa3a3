from __future__ import annotations

import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rlreport.manifest.scalars import plain_value

# The tables of YAML 1.2.2, section 10.3.2, stated again by reading a scalar character by character instead of by pattern.


def _digits(text: str, allowed: str) -> bool:
    return bool(text) and all(character in allowed for character in text)


def _unsigned(text: str) -> str:
    return text[1:] if text[:1] in ("+", "-") and text else text


def _is_float(text: str) -> bool:
    mantissa, *exponents = re.split("[eE]", _unsigned(text))
    if len(exponents) > 1 or (exponents and not _digits(_unsigned(exponents[0]), "0123456789")):
        return False
    whole, *fractions = mantissa.split(".")
    if len(fractions) > 1:
        return False
    fraction = fractions[0] if fractions else ""
    if whole == "":
        return _digits(fraction, "0123456789")
    return _digits(whole, "0123456789") and (fraction == "" or _digits(fraction, "0123456789"))


def reference(text: str) -> Any:
    """The value of a plain scalar by the specification."""
    if text in ("null", "Null", "NULL", "~", ""):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _digits(_unsigned(text), "0123456789"):
        sign = -1 if text[0] == "-" else 1
        return sign * sum(int(digit) * 10**power for power, digit in enumerate(reversed(_unsigned(text))))
    if text.startswith("0o") and _digits(text[2:], "01234567"):
        return sum(int(digit) * 8**power for power, digit in enumerate(reversed(text[2:])))
    if text.startswith("0x") and _digits(text[2:], "0123456789abcdefABCDEF"):
        return sum("0123456789abcdef".index(digit) * 16**power for power, digit in enumerate(reversed(text[2:].lower())))
    if text in (".nan", ".NaN", ".NAN"):
        return math.nan
    if _unsigned(text) in (".inf", ".Inf", ".INF"):
        return -math.inf if text[0] == "-" else math.inf
    return float(text) if _is_float(text) else text


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right


_LIKELY = st.one_of(
    st.text("0123456789+-.eExoa_:~nNulLtrUTRUEfsIiyYoO% ", max_size=9),
    st.sampled_from(["null", "true", "false", ".inf", ".nan", "0o", "0x", "1e", "on", "yes", "~"]).flatmap(
        lambda word: (
            st.tuples(st.sampled_from(["", "+", "-"]), st.sampled_from([word, word.upper(), word.title()]))
            .map("".join)
            .flatmap(lambda head: st.text("0178fF.e-", max_size=3).map(lambda tail: head + tail))
        )
    ),
    st.integers().map(str),
    st.floats().map(repr),
    st.text(max_size=6),
)


@given(_LIKELY)
def test_plain_scalars_are_those_of_the_core_schema(text: str) -> None:
    assert same(plain_value(text), reference(text)), text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1e6", 1000000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("+12", 12),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("16:16", "16:16"),
        ("64:64", "64:64"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("on", "on"),
        ("No", "No"),
        ("y", "y"),
        ("nULL", "nULL"),
        ("tRue", "tRue"),
        ("-0x1F", "-0x1F"),
        ("-.inf", -math.inf),
        ("+.nan", "+.nan"),
        ("inf", "inf"),
        ("1e", "1e"),
        ("1\n", "1\n"),
        ("١", "١"),
        ("0-7", "0-7"),
        ("5%", "5%"),
        ("", None),
    ],
)
def test_known_traps(text: str, value: Any) -> None:
    assert same(plain_value(text), value)


def test_the_traps_are_real() -> None:
    """PyYAML alone reads these otherwise; if it ever stops doing so, this module can go."""
    assert yaml.safe_load("[1e-6, 16:16, on, 017]") == ["1e-6", 976, True, 15]


def test_an_integer_beyond_pythons_limit_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="digits"):
        plain_value("9" * 5000)
