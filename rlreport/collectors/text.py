"""The wrapping of a console line: colours, the prefix by which Ray names an actor, and prefixes that other tools add."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Terminal control sequences: colours, cursor movement, titles.
ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

#: `(TaskRunner pid=1, ip=10.0.0.1) `, `(VGNd5CWorkerDict_0:0 WorkerDict pid=1) `, `(pid=1) `: a process of Ray or vLLM.
#: One space after the parenthesis belongs to the prefix; more of them belong to the text.
ACTOR_PREFIX = re.compile(r"\((?:(?:[^()\s]+ )?([A-Za-z_][\w.]*)(?:\([^()]*\))? )?pid=(\d+)(?:, ip=[^()\s]*)?\) ?")

#: What log shippers put in front: an ISO time stamp, `srun -l`'s task number, a compose service name, a `[Tag]`.
_FOREIGN_PREFIXES = (
    re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]+"),
    re.compile(r"\s*\d+: (?=\(|\[|step:|$)"),
    re.compile(r"[\w.-]+ +\| "),
    re.compile(r"\[\w+\]\s*(?=\[|step:|$)"),
)

_DATED = re.compile(r"(\d{4}-\d\d-\d\d)[T _-](\d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Line:
    """A console line taken apart: the outermost actor and its process (None where unknown), and the text after it."""

    actor: str | None
    pid: str | None
    body: str


def decode(raw: bytes) -> str:
    """Bytes of a log as text; bytes that are not UTF-8 become replacement characters."""
    return raw.decode("utf-8", "replace")


def strip_ansi(text: str) -> str:
    """Text without terminal control sequences."""
    return ANSI.sub("", text) if "\x1b" in text else text


def take_apart(raw: bytes) -> Line:
    """Split a raw line into its actor prefix and its body, colours removed. Nested prefixes stay in the body."""
    text = strip_ansi(decode(raw)).rstrip("\r\n")
    for pattern in _FOREIGN_PREFIXES[:3]:
        if (match := pattern.match(text)) and ACTOR_PREFIX.match(text, match.end()):
            text = text[match.end() :]
    match = ACTOR_PREFIX.match(text)
    if match is None:
        return Line(None, None, text)
    return Line(match[1], match[2], text[match.end() :])


def strip_prefixes(text: str) -> str:
    """The rest of a text (without colours) after every actor prefix and every prefix that other tools add."""
    before = None
    while text != before:
        before = text
        for pattern in (ACTOR_PREFIX, *_FOREIGN_PREFIXES):
            if match := pattern.match(text):
                text = text[match.end() :]
    return text


def first_date(text: str) -> str | None:
    """The first date with a time of day in a text, as "2026-07-30T10:20:08"."""
    match = _DATED.search(text)
    return f"{match[1]}T{match[2]}" if match else None


def shorten(text: str, width: int = 200) -> str:
    """One line of at most `width` characters, for a message."""
    flat = " ".join(strip_ansi(text).replace("\0", "").split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """`1 step`, `1,200 steps`: a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def some(numbers: list[int], limit: int = 5) -> str:
    """A short list of step numbers for a message: `3, 7, 9, … (12 in all)`."""
    shown = ", ".join(str(number) for number in numbers[:limit])
    return shown if len(numbers) <= limit else f"{shown}, … ({len(numbers):,} in all)"
