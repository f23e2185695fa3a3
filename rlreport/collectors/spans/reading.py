"""What the readers of traces share: the text around an array of events, and what is told of damage."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, new_table, unreadable
from rlreport.collectors.spans.stream import JsonStream
from rlreport.collectors.spans.times import NANOSECOND, to_ns
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice, RlreportError
from rlreport.run.raw import SourceTable
from rlreport.run.spans import SpanTable

H = TypeVar("H", bound=msgspec.Struct)

_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*"?(\d{1,19})')
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}\[\]]{0,2000}?"rank"\s*:\s*"?(\d{1,6})')


class _Distributed(msgspec.Struct):
    rank: int | None = None


class TraceHead(msgspec.Struct):
    """What a torch profile tells beside its events: whose rank it is, and the Unix time of its zero."""

    distributedInfo: _Distributed | None = None  # noqa: N815  # the format's name
    baseTimeNanoseconds: int | None = None  # noqa: N815


def read_head_fields(stream: JsonStream[Any]) -> tuple[int | None, int | None]:
    """(rank, Unix nanoseconds of the trace's zero) from the text before and after the events; None where not told."""
    rank: int | None = None
    base: int | None = None
    after = stream.tail.lstrip(b" \t\r\n,")
    for text, whole in ((stream.head, stream.head + b"]}"), (after, b"{" + after)):
        try:
            head = msgspec.json.decode(whole, type=TraceHead)
        except (msgspec.DecodeError, RecursionError):
            found_rank, found_base = _RANK.search(text), _BASE.search(text)
            rank = rank if found_rank is None else int(found_rank[1])
            base = base if found_base is None else int(found_base[1])
            continue
        if head.distributedInfo is not None and head.distributedInfo.rank is not None:
            rank = head.distributedInfo.rank
        base = base if head.baseTimeNanoseconds is None else head.baseTimeNanoseconds
    return rank if rank is not None and 0 <= rank < 10**6 else None, to_ns(base, NANOSECOND)


def stream_notices(stream: JsonStream[Any], where: str, what: str = "event") -> list[Notice]:
    """What was damaged in the text of a source."""
    notices: list[Notice] = []
    if stream.unreadable:
        count = plural(stream.unreadable, what)
        message = f"{count} not readable and left out, the first at byte {stream.first_unreadable:,}"
        if stream.salvaged:
            message += f"; of {stream.salvaged:,} what is whole within is used"
        notices.append(Notice("RR261", message, where))
    if stream.unfinished:
        notices.append(Notice("RR260", f"the trace ends early; {what}s up to there are used", where))
    return notices


def span_source(
    reader: ChunkReader, source_format: str, options: SourceOptions, spans: SpanTable, notices: Iterable[Notice]
) -> SourceTable:
    """The table of a source that holds spans."""
    table = new_table(reader, source_format, options)
    table.spans = spans
    table.notices += notices
    return table


def folder_source(
    readers: Sequence[ChunkReader], source_format: str, options: SourceOptions, spans: SpanTable, notices: Iterable[Notice]
) -> SourceTable:
    """The table of a source of several files, which were read to their ends; its hash is that of the files' hashes."""
    together = hashlib.sha256(b"".join(bytes.fromhex(reader.sha256) for reader in readers))
    table = SourceTable(
        path=options.display,
        format=source_format,
        size_bytes=sum(reader.size_bytes for reader in readers),
        sha256=readers[0].sha256 if len(readers) == 1 else together.hexdigest(),
        spans=spans,
    )
    table.notices += notices
    return table


def gzip_notices(reader: ChunkReader, where: str) -> list[Notice]:
    """What was wrong with the compression of a file of a folder."""
    return [] if reader.damage is None else [Notice("RR230", f"{reader.damage}; what came before is used", where)]


def check_readable(reader: ChunkReader, stream: JsonStream[Any], path: str, what: str) -> None:
    """Raise when a source is empty or no JSON at all.

    Raises:
        RlreportError: RR203 or RR254.
    """
    if reader.empty:
        raise unreadable("RR203", "the trace is empty", path, reader.damage or "was it written to the end?")
    if stream.layout == "none":
        raise unreadable("RR254", f"the file does not begin as {what} does", path)


def no_spans(path: str, hint: str, notices: Iterable[Notice] = ()) -> RlreportError:
    """The error of a trace without a span; what was left out of it is told in the hint."""
    reasons = "; ".join(notice.message for notice in notices)
    return unreadable("RR253", "the trace holds no span", path, "; ".join(part for part in (hint, reasons) if part) or None)
