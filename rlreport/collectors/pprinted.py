"""An incremental reader of a Python dict as `pprint` prints it, fed line by line, that knows which lines belong to it.

A line is taken only when it fits the grammar at this point; anything else is somebody else's output and changes nothing.
What cannot be known for certain (a number split over two lines) is left out, never guessed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from typing import Any

from rlreport.collectors.flatten import Path

_STRING = r"[bruBRU]{0,2}(?:'(?:[^'\\\x00-\x1f]|\\.)*'|\"(?:[^\"\\\x00-\x1f]|\\.)*\")"
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})|(?P<number>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)(?![\w.]))"
    r"|(?P<word>(?:True|False|None)(?!\w))|(?P<open>[{\[(])|(?P<close>[}\])])|(?P<mark>[,:])"
    r"|(?P<opaque><[^<>\n]*>|[A-Za-z_][\w.]*\([^()\n]*\))"
)
_OPEN_STRING = re.compile(r"[bruBRU]{0,2}(?:'(?:[^'\\\x00-\x1f]|\\.)*|\"(?:[^\"\\\x00-\x1f]|\\.)*)\\?$")
_OPEN_WORD = re.compile(r"[\w.+\-]+$")
_SPLIT_REST = re.compile(r"[\w.+\-]+(?=\s*[,}\])])")
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_WORDS = {"True": True, "False": False, "None": None}

#: A line of a dump: a quoted key with its value, or an item of a list.
_LIKE_AN_ITEM = re.compile(r"\s*(?:'[^']*'|\"[^\"]*\")(?:: .*)?[,}\]]$")

#: After so many keys in order, order is taken to be the rule.
_ORDERED = 4
_NEVER = 10**9
_MAX_UNPLACED = 10

#: Stands for a value that could not be read.
LOST = object()


class DesyncError(Exception):
    """Lines of the dump are missing: what follows cannot be given its place any more."""


@dataclass(slots=True)
class _Frame:
    """One open container. `expect` is what may come next: key, colon, value, or comma (which stands for "," and the end)."""

    kind: str
    path: Path
    expect: str
    column: int | None = None
    key: str | int = ""
    value: Any = None
    text: bool = False
    lost: bool = False
    done: dict[str | int, Any] = field(default_factory=dict)

    def copy(self) -> _Frame:
        return replace(self, done=dict(self.done))


class PprintReader:
    """Reads one dict. Feed the first line from its "{" on, then every candidate line until `finished`.

    Attributes:
        finished: the closing bracket was read.
        lines: the line number of every mapping key, by path.
        lost: paths of values that could not be read.
        unplaced: how many lines that were not taken look like lines of the dump.
    """

    def __init__(self) -> None:
        self.finished = False
        self.lines: dict[Path, int] = {}
        self.lost: list[Path] = []
        self.unplaced = 0
        self._root: Any = None
        self._stack: list[_Frame] = []
        self._open_text = ""
        self._before_open: tuple[Any, ...] = ()
        self._split = False
        self._base = 0
        self._aligned: bool | None = None
        self._in_order = 0
        self._missing = False

    @property
    def in_line(self) -> bool:
        """Whether the last line that was taken ended in the middle, so that the next must go on with it."""
        return bool(self._open_text) or self._split or (bool(self._stack) and self._stack[-1].expect in ("colon", "value"))

    def feed(self, body: str, number: int) -> bool:
        """Take a line if it fits; False when it is foreign. Raises DesyncError when lines are missing before it."""
        if self._open_text:
            state, joined = self._before_open, self._open_text + body
            if self._attempt(joined, number):
                return True
            self._restore(state)
        if self._stack and not body.strip():
            self._base += len(body)
            return True
        return self._attempt(body, number)

    def refuse(self, body: str) -> None:
        """Tell of a line that was not taken and may have been one of the dump's.

        A list that is open may miss an item. Raises DesyncError when too many such lines have no place.
        """
        if self._stack and self._stack[-1].kind != "{" and ("'" in body or '"' in body):
            self._stack[-1].lost = True
        if self._stack and _LIKE_AN_ITEM.match(body):
            self.unplaced += 1
            if self.unplaced > _MAX_UNPLACED:
                raise DesyncError

    def result(self) -> dict[str, Any]:
        """The dict as far as it was read. Values that were lost are not in it."""
        inner: Any = self._root
        for depth, frame in enumerate(reversed(self._stack)):
            if depth:
                frame.done[frame.key] = inner
            inner = _build(frame) if frame.kind == "{" else LOST
        return inner if isinstance(inner, dict) else {}

    def _attempt(self, body: str, number: int) -> bool:
        state = self._save()
        self._open_text = ""
        end, junk = self._consume(body, number)
        if junk:
            self._restore(state)
            if not end:
                return False
            body = body[:end]
            self._consume(body, number)
            if self._stack and self._stack[-1].kind != "{":
                self._restore(state)
                return False
        if self._missing:
            self._restore(state)
            raise DesyncError
        if self._open_text:
            self._before_open = state
            self._base += end
        else:
            self._base = 0 if body.rstrip().endswith(",") else self._base + len(body)
        return True

    def _consume(self, body: str, number: int) -> tuple[int, bool]:
        """Read tokens to the end of a line: (where it stopped, False).

        When something does not fit: (the position after the last comma before it, or 0, True).
        """
        position = boundary = 0
        first = True
        if self._split:
            self._split = False
            if rest := _SPLIT_REST.match(body):
                self._lose()
                position, first = rest.end(), False
        while True:
            while position < len(body) and body[position].isspace():
                position += 1
            if position == len(body) or self.finished:
                return position, False
            match = _TOKEN.match(body, position)
            if match is None:
                return (position, False) if self._ends_open(body, position) else (boundary, True)
            begins_key = first and match["string"] and self._stack and self._stack[-1].expect == "key"
            if begins_key and not self._column_fits(self._base + position):
                return 0, True
            if not self._accept(match, number, self._base + position):
                return boundary, True
            first = False
            position = match.end()
            if match["mark"] == ",":
                boundary = position
            self._split = bool(match["number"] or match["word"]) and not body[position:].strip()

    def _ends_open(self, body: str, position: int) -> bool:
        """Whether the line ends within a string, a number or a word that the next line may complete."""
        frame = self._stack[-1] if self._stack else None
        if frame is None or frame.expect not in ("key", "value"):
            return False
        if _OPEN_STRING.match(body, position):
            self._open_text = body[position:]
            return True
        if frame.expect == "value" and _OPEN_WORD.match(body, position):
            frame.value, frame.text, frame.expect = LOST, False, "comma"
            self._split = True
            return True
        return False

    def _column_fits(self, column: int) -> bool:
        """Whether a key that begins a line stands below the other keys of its mapping.

        A layout that was never aligned (spaces lost in a paste) proves nothing. A key in the column of an outer mapping
        means that lines are missing.
        """
        expected = self._stack[-1].column
        if expected is None or self._aligned is False:
            return True
        if column == expected:
            self._aligned = True
            return True
        if self._aligned is None and column <= 1:
            self._aligned = False
            return True
        self._missing = any(frame.column == column for frame in self._stack[:-1])
        return self._missing

    def _accept(self, token: re.Match[str], number: int, column: int) -> bool:
        """Apply one token; False when it cannot stand here."""
        frame = self._stack[-1] if self._stack else None
        if token["open"]:
            return self._open(token["open"], frame)
        if frame is None:
            return False
        if token["close"]:
            return self._close(token["close"], frame)
        if token["mark"] == ":":
            fits = frame.expect == "colon"
            frame.expect = "value"
            return fits
        if token["mark"]:
            fits = frame.expect == "comma"
            if fits:
                self._commit(frame)
            return fits
        text = _text(token["string"]) if token["string"] else None
        if token["string"] and text is None:
            return False
        if frame.expect == "key" and text is not None:
            self._check_order(frame.key, text)
            frame.key = text
            frame.expect = "colon"
            frame.column = column if frame.column is None else frame.column
            self.lines[(*frame.path, frame.key)] = number
            return True
        if frame.expect == "comma" and frame.text and text is not None:
            frame.value += text
            return True
        if frame.expect != "value":
            return False
        frame.text = text is not None
        if text is not None:
            frame.value = text
        elif token["opaque"]:
            self._lose()
        else:
            frame.value = _WORDS[token["word"]] if token["word"] else _number(token["number"])
        frame.expect = "comma"
        return True

    def _check_order(self, before: str | int, key: str) -> None:
        """Keys come sorted. When that was so for a while, a key that is not in order means that lines are missing."""
        if before == "" or not isinstance(before, str):
            return
        if key > before:
            self._in_order += 1
        elif self._in_order >= _ORDERED:
            self._missing = True
        else:
            self._in_order = -_NEVER

    def _open(self, bracket: str, frame: _Frame | None) -> bool:
        if frame is not None and frame.expect != "value":
            return False
        if frame is None and (bracket != "{" or self._root is not None):
            return False
        path = () if frame is None else (*frame.path, frame.key)
        inner = _Frame(bracket, path, "key" if bracket == "{" else "value")
        if bracket != "{":
            inner.key = 0
        self._stack.append(inner)
        return True

    def _close(self, bracket: str, frame: _Frame) -> bool:
        if _PAIRS[frame.kind] != bracket or frame.expect == "colon":
            return False
        if frame.expect == "value" and frame.kind == "{":
            return False
        if frame.expect == "comma":
            self._commit(frame)
        self._stack.pop()
        value = _build(frame)
        if value is LOST:
            self.lost.append(frame.path)
        if not self._stack:
            self._root = value
            self.finished = True
            return True
        outer = self._stack[-1]
        outer.value, outer.text, outer.expect = value, False, "comma"
        return True

    def _commit(self, frame: _Frame) -> None:
        frame.done[frame.key] = frame.value
        frame.value, frame.text = None, False
        if isinstance(frame.key, int):
            frame.key += 1
            frame.expect = "value"
        else:
            frame.expect = "key"

    def _lose(self) -> None:
        """Give up the value that the last line ended with."""
        frame = self._stack[-1]
        frame.value, frame.text = LOST, False
        self.lost.append((*frame.path, frame.key))

    def _save(self) -> tuple[Any, ...]:
        frames = [frame.copy() for frame in self._stack]
        layout = (self._split, self._base, self._aligned, self._in_order)
        return frames, self._root, self.finished, dict(self.lines), list(self.lost), layout

    def _restore(self, state: tuple[Any, ...]) -> None:
        self._stack, self._root, self.finished, self.lines, self.lost, layout = state
        self._split, self._base, self._aligned, self._in_order = layout
        self._open_text, self._before_open, self._missing = "", (), False


def _build(frame: _Frame) -> Any:
    """The container of a closed frame, without what was lost."""
    if frame.kind == "{":
        return {key: value for key, value in frame.done.items() if value is not LOST}
    values = [frame.done[index] for index in sorted(index for index in frame.done if isinstance(index, int))]
    return LOST if frame.lost or any(value is LOST for value in values) else values


def _text(literal: str) -> str | None:
    """The text of a string literal, None when it is not a valid one."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def _number(literal: str) -> int | float:
    return float(literal) if re.search(r"[.eEnN]", literal) else int(literal)
