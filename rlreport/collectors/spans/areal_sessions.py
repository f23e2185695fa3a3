"""AReaL's session traces (format "areal-sessions"): `session_tracer/sessions-r<rank>.jsonl`, one generation session a line.

Keys (AReaL areal/utils/perf_tracer.py): `session_id` (`request_id` in older versions), `rank`, `role`, `status`,
`submit_ts`, and `phases`, lists of `{"start_ts", "end_ts"}` by name, in Unix seconds (`time.time()`), so that these are
aligned across processes, unlike AReaL's perf traces.

Sessions overlap: a lane generates while at least one session does. It computes rewards (or calls tools) where some session
does and none generates. How many sessions generate at a time is a gauge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.chrome_events import Scalar
from rlreport.collectors.spans.columns import SpanColumns, clean_name, version_of
from rlreport.collectors.spans.lanes import device_lane
from rlreport.collectors.spans.reading import check_readable, no_spans, span_source, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import MAX_SPAN_NS, build_table
from rlreport.collectors.spans.times import SECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable
from rlreport.run.spans import Gauge, Lane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

#: Phases that occupy a lane, the first that runs wins; "execution" encloses them and is waiting where none of them runs.
PHASES = ("generate", "reward", "toolcall")
GAUGE = "rollout.active_requests"

_MARK = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{[^\n]*"submit_ts"\s*:')
_MAX_PHASES = 2_000_000


class _Phase(msgspec.Struct, gc=False):
    start_ts: msgspec.Raw = msgspec.Raw(b"null")
    end_ts: msgspec.Raw = msgspec.Raw(b"null")


class Session(msgspec.Struct, gc=False):
    """What is read of a line."""

    rank: Scalar = None
    role: Scalar = None
    submit_ts: Scalar = None
    phases: dict[str, list[_Phase]] | None = None


@dataclass(slots=True)
class _Lane:
    """The phases of one rank: (start, end) by name."""

    phases: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


class ArealSessionCollector:
    """Reads AReaL's session traces."""

    format = "areal-sessions"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first line is an object with the time of a submission."""
        return _MARK.match(head) is not None

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the sessions.

        Raises:
            RlreportError: RR203 when the file is empty, RR254 when it is not JSON, RR253 when no session has a phase.
        """
        reader = ChunkReader(path)
        stream: JsonStream[Session] = JsonStream(reader, (Session,))
        lanes: dict[Lane, _Lane] = {}
        sessions = unusable = phases = 0
        for batch in stream.batches():
            sessions += len(batch)
            for session in batch:
                rank = version_of(session.rank)
                role = "rollout" if session.role is None else clean_name(session.role)
                lane = lanes.setdefault(device_lane(role, rank if rank >= 0 else None, role), _Lane())
                for name in PHASES:
                    for phase in (session.phases or {}).get(name, ()):
                        start, end = to_ns(bytes(phase.start_ts), SECOND), to_ns(bytes(phase.end_ts), SECOND)
                        phases += 1
                        if start is None or end is None or not start < end <= start + MAX_SPAN_NS or phases > _MAX_PHASES:
                            unusable += 1
                        else:
                            lane.phases.setdefault(name, []).append((start, end))
        check_readable(reader, stream, options.display, "a session trace")
        columns = SpanColumns()
        for number, lane in enumerate(lanes.values()):
            _occupy(columns, number, lane)
        named = [Lane(lane.name, lane.side, lane.index, None) for lane in lanes]
        spans, notices = build_table(columns, named, options.display)
        notices = [*stream_notices(stream, options.display, "session"), *notices]
        if unusable:
            notices.append(Notice("RR262", f"{plural(unusable, 'phase')} without usable times left out", options.display))
        if spans is None:
            raise no_spans(options.display, f"it holds {plural(sessions, 'session')} without phases", notices)
        table = span_source(reader, self.format, options, spans, notices)
        table.gauges += [
            active(lane.phases["generate"], key.name) for key, lane in lanes.items() if lane.phases.get("generate")
        ]
        return table


def _occupy(columns: SpanColumns, track: int, lane: _Lane) -> None:
    """Add the lane's phases as spans that do not overlap."""
    import numpy as np

    taken = np.empty((0, 2), np.int64)
    for name in PHASES:
        own = union(np.array(lane.phases.get(name, ()), np.int64).reshape(-1, 2))
        for start, end in subtract(own, taken).tolist():
            columns.add(track, name, start, end - start)
        taken = union(np.concatenate((taken, own)))


def union(intervals: Times) -> Times:
    """The intervals (rows of start and end) as disjoint ones in ascending order."""
    import numpy as np

    if not len(intervals):
        return intervals
    ordered = intervals[np.lexsort((intervals[:, 1], intervals[:, 0]))]
    reach = np.maximum.accumulate(ordered[:, 1])
    first = np.concatenate(([True], ordered[1:, 0] > reach[:-1]))
    starts = np.flatnonzero(first)
    last = np.concatenate((starts[1:] - 1, [len(ordered) - 1]))
    return np.stack((ordered[starts, 0], reach[last]), axis=1)


def subtract(intervals: Times, taken: Times) -> Times:
    """What of some disjoint intervals lies outside of others; both in ascending order."""
    import numpy as np

    left: list[tuple[int, int]] = []
    rows = taken.tolist()
    place = 0
    for begin, end in intervals.tolist():
        start = begin
        while place and rows[place - 1][1] > start:
            place -= 1
        while place < len(rows) and rows[place][1] <= start:
            place += 1
        while place < len(rows) and rows[place][0] < end:
            if rows[place][0] > start:
                left.append((start, rows[place][0]))
            start = max(start, rows[place][1])
            place += 1
        if start < end:
            left.append((start, end))
    return np.array(left, np.int64).reshape(-1, 2)


def active(intervals: Sequence[tuple[int, int]], lane: str) -> Gauge:
    """How many of some intervals are running at a time, at every change."""
    import numpy as np

    edges = np.array(intervals, np.int64).reshape(-1, 2)
    times, change = np.unique(edges, return_inverse=True)
    steps = np.bincount(change.reshape(-1, 2)[:, 0], minlength=len(times)) - np.bincount(
        change.reshape(-1, 2)[:, 1], minlength=len(times)
    )
    return Gauge(GAUGE, lane, times.tolist(), np.cumsum(steps).astype(float).tolist(), zero_unix_ns=0)
