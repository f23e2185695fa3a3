"""The report's data to bytes: the same data give the same bytes, on every machine."""

from __future__ import annotations

import json
import math
from typing import Any

#: Significant digits kept of a floating-point number: beyond them two machines may differ in the last bit.
DIGITS = 10


def render_json(data: dict[str, Any]) -> bytes:
    """UTF-8 JSON, indented, keys in the order of the data. What is not finite is null."""
    return (json.dumps(_clean(data), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, int | str):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    rounded = float(f"{number:.{DIGITS}g}")
    return rounded if math.isfinite(rounded) else number
