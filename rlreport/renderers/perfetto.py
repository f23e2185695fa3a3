"""A run's timeline as a file that Perfetto and Chrome's tracing page open: lanes as threads, idle time by cause beside work.

Form: Trace Event Format, JSON object with `traceEvents`; complete events (`ph` "X") with times in microseconds from the
begin of the trace, counters ("C") for gauges, instants ("i") for parameter versions, names as metadata ("M").

What Perfetto asks of such a file: no event before zero, since it drops these as errors
(`trace_sorter_negative_timestamp_dropped`); no overlap in a thread; no thread with the number of its process, since it takes
that one for the main thread and shows it first (its ui/src/plugins/dev.perfetto.ProcessThreadGroups).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any

from rlreport.comparators.bubble_paint import UNTOLD, Painted, is_idle, state_name
from rlreport.comparators.bubble_scene import gauge_shift
from rlreport.comparators.bubbles import PaintedSeat
from rlreport.comparators.timeline import Timeline, Trace
from rlreport.run.model import Run
from rlreport.run.spans import ACTIVITIES, CAUSE_WORDS, Gauge, LaneSide, SpanTable

#: One process a side, in the order in which Perfetto shows them; then what belongs to no lane, and idle time.
PROCESSES: tuple[tuple[LaneSide, str], ...] = (
    ("trainer", "Trainer"),
    ("hybrid", "Engines on the Trainer's devices"),
    ("rollout", "Rollouters"),
    ("unknown", "Lanes of no known side"),
)
_PIDS: dict[LaneSide, int] = {side: number for number, (side, _) in enumerate(PROCESSES, start=1)}
_IDLE_PID = len(PROCESSES) + 1
_RUN_PID = len(PROCESSES) + 2
#: Threads are numbered from here on, beyond all processes.
_FIRST_TID = 11

#: Colours of Chrome's palette by idle cause, so that idle time is told apart from work; Perfetto colours by name.
_COLOURS = {"quota": "grey", "samples": "yellow", "weight_sync": "rail_load", "validation": "terrible", "unknown": "white"}


def render_perfetto(run: Run, timeline: Timeline | None = None) -> bytes:
    """The run's spans as timeline.json.gz: the same run gives the same bytes.

    Args:
        run: the run; spans of several sources without a common clock are written side by side, each from its own begin.
        timeline: the run's timeline. With it idle time stands in lanes of its own, by cause, one row a group of devices that
            do the same, and parameter versions are marked.

    Gauges are cut to the time of the trace: what they counted before and after it is left out.

    Returns:
        A gzip file without a time inside. A run without spans gives a trace without events.
    """
    trace = None if timeline is None else timeline.trace
    tables = run.spans if trace is None else (trace.scene.table,)
    events = [*_events(run, tables, trace)]
    text = json.dumps(
        {"displayTimeUnit": "ms", "otherData": {"run": run.label}, "traceEvents": events}, separators=(",", ":")
    )
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _events(run: Run, tables: Sequence[SpanTable], trace: Trace | None) -> Iterator[dict[str, Any]]:
    sides: dict[LaneSide, list[str]] = {}
    where: list[list[tuple[LaneSide, int]]] = []
    for number, table in enumerate(tables, start=1):
        places = []
        for lane, side in zip(table.lanes, _sides(table, trace), strict=True):
            names = sides.setdefault(side, [])
            places.append((side, len(names) + _FIRST_TID))
            names.append(lane.name if number == 1 else f"{lane.name}, trace {number}")
        where.append(places)
    for side, words in PROCESSES:
        if side in sides:
            yield from _names(_PIDS[side], words, sides[side])
    for table, places in zip(tables, where, strict=True):
        yield from _spans(table, places)
    versions = [] if trace is None else [*_versions(trace)]
    if trace is not None:
        yield from _idle(trace)
    gauges = [*_gauges(run.gauges, tables[0])] if tables else []
    if versions or gauges:
        yield from _names(_RUN_PID, "Whole run", ["parameter versions"])
    yield from versions
    yield from gauges


def _sides(table: SpanTable, trace: Trace | None) -> list[LaneSide]:
    if trace is None:
        return [lane.side for lane in table.lanes]
    return [use.side for use in sorted(trace.scene.lanes.uses, key=lambda use: use.code)]


def _names(pid: int, process: str, threads: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": _FIRST_TID, "args": {"name": process}}
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": _FIRST_TID, "args": {"sort_index": pid}}
    for tid, name in enumerate(threads, start=_FIRST_TID):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _begin_ns(table: SpanTable) -> int:
    return int(table.start_ns.min()) if len(table) else 0


def _spans(table: SpanTable, places: Sequence[tuple[LaneSide, int]]) -> Iterator[dict[str, Any]]:
    begin = _begin_ns(table)
    columns = (table.lane, table.activity, table.name, table.start_ns, table.end_ns, table.version)
    for lane, activity, name, start, end, version in zip(*(column.tolist() for column in columns), strict=True):
        side, tid = places[lane]
        event: dict[str, Any] = {
            "ph": "X",
            "name": table.names[name],
            "cat": ACTIVITIES[activity],
            "pid": _PIDS[side],
            "tid": tid,
            "ts": _us(start - begin),
            "dur": _us(end - start),
        }
        if version >= 0:
            event["args"] = {"version": version}
        yield event


def _us(nanoseconds: int) -> float | int:
    """Microseconds, a whole number where it is one."""
    whole, rest = divmod(nanoseconds, 1000)
    return whole if not rest else round(nanoseconds / 1000, 3)


def _idle(trace: Trace) -> Iterator[dict[str, Any]]:
    """Idle time by cause, one row for each group of devices that are painted alike."""
    rows = _alike(trace.seats)
    yield from _names(_IDLE_PID, "Idle, by cause", [_row_name(trace, seats) for _, seats in rows])
    begin = _begin_ns(trace.scene.table)
    for tid, (painted, seats) in enumerate(rows, start=_FIRST_TID):
        devices = sum(seat.seat.weight for seat in seats)
        for start, end, state in painted.clipped(painted.begin_ns, painted.end_ns):
            if not is_idle(state) and state != UNTOLD:
                continue
            cause = state_name(state)
            event: dict[str, Any] = {
                "ph": "X",
                "name": CAUSE_WORDS.get(cause, "work or idle: not known"),  # type: ignore[call-overload]
                "cat": "idle",
                "pid": _IDLE_PID,
                "tid": tid,
                "ts": _us(start - begin),
                "dur": _us(end - start),
                "args": {"cause": cause, "devices": round(devices, 3), "side": seats[0].seat.side},
            }
            if cause in _COLOURS:
                event["cname"] = _COLOURS[cause]
            yield event


def _alike(seats: Sequence[PaintedSeat]) -> list[tuple[Painted, list[PaintedSeat]]]:
    rows: dict[tuple[str, bytes, bytes], tuple[Painted, list[PaintedSeat]]] = {}
    for seat in seats:
        key = (seat.seat.side, seat.painted.edges_ns.tobytes(), seat.painted.states.tobytes())
        rows.setdefault(key, (seat.painted, []))[1].append(seat)
    return list(rows.values())


def _row_name(trace: Trace, seats: Sequence[PaintedSeat]) -> str:
    names = [trace.scene.table.lanes[code].name for code in seats[0].seat.lanes]
    more = f" and {len(seats) - 1} more" if len(seats) > 1 else ""
    return f"{' + '.join(names)}{more}"


def _versions(trace: Trace) -> Iterator[dict[str, Any]]:
    """Parameter versions: when each began to serve, across all lanes, and a row with how long."""
    begin, end = trace.scene.course.begin_ns, trace.scene.course.end_ns
    inside = [(at, version) for at, version in trace.scene.course.boundaries if begin <= at <= end]
    for place, (at, version) in enumerate(inside):
        name = "new parameter version" if version is None else f"parameter version {version}"
        until = inside[place + 1][0] if place + 1 < len(inside) else end
        event = {"name": name, "cat": "version", "pid": _RUN_PID, "tid": _FIRST_TID, "ts": _us(at - begin)}
        yield {"ph": "i", **event, "s": "g"}
        yield {"ph": "X", **event, "dur": _us(until - at)}


def _gauges(gauges: Sequence[Gauge], table: SpanTable) -> Iterator[dict[str, Any]]:
    """Gauges as counters, where they are on the clock of a table and as far as it reaches; first what each stood at."""
    if not len(table):
        return
    begin, end = _begin_ns(table), int(table.end_ns.max())
    for gauge in gauges:
        shift = gauge_shift(table, gauge)
        if shift is None:
            continue
        name = f"{gauge.name} ({gauge.lane})" if gauge.lane else gauge.name
        entries = sorted((int(at) + shift, float(value)) for at, value in zip(gauge.time_ns, gauge.values, strict=True))
        before = [value for at, value in entries if at < begin]
        shown = [(at, value) for at, value in entries if begin <= at <= end]
        for at, value in [*((begin, value) for value in before[-1:]), *shown]:
            yield {
                "ph": "C",
                "name": name,
                "pid": _RUN_PID,
                "tid": _FIRST_TID,
                "ts": _us(at - begin),
                "args": {"value": value},
            }
