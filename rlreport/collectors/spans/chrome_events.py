"""Events of the Trace Event Format ("Chrome traces") as spans by process and thread.

Source: Trace Event Format (Chrome, Perfetto); torch/kineto, Ray's `timeline`, AReaL areal/utils/perf_tracer.py write it.
Complete events (`ph` "X") and pairs ("B", "E") become spans; "M" events name processes and threads. Times are
microseconds.
Asynchronous pairs and counters are read by `chrome_async` and `chrome_counters`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from rlreport.collectors.spans.chrome_async import BEGINS, ENDS, AsyncSpans, Begun
from rlreport.collectors.spans.chrome_counters import Counters
from rlreport.collectors.spans.columns import SpanColumns, clean_name, version_of
from rlreport.collectors.spans.lanes import device_lane, named_lane, rank_in
from rlreport.collectors.spans.times import MICROSECOND, MISSING, digits_ns, micros_to_ns, to_ns
from rlreport.run.spans import Gauge, Lane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Scalar: TypeAlias = int | float | str | bool | None
#: Every kind of event but counters, whose arguments are read in another way.
Kind: TypeAlias = Literal[
    "B", "E", "X", "M", "i", "I", "b", "e", "n", "S", "F", "T", "p", "s", "t", "f", "P", "N", "O", "D", "V", "v", "R", "c"
]  # fmt: skip

#: Numbers with so many digits before the point lose nanoseconds as doubles: they are read as text.
_LONG_NUMBER = re.compile(rb'"(?:ts|dur)"\s*:\s*\d{14}')
#: Threads that are kept apart; those beyond share a lane.
MAX_TRACKS = 20_000
#: Spans that may be open at once in a thread, and shared events that are kept.
_MAX_OPEN = 1_000
_MAX_MARKERS = 20_000
_TASK = "task::"


class Arguments(msgspec.Struct, gc=False):
    """What is read of an event's `args`."""

    name: Scalar = None
    version: Scalar = None
    param_version: Scalar = None
    policy_version: Scalar = None
    global_step: Scalar = None
    step: Scalar = None
    rank: Scalar = None
    role: Scalar = None
    devices: Scalar = None


class Id2(msgspec.Struct, gc=False):
    """An id of one process, or of all."""

    local: Scalar = None
    shared: Scalar = msgspec.field(default=None, name="global")


class Event(msgspec.Struct, gc=False):
    """An event whose numbers are doubles or text."""

    ph: Kind | None = None
    name: Scalar = None
    cat: Scalar = None
    ts: Scalar = None
    dur: Scalar = None
    pid: Scalar = None
    tid: Scalar = None
    args: Arguments | None = None
    id: Scalar = None
    id2: Id2 | None = None
    scope: Scalar = None


class BareEvent(Event, gc=False):
    """An event of any kind whose `args` or ids are something else."""

    ph: str | None = None  # type: ignore[assignment]  # wider
    args: None = msgspec.field(default=None, name="args (not read)")
    id: None = msgspec.field(default=None, name="id (not read)")
    id2: None = msgspec.field(default=None, name="id2 (not read)")
    scope: None = msgspec.field(default=None, name="scope (not read)")


class ExactEvent(Event, gc=False):
    """An event whose times are kept as they are written."""

    ts: msgspec.Raw = msgspec.Raw(b"null")  # type: ignore[assignment]  # another form of the same field
    dur: msgspec.Raw = msgspec.Raw(b"null")  # type: ignore[assignment]


class BareExactEvent(ExactEvent, gc=False):
    """Both."""

    ph: str | None = None  # type: ignore[assignment]
    args: None = msgspec.field(default=None, name="args (not read)")
    id: None = msgspec.field(default=None, name="id (not read)")
    id2: None = msgspec.field(default=None, name="id2 (not read)")
    scope: None = msgspec.field(default=None, name="scope (not read)")


class CounterEvent(msgspec.Struct, gc=False):
    """A counter with its series."""

    ph: Literal["C"]
    name: Scalar = None
    ts: msgspec.Raw = msgspec.Raw(b"null")
    pid: Scalar = None
    id: Scalar = None
    args: dict[str, Scalar] | None = None


def event_types(head: bytes) -> tuple[type[Event | CounterEvent], ...]:
    """The structures to decode a trace with that begins like this, in the order in which they are tried."""
    if _LONG_NUMBER.search(head):
        return (ExactEvent, CounterEvent, BareExactEvent)
    return (Event, CounterEvent, BareEvent)


@dataclass(slots=True)
class Track:
    """A thread of a process: its keys, what its events say of it, and the spans that are open in it."""

    pid: Scalar
    tid: Scalar
    rank: int | None = None
    role: str = ""
    devices: int | None = None
    task: str = ""
    open: list[Begun] = field(default_factory=list)


