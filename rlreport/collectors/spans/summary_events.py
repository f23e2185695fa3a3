"""RL-Insight's summary events (format "rl-insight"): a JSON array of what each device did, from its import specification.

Keys (rl-insight docs/recipe/data/data_specification.md): `name`, `role`, `rank_id`, `start_time_ms`, `end_time_ms`
(required), `domain`, `duration_ms`, `tid`. Times are Unix milliseconds, or count from any zero. Of a role that names a
replica, `rank_id` counts the replica's devices; of other roles it is the rank. The specification's own examples have
commas before closing brackets, which is no JSON; they are read.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.chrome_events import MAX_TRACKS, Scalar
from rlreport.collectors.spans.columns import SpanColumns, clean_name, version_of
from rlreport.collectors.spans.lanes import device_lane, replica_of, share_lanes
from rlreport.collectors.spans.reading import check_readable, no_spans, span_source, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import MILLISECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*[\[{]")
_MARK = re.compile(rb'"start_time_ms"\s*:')
_NULL = msgspec.Raw(b"null")


class SummaryEvent(msgspec.Struct, gc=False):
    """One event; times are kept as they are written."""

    name: Scalar = None
    role: Scalar = None
    rank_id: Scalar = None
    start_time_ms: msgspec.Raw = _NULL
    end_time_ms: msgspec.Raw = _NULL
    duration_ms: msgspec.Raw = _NULL


class SummaryEventCollector:
    """Reads RL-Insight's summary events."""

    format = "rl-insight"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the text begins as JSON and has the start time of an event."""
        return _BEGINS.match(head) is not None and _MARK.search(head) is not None

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the events in a stream.

        Raises:
            RlreportError: RR203 when the file is empty, RR254 when it is not JSON, RR253 when no event has times.
        """
        reader = ChunkReader(path)
        stream: JsonStream[SummaryEvent] = JsonStream(reader, (SummaryEvent,))
        columns = SpanColumns()
        tracks: dict[tuple[str, int], int] = {}
        nameless = 0
        for batch in stream.batches():
            for event in batch:
                role = event.role if event.role is not None else event.name
                rank = version_of(event.rank_id)
                if role is None or rank < 0:
                    nameless += 1
                    continue
                start, duration = _times(event)
                name = event.name if event.name is not None else role
                columns.add(_track(tracks, clean_name(role), rank), name, start, duration)
        check_readable(reader, stream, options.display, "an array of events")
        lanes = share_lanes([device_lane(*device) for device in tracks], (rank for _, rank in tracks))
        spans, notices = build_table(columns, lanes, options.display)
        notices = [*stream_notices(stream, options.display), *notices]
        if nameless:
            message = f"{plural(nameless, 'event')} without a role or a rank left out"
            notices.append(Notice("RR261", message, options.display))
        if spans is None:
            raise no_spans(options.display, "", notices)
        return span_source(reader, self.format, options, spans, notices)


def _track(tracks: dict[tuple[str, int], int], role: str, rank: int) -> int:
    """The number of a device's row: of a replica's device, or of a rank whatever its roles are."""
    replica = replica_of(role)
    device = ("rank" if replica is None else f"replica_{replica}", rank)
    if device not in tracks and len(tracks) >= MAX_TRACKS:
        return MAX_TRACKS - 1
    return tracks.setdefault(device, len(tracks))


def _times(event: SummaryEvent) -> tuple[int | None, int | None]:
    """Start and duration in nanoseconds; the duration is used where the end is not told."""
    start, end = to_ns(bytes(event.start_time_ms), MILLISECOND), to_ns(bytes(event.end_time_ms), MILLISECOND)
    if start is not None and end is not None:
        return start, end - start
    return start, to_ns(bytes(event.duration_ms), MILLISECOND)
