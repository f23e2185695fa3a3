"""Times of traces as integer nanoseconds, without a detour over floating-point numbers where the source has digits.

Traces write times as JSON numbers or as strings, in microseconds (Chrome, torch, MSTX), milliseconds (RL-Insight),
seconds (AReaL, Prometheus) or nanoseconds (OTLP). Microseconds since 1970 with a fraction need 17 digits and more; a
double has 15 to 17, so that its last digit is worth a quarter of a microsecond (Ascend/pytorch issue 133).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

#: Times beyond this are not times (the year 2096 in Unix nanoseconds); two of them still add up within int64.
LIMIT_NS = 4 * 10**18
#: Unix times of traces lie above this (2001-09-09); what is smaller counts from another zero.
UNIX_NS = 10**18
#: Stands for a time that is none in arrays.
MISSING = -(2**63)

_NUMBER = re.compile(rb"([+-]?)(\d{0,22})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,3}))?")
#: Numbers of at most so many characters without a sign and an exponent are read without a pattern.
_PLAIN_LENGTH = 40
_DIGITS = {NANOSECOND: 0, MICROSECOND: 3, MILLISECOND: 6, SECOND: 9}


def to_ns(value: object, unit_ns: int) -> int | None:
    """Nanoseconds of a time in the given unit; None when the value is no time, not finite, or beyond `LIMIT_NS`.

    Args:
        value: a number, its digits as text, or its digits as JSON bytes (quotes are allowed).
        unit_ns: what one unit is worth: `NANOSECOND`, `MICROSECOND`, `MILLISECOND` or `SECOND`.
    """
    if isinstance(value, float):
        return _float_ns(value, unit_ns)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value * unit_ns if abs(value) <= LIMIT_NS // unit_ns else None
    if isinstance(value, str):
        return digits_ns(value.encode("ascii", "replace"), unit_ns) if len(value) <= 80 else None
    if isinstance(value, bytes):
        return digits_ns(value, unit_ns)
    return None


def digits_ns(text: bytes, unit_ns: int) -> int | None:
    """Nanoseconds of a number written in digits, rounded half up; None when it is no such number or beyond `LIMIT_NS`."""
    stripped = text.strip(b'" \t\r\n')
    whole, point, part = stripped.partition(b".")
    if len(stripped) <= _PLAIN_LENGTH and whole.isdigit() and (part.isdigit() or not point):
        return _sum_ns(whole, part, unit_ns)
    match = _NUMBER.fullmatch(stripped)
    if match is None:
        return None
    sign, whole, part, exponent = match.groups()
    if not whole and not part:
        return None
    if exponent is not None:
        total = int((Decimal(stripped.decode()) * unit_ns).to_integral_value())
        return total if abs(total) <= LIMIT_NS else None
    plain = _sum_ns(whole, part or b"", unit_ns)
    return plain if plain is None or sign != b"-" else -plain


def _sum_ns(whole: bytes, part: bytes, unit_ns: int) -> int | None:
    total = int(whole or b"0") * unit_ns
    if part:
        digits = _DIGITS[unit_ns]
        total += int(part[:digits].ljust(digits, b"0") or b"0")
        if len(part) > digits and part[digits] >= ord("5"):
            total += 1
    return total if total <= LIMIT_NS else None


def micros_to_ns(values: Sequence[object]) -> NDArray[np.int64]:
    """Nanoseconds of many times in microseconds, each as `to_ns` gives it; `MISSING` where that is None."""
    import numpy as np

    if not all(type(value) is float for value in values):
        found = (to_ns(value, MICROSECOND) for value in values)
        return np.array([MISSING if value is None else value for value in found], np.int64)
    micros = np.array(values, np.float64)
    far = ~(np.abs(micros) <= LIMIT_NS / MICROSECOND)
    micros[far] = 0.0
    whole = np.trunc(micros)
    nanos: NDArray[np.int64] = whole.astype(np.int64) * MICROSECOND
    nanos += np.rint((micros - whole) * MICROSECOND).astype(np.int64)
    nanos[far] = MISSING
    return nanos


def _float_ns(value: float, unit_ns: int) -> int | None:
    if not math.isfinite(value) or abs(value) > LIMIT_NS / unit_ns:
        return None
    whole = int(value)
    return whole * unit_ns + round((value - whole) * unit_ns)
