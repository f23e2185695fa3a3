"""How numbers, intervals and steps are written: the one place where a number becomes text.

Rules: three significant digits; the unit beside the number or in the column's head; a ratio as "1.25×"; an interval always
as "1.24 to 1.26"; a signed percentage with a true minus; what is not known as an en dash.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from rlreport.run.estimate import Estimate

UNKNOWN = "–"
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits with thousands separators: 1234.5 is "1,230", 0.01234 is "0.0123", 448.6 is "449"."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if exponent < -4:
        return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("-", "−", 1 if value < 0 else 0)
    decimals = max(digits - 1 - exponent, 0)
    return _minus(f"{round(value, digits - 1 - exponent):,.{decimals}f}")


def as_given(value: float | None, resolution: float) -> str:
    """A number with the digits of its source; `resolution` is one unit of the last of them: 1294.5 at 0.01 is "1,294.50"."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    decimals = max(round(-math.log10(resolution)), 0) if resolution > 0 else 0
    return _minus(f"{value:,.{decimals}f}")


def count(value: float | None) -> str:
    """A whole number with thousands separators."""
    return UNKNOWN if value is None or not math.isfinite(value) else _minus(f"{round(value):,}")


def scaled(value: float | None, digits: int = 3) -> str:
    """A large number in k, M, G: 33012 is "33.0 k". Small numbers as `number`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    for scale, prefix in _SCALES:
        if abs(value) >= (10 * scale if scale == 1e3 else scale):
            return f"{number(value / scale, digits)} {prefix}"
    return number(value, digits)


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction as a percentage: 0.376 is "37.6 %". Below the last digit it is "<0.1 %", never a false zero."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    smallest = 10.0**-digits
    if 0 < abs(fraction * 100) < smallest / 2:
        return f"<{smallest:.{digits}f} %"
    return _minus(f"{fraction * 100:.{digits}f} %")


def signed_percent(fraction: float | None, digits: int = 1) -> str:
    """A change as a signed percentage: -0.05 is "−5.0 %"."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    return _minus(f"{fraction * 100:+.{digits}f} %")


def ratio(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A ratio: "1.25×"; three decimals where its interval is narrow or, without one, where it is within a tenth of 1."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.{_ratio_decimals(value, low, high)}f}×"


def ratio_interval(low: float | None, high: float | None) -> str:
    """The interval of a ratio, with the decimals that `ratio` uses beside it."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    decimals = _ratio_decimals((low + high) / 2, low, high)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def interval(low: float | None, high: float | None, *, decimals: int | None = None) -> str:
    """The two ends of an interval, to two significant digits of its half width when not told: "−0.0099 to 0.0059"."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    if decimals is None:
        decimals = _decimals_for((high - low) / 2, digits=2)
    return _minus(f"{low:,.{decimals}f} to {high:,.{decimals}f}")


def estimate(value: Estimate) -> str:
    """An estimate with half of its interval: "449 ± 2"; without an interval the number alone; unknown as a dash."""
    if value.estimate is None:
        return UNKNOWN
    if value.ci_low is None or value.ci_high is None:
        return number(value.estimate)
    half = (value.ci_high - value.ci_low) / 2
    decimals = _decimals_for(half, digits=2) if half > 0 else 0
    return _minus(f"{value.estimate:,.{decimals}f} ± {half:,.{decimals}f}")


def seconds(value: float | None) -> str:
    """A duration in seconds: "146 s", "0.14 s"."""
    return UNKNOWN if value is None else f"{number(value)} s"


def duration(value_s: float | None) -> str:
    """A long duration: "5 h 28 min", "3 min 10 s"."""
    if value_s is None or not math.isfinite(value_s):
        return UNKNOWN
    if value_s < 60:
        return seconds(value_s)
    minutes, rest = divmod(round(value_s), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(value_s / 60), 60)
    return f"{hours} h {minutes:02d} min"


def p_value(value: float | None) -> str:
    """The probability of a test as "p = 0.03" (two digits), "p < 0.001" below that."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return "p < 0.001" if value < 0.001 else f"p = {number(value, 2)}"


def byte_size(value: int) -> str:
    """A size in bytes: "61.2 MB" (decimal)."""
    size = float(value)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{number(size)} {unit}"
        size /= 1000
    return f"{number(size)} GB"


def steps(values: Sequence[int], most: int = 8) -> str:
    """Step numbers, shortened: a regular series as "5, 10 … 210 (every 5)", a run of them as "1 to 4"."""
    ordered = sorted(values)
    if not ordered:
        return UNKNOWN
    gaps = {later - earlier for earlier, later in itertools.pairwise(ordered)}
    if len(ordered) > 2 and len(gaps) == 1:
        gap = gaps.pop()
        if gap == 1:
            return f"{ordered[0]} to {ordered[-1]}"
        return f"{ordered[0]}, {ordered[1]} … {ordered[-1]} (every {gap})"
    parts: list[str] = []
    start = previous = ordered[0]
    for step in [*ordered[1:], None]:
        if step is not None and step == previous + 1:
            previous = step
            continue
        if previous - start >= 2:
            parts.append(f"{start} to {previous}")
        else:
            parts.extend(str(s) for s in range(start, previous + 1))
        if step is not None:
            start = previous = step
    if len(parts) > most:
        return f"{', '.join(parts[: most - 1])} … {parts[-1]}"
    return ", ".join(parts)


def plural(n: int, one: str, many: str | None = None) -> str:
    """A number of things: "1 step", "2 steps", with thousands separators."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Words as a list: "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def config_value(value: object, most: int = 60) -> str:
    """A configuration value as text: a long path by its last two parts, anything else long with its middle left out."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif value is None:
        text = "null"
    elif isinstance(value, int):
        text = f"{value:,}" if abs(value) >= 10_000 else str(value)
    elif isinstance(value, float):
        text = f"{value:g}"
    elif isinstance(value, list | tuple):
        text = ", ".join(config_value(item) for item in value)
    elif isinstance(value, str) and value.count("/") > 2 and len(value) > 24 and not value.isspace():
        text = "…/" + "/".join(value.rstrip("/").split("/")[-2:])
    else:
        text = str(value)
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    keep = (most - 1) // 2
    return f"{text[:keep]}…{text[-keep:]}"


def _ratio_decimals(value: float, low: float | None, high: float | None) -> int:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return 3 if abs(value - 1) < 0.1 else 2
    return 3 if high - low < 0.05 else 2


def _decimals_for(value: float, digits: int = 3) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(digits - 1 - math.floor(math.log10(abs(value))), 0)


def _minus(text: str) -> str:
    return text.replace("-", "−")
