"""Reading the elements of one large JSON array, or of JSON lines, in bounded memory.

A file is one of: a bare array (its closing bracket may be missing, as the Chrome format allows), an object one of whose
keys holds the array, or one object a line. Each piece of a few megabytes is split into its elements (`splitting`), which
are decoded one by one into typed structures whose unknown fields are skipped. That is as fast as decoding a piece as a
whole (measured: 170 MB/s of processor time for torch profiles), needs less memory, and confines damage to the element
that has it: broken ones are repaired or counted, and where a bracket or a quote is missing, reading goes on at the next
text that looks like the gap between two elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.splitting import Split, repair, split_objects

T = TypeVar("T")

Layout = Literal["array", "object", "lines", "none"]

#: An element larger than this is damage: a quote or a bracket is missing.
MAX_ELEMENT_BYTES = 16 << 20
#: The array of an object must begin within this many bytes, and what follows it is kept up to as many.
MAX_HEAD_BYTES = 16 << 20
#: Elements that are handed on at once, at most.
_BATCH = 20_000

_BLANK = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*")
_GAP = re.compile(rb"\}[\s,]*(\{\s*\")")
_FIRST_KEY = re.compile(rb'\{\s*"([^"\\]{1,60})"')
#: So many elements are looked at for the keys with which they begin; a key of fewer than one in so many is none of these.
_SAMPLED = 400
_RARE = 50
_OPEN_BRACE = 0x7B
#: A rest of this size is looked at again after a stray bracket even where it holds no gap.
_SMALL_BYTES = 4096
#: How much of the text before one of several arrays is kept, and the longest text that may be the beginning of one.
_KEPT_BYTES = 64 << 10
_LONGEST_KEY = 256
_FILLING = b" \t\r\n,\0"
_REST = re.compile(rb"[ \t\r\n,\0]*\Z")
#: Of many arrays, so much is looked at first.
_FIRST_WINDOW = 2 << 10
#: What follows the bracket that closes the array.
_AFTER_ARRAY: dict[Layout, re.Pattern[bytes]] = {
    "array": re.compile(rb"[\s\0]*\Z"),
    "object": re.compile(rb"\s*(?:,\s*\"|\}|\Z)"),
    "lines": re.compile(rb"(?!)"),
    "none": re.compile(rb"(?!)"),
}
_DECODE_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class JsonStream(Generic[T]):
    """Decodes the elements of a file in order, in batches.

    After `batches` has been used up: `layout` is what the file was; `head` and `tail` are the object's text around the
    array; `unreadable` counts elements that cannot be decoded, `first_unreadable` is the byte position of the first one
    in the decompressed text; `repaired` counts those that could be decoded after a repair; `unfinished` says that the
    file ends within an element, or before its array is closed. `salvaged` counts elements that are used in part.

    Args:
        reader: the file.
        types: the structure of an element, and simpler ones to try where it does not fit.
        keys: names under which an object may hold the array.
        line_types: the structures of a line, where they differ from `types`.
        max_element_bytes: size above which an element is taken for damage.
        salvage: what can be made of the text of a broken element, None where nothing can.
        repeated: the file holds many such arrays, at any depth; `head` is then the text before the current one.
    """

    def __init__(
        self,
        reader: ChunkReader,
        types: Sequence[type[T]],
        keys: Sequence[str] = (),
        line_types: Sequence[type[T]] | None = None,
        max_element_bytes: int = MAX_ELEMENT_BYTES,
        salvage: Callable[[bytes], T | None] | None = None,
        repeated: bool = False,
    ) -> None:
        self.layout: Layout = "none"
        self.head = b""
        self.tail = b""
        self.unreadable = 0
        self.first_unreadable: int | None = None
        self.repaired = 0
        self.salvaged = 0
        self.unfinished = False
        self._reader = reader
        self._types = {"lines": line_types or types}
        self._default_types = types
        names = b"|".join(re.escape(key).encode() for key in keys)
        self._key = re.compile(rb'"(?:' + names + rb')"\s*:\s*\[') if keys else None
        self._max_element_bytes = max_element_bytes
        self._salvage = salvage
        self._repeated = repeated
        self._decoders: list[msgspec.json.Decoder[T]] = []
        self._gap = _GAP
        # The text from `_position` on is not used up yet; `_base` bytes of the file came before the buffer.
        self._buffer = b""
        self._position = 0
        self._base = 0
        self._window = 0
        self._started = False
        self._ended = False

    def batches(self) -> Iterator[list[T]]:
        """Yield the elements of each piece of the file. Raises OSError when the file cannot be read."""
        for piece in self._reader.chunks():
            self._base += self._position
            self._buffer = self._buffer[self._position :] + piece
            self._position = 0
            yield from self._advance(final=False)
        yield from self._advance(final=True)
        complete = not self._started if self._repeated else self._ended
        self.unfinished = self.unfinished or (self.layout == "object" and not complete)

    def _advance(self, final: bool) -> Iterator[list[T]]:
        """Decode what the buffer holds; what must wait for more of the file is kept."""
        again = True
        while again:
            if not self._started:
                self._start(final)
            if not self._started or self._ended:
                break
            again = yield from self._decode_whole(final)
            again = self._leave_array() or again
        if self._ended:
            self.tail += self._buffer[self._position : self._position + MAX_HEAD_BYTES - len(self.tail)]
            self._position = len(self._buffer)

    def _leave_array(self) -> bool:
        """After the end of one of several arrays: get ready to look for the next one."""
        if not (self._ended and self._repeated):
            return False
        self._started = self._ended = False
        self.head = b""
        return True

    def _start(self, final: bool) -> None:
        """Find out the layout and where the elements begin; waits for more of the file where that is not clear yet."""
        if self.layout == "none":
            self._find_layout(final)
        elif self._key is not None:
            found = self._key.search(self._buffer, self._position)
            end = found.end() if found is not None else max(self._position, len(self._buffer) - _LONGEST_KEY)
            self.head = (self.head + self._buffer[self._position : end])[-_KEPT_BYTES:]
            self._begin(end, started=found is not None)

    def _find_layout(self, final: bool) -> None:
        buffer = self._buffer
        begin = _BLANK.match(buffer).end()  # type: ignore[union-attr]  # an empty match is a match
        if begin == len(buffer) and not final and begin < MAX_HEAD_BYTES:
            return
        first = buffer[begin : begin + 1]
        if first not in (b"[", b"{"):
            self._started = self._ended = True
            self._position = len(buffer)
        elif self._repeated:
            self.layout = "object"
            self._set_types()
            self._start(final)
        elif first == b"[":
            self.layout = "array"
            self._begin(begin + 1)
        elif self._is_lines(begin):
            self.layout = "lines"
            self._begin(begin)
        elif self._key is not None and (found := self._key.search(buffer, begin, begin + MAX_HEAD_BYTES)):
            self.layout = "object"
            self.head = buffer[begin : found.end()]
            self._begin(found.end())
        elif final or len(buffer) >= MAX_HEAD_BYTES:
            self.layout = "lines"
            self._begin(begin)

    def _begin(self, position: int, started: bool = True) -> None:
        """Go on at a position, where elements begin if `started`."""
        self._position = position
        self._started = started
        self._window = _FIRST_WINDOW
        if not self._decoders:
            self._set_types()

    def _set_types(self) -> None:
        self._decoders = [msgspec.json.Decoder(kind) for kind in self._types.get(self.layout, self._default_types)]

    def _is_lines(self, begin: int) -> bool:
        """Whether the first line is a whole object and another one follows."""
        end = self._buffer.find(b"\n", begin)
        if end < 0 or self._buffer[end + 1 :].lstrip()[:1] != b"{":
            return False
        line = self._buffer[begin:end]
        split = split_objects(line)
        return len(split.starts) == 1 and split.starts[0] == 0 and not line[split.ends[0] :].strip(_FILLING)

    def _decode_whole(self, final: bool) -> Generator[list[T], None, bool]:
        """Decode those elements of the buffer that are whole; returns whether the rest should be looked at again at once.

        Of many arrays, which may be small, only a window is split at a time; it grows while the array goes on.
        """
        origin = self._position
        piece = self._buffer[origin : origin + self._window] if self._repeated else self._buffer[origin:]
        split = split_objects(piece)
        self._learn_gap(piece, split)
        for first in range(0, len(split.starts), _BATCH):
            batch: list[T] = []
            starts, ends = split.starts[first : first + _BATCH].tolist(), split.ends[first : first + _BATCH].tolist()
            for start, end in zip(starts, ends, strict=True):
                element = self._decode_one(piece[start:end])
                if element is not None:
                    batch.append(element)
                elif self._find_gap(origin + start, origin + end) is None:
                    if piece[start] == _OPEN_BRACE:
                        batch += self._give_up(origin + start, origin + end)
                else:
                    yield batch
                    self._position = origin + start
                    return (yield from self._recover())
            yield batch
        if split.closed is not None:
            return (yield from self._close(origin + split.closed, final))
        self._position = origin + split.consumed
        if origin + len(piece) < len(self._buffer):
            self._window *= 4
            return True
        return (yield from self._finish(final))

    def _finish(self, final: bool) -> Generator[list[T], None, bool]:
        """Look at the rest of the buffer, which holds no whole element: it waits, unless it is too large or the last."""
        end = len(self._buffer)
        blank = _REST.match(self._buffer, self._position) is not None
        if blank and final:
            self._position = end
        elif end - self._position > self._max_element_bytes or (final and not blank):
            if self._find_gap(self._position, end) is not None:
                return (yield from self._recover())
            self.unfinished = self.unfinished or final
            yield self._rescue(self._buffer[self._position :]) if final else self._give_up(self._position, end)
            self._position = end
        return False

    def _close(self, at: int, final: bool) -> Generator[list[T], None, bool]:
        """End the array at a closing bracket; where it is likely to be another bracket, go on behind it."""
        if not final and _REST.match(self._buffer, at + 1) is not None:
            self._position = at
            return False
        after = _AFTER_ARRAY[self.layout].match(self._buffer, at + 1) is not None
        broken = self.unreadable > 0 and not self._repeated and self._find_gap(at, len(self._buffer)) is not None
        if self._buffer[at : at + 1] == b"]" and after and not broken:
            self._position = at + 1
            self._ended = True
            return False
        self._count_unreadable(at)
        start = self._buffer.find(b"{", at)
        self._position = start if start >= 0 else len(self._buffer)
        recovered = yield from self._recover()
        return recovered or 0 < len(self._buffer) - self._position < _SMALL_BYTES

    def _recover(self) -> Generator[list[T], None, bool]:
        """Decode the buffer's elements up to its last gap between two, found by the text of the gaps alone.

        Returns:
            Whether the rest should be looked at again: it holds no gap.
        """
        begin = start = self._position
        batch: list[T] = []
        while (gap := self._find_gap(start, len(self._buffer))) is not None:
            element = self._decode_one(self._buffer[start : gap[0]])
            batch += self._give_up(start, gap[0]) if element is None else [element]
            start = gap[1]
            if len(batch) >= _BATCH:
                yield batch
                batch = []
        yield batch
        self._position = start
        return start > begin

    def _find_gap(self, start: int, end: int) -> tuple[int, int] | None:
        """The next gap between two elements: where the one ends and the other begins; None when there is none."""
        match = self._gap.search(self._buffer, start + 1, end)
        return (match.start() + 1, match.start(1)) if match else None

    def _learn_gap(self, piece: bytes, split: Split) -> None:
        """Learn with which key elements begin: objects within elements, which stand side by side too, have other keys."""
        if self._gap is not _GAP or not len(split.starts):
            return
        every = max(1, len(split.starts) // _SAMPLED)
        keys = Counter(match[1] for start in split.starts[::every].tolist() if (match := _FIRST_KEY.match(piece, start)))
        common = sorted(key for key, count in keys.items() if count * _RARE >= keys.total())
        if common:
            names = b"|".join(re.escape(key) for key in common)
            self._gap = re.compile(rb"\}[\s,]*(\{\s*\"(?:" + names + rb")\")")

    def _decode_one(self, element: bytes) -> T | None:
        for decoder in self._decoders:
            try:
                return decoder.decode(element)
            except _DECODE_ERRORS:
                continue
        repaired = repair(element)
        for decoder in self._decoders:
            try:
                value = decoder.decode(repaired)
            except _DECODE_ERRORS:
                continue
            self.repaired += 1
            return value
        return None

    def _give_up(self, start: int, end: int) -> list[T]:
        """Count a broken element; what can be salvaged of it."""
        self._count_unreadable(start)
        return self._rescue(self._buffer[start:end])

    def _rescue(self, element: bytes) -> list[T]:
        value = None if self._salvage is None else self._salvage(element)
        if value is None:
            return []
        self.salvaged += 1
        return [value]

    def _count_unreadable(self, at: int) -> None:
        self.unreadable += 1
        if self.first_unreadable is None:
            self.first_unreadable = self._base + at
