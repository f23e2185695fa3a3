"""Putting metric lines together again that were split over several physical lines of a log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rlreport.collectors.metric_line import MetricLine, MetricLineParser, without_last_value
from rlreport.collectors.text import ACTOR_PREFIX, decode, strip_ansi
from rlreport.collectors.wrapped import goes_on, join

_JOIN_BYTES = 64 << 10
_MAX_JOINED = 500
#: After so many lines of others, blank lines and states of the progress bar, only a line of the same process counts.
_MAX_BETWEEN = 8
#: So often must a line have been broken at one width before that width proves that a line was broken.
_PROVEN_WIDTH = 2


@dataclass(frozen=True, slots=True)
class Block:
    """A metric line as far as it is known: its text, what was read from it, and where its last physical line ends.

    `whole` says that a line end was seen there; `width` is the length of the last physical line in characters.
    """

    body: str
    line: MetricLine
    end: int
    whole: bool
    width: int


@dataclass(slots=True)
class Joiner:
    """Joins the lines of one source; learns the width at which a terminal broke them."""

    parser: MetricLineParser
    joined: int = 0
    _widths: Counter[int] = field(default_factory=Counter)

    def join(self, buffer: bytes, prefix: bytes, block: Block) -> Block:
        """Add the physical lines that continue a metric line whose actor's raw prefix is `prefix` (b"" without one)."""
        for _ in range(_MAX_JOINED):
            found = _following(buffer, prefix, block.end) if block.whole else None
            if found is None:
                break
            text, end, whole, prefixed = found
            verdict = goes_on(block.body, not block.line.truncated, text, self.parser.known)
            if verdict == "maybe" and not (not prefixed and self._widths[block.width] >= _PROVEN_WIDTH):
                return Block(block.body, without_last_value(block.line), block.end, block.whole, block.width)
            if verdict == "no":
                break
            body = join(block.body, text)
            line = self.parser.parse(body)
            if line is None or line.dropped > block.line.dropped:
                break
            if not prefixed:
                self._widths[block.width] += 1
            self.joined += 1
            block = Block(body, line, end, whole, len(text))
            if line.rest:
                break
        return block


def _following(buffer: bytes, prefix: bytes, line_end: int) -> tuple[str, int, bool, bool] | None:
    """The next physical line that may continue: of the same process, or without a prefix and not far below.

    Returns:
        (its text, its end, whether a line end was seen, whether it has the prefix); None when there is none.
    """
    start = line_end + 1
    if start >= len(buffer):
        return None
    bars = (prefix + b"\r", prefix + b"Training Progress:")
    for _ in range(_MAX_BETWEEN):
        own = bool(prefix) and buffer.startswith(prefix, start) and not buffer.startswith(bars, start)
        if own or buffer[start : start + 1] not in (b"(", b"\x1b", b"\n", b"\r"):
            break
        start = buffer.find(b"\n", start) + 1
        if start == 0:
            return None
    else:
        start = buffer.find(b"\n" + prefix, line_end, line_end + _JOIN_BYTES) + 1 if prefix else 0
        if start == 0:
            return None
    prefixed = bool(prefix) and buffer.startswith(prefix, start)
    end = buffer.find(b"\n", start)
    whole = end >= 0
    end = end if whole else len(buffer)
    start += len(prefix) if prefixed else 0
    if end - start > _JOIN_BYTES:
        return None
    text = decode(buffer[start:end]).rstrip("\r")
    if text.startswith("step:") or ACTOR_PREFIX.match(strip_ansi(text)):
        return None
    return text, end, whole, prefixed
