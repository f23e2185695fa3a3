"""What `rlreport inspect` says of traces, gauges and rollout dumps: lanes by side, spans, the time that they cover."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rlreport.run import format as fmt
from rlreport.run.model import Run
from rlreport.run.spans import ACTIVITIES, Gauge, SpanTable

_SIDES = {"trainer": "Trainer", "hybrid": "hybrid", "rollout": "Rollouter", "unknown": "unknown side"}


def trace_data(run: Run) -> dict[str, Any]:
    """Traces, gauges and samples as JSON-able values; times in seconds, `begins_at` in UTC where the clock is absolute."""
    return {
        "spans": [
            {
                "lanes": _lanes(table),
                "count": len(table),
                "seconds": _length_s(table),
                "begins_at": _begin(table),
                "activities": _activities(table),
            }
            for table in run.spans
        ],
        "gauges": [
            {"name": name, "lanes": len(found), "samples": sum(len(gauge.values) for gauge in found), **_range(found)}
            for name, found in _gauges(run).items()
        ],
        "samples": [{"kind": table.kind, "count": len(table)} for table in run.samples],
    }


def trace_lines(run: Run) -> Iterator[str]:
    """The same for a person, a blank line before each part; nothing where there is nothing."""
    for table in run.spans:
        lanes = ", ".join(f"{fmt.count(count)} {_SIDES[side]}" for side, count in _lanes(table).items())
        begin = _begin(table)
        yield ""
        yield "Trace"
        yield f"  lanes      {fmt.plural(len(table.lanes), 'lane')}: {lanes}"
        yield f"  spans      {', '.join(f'{fmt.count(n)} {name}' for name, n in _activities(table).items()) or 'none'}"
        yield f"  covers     {fmt.seconds(_length_s(table))}{f' from {begin}' if begin else ', on a clock of its own'}"
        if table.boundaries_ns:
            yield f"  versions   {fmt.plural(len(table.boundaries_ns), 'moment')} at which a parameter version began"
    if run.gauges:
        yield ""
        yield "Gauges"
    for name, found in _gauges(run).items():
        reach = _range(found)
        told = "" if reach["least"] is None else f", {fmt.number(reach['least'])} to {fmt.number(reach['most'])}"
        capacity = "" if reach["capacity"] is None else f" of {fmt.number(reach['capacity'])}"
        where = f" in {fmt.plural(len(found), 'lane')}" if len(found) > 1 else ""
        yield f"  {name:<28} {fmt.plural(sum(len(gauge.values) for gauge in found), 'sample')}{where}{told}{capacity}"
    if run.samples:
        yield ""
        yield "Samples"
    for samples in run.samples:
        lengths = samples.response_tokens
        mean = fmt.number(float(lengths.mean()))
        yield f"  {samples.kind:<11}{fmt.plural(len(samples), 'response')}, {mean} tokens on average"


def _lanes(table: SpanTable) -> dict[str, int]:
    counted = Counter(lane.side for lane in table.lanes)
    return {side: counted[side] for side in _SIDES if counted[side]}  # type: ignore[index]


def _activities(table: SpanTable) -> dict[str, int]:
    """Spans by activity, the most frequent first."""
    import numpy as np

    counts = np.bincount(table.activity, minlength=len(ACTIVITIES)).tolist()
    found = [(name, count) for name, count in zip(ACTIVITIES, counts, strict=True) if count]
    return dict(sorted(found, key=lambda item: -item[1]))


def _length_s(table: SpanTable) -> float:
    return (int(table.end_ns.max()) - int(table.start_ns.min())) / 1e9 if len(table) else 0.0


def _begin(table: SpanTable) -> str | None:
    """When the first span began, to the second; None without an absolute clock, or one beyond all dates."""
    if table.zero_unix_ns is None or not len(table):
        return None
    try:
        at = datetime.datetime.fromtimestamp((table.zero_unix_ns + int(table.start_ns.min())) // 10**9, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _gauges(run: Run) -> dict[str, list[Gauge]]:
    found: dict[str, list[Gauge]] = {}
    for gauge in run.gauges:
        found.setdefault(gauge.name, []).append(gauge)
    return found


def _range(found: list[Gauge]) -> dict[str, float | None]:
    """The smallest and largest value of some gauges, and the largest possible one."""
    values = [float(value) for gauge in found for value in gauge.values]
    capacities = [gauge.capacity for gauge in found if gauge.capacity is not None]
    return {
        "least": min(values, default=None),
        "most": max(values, default=None),
        "capacity": max(capacities, default=None),
    }