class _Tracks(dict[tuple[Scalar, Scalar], int]):
    """Codes of threads; those beyond `MAX_TRACKS` share the last code."""

    def __init__(self) -> None:
        super().__init__()
        self.items_by_code: list[Track] = []

    def __missing__(self, key: tuple[Scalar, Scalar]) -> int:
        if len(self.items_by_code) >= MAX_TRACKS:
            return MAX_TRACKS - 1
        code = self[key] = len(self.items_by_code)
        self.items_by_code.append(Track(*key))
        return code


@dataclass(slots=True)
class ChromeEvents:
    """Gathers the spans and counters of one trace. `unpaired` counts ends without a beginning and, after `close`, beginnings
    without an end; `seen` counts events by the letter of their kind.
    """

    columns: SpanColumns = field(default_factory=SpanColumns)
    counters: Counters = field(default_factory=Counters)
    markers: dict[tuple[object, int], int] = field(default_factory=dict)
    boundaries_ns: dict[int, int] = field(default_factory=dict)
    unpaired: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    _tracks: _Tracks = field(default_factory=_Tracks)
    _processes: dict[Scalar, str] = field(default_factory=dict)
    _threads: dict[tuple[Scalar, Scalar], str] = field(default_factory=dict)
    concurrent: AsyncSpans = field(init=False)

    def __post_init__(self) -> None:
        self.concurrent = AsyncSpans(self.columns)

    def feed(self, events: Sequence[Event | CounterEvent]) -> None:
        """Take a batch of events in file order."""
        complete: list[Event] = []
        for event in events:
            if event.ph == "X":
                complete.append(event)
                continue
            kind = event.ph
            if isinstance(event, CounterEvent):
                self.counters.add(event.pid, event.id, event.name, to_ns(bytes(event.ts), MICROSECOND), event.args)
            elif kind in ("B", "E"):
                self._pair(event)
            elif kind in BEGINS or kind in ENDS:
                self._pair_async(event)
            elif kind == "M":
                self._describe(event)
            elif kind == "C":
                self.counters.add(event.pid, None, event.name, None, None)
            if kind is not None:
                self.seen[kind[:1]] = self.seen.get(kind[:1], 0) + 1
        if complete:
            self.seen["X"] = self.seen.get("X", 0) + len(complete)
            self._complete(complete)

    def close(self) -> None:
        """The end of the trace: spans that are still open are counted, and asynchronous ones are added to the columns."""
        self.concurrent.close(len(self._tracks.items_by_code))
        self.unpaired += self.concurrent.pairs.unpaired + sum(len(track.open) for track in self._tracks.items_by_code)

    def lanes(self) -> list[Lane]:
        """The lane of each track of the columns, by code."""
        lanes = [self._lane(track) for track in self._tracks.items_by_code]
        return lanes + self.concurrent.lanes(lanes)

    def gauges(self, zero_unix_ns: int | None) -> list[Gauge]:
        """The known counters, and how many asynchronous spans are open where these run side by side."""
        return [
            *self.counters.gauges(self._processes, zero_unix_ns),
            *self.concurrent.gauges(self.lanes(), zero_unix_ns),
        ]

    def _complete(self, events: list[Event]) -> None:
        import numpy as np

        start, duration = (self._times(events, field) for field in ("ts", "dur"))
        good = self._check(start, duration)
        if not good.all():
            events = [event for event, keep in zip(events, good.tolist(), strict=True) if keep]
            start, duration = start[good], duration[good]
        if not events:
            return
        end = start + duration
        tracks, names = self._tracks, self.columns.names
        codes = [tracks[event.pid, event.tid] for event in events]
        versions = [-1] * len(events)
        for index, event in enumerate(events):
            if event.args is not None:
                versions[index], step = self._learn(event, event.args, codes[index], int(start[index]))
                if step >= 0:
                    add_marker(self.markers, event.name, step, int(end[index]))
            elif event.cat is not None:
                self._learn_task(event, codes[index])
        self.columns.extend(codes, [names[event.name] for event in events], start, np.asarray(end), versions)

    def _times(self, events: list[Event], name: str) -> NDArray[np.int64]:
        """Nanoseconds of one field of all events; `MISSING` where an event has none."""
        import numpy as np

        if isinstance(events[0], ExactEvent):
            found = [digits_ns(bytes(getattr(event, name)), MICROSECOND) for event in events]
            return np.array([MISSING if value is None else value for value in found], np.int64)
        return micros_to_ns([getattr(event, name) for event in events])

    def _check(self, start: NDArray[np.int64], duration: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which events are spans; the others are counted by reason."""
        untimed = (start == MISSING) | (duration == MISSING)
        negative, empty = ~untimed & (duration < 0), ~untimed & (duration == 0)
        dropped = self.columns.dropped
        dropped.untimed += int(untimed.sum())
        dropped.negative += int(negative.sum())
        dropped.empty += int(empty.sum())
        good: NDArray[np.bool_] = ~(untimed | negative | empty)
        return good

    def _learn(self, event: Event, args: Arguments, code: int, start_ns: int) -> tuple[int, int]:
        """Read the arguments of a span: whose it is, and its parameter version and step, which are returned (-1: none)."""
        track = self._tracks.items_by_code[code]
        if args.rank is not None and track.rank is None:
            rank = version_of(args.rank)
            track.rank = rank if rank >= 0 else None
        if args.role is not None and not track.role:
            track.role = clean_name(args.role)
        if args.devices is not None and track.devices is None:
            devices = version_of(args.devices)
            track.devices = devices if devices > 0 else None
        if event.cat is not None:
            self._learn_task(event, code)
        step = version_of(args.global_step if args.global_step is not None else args.step)
        for told in (args.version, args.param_version, args.policy_version):
            if told is not None and (version := version_of(told)) >= 0:
                begins = self.boundaries_ns.get(version)
                if (begins is None and len(self.boundaries_ns) < _MAX_MARKERS) or (begins is not None and start_ns < begins):
                    self.boundaries_ns[version] = start_ns
                return version, step
        return -1, step

    def _learn_task(self, event: Event, code: int) -> None:
        """Ray names the class of an actor in the category of its tasks."""
        track = self._tracks.items_by_code[code]
        if not track.task and isinstance(event.cat, str) and event.cat.startswith(_TASK):
            track.task = clean_name(event.cat.removeprefix(_TASK).split(".")[0])

    def _begun(self, event: Event, code: int) -> Begun:
        at = _time_ns(event)
        version, step = (-1, -1) if event.args is None or at is None else self._learn(event, event.args, code, at)
        return Begun(clean_name(event.name), at, code, version, step)

    def _pair(self, event: Event) -> None:
        code = self._tracks[event.pid, event.tid]
        track = self._tracks.items_by_code[code]
        if event.ph == "B":
            if len(track.open) >= _MAX_OPEN:
                self.unpaired += 1
                return
            track.open.append(self._begun(event, code))
            return
        if not track.open:
            self.unpaired += 1
            return
        begun, at = track.open.pop(), _time_ns(event)
        duration = None if at is None or begun.at_ns is None else at - begun.at_ns
        self.columns.add(code, begun.name, begun.at_ns, duration, begun.version)
        self._mark(begun, at)

    def _pair_async(self, event: Event) -> None:
        if event.ph in BEGINS:
            self.concurrent.begin(event, self._begun(event, self._tracks[event.pid, event.tid]))
            return
        at = _time_ns(event)
        begun = self.concurrent.end(event, at)
        if begun is not None:
            self._mark(begun, at)

    def _mark(self, begun: Begun, end_ns: int | None) -> None:
        if begun.step >= 0 and end_ns is not None:
            add_marker(self.markers, begun.name, begun.step, end_ns)

    def _describe(self, event: Event) -> None:
        if event.args is None or event.args.name is None:
            return
        text = clean_name(event.args.name)
        if event.name == "process_name" and len(self._processes) < MAX_TRACKS:
            self._processes[event.pid] = text
        elif event.name == "thread_name" and len(self._threads) < MAX_TRACKS:
            self._threads[event.pid, event.tid] = text

    def _lane(self, track: Track) -> Lane:
        if track.rank is not None:
            lane = device_lane(track.role, track.rank, track.role)
            return Lane(lane.name, lane.side, lane.index, track.devices or lane.devices)
        process = self._processes.get(track.pid, "")
        thread = self._threads.get((track.pid, track.tid), "")
        if track.task:
            thread = f"{track.task}@{clean_name(track.pid)}/{clean_name(track.tid)}"
        elif not thread:
            thread = f"{clean_name(track.pid)}/{clean_name(track.tid)}" if not process else clean_name(track.tid)
        rank = rank_in(process)
        if rank is not None and process.startswith("["):
            return device_lane("", rank, process.rpartition("]")[2].strip())
        name = thread if not process or thread.startswith(process) else f"{process}/{thread}"
        return named_lane(name, track.devices)


def _time_ns(event: Event) -> int | None:
    return to_ns(bytes(event.ts) if isinstance(event, ExactEvent) else event.ts, MICROSECOND)


def add_marker(markers: dict[tuple[object, int], int], name: object, step: int, at_ns: int) -> None:
    """Remember when the activity of a step ended; of several ends the last one, as ranks leave a collective together."""
    before = markers.get((name, step))
    if before is None and len(markers) >= _MAX_MARKERS:
        return
    if before is None or before < at_ns:
        markers[name, step] = at_ns


def named_markers(markers: dict[tuple[object, int], int]) -> dict[str, int]:
    """Markers by name, as `<activity>@<step>`."""
    return {f"{clean_name(name)}@{step}": at for (name, step), at in markers.items()}
