"""Folders of NVTX ranges (format "nvtx"): `worker_process_<pid>.<n>.jsonl`, Nsight Systems' export of verl's workers.

One record a line, told apart by `table`: `StringIds` (id -> name), `NVTX_EVENTS` (ranges, `eventType` 60 for those of the
driver's thread: `start` and `end` in nanoseconds from the beginning of the analysis), `ANALYSIS_DETAILS` (`startTime`: that
beginning, on the host's monotonic clock), `TARGET_INFO_SESSION_START_TIME` (`utcEpochNs`: the same moment as Unix time, in
newer exports) and `META_DATA_CAPTURE` (the process's environment: `RANK="0"`). Source: rl-insight
recipe/parser/nvtx_parser.py, nsys export.

All files of a folder are taken to be of one host, so that their clock is one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, unreadable
from rlreport.collectors.spans.chrome_events import Scalar
from rlreport.collectors.spans.columns import SpanColumns, clean_name
from rlreport.collectors.spans.lanes import device_lane
from rlreport.collectors.spans.reading import folder_source, gzip_notices, no_spans, stream_notices
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.tables import build_table
from rlreport.collectors.spans.times import NANOSECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable
from rlreport.run.spans import Lane

_NAME = re.compile(r"worker_process_\d+\.[^/]*\.jsonl(?:\.gz)?")
_MARK = re.compile(rb'"table"\s*:\s*"(?:StringIds|NVTX_EVENTS|ANALYSIS_DETAILS|META_DATA_CAPTURE|TARGET_INFO_\w+)"')
_RANK = re.compile(r'\s*RANK="?(\d{1,6})"?\s*', re.IGNORECASE)
_ENVIRONMENT = "ENVIRONMENT_VARIABLE"
#: Ranges that a thread pushes and pops, and ranges that begin and end on their own (nsys export, eventType).
_RANGES = (59, 60)
_MAX_STRINGS = 1_000_000
_MAX_RANGES = 2_000_000


class Record(msgspec.Struct, gc=False):
    """What is read of a line."""

    table: Scalar = None
    id: Scalar = None
    value: Scalar = None
    name: Scalar = None
    text: Scalar = None
    textId: Scalar = None  # noqa: N815  # the export's names
    eventType: Scalar = None  # noqa: N815
    start: Scalar = None
    end: Scalar = None
    startTime: Scalar = None  # noqa: N815
    utcEpochNs: Scalar = None  # noqa: N815


@dataclass(slots=True)
class _Process:
    """One file: what its ranges are called and when they were."""

    strings: dict[Scalar, str] = field(default_factory=dict)
    ranges: list[tuple[Scalar, int | None, int | None]] = field(default_factory=list)
    rank: int | None = None
    begin_ns: int | None = None
    unix_ns: int | None = None
    more: int = 0

    def take(self, record: Record) -> None:
        """Read one record."""
        if record.table == "StringIds":
            if len(self.strings) < _MAX_STRINGS and record.value is not None:
                self.strings[record.id] = clean_name(record.value)
        elif record.table == "META_DATA_CAPTURE":
            if _ENVIRONMENT in str(record.name) and (match := _RANK.fullmatch(str(record.value))):
                self.rank = int(match[1])
        elif record.table == "ANALYSIS_DETAILS":
            self.begin_ns = to_ns(record.startTime, NANOSECOND)
        elif record.table == "TARGET_INFO_SESSION_START_TIME":
            self.unix_ns = to_ns(record.utcEpochNs, NANOSECOND)
        if record.eventType in _RANGES:
            if len(self.ranges) >= _MAX_RANGES:
                self.more += 1
                return
            name = record.text if record.text is not None else record.textId
            self.ranges.append((name, to_ns(record.start, NANOSECOND), to_ns(record.end, NANOSECOND)))


class NvtxCollector:
    """Reads the NVTX ranges of the workers of one host: a folder, or one file."""

    format = "nvtx"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is a line-wise nsys export, or the folder holds files with the names of one."""
        if path.is_dir():
            return bool(_files(path))
        if not head:
            return _NAME.fullmatch(path.name) is not None
        return head.lstrip().startswith(b"{") and _MARK.search(head) is not None

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the ranges of every file.

        Raises:
            RlreportError: RR253 when no file holds a range with a name and times, RR203 when all are empty.
        """
        paths = _files(path) if path.is_dir() else [path]
        columns, lanes, notices = SpanColumns(), list[Lane](), list[Notice]()
        readers: list[ChunkReader] = []
        processes: list[_Process] = []
        for file in paths:
            where = f"{options.display}/{file.name}" if path.is_dir() else options.display
            reader, process = ChunkReader(file), _Process()
            stream: JsonStream[Record] = JsonStream(reader, (Record,))
            for batch in stream.batches():
                for record in batch:
                    process.take(record)
            readers.append(reader)
            processes.append(process)
            lanes.append(device_lane("worker", process.rank) if process.rank is not None else _nameless(file))
            notices += [*stream_notices(stream, where, "record"), *gzip_notices(reader, where), *_lacking(process, where)]
        if all(reader.empty for reader in readers):
            raise unreadable("RR203", "the export is empty", options.display)
        absolute = all(process.unix_ns is not None for process in processes if process.ranges)
        unnamed = 0
        for number, process in enumerate(processes):
            begin = process.unix_ns if absolute else process.begin_ns
            for key, start, end in process.ranges:
                name = process.strings.get(key, None if isinstance(key, int) else key)
                if name is None or begin is None:
                    unnamed += 1
                    continue
                duration = None if start is None or end is None else end - start
                columns.add(number, name, None if start is None else begin + start, duration)
        if unnamed:
            message = f"{plural(unnamed, 'range')} without a name, or without the beginning of the analysis, left out"
            notices.append(Notice("RR261", message, options.display))
        spans, told = build_table(columns, lanes, options.display, unix_offset_ns=0 if absolute else None)
        notices += told
        if spans is None:
            raise no_spans(options.display, "it holds no range of a worker", notices)
        return folder_source(readers, self.format, options, spans, notices)


def _files(folder: Path) -> list[Path]:
    return sorted(Path(entry.path) for entry in os.scandir(folder) if _NAME.fullmatch(entry.name) and entry.is_file())


def _nameless(file: Path) -> Lane:
    """The lane of a process whose rank is not told: the process."""
    return Lane(clean_name(file.name.split(".")[0]), "unknown", None, None)


def _lacking(process: _Process, where: str) -> list[Notice]:
    if process.more:
        message = f"{plural(process.more, 'range')} beyond the first {_MAX_RANGES:,} left out"
        return [Notice("RR261", message, where)]
    if process.ranges and process.rank is None:
        return [Notice("RR268", "the export does not tell the process's rank", where)]
    return []
