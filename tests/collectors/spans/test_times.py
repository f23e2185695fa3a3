from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.collectors.spans.times import (
    LIMIT_NS,
    MICROSECOND,
    MILLISECOND,
    MISSING,
    NANOSECOND,
    SECOND,
    digits_ns,
    micros_to_ns,
    to_ns,
)

UNITS = (NANOSECOND, MICROSECOND, MILLISECOND, SECOND)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("1773285888699715.976", MICROSECOND, 1_773_285_888_699_715_976),
        (b'"1773285888699715.976"', MICROSECOND, 1_773_285_888_699_715_976),
        (b"1773285888699715.976", MICROSECOND, 1_773_285_888_699_715_976),
        (4541015316353.111, MICROSECOND, 4_541_015_316_353_111),
        ("1787000000000000000", NANOSECOND, 1_787_000_000_000_000_000),
        (1787000000000000000, NANOSECOND, 1_787_000_000_000_000_000),
        ("1773285888698.7263183594", MILLISECOND, 1_773_285_888_698_726_318),
        ("1787000016.9382749", SECOND, 1_787_000_016_938_274_900),
        (1787000000.5, SECOND, 1_787_000_000_500_000_000),
        (-2.5, MICROSECOND, -2500),
        ("-2.5", MICROSECOND, -2500),
        ("+7", MICROSECOND, 7000),
        (".5", MICROSECOND, 500),
        ("5.", MICROSECOND, 5000),
        ("1.0004", MICROSECOND, 1000),
        ("1.0005", MICROSECOND, 1001),
        ("1.5e3", MICROSECOND, 1_500_000),
        ("1e-3", MICROSECOND, 1),
        (" 12 ", NANOSECOND, 12),
        ("0", SECOND, 0),
    ],
)
def test_times_keep_every_nanosecond(value: object, unit: int, expected: int) -> None:
    assert to_ns(value, unit) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("", ".", "-", "x", "1_000", "0x10", "1 2", "nan", "Infinity", "1e999", "9" * 30, "1.2.3", "٣", "1" * 100, "null"),
        *(None, True, [], {}, b"null", b'""', math.inf, -math.inf, math.nan, 1e300, 10**40, -(10**40)),
    ],
)
def test_what_is_no_time_is_none(value: object) -> None:
    assert to_ns(value, MICROSECOND) is None


@given(st.decimals(min_value=0, max_value=4 * 10**9, places=8), st.sampled_from(UNITS), st.sampled_from(["", "-", "+"]))
def test_digits_are_rounded_half_up_as_decimal_arithmetic_says(number: Decimal, unit: int, sign: str) -> None:
    exact = int((number * unit).to_integral_value(ROUND_HALF_UP))
    expected = -exact if sign == "-" else exact
    assert digits_ns(f"{sign}{number:f}".encode(), unit) == (expected if exact <= LIMIT_NS else None)


@given(st.floats(min_value=-1e12, max_value=1e12), st.sampled_from(UNITS))
def test_floats_become_the_nearest_nanosecond(number: float, unit: int) -> None:
    found = to_ns(number, unit)
    exact = Decimal(number) * unit
    assert found is not None or abs(exact) > LIMIT_NS - 1
    assert found is None or abs(found - exact) <= Decimal("0.5") + abs(exact) * Decimal("1e-15")


MANY = st.lists(
    st.floats() | st.integers(-(10**20), 10**20) | st.sampled_from(["1.5", "x", None, True, "9" * 30]), max_size=8
)


@given(MANY | st.lists(st.floats(), max_size=8))
def test_many_times_are_as_one_by_one(values: list[object]) -> None:
    expected = [to_ns(value, MICROSECOND) for value in values]
    assert micros_to_ns(values).tolist() == [MISSING if value is None else value for value in expected]
