"""Timelines in the Trace Event Format (format "chrome-trace"): Chrome, Perfetto, Ray's `timeline`, AReaL's perf traces.

The file is an array of events, an object with `traceEvents`, or one event a line; plain or gzipped. Each thread is a
lane, except that threads whose events tell a rank are the lane of that rank. A trace whose times are not Unix times has a
clock of its own, as AReaL's have (each process counts from its own start). Counters of known quantities are gauges; a trace
may hold nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, new_table, read_head
from rlreport.collectors.spans.chrome_events import ChromeEvents, CounterEvent, Event, event_types, named_markers
from rlreport.collectors.spans.reading import check_readable, no_spans, read_head_fields, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import UNIX_NS
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable
from rlreport.run.spans import SpanTable

#: The key that holds the events of the object form.
EVENTS_KEY = "traceEvents"

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*[\[{]")
_MARK = re.compile(rb'"traceEvents"\s*:\s*\[|"ph"\s*:\s*"[A-Za-z]"')

#: Kinds of events in words, for a trace without spans.
_KINDS = {"M": "metadata", "C": "counter", "i": "instant", "I": "instant", **dict.fromkeys("benSFTp", "asynchronous")}


class ChromeTraceCollector:
    """Reads a timeline in the Trace Event Format."""

    format = "chrome-trace"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the text begins as JSON and holds an event of the format."""
        return _BEGINS.match(head) is not None and _MARK.search(head) is not None

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the trace in a stream.

        Raises:
            RlreportError: RR203 when the file is empty, RR254 when it is not JSON, RR253 when it holds neither a span nor a
                counter of a known quantity.
        """
        reader = ChunkReader(path)
        stream: JsonStream[Event | CounterEvent] = JsonStream(reader, event_types(read_head(path)), (EVENTS_KEY,))
        events = ChromeEvents()
        for batch in stream.batches():
            events.feed(batch)
        check_readable(reader, stream, options.display, "a trace")
        events.close()
        _, base = read_head_fields(stream)
        spans, notices = build_table(
            events.columns,
            events.lanes(),
            options.display,
            unix_offset_ns=base or None,
            markers_ns=named_markers(events.markers),
            boundaries_ns=events.boundaries_ns,
        )
        gauges = events.gauges(_zero_ns(spans, events, base))
        notices = [
            *stream_notices(stream, options.display),
            *notices,
            *_pair_notices(events, options.display),
            *events.counters.notices(options.display),
        ]
        if spans is None and not gauges:
            raise no_spans(options.display, _kinds(events), notices)
        table = new_table(reader, self.format, options)
        table.spans = spans
        table.gauges += gauges
        table.notices += notices
        return table


def _zero_ns(spans: SpanTable | None, events: ChromeEvents, base_ns: int | None) -> int | None:
    """The Unix time of the trace's zero; None where the clock is its own. Without spans the counters' times decide."""
    if base_ns:
        return base_ns
    if spans is not None:
        return None if spans.zero_unix_ns is None else 0
    return 0 if (events.counters.median_ns() or 0) >= UNIX_NS else None


def _pair_notices(events: ChromeEvents, where: str) -> list[Notice]:
    notices: list[Notice] = []
    if events.unpaired:
        message = f"{plural(events.unpaired, 'span')} without a beginning or without an end left out"
        notices.append(Notice("RR264", message, where))
    running = events.concurrent.running
    if running.step_ns > 1:
        step = f"{running.step_ns / 1e6:.3g} ms"
        message = f"{plural(running.added, 'asynchronous span')} counted in steps of {step} to bound memory"
        notices.append(Notice("RR265", message, where))
    return notices


def _kinds(events: ChromeEvents) -> str:
    """What the trace holds instead of usable spans."""
    counts: dict[str, int] = {}
    for kind, count in events.seen.items():
        word = "span" if kind in "XBE" else _KINDS.get(kind, "other")
        counts[word] = counts.get(word, 0) + count
    return "it holds " + (", ".join(plural(count, f"{word} event") for word, count in sorted(counts.items())) or "no events")
