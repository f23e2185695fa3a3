"""The console log of a verl run (format "verl-console"): what the driver printed, plain or gzipped.

The file is read in chunks and searched for a few words; only the lines that hold one of them are looked at. Memory does not
grow with the size of the file, only with the number of its metric lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from rlreport.collectors.anchors import Anchor, AnchorFinder, count_newlines
from rlreport.collectors.attempts import AttemptCounter
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.command_echo import read_commands
from rlreport.collectors.config_dump import DUMP_START, MAX_BYTES, ConfigDump, read_dump
from rlreport.collectors.console_facts import ErrorWatch, ProgressBar, read_resume, read_tail
from rlreport.collectors.console_notices import ConsoleCounts, notices_of
from rlreport.collectors.files import ChunkReader, new_table, unreadable
from rlreport.collectors.fully_async import TAGS, FullyAsyncLines
from rlreport.collectors.metric_blocks import MetricBlocks
from rlreport.collectors.text import decode, first_date, strip_ansi
from rlreport.run.raw import ConfigValue, SourceFacts, SourceTable, StepRow

#: A log is verl's when its first 64 KiB hold one of these.
_MARKS = re.compile(
    rb"step:\d+ - [A-Za-z][\w.\-]*/|'actor_rollout_ref'|actor_rollout_ref\.\w|Training Progress:|\(TaskRunner(?:V1)? pid="
    rb"|\(FullyAsync\w+ pid=|-m (?:verl|recipe)\.\w|\bverl\.(?:trainer|experimental|workers|utils)\b"
    rb"|/verl/(?:trainer|experimental|workers|utils)/"
)
_LATER_MARK = re.compile(rb"step:\d+ - [A-Za-z][\w.\-]*/[^\n]{0,200}:[-\d]|\{'actor_rollout_ref': ")
_LATER_BYTES = 8 << 20
#: More than a mark is long.
_MARK_BYTES = 512

#: Scripts, documents and data may quote a log; they are read only when the format is forced.
_OTHER_SUFFIXES: tuple[str, ...] = (
    *(".py", ".sh", ".md", ".rst", ".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".toml", ".ini", ".cfg", ".ipynb"),
    *(".html", ".csv", ".tsv", ".diff", ".patch", ".tex", ".pdf"),
)

_ACTOR = re.compile(rb"\((?:[^()\s]{1,40} )?([A-Za-z_]\w*)(?:\([^()]*\))? pid=\d+")
_STUB = re.compile(rb"step=\d+(?: - [^\n]*)?\n[^\n]{0,120}?'[a-z_]+/[\w/]+': ")

_ANCHORS = (
    Anchor("step", b"step:", 1, not_after=b"_/"),
    Anchor("progress", b"Training Progress:", 7),
    Anchor("traceback", b"Traceback (most recent call last)", 3),
    Anchor("resume", b"Setting global step to ", 11),
    Anchor("dump", DUMP_START, 6),
)
#: Looked for up to the first metric line only. Later, an error is that of a traceback or stands at the end, and a resume
#: also says which step it sets.
_START_ANCHORS = (Anchor("error", b"rror"), Anchor("resume", b"Resuming from "))
_ASYNC_ANCHORS = tuple(Anchor("async", tag, 1, not_after=b"]") for tag in TAGS)

#: Bytes after the end of a hit's line that must be at hand before it is looked at (unless the source ends).
_LOOK_AHEAD = {"dump": MAX_BYTES, "traceback": 128 << 10, "step": 128 << 10}
_LOOK_AHEAD_OTHERS = 16 << 10
#: What stands before a hit within its line is looked at so far back.
_LOOK_BACK = 16 << 10

_PREAMBLE_BYTES = 4 << 20
_ACTOR_BYTES = 1 << 20
_DATE_BYTES = 256 << 10
_TAIL_BYTES = 128 << 10
#: A line of up to so many bytes is looked at whole wherever the chunks end. A longer one is searched in pieces of about this
#: size, which bounds the memory.
_MAX_CARRY = 16 << 20


class ConsoleCollector:
    """Reads the console log of a verl run."""

    format = "verl-console"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the text holds a mark of the framework in its first 64 KiB, or a metric line in its first 8 MiB."""
        if path.suffix.lower() in _OTHER_SUFFIXES or path.is_dir():
            return False
        # A log that was truncated while it was written begins with NUL bytes.
        text = head.lstrip(b"\0")
        if not head or text.count(b"\0") > len(text) // 8:
            return False
        if _MARKS.search(head):
            return True
        if path.suffix not in (".log", ".txt", ".out", ".gz") or not path.is_file():
            return False
        seen, before = 0, b""
        for chunk in ChunkReader(path).chunks():
            if _LATER_MARK.search(chunk) or _LATER_MARK.search(before + chunk[:_MARK_BYTES]):
                return True
            seen, before = seen + len(chunk), chunk[-_MARK_BYTES:]
            if seen >= _LATER_BYTES:
                break
        return False

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the log whole. A log without a metric line gives a table without rows; the run decides what that means.

        Raises:
            RlreportError: RR203 when the file is empty.
        """
        reader = ChunkReader(path)
        scan = _Scan(options.display)
        carry = b""
        for chunk in reader.chunks():
            buffer = carry + chunk if carry else chunk
            carry = buffer[scan.feed(buffer, ends=False) :]
        if reader.empty:
            raise unreadable("RR203", "the log is empty", options.display, "was the run's output written elsewhere?")
        scan.feed(carry, ends=True)
        table = new_table(reader, self.format, options)
        scan.finish(table)
        return table


@dataclass(slots=True)
class _Scan:
    """The state of one reading; `feed` takes buffers in order, each beginning with what the last one left."""

    display: str
    facts: SourceFacts = field(default_factory=SourceFacts)
    counts: ConsoleCounts = field(default_factory=ConsoleCounts)
    config: dict[str, ConfigValue] = field(default_factory=dict)
    echoed: dict[str, ConfigValue] = field(default_factory=dict)
    attempts: AttemptCounter = field(default_factory=AttemptCounter)
    progress: ProgressBar = field(default_factory=ProgressBar)
    errors: ErrorWatch = field(default_factory=ErrorWatch)
    blocks: MetricBlocks = field(default_factory=MetricBlocks)
    asynchronous: FullyAsyncLines | None = None
    _finder: AnchorFinder = field(default_factory=AnchorFinder)
    _lines: int = 0
    _began: bool = False
    _resume_noted: bool = False
    _seen: int = 0
    _skip: int = 0
    _tail: bytes = b""
    _stub_line: int | None = None

    def feed(self, buffer: bytes, ends: bool) -> int:
        """Look at a buffer up to its last whole line; the position from which on it must come again."""
        if not self._began:
            if not ends and len(buffer) < _PREAMBLE_BYTES:
                return 0
            self._read_preamble(buffer[:_PREAMBLE_BYTES])
            self._began = True
        end = len(buffer) if ends else buffer.rfind(b"\n") + 1
        if end == 0 and len(buffer) > _MAX_CARRY:
            end = len(buffer)
        cut = self._look_at_hits(buffer, end, ends)
        self._tail = (self._tail + buffer[max(0, cut - _TAIL_BYTES) : cut])[-_TAIL_BYTES:]
        return cut

    def finish(self, table: SourceTable) -> None:
        """Put everything that was found into the table."""
        facts = self.facts
        facts.tracebacks, facts.first_error = self.errors.tracebacks, self.errors.first
        facts.progress, facts.elapsed_s = self.progress.state, self.progress.elapsed_s
        read_tail(self._tail, self._lines - self._tail.count(b"\n"), facts)
        table.rows = self.blocks.close(self.counts)
        facts.hints |= {f"actor:{actor}" for actor in self.blocks.actors}
        if self.counts.cut_at_limit:
            facts.hints.add("cut:4096")
        if self.asynchronous is not None:
            table.rows += _rows_of(self.asynchronous, table.rows)
        table.config = {**self.echoed, **self.config}
        table.facts = facts
        self.counts.restarts = self.attempts.attempt
        if not table.rows:
            self.counts.stub_line = self._stub_line
        table.notices += notices_of(self.counts, table.rows, self.display)

    def _look_at_hits(self, buffer: bytes, end: int, ends: bool) -> int:
        anchors: tuple[Anchor, ...] = _ANCHORS
        if not self.blocks.rows:
            anchors += _START_ANCHORS
        if self.asynchronous is not None:
            anchors += _ASYNC_ANCHORS
        counted, skip_to, seen = 0, self._skip, self._seen
        cut, reached = end, max(end, seen)
        for position, name in self._finder.find(buffer, end, anchors):
            if position < seen or (name == "step" and position < skip_to):
                continue
            floor = max(0, position - _LOOK_BACK)
            line_start = buffer.rfind(b"\n", floor, position) + 1 or floor
            if not ends and _needed(buffer, position, name) > len(buffer):
                cut, reached = line_start, position
                break
            self._lines += count_newlines(buffer, counted, line_start)
            counted = line_start
            if name == "step":
                skip_to = self._look_at_step(buffer, position, line_start, self._lines + 1)
            else:
                self._look_at(name, buffer, position, line_start, self._lines + 1)
        self._lines += count_newlines(buffer, counted, cut)
        # What lies between the cut and the hit at which it was made comes again and has been looked at.
        self._seen, self._skip = reached - cut, max(0, skip_to - cut)
        return cut

    def _look_at_step(self, buffer: bytes, position: int, line_start: int, number: int) -> int:
        found, next_position = self.blocks.read(buffer, position, line_start, number)
        if found is not None:
            found.attempt = self.attempts.count(found.step, found.values)
            self._resume_noted = False
        return next_position

    def _look_at(self, name: str, buffer: bytes, position: int, line_start: int, number: int) -> None:
        if name == "progress":
            self.progress.read(buffer, position)
        elif name == "traceback":
            self.errors.read_traceback(buffer, position, line_start, number)
        elif name == "resume":
            step = read_resume(buffer, position)
            if step is not None and not self._resume_noted:
                self.facts.resumed_from.append(step)
                self._announce()
                self._resume_noted = True
        elif name == "dump":
            if dump := read_dump(buffer, position, line_start, number, self.display):
                self._take_dump(dump, number)
        else:
            line_end = buffer.find(b"\n", position)
            line_end = len(buffer) if line_end < 0 else line_end
            if name == "error":
                self.errors.read_error(buffer, line_start, line_end, number)
            elif self.asynchronous is not None:
                self.asynchronous.read(strip_ansi(decode(buffer[position:line_end])), self.attempts.upcoming)

    def _announce(self) -> None:
        self.attempts.announce()
        if self.asynchronous is not None:
            self.asynchronous.begin(self.attempts.upcoming)

    def _take_dump(self, dump: ConfigDump, number: int) -> None:
        self._announce()
        if dump.actor:
            self.facts.hints.add(f"actor:{dump.actor}")
        if not dump.complete or dump.lost or dump.unplaced:
            self.counts.broken_dumps.append((number, dump))
        if self.config:
            old = {key: value.value for key, value in self.config.items()}
            new = {key: value.value for key, value in dump.config.items()}
            self.counts.changed_keys += [key for key in {**old, **new} if old.get(key) != new.get(key)]
        if dump.complete or not self.config:
            self.config = dump.config

    def _read_preamble(self, head: bytes) -> None:
        self.facts.started_at = first_date(decode(head[:_DATE_BYTES]))
        self.facts.hints |= {f"actor:{decode(name)}" for name in _ACTOR.findall(head[:_ACTOR_BYTES])}
        for command in read_commands(head, self.display):
            self.facts.hints.add(f"main:{command.main}")
            self.echoed.update(command.config)
        if b"[ASYNC MAIN]" in head:
            self.facts.hints.add("marker:ASYNC MAIN")
        if b"FullyAsync" in head:
            self.asynchronous = FullyAsyncLines()
        position = head.find(b"step=")
        if position >= 0 and (stub := _STUB.search(head, position, position + _LOOK_BACK)):
            self._stub_line = head.count(b"\n", 0, stub.start()) + 1


def _needed(buffer: bytes, position: int, name: str) -> int:
    """Up to where the buffer must reach for a hit to be looked at: beyond the end of its line."""
    line_end = buffer.find(b"\n", position)
    return max(line_end, position) + 1 + _LOOK_AHEAD.get(name, _LOOK_AHEAD_OTHERS)


def _rows_of(lines: FullyAsyncLines, rows: list[StepRow]) -> list[StepRow]:
    """Rows of the numbers printed outside of metric lines, for the versions that have a metric line."""
    logged = {(row.attempt, row.step) for row in rows}
    return [
        StepRow(step=version, values=values, attempt=attempt)
        for (attempt, version), values in sorted(lines.values.items())
        if (attempt, version) in logged
    ]
