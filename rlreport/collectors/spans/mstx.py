"""Folders of Ascend profiles (format "mstx"): `<role>/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json`.

Each profile is of one device and is reduced to one span, from the first to the last event of its process "Overlap
Analysis", as RL-Insight does (rl-insight recipe/parser/mstx_parser.py). The role is what `profiler_metadata.json` tells,
else the name of the folder around `*_ascend_pt`; the rank stands in the name of `profiler_info_<rank>.json`. Times are
Unix microseconds, written as strings so that they lose nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, unreadable
from rlreport.collectors.jsonl import decode_json
from rlreport.collectors.spans.chrome_events import MAX_TRACKS, Scalar
from rlreport.collectors.spans.columns import SpanColumns, clean_name
from rlreport.collectors.spans.lanes import device_lane
from rlreport.collectors.spans.reading import check_readable, no_spans, span_source, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import MICROSECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable

#: How the folders of profiles end, and where in them the analysed profile is.
PROFILE_SUFFIX = "_ascend_pt"
OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
TRACE_NAME = "trace_view.json"
OVERLAP_ANALYSIS = "Overlap Analysis"

_INFO = re.compile(r"profiler_info_(\d{1,6})\.json")
_METADATA = "profiler_metadata.json"
_MAX_METADATA_BYTES = 16 << 20


class _Name(msgspec.Struct, gc=False):
    name: Scalar = None


class DeviceEvent(msgspec.Struct, gc=False):
    """What is read of an event."""

    ph: str | None = None
    name: Scalar = None
    pid: Scalar = None
    ts: Scalar = None
    dur: Scalar = None
    args: _Name | None = None


class _BareEvent(DeviceEvent, gc=False):
    args: None = msgspec.field(default=None, name="args (not read)")


@dataclass(slots=True)
class _Process:
    """What a process of the trace reaches over, and how many of its spans have no usable times."""

    start_ns: int | None = None
    end_ns: int | None = None
    unusable: int = 0


class MstxCollector:
    """Reads the profile of one Ascend device: its folder, the output in it, or `trace_view.json` itself."""

    format = "mstx"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the folder is a profile, or its output with a timeline, or the file is that timeline."""
        if path.is_dir():
            return _timeline(path) is not None or path.name.endswith(PROFILE_SUFFIX)
        return path.absolute().parent.name == OUTPUT_FOLDER and path.name == TRACE_NAME

    def owns(self, folder: Path) -> bool:
        """Whatever a profile's folder holds belongs to it: tables, raw data and the profiler's own logs."""
        return True

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the profile in a stream.

        Raises:
            RlreportError: RR203 or RR254 when there is no JSON, RR255 when the device's activity was not analysed, RR253
                when no event has usable times.
        """
        file = _timeline(path) if path.is_dir() else path
        if file is None:
            hint = f"it has no {OUTPUT_FOLDER}/{TRACE_NAME}: was the profile analysed, and its timeline exported as text?"
            raise unreadable("RR255", "the profile has no timeline", options.display, hint)
        profile = file.absolute().parent.parent
        reader = ChunkReader(file)
        stream: JsonStream[DeviceEvent] = JsonStream(reader, (DeviceEvent, _BareEvent), ("traceEvents",))
        processes: dict[Scalar, _Process] = {}
        analysis: list[Scalar] = []
        for batch in stream.batches():
            for event in batch:
                if event.ph == "X":
                    if not analysis or event.pid == analysis[0]:
                        _count(processes, event)
                elif event.ph == "M" and event.args is not None and event.args.name == OVERLAP_ANALYSIS:
                    analysis.append(event.pid)
        check_readable(reader, stream, options.display, "a profile's timeline")
        notices = stream_notices(stream, options.display)
        if not analysis:
            hint = "was the device profiled, and the profile analysed to its end?"
            if processes:
                hint = f"it holds the events of other processes ({len(processes):,}); {hint}"
            raise unreadable("RR255", f"the profile has no process '{OVERLAP_ANALYSIS}'", options.display, hint)
        process = processes.get(analysis[0], _Process())
        if process.unusable:
            message = f"{plural(process.unusable, 'event')} without usable times left out"
            notices.append(Notice("RR261", message, options.display))
        if process.start_ns is None or process.end_ns is None:
            raise no_spans(options.display, f"the process '{OVERLAP_ANALYSIS}' has no event with times", notices)
        role, rank = role_and_rank(profile)
        columns = SpanColumns()
        columns.add(0, role, process.start_ns, process.end_ns - process.start_ns)
        spans, told = build_table(columns, [device_lane(role, rank)], options.display)
        notices += told
        if spans is None:
            raise no_spans(options.display, "", notices)
        return span_source(reader, self.format, options, spans, notices)


def _timeline(folder: Path) -> Path | None:
    """The timeline of a profile's folder or of the output in it; None for other folders and where there is none."""
    output = folder if folder.name == OUTPUT_FOLDER else folder / OUTPUT_FOLDER
    known = folder.name == OUTPUT_FOLDER or folder.name.endswith(PROFILE_SUFFIX)
    return output / TRACE_NAME if known and (output / TRACE_NAME).is_file() else None


def _count(processes: dict[Scalar, _Process], event: DeviceEvent) -> None:
    process = processes.get(event.pid)
    if process is None:
        if len(processes) >= MAX_TRACKS:
            return
        process = processes[event.pid] = _Process()
    start, duration = to_ns(event.ts, MICROSECOND), to_ns(event.dur, MICROSECOND)
    if start is None or duration is None or start <= 0 or duration < 0:
        process.unusable += 1
        return
    if process.start_ns is None or start < process.start_ns:
        process.start_ns = start
    if process.end_ns is None or start + duration > process.end_ns:
        process.end_ns = start + duration


def role_and_rank(profile: Path) -> tuple[str, int | None]:
    """The role and the rank of a `*_ascend_pt` folder; the rank is None where no file tells it."""
    role = profile.parent.name
    rank: int | None = None
    try:
        names = sorted(entry.name for entry in os.scandir(profile) if entry.is_file())
        for name in names:
            if rank is None and (match := _INFO.fullmatch(name)):
                rank = int(match[1])
        metadata = profile / _METADATA
        if _METADATA in names and metadata.stat().st_size <= _MAX_METADATA_BYTES:
            told = decode_json(metadata.read_bytes())
            if isinstance(told, dict) and isinstance(told.get("role"), str) and told["role"]:
                role = clean_name(told["role"])
    except OSError:
        return role, rank
    return role, rank
