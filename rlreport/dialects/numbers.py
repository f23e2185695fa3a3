"""Reading numbers out of configuration values, which may be text."""

from __future__ import annotations

from typing import Any


def as_number(value: Any) -> float | None:
    """A configuration value as a number: 1e-6 and "1e-6" alike; None for everything else, booleans too."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def as_count(value: Any) -> int | None:
    """A configuration value as a whole number that is not negative, or None."""
    number = as_number(value)
    if number is None or number < 0 or not number.is_integer():
        return None
    return int(number)
