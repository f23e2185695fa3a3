"""Folders of torch profiles (format "torch-profile"): `<role>/prof_*.json.gz`, `<host>_<pid>.<ns>.pt.trace.json.gz` of vLLM.

A profile holds millions of operators of one device. For a timeline of the run it is reduced to one span, from the beginning
of its first event to the end of its last one, as RL-Insight does (rl-insight recipe/parser/torch_parser.py). The folder's
name is the role, that is the activity; `distributedInfo.rank` tells the device; the zero of its microseconds is
`baseTimeNanoseconds`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, unreadable
from rlreport.collectors.spans.chrome import EVENTS_KEY
from rlreport.collectors.spans.chrome_events import Scalar
from rlreport.collectors.spans.columns import SpanColumns
from rlreport.collectors.spans.lanes import device_lane, rank_in, share_lanes
from rlreport.collectors.spans.reading import folder_source, gzip_notices, no_spans, read_head_fields, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import MICROSECOND, SECOND, UNIX_NS, micros_to_ns, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice, RlreportError
from rlreport.run.raw import SourceTable

#: Names of profiles: verl's, and those of `torch.profiler.tensorboard_trace_handler`, which vLLM and SGLang use.
_NAME = re.compile(r"(?:prof[_-].*|.*\.pt\.trace)\.json(?:\.gz)?", re.IGNORECASE)
#: What profilers write beside profiles: vLLM's table of operators, snapshots and plots of memory.
_BESIDE = re.compile(r"profiler_out_\d+\.txt|.*memory.*\.(?:pickle|pkl|html|json(?:\.gz)?)", re.IGNORECASE)
#: vLLM's front end profiles itself beside its workers; it has no device.
_NO_DEVICE = "async_llm"
_MARK = re.compile(rb'"(?:distributedInfo|deviceProperties|schemaVersion)"\s*:')
_WINDOW_END = "Record Window End"
#: A span that ends later than this after its profiler was stopped has a doubtful duration.
_PATIENCE_NS = SECOND


class ProfileEvent(msgspec.Struct, gc=False):
    """What is read of an event: its kind and its times."""

    ph: str | None = None
    name: Scalar = None
    ts: Scalar = None
    dur: Scalar = None


@dataclass(slots=True)
class _Interval:
    """One profile: its rank, from when to when it reaches on its own clock, the Unix time of that clock's zero."""

    rank: int | None
    start_ns: int | None
    end_ns: int | None
    window_end_ns: int | None
    base_ns: int | None
    events: int


class TorchProfileCollector:
    """Reads the profiles of one role: a folder, or one file."""

    format = "torch-profile"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is named or begins like a profile, or the folder holds a file with such a name."""
        if not head:
            return _NAME.fullmatch(path.name) is not None if not path.is_dir() else bool(_profiles(path))
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and _MARK.search(head) is not None

    def owns(self, folder: Path) -> bool:
        """Whether the folder holds profiles and what profilers write beside them, and nothing else."""
        return all(
            file.is_file() and (_NAME.fullmatch(file.name) or _BESIDE.fullmatch(file.name)) for file in folder.iterdir()
        )

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the profiles of a role, each in a stream.

        Raises:
            RlreportError: RR253 or RR203 when no profile holds a usable event.
        """
        paths = _profiles(path) if path.is_dir() else [path]
        if not paths:
            raise unreadable("RR253", "the folder holds no profile of a device", options.display)
        role = path.name if path.is_dir() else path.absolute().parent.name
        columns, ranks, notices, bases = SpanColumns(), [], list[Notice](), []
        readers: list[ChunkReader] = []
        for number, file in enumerate(paths):
            where = f"{options.display}/{file.name}" if path.is_dir() else options.display
            reader = ChunkReader(file)
            readers.append(reader)
            interval, told = _read_profile(reader, where)
            notices += told
            rank = interval.rank if interval.rank is not None else rank_in(file.name)
            ranks.append(rank)
            if interval.start_ns is None or interval.end_ns is None:
                what = "is empty" if reader.empty else f"has no event with times ({plural(interval.events, 'event')} in all)"
                notices.append(Notice("RR268", f"the profile {what} and is left out", where))
                continue
            notices += _doubt(interval, where)
            base = interval.base_ns or 0
            bases.append(base != 0 or interval.start_ns >= UNIX_NS)
            columns.add(number, role, interval.start_ns + base, interval.end_ns - interval.start_ns)
        lanes = share_lanes([device_lane(role, rank) for rank in ranks], (_device(rank, n) for n, rank in enumerate(ranks)))
        absolute = bool(bases) and all(bases)
        spans, told = build_table(columns, lanes, options.display, unix_offset_ns=0 if absolute else None, concurrent=True)
        notices += told
        if spans is None:
            raise _refusal(options.display, readers, notices)
        return folder_source(readers, self.format, options, spans, notices)


def _profiles(folder: Path) -> list[Path]:
    return sorted(
        Path(entry.path)
        for entry in os.scandir(folder)
        if _NAME.fullmatch(entry.name) and _NO_DEVICE not in entry.name and entry.is_file()
    )


def _read_profile(reader: ChunkReader, where: str) -> tuple[_Interval, list[Notice]]:
    """The interval of one profile. Events at time 0 without a duration are artefacts (pytorch issue 188481)."""
    stream: JsonStream[ProfileEvent] = JsonStream(reader, (ProfileEvent,), (EVENTS_KEY,))
    first: int | None = None
    last: int | None = None
    window_end: int | None = None
    count = 0
    for batch in stream.batches():
        count += len(batch)
        spans = [event for event in batch if event.ph == "X"]
        for event in batch:
            if event.name == _WINDOW_END:
                window_end = to_ns(event.ts, MICROSECOND)
        start, duration = micros_to_ns([event.ts for event in spans]), micros_to_ns([event.dur for event in spans])
        good = (start > 0) & (duration >= 0)
        if good.any():
            begins, ends = start[good], (start + duration)[good]
            first = min(int(begins.min()), int(begins.min()) if first is None else first)
            last = max(int(ends.max()), int(ends.max()) if last is None else last)
    rank, base = read_head_fields(stream)
    notices = [*stream_notices(stream, where), *gzip_notices(reader, where)]
    return _Interval(rank, first, last, window_end, base, count), notices


def _doubt(interval: _Interval, where: str) -> list[Notice]:
    if interval.window_end_ns is None or interval.end_ns is None:
        return []
    late_ns = interval.end_ns - interval.window_end_ns
    if late_ns <= _PATIENCE_NS:
        return []
    message = f"the last event ends {late_ns / SECOND:.3g} s after the profiler was stopped: its duration may be wrong"
    return [Notice("RR267", message, where)]


def _device(rank: int | None, number: int) -> object:
    """What tells devices of a replica apart: the rank, or the file where the rank is not known."""
    return ("rank", rank) if rank is not None else ("file", number)


def _refusal(path: str, readers: Sequence[ChunkReader], notices: Sequence[Notice]) -> RlreportError:
    if all(reader.empty for reader in readers):
        return unreadable("RR203", "the profile is empty", path, "was the profiler stopped before the run ended?")
    return no_spans(path, "", notices)
