"""Metric lines within the bytes of a log: what stands before one, where it ends, what continues it, whether it was cut."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from rlreport.collectors.console_notices import ConsoleCounts
from rlreport.collectors.joining import Block, Joiner
from rlreport.collectors.metric_line import (
    SEPARATOR,
    MetricLine,
    MetricLineParser,
    ends_certainly,
    is_key,
    without_last_value,
)
from rlreport.collectors.text import ACTOR_PREFIX, decode, strip_ansi, strip_prefixes, take_apart
from rlreport.run.raw import StepRow

#: The length at which W&B cuts the lines of its output.log, with or without the line end.
CUT_LENGTHS = (4095, 4096)

_RAW_PREFIX = re.compile(rb"(?:\x1b\[[\d;]*m)*\([^()\n]*(?:\([^()\n]*\))?[^()\n]* ?pid=\d+[^()\n]*\)(?:\x1b\[[\d;]*m)* ?")
_BAR_END = re.compile(r"\|[^|]*\]\s*$")
_PREFIX_END = re.compile(ACTOR_PREFIX.pattern + "$")
_VALUE_END = re.compile(r"(?:[\d)]|nan|inf|True|False|None)$")

#: So many well-formed metrics make a metric line whatever stands before it.
_STRONG = 5


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands before a metric line: whether a metric line may follow, its actor, the raw actor prefix, whether it ends
    with a quotation mark.
    """

    fits: bool
    actor: str | None = None
    prefix: bytes = b""
    quoted: bool = False


@dataclass(slots=True)
class MetricBlocks:
    """Finds the metric lines of one source, in order; `actors` are those that printed one."""

    rows: list[StepRow] = field(default_factory=list)
    actors: set[str] = field(default_factory=set)
    glued: int = 0
    dropped: int = 0
    _joiner: Joiner = field(default_factory=lambda: Joiner(MetricLineParser()))
    _last_keys: set[str] = field(default_factory=set)
    _heads: dict[bytes, _Head] = field(default_factory=dict)
    _longest: int = 0
    _suspects: list[int] = field(default_factory=list)
    _glue_until: int = -1

    def read(self, buffer: bytes, position: int, line_start: int, number: int) -> tuple[StepRow | None, int]:
        """Read the metric line at `step:`, which `position` is.

        Returns:
            The row (None when this is not a metric line), and the position from which on to look for the next one.
        """
        before = buffer[position - 1 : position] if position > line_start else b""
        after = buffer[position + 5 : position + 6]
        glue = line_start <= self._glue_until and position < self._glue_until
        if not after.isdigit() or before in (b"_", b"/", b"-", b"="):
            return None, position + 1
        line_end = buffer.find(b"\n", position)
        line_ends = line_end >= 0
        line_end = line_end if line_ends else len(buffer)
        body = decode(buffer[position:line_end]).rstrip("\r")
        line = self._joiner.parser.parse(body)
        if line is None:
            return None, position + 5
        head = self._head(buffer[line_start:position], glue)
        if not self._is_metric_line(head, line, body):
            return None, position + 5
        if head.actor is not None:
            self.actors.add(head.actor)
        length = line_end - line_start
        if line.rest:
            self._glue_until = line_end
            return self._keep(line, length, number), position + 5
        block = Block(body, line, line_end, line_ends, len(head.prefix) + len(body))
        block = self._joiner.join(buffer, head.prefix, block)
        line = block.line if block.whole else self._at_the_end(block)
        if not line.truncated and line.values:
            self._last_keys.add(next(reversed(line.values)))
        row = self._keep(line, length if block.end == line_end else 0, number)
        if line.rest:
            self._glue_until = block.end
        return row, block.end

    def _at_the_end(self, block: Block) -> MetricLine:
        """A line without a line end: its last number may be cut, and more may have been to come."""
        line = block.line
        if line.truncated or line.rest:
            return line
        if not ends_certainly(block.body):
            return without_last_value(line)
        return line if next(reversed(line.values), "") in self._last_keys else replace(line, truncated=True)

    def close(self, counts: ConsoleCounts) -> list[StepRow]:
        """Settle what only the whole source can tell, and give the rows.

        A line of exactly 4,096 bytes was cut there if no metric line of the source is longer; then its last number is not
        certain.
        """
        if self._longest <= max(CUT_LENGTHS):
            for index in self._suspects:
                row = self.rows[index]
                if not row.truncated and row.values:
                    row.values.popitem()
                row.truncated = True
                counts.cut_at_limit.append(row.step)
        at_limit = {self.rows[index].step for index in self._suspects} if counts.cut_at_limit else set()
        counts.cut_early = [row.step for row in self.rows if row.truncated and row.step not in at_limit]
        counts.joined, counts.glued, counts.dropped = self._joiner.joined, self.glued, self.dropped
        return [row for row in self.rows if row.values]

    def _is_metric_line(self, head: _Head, line: MetricLine, body: str) -> bool:
        if not head.fits:
            return not head.quoted and sum("/" in key for key in line.values) >= _STRONG
        if line.values:
            return any("/" in key for key in line.values)
        tail = body.rpartition(SEPARATOR)[2]
        return line.truncated and "/" in tail and " " not in tail and is_key(tail.partition(":")[0])

    def _head(self, raw: bytes, glue: bool) -> _Head:
        known = self._heads.get(raw)
        if known is not None:
            return known
        text = strip_ansi(decode(raw))
        apart = take_apart(raw)
        match = _RAW_PREFIX.match(raw)
        prefix = match[0] if match and apart.pid else b""
        rest = strip_prefixes(text).rpartition("\r")[2]
        rest = strip_prefixes(rest)
        if not rest.strip():
            head = _Head(True, apart.actor, prefix)
            if len(self._heads) < 1024:
                self._heads[raw] = head
            return head
        if inner := _PREFIX_END.search(text):
            return _Head(True, inner[1], prefix)
        fits = _BAR_END.search(rest) is not None or (glue and _VALUE_END.search(rest) is not None)
        if rest.rstrip()[-1:] in "'\"`":
            return _Head(False, quoted=True)
        return _Head(fits, apart.actor, prefix)

    def _keep(self, line: MetricLine, length: int, number: int) -> StepRow:
        row = StepRow(line.step, line.values, number, 0, line.truncated)
        if line.rest and strip_ansi(line.rest).strip():
            self.glued += 1
        self.dropped += line.dropped
        self._longest = max(self._longest, length)
        if length in CUT_LENGTHS:
            self._suspects.append(len(self.rows))
        self.rows.append(row)
        return row
