"""A run's timeline as a file that Perfetto and Chrome's tracing page open: lanes as threads, idle time by cause beside work.

Form: Trace Event Format, JSON object with `traceEvents`; complete events (`ph` "X") with times in microseconds from the
begin of the trace, counters ("C") for gauges, instants ("i") for parameter versions, names as metadata ("M").
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
from rlreport.run.spans import ACTIVITIES, CAUSE_WORDS, LaneSide, SpanTable

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

#: Colours of Chrome's palette by idle cause, so that idle time is told apart from work.
_COLOURS = {"quota": "grey", "samples": "yellow", "weight_sync": "rail_load", "validation": "terrible", "unknown": "white"}


def render_perfetto(run: Run, timeline: Timeline | None = None) -> bytes:
    """The run's spans as timeline.json.gz: the same run gives the same bytes.

    Args:
        run: the run; spans of several sources without a common clock are written as they are, each from its own zero.
        timeline: the run's timeline. With it idle time stands in lanes of its own, by cause, one row a group of devices that
            do the same, and parameter versions are marked.

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
    threads: dict[tuple[LaneSide, str], int] = {}
    where: list[list[tuple[LaneSide, int]]] = []
    for number, table in enumerate(tables):
        shown = _sides(table, trace if number == 0 else None)
        places = []
        for lane, side in zip(table.lanes, shown, strict=True):
            key = (side, lane.name)
            if key not in threads:
                threads[key] = len(sides.setdefault(side, [])) + 1
                sides[side].append(lane.name)
            places.append((side, threads[key]))
        where.append(places)
    for side, words in PROCESSES:
        if side in sides:
            yield from _names(_PIDS[side], words, sides[side])
    for table, places in zip(tables, where, strict=True):
        yield from _spans(table, places)
    if trace is not None:
        yield from _idle(trace)
        yield from _versions(trace)
    yield from _gauges(run, tables)


def _sides(table: SpanTable, trace: Trace | None) -> list[LaneSide]:
    if trace is None:
        return [lane.side for lane in table.lanes]
    return [use.side for use in sorted(trace.scene.lanes.uses, key=lambda use: use.code)]


def _names(pid: int, process: str, threads: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}}
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for tid, name in enumerate(threads, start=1):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _spans(table: SpanTable, places: Sequence[tuple[LaneSide, int]]) -> Iterator[dict[str, Any]]:
    columns = (table.lane, table.activity, table.name, table.start_ns, table.end_ns, table.version)
    for lane, activity, name, start, end, version in zip(*(column.tolist() for column in columns), strict=True):
        side, tid = places[lane]
        event: dict[str, Any] = {
            "ph": "X",
            "name": table.names[name],
            "cat": ACTIVITIES[activity],
            "pid": _PIDS[side],
            "tid": tid,
            "ts": _us(start),
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
    for tid, (painted, seats) in enumerate(rows, start=1):
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
                "ts": _us(start),
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
    for at, version in trace.scene.course.boundaries:
        name = "new parameter version" if version is None else f"parameter version {version}"
        yield {"ph": "i", "name": name, "cat": "version", "pid": _RUN_PID, "tid": 0, "ts": _us(at), "s": "g"}


def _gauges(run: Run, tables: Sequence[SpanTable]) -> Iterator[dict[str, Any]]:
    """Gauges as counters, where they are on the clock of the first table."""
    for gauge in run.gauges:
        shift = gauge_shift(tables[0], gauge) if tables else None
        if shift is None:
            continue
        name = f"{gauge.name} ({gauge.lane})" if gauge.lane else gauge.name
        for at, value in sorted(zip(gauge.time_ns, gauge.values, strict=True)):
            moment = int(at) + shift
            yield {"ph": "C", "name": name, "pid": _RUN_PID, "tid": 0, "ts": _us(moment), "args": {"value": float(value)}}
