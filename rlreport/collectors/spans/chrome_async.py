"""Asynchronous events of a trace as spans: by the hundred side by side where they are the requests of an engine.

Source: Trace Event Format, "Async Events". Nestable ones ("b", "e") of one category and id are a stack, in which an end
closes the innermost span of its name; so are the older ones ("S", "F"). An id counts for all processes unless it stands in
`id2.local`; `scope` keeps the ids of different sources apart. Steps and instants within spans ("n", "T", "p") are passed
over.

The spans stand in the lane of the thread that began them: those of one name are one span from where the first of them
begins to where none is open any more, as RL-Insight's hub merges the states of a lane. How many are open at a time is the
gauge `open:<name>` of the lane, where it is ever more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rlreport.collectors.spans.columns import OTHER_NAME, SpanColumns, clean_name
from rlreport.collectors.spans.open_spans import OpenSpans
from rlreport.collectors.spans.tables import MAX_SPAN_NS
from rlreport.run.spans import Gauge, Lane

if TYPE_CHECKING:
    from rlreport.collectors.spans.chrome_events import Event, Scalar

#: Spans that may be open at once, of one id and altogether.
_MAX_DEPTH = 1_000
MAX_OPEN = 200_000
#: Names that are kept apart in a thread, and threads with names in the trace; those beyond share one in their thread.
_MAX_NAMES = 100
_MAX_ROWS = 20_000
#: What the gauges are called, before the name of the spans.
OPEN = "open:"
#: Letters of beginnings, of ends, and of the older events.
BEGINS, ENDS, _OLDER = ("b", "S"), ("e", "F"), ("S", "F")

Key: TypeAlias = "tuple[bool, Scalar, Scalar, Scalar, Scalar]"


class Begun(NamedTuple):
    """The beginning of a span: its name, its time (None where it is not told), its track, and the parameter version and the
    step that its arguments tell (-1: none).
    """

    name: str
    at_ns: int | None
    track: int
    version: int
    step: int


def async_key(event: Event) -> Key:
    """What an asynchronous event shares with its partner. One without an id is told apart by its process."""
    local, shared = (None, None) if event.id2 is None else (event.id2.local, event.id2.shared)
    ident = local if local is not None else shared if shared is not None else event.id
    process = event.pid if local is not None or ident is None else None
    return event.ph in _OLDER, event.cat, event.scope, ident, process


@dataclass(slots=True)
class AsyncPairs:
    """The spans that are open. `unpaired` counts ends without a beginning and, after `close`, beginnings without an end."""

    unpaired: int = 0
    _open: dict[Key, list[Begun]] = field(default_factory=dict)
    _held: int = 0

    def begin(self, event: Event, begun: Begun) -> None:
        """Take a beginning; one of too many is unpaired."""
        if self._held < MAX_OPEN:
            stack = self._open.setdefault(async_key(event), [])
            if len(stack) < _MAX_DEPTH:
                stack.append(begun)
                self._held += 1
                return
        self.unpaired += 1

    def end(self, event: Event) -> Begun | None:
        """The beginning that an end belongs to; None where there is none."""
        key = async_key(event)
        stack = self._open.get(key)
        place = len(stack) - 1 if stack else -1
        if stack and event.name is not None and event.name != "":
            name = clean_name(event.name)
            while place >= 0 and stack[place].name != name:
                place -= 1
        if not stack or place < 0:
            self.unpaired += 1
            return None
        begun = stack.pop(place)
        if not stack:
            del self._open[key]
        self._held -= 1
        return begun

    def close(self) -> None:
        """The end of the trace: what is still open has no end."""
        self.unpaired += self._held
        self._open.clear()
        self._held = 0


@dataclass(slots=True)
class AsyncSpans:
    """The asynchronous spans of a trace whose other spans are in `columns`, by rows: one a thread and name."""

    columns: SpanColumns
    pairs: AsyncPairs = field(default_factory=AsyncPairs)
    running: OpenSpans = field(default_factory=OpenSpans)
    # Thread and name -> row; how many names a thread has.
    _rows: dict[tuple[int, int], int] = field(default_factory=dict)
    _names: dict[int, int] = field(default_factory=dict)

    def begin(self, event: Event, begun: Begun) -> None:
        """Take a beginning."""
        self.pairs.begin(event, begun)

    def end(self, event: Event, at_ns: int | None) -> Begun | None:
        """Take an end; the beginning of its span, None where there is none or the span has no usable length."""
        begun = self.pairs.end(event)
        if begun is None:
            return None
        dropped = self.columns.dropped
        if begun.at_ns is None or at_ns is None:
            dropped.untimed += 1
        elif at_ns < begun.at_ns:
            dropped.negative += 1
        elif at_ns == begun.at_ns:
            dropped.empty += 1
        elif at_ns - begun.at_ns > MAX_SPAN_NS:
            dropped.impossible += 1
        else:
            self.running.add(self._row(begun), begun.at_ns, at_ns)
            return begun
        return None

    def _row(self, begun: Begun) -> int:
        key = (begun.track, self.columns.names[begun.name])
        if key not in self._rows:
            names = self._names[begun.track] = self._names.get(begun.track, 0) + 1
            if names > _MAX_NAMES or len(self._rows) >= _MAX_ROWS:
                key = (begun.track, self.columns.names[OTHER_NAME])
        return self._rows.setdefault(key, len(self._rows))

    def close(self, first_track: int) -> None:
        """The end of the trace: add the spans to the columns, in a track a row from some number on."""
        self.pairs.close()
        names = [name for _, name in self._rows]
        for course in self.running.courses():
            start, end = course.busy()
            count = len(start)
            tracks = [first_track + course.row] * count
            self.columns.extend(tracks, [names[course.row]] * count, start, end, [-1] * count)

    def lanes(self, lanes: Sequence[Lane]) -> list[Lane]:
        """The lane of each row, which is that of its thread."""
        return [lanes[track] for track, _ in self._rows]

    def gauges(self, lanes: Sequence[Lane], zero_unix_ns: int | None) -> list[Gauge]:
        """How many spans of a name are open in a lane, by name and lane, where it is ever more than one."""
        texts = self.columns.names.texts
        rows = [(OPEN + texts[name], lanes[track].name) for track, name in self._rows]
        gauges = [
            Gauge(*rows[course.row], course.time_ns.tolist(), course.count.astype(float).tolist(), zero_unix_ns)
            for course in self.running.courses()
            if course.most > 1
        ]
        return sorted(gauges, key=lambda gauge: (gauge.name, gauge.lane))
