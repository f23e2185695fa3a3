"""Quantities over time that a plain console log of verl tells, without any tracer.

Three kinds of lines have a clock:

* `[RolloutResourceUtilization] raw active_count_history (...): [(Unix seconds, active, possible), ...]` of fully async
  training: how many samples are in generation, at every change
  (verl/experimental/fully_async_policy/fully_async_rollouter.py);
* `INFO:2026-07-30 11:01:58,913:pending: 0, running: 10, finished: 6, failure: 0` of the V1 trainers: what the replay
  buffer's poll saw, with the Trainer's local time and no time zone;
* the progress bar: steps done, against the seconds since the bar began.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.times import SECOND, digits_ns, to_ns
from rlreport.run.spans import Gauge

ACTIVE = "rollout.active_requests"
PROGRESS = "progress.steps"
#: Word of a poll line -> gauge.
POLLED = {
    "pending": "replay.pending",
    "running": "replay.running",
    "finished": "replay.finished",
    "failure": "replay.failed",
}

#: Words by which the lines are found; one of them is enough to look at a line.
TAGS: tuple[bytes, ...] = (b"active_count_history", b":pending: ", b"Training Progress:")

_HISTORY = re.compile(rb"raw active_count_history[^\[\n]{0,120}\[(\([^\n]*\))\]")
_ENTRY = re.compile(rb"\((?:np\.float64\()?(\d{1,12}(?:\.\d{0,9})?)\)?, ?(\d{1,9}), ?(\d{1,9})\)")
_POLL = re.compile(
    rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[,.](\d{1,6}):pending: (\d{1,9}), running: (\d{1,9}), finished: (\d{1,9})"
    rb"(?:, failure: (\d{1,9}))?(?![\d.])"
)
_BAR = re.compile(rb"Training Progress:\s*\d{1,3}%\|[^|\r\n]{0,200}\|\s*(\d{1,9})/(\d{1,9}) \[((?:\d{1,6}:)?\d\d:\d\d)<")

#: Time zones differ from UTC by a multiple of this.
_ZONE_STEP_S = 900
_LARGEST_ZONE_S = 14 * 3600
_MAX_SAMPLES = 2_000_000
_MAX_LINE_BYTES = 64 << 20


@dataclass(slots=True)
class GaugeLines:
    """Collects the samples of one log in the order of its lines.

    `read` takes lines, in any encoding of their surroundings (colours, prefixes, other output glued to them).
    """

    active: dict[int, tuple[int, int]] = field(default_factory=dict)
    polls: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    progress: list[tuple[int, int]] = field(default_factory=list)
    total: int | None = None
    _before_ns: int = 0
    _last_ns: int = 0

    def read(self, line: bytes) -> None:
        """Read one line; lines without a tag are passed over quickly."""
        if b"active_count_history" in line:
            for match in _HISTORY.finditer(line):
                self._read_history(match[1])
        if b":pending: " in line:
            for match in _POLL.finditer(line):
                self._read_poll(match)
        if b"Training Progress:" in line:
            for match in _BAR.finditer(line):
                self._read_bar(match)

    def _read_history(self, entries: bytes) -> None:
        for match in _ENTRY.finditer(entries):
            at = digits_ns(match[1], SECOND)
            if at is not None and len(self.active) < _MAX_SAMPLES:
                self.active[at] = (int(match[2]), int(match[3]))

    def _read_poll(self, match: re.Match[bytes]) -> None:
        try:
            moment = datetime.strptime(match[1].decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)  # noqa: UP017
        except ValueError:
            return
        at = int(moment.timestamp()) * SECOND + int(match[2].ljust(9, b"0"))
        for word, text in zip(POLLED, match.groups()[2:], strict=True):
            samples = self.polls.setdefault(word, [])
            if text is not None and len(samples) < _MAX_SAMPLES:
                samples.append((at, int(text)))

    def _read_bar(self, match: re.Match[bytes]) -> None:
        done, self.total = int(match[1]), int(match[2])
        seconds = 0
        for part in match[3].split(b":"):
            seconds = 60 * seconds + int(part)
        at = seconds * SECOND
        if at < self._last_ns:
            self._before_ns += self._last_ns
        self._last_ns = at
        if (not self.progress or self.progress[-1][1] != done) and len(self.progress) < _MAX_SAMPLES:
            self.progress.append((self._before_ns + at, done))

    def gauges(self, utc_offset_s: int | None = None) -> list[Gauge]:
        """The quantities that were found, by name.

        Args:
            utc_offset_s: how far the log's local time is ahead of UTC; None where that is not known. Then the times of poll
                lines count as if they were UTC, and `zero_unix_ns` is None: their distances are right, their Unix time is
                not known (see `find_utc_offset_s` and `with_utc_offset`).
        """
        gauges: list[Gauge] = []
        if self.active:
            times = sorted(self.active)
            values = [float(self.active[at][0]) for at in times]
            capacity = float(max(most for _, most in self.active.values()))
            gauges.append(Gauge(ACTIVE, "", times, values, zero_unix_ns=0, capacity=capacity or None))
        for word, samples in self.polls.items():
            if samples:
                ordered = sorted(samples)
                gauge = Gauge(POLLED[word], "", [at for at, _ in ordered], [float(value) for _, value in ordered])
                gauges.append(gauge if utc_offset_s is None else with_utc_offset(gauge, utc_offset_s))
        if len(self.progress) > 1:
            times, steps = [at for at, _ in self.progress], [float(done) for _, done in self.progress]
            gauges.append(Gauge(PROGRESS, "", times, steps, capacity=None if self.total is None else float(self.total)))
        return sorted(gauges, key=lambda gauge: gauge.name)


def console_gauges(lines: Iterable[bytes | str], utc_offset_s: int | None = None) -> list[Gauge]:
    """The quantities over time in the lines of a console log; see `GaugeLines.gauges` for the time zone."""
    found = GaugeLines()
    for line in lines:
        found.read(line.encode("utf-8", "replace") if isinstance(line, str) else line)
    return found.gauges(utc_offset_s)


def console_file_gauges(path: Path, utc_offset_s: int | None = None) -> list[Gauge]:
    """The same of a log file, plain or gzipped, in a pass of its own. Raises OSError when it cannot be read.

    Only lines with a tag are looked at; a log without them is searched as fast as it can be read.
    """
    found = GaugeLines()
    carry = b""
    for chunk in ChunkReader(path).chunks():
        buffer = carry + chunk
        end = buffer.rfind(b"\n") + 1
        if end == 0 and len(buffer) > _MAX_LINE_BYTES:
            end = len(buffer)
        for line in _tagged_lines(buffer, end):
            found.read(line)
        carry = buffer[end:]
    found.read(carry)
    return found.gauges(utc_offset_s)


def _tagged_lines(buffer: bytes, end: int) -> list[bytes]:
    """The lines of `buffer[:end]` that hold a tag, in their order."""
    starts: set[int] = set()
    for tag in TAGS:
        position = buffer.find(tag, 0, end)
        while position >= 0:
            starts.add(buffer.rfind(b"\n", 0, position) + 1)
            line_end = buffer.find(b"\n", position, end)
            position = buffer.find(tag, line_end, end) if line_end >= 0 else -1
    ends = {start: buffer.find(b"\n", start, end) for start in starts}
    return [buffer[start : ends[start] if ends[start] >= 0 else end] for start in sorted(starts)]


def with_utc_offset(gauge: Gauge, utc_offset_s: int) -> Gauge:
    """A gauge of local times as one of Unix times, given how far the local time is ahead of UTC."""
    return replace(gauge, zero_unix_ns=-utc_offset_s * SECOND)


def find_utc_offset_s(local_ns: Sequence[int], unix_ns: Sequence[int], tolerance_s: int = 120) -> int | None:
    """How far a log's local time is ahead of UTC, from moments that were written both ways.

    Args:
        local_ns: local times read as if they were UTC, in nanoseconds.
        unix_ns: the Unix times of the same moments, one for each.
        tolerance_s: how far apart the two records of a moment may be.

    Returns:
        A multiple of 15 minutes within 14 hours; None when the moments do not agree on one.
    """
    offsets: set[int] = set()
    for local, unix in zip(local_ns, unix_ns, strict=True):
        ahead_s = (local - unix) / SECOND
        offset_s = round(ahead_s / _ZONE_STEP_S) * _ZONE_STEP_S
        if abs(ahead_s - offset_s) > tolerance_s or abs(offset_s) > _LARGEST_ZONE_S:
            return None
        offsets.add(offset_s)
    return offsets.pop() if len(offsets) == 1 else None


def progress_gauge(wall_s: dict[int, float]) -> Gauge | None:
    """Steps against time from the wall clock of steps (Unix seconds, as TensorBoard records it); None for one step or
    less.
    """
    if len(wall_s) < 2:
        return None
    ordered = sorted((to_ns(at, SECOND) or 0, step) for step, at in wall_s.items())
    absolute = ordered[0][0] >= 10**17
    times, steps = [at for at, _ in ordered], [float(step) for _, step in ordered]
    return Gauge(PROGRESS, "", times, steps, zero_unix_ns=0 if absolute else None)
