"""What a reader must know of a console log before trusting it, as notices: counts with examples, one notice a matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rlreport.collectors.config_dump import ConfigDump
from rlreport.collectors.text import plural, some
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import StepRow


@dataclass(slots=True)
class ConsoleCounts:
    """What was damaged or repaired while reading a console log.

    `cut_at_limit` and `cut_early` are the steps whose line was cut at 4,096 bytes and elsewhere; `broken_dumps` holds
    (line, dump) of every configuration dump that is not whole; `changed_keys` the keys that a later dump changed;
    `stub_line` the first line that looks like a step without being in the framework's format.
    """

    cut_at_limit: list[int] = field(default_factory=list)
    cut_early: list[int] = field(default_factory=list)
    joined: int = 0
    glued: int = 0
    dropped: int = 0
    restarts: int = 0
    broken_dumps: list[tuple[int, ConfigDump]] = field(default_factory=list)
    changed_keys: list[str] = field(default_factory=list)
    stub_line: int | None = None


def notices_of(counts: ConsoleCounts, rows: Sequence[StepRow], display: str) -> list[Notice]:
    """The notices of one console log."""
    notices: list[Notice] = []

    def tell(code: str, message: str, line: int | None = None) -> None:
        notices.append(Notice(code, message, display if line is None else f"{display}:{line}"))

    if steps := counts.cut_at_limit:
        tell("RR220", f"{plural(len(steps), 'step line')} cut at 4,096 bytes, as W&B does: steps {some(sorted(set(steps)))}")
    if steps := counts.cut_early:
        tell("RR221", f"{plural(len(steps), 'step line')} cut before the end: steps {some(sorted(set(steps)))}")
    if counts.dropped:
        tell("RR222", f"{plural(counts.dropped, 'value')} within step lines could not be read")
    if counts.joined:
        tell("RR223", f"{plural(counts.joined, 'piece')} of split step lines joined again")
    if counts.glued:
        tell("RR224", f"{plural(counts.glued, 'step line')} with other output glued to the end, which was cut off")
    if counts.restarts:
        begins = sorted({min(row.step for row in rows if row.attempt == attempt) for attempt in _attempts(rows) if attempt})
        tell("RR225", f"the log holds {plural(counts.restarts, 'restart')}, at step {some(begins)}")
    if counts.stub_line is not None:
        tell(
            "RR226",
            "lines begin with 'step=' and quoted keys follow; the framework prints 'step:N - key:value'",
            counts.stub_line,
        )
    if rows and has_three_decimals(rows):
        tell("RR227", "numbers have three decimals (before mid-2025): small values, as of the learning rate, are lost")
    for line, dump in counts.broken_dumps:
        tell("RR228", f"the configuration dump is incomplete: {_what_is_missing(dump)}", line)
    if keys := counts.changed_keys:
        tell("RR229", f"the configuration changed at a restart ({plural(len(keys), 'key')}): {', '.join(keys[:5])}")
    return notices


def _what_is_missing(dump: ConfigDump) -> str:
    if not dump.complete:
        return f"it breaks off after {plural(len(dump.config), 'key')}"
    if dump.lost:
        return f"values of {', '.join(dump.lost[:5])} are cut"
    return f"{plural(dump.unplaced, 'line')} of it cannot be read"


def has_three_decimals(rows: Sequence[StepRow]) -> bool:
    """Whether every finite value has at most three decimals, and enough of them are not whole to say so."""
    broken = 0
    for row in rows:
        for value in row.values.values():
            if not abs(value) < 1e15:
                continue
            if round(value, 3) != value:
                return False
            broken += value != int(value)
    return broken >= 10


def _attempts(rows: Sequence[StepRow]) -> list[int]:
    return sorted({row.attempt for row in rows})
