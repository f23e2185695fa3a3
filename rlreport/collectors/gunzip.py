"""Reading gzip in pieces, in bounded memory, without the text that damage may have garbled.

A decompressor that meets damaged data does not fail at once, or not at all before the file ends. It goes on with wrong
symbols, often for tens of kilobytes, and what it makes of a log looks like a log with wrong numbers. So text is held back
until enough compressed data behind it has been read. Where the stream then fails or ends early, its last block is looked at
symbol by symbol: a compressor repeats earlier text as far as it goes on being the same, and wrong symbols do not. What comes
after the first repetition that could have gone on is left out, and so are the symbols before it among which the damage may
begin. (A compressor that looks for the shortest code of all, as zopfli, may stop earlier too: then more than the damage is
left out.)
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from rlreport.collectors.deflate import LONGEST_MATCH, last_block_start, symbols

GZIP_MAGIC = b"\x1f\x8b"

#: Compressed bytes that must follow a text before it is given. Wrong symbols last until one of them ends the block by
#: chance, which takes 16 to 60 KiB on average; a block of zlib has about 30 KiB.
HELD_BYTES = 512 << 10
#: Symbols before the first sign of damage that may be wrong too. Measured on logs: among wrong symbols one in 50 is a
#: repetition that could have gone on, and none of 3,300 such signs came more than 488 symbols after the one before.
DOUBTFUL_SYMBOLS = 600
#: Text that is held at most, so that memory stays bounded where a file shrinks a thousandfold.
HELD_TEXT_BYTES = 64 << 20

_PART_BYTES = 256 << 10
#: So many zero bytes at the end are no data but the hole of a file that was extended and not written.
_ZERO_BYTES = 64
#: The bytes of the length that follow those of the check sum.
_LENGTH_BYTES = 4


@dataclass(slots=True)
class _Unit:
    """One call of the decompressor: its state before, the compressed bytes it took, the text it gave."""

    before: zlib._Decompress
    raw: bytes
    text: bytes


@dataclass(slots=True)
class Gunzip:
    """An incremental gzip reader over any number of members, which gives pieces of at most `piece_bytes`; damage ends it.

    `close` ends the stream where the file ends, `stop` before. After `close`, `damage` says in words what was wrong with the
    stream (None when nothing was).
    """

    piece_bytes: int
    damage: str | None = None
    _inflate: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(wbits=31))
    _held: deque[_Unit] = field(default_factory=deque)
    _held_raw: int = 0
    _held_text: int = 0
    _given: int = 0
    _stopped: bool = False
    _after_check: bytes | None = None

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield the text that is certain by now, after some more compressed bytes."""
        for start in range(0, len(raw), _PART_BYTES):
            part = raw[start : start + _PART_BYTES]
            if self._after_check is not None:
                part = yield from self._judge_check(self._after_check + part)
            yield from self._take(part)

    def close(self) -> Iterator[bytes]:
        """Yield the rest of the text, once all compressed bytes were fed."""
        if self._after_check is not None:
            yield from self._judge_check(self._after_check, ends=True)
        if not self._stopped and not self._inflate.eof:
            yield from self._end(fails=False)
        yield from self._release()

    def stop(self) -> Iterator[bytes]:
        """Yield the text that is held, where reading stops before the end of the file: the place is no damage."""
        self._stopped = True
        yield from self._release()

    def _take(self, raw: bytes) -> Iterator[bytes]:
        while raw and not self._stopped:
            if self._inflate.eof:
                yield from self._release()
                if not raw.strip(b"\0"):
                    return
                if not raw.startswith(GZIP_MAGIC[: len(raw)]):
                    self._stopped = True
                    self._tell("other bytes follow the compressed stream")
                    return
                self._inflate = zlib.decompressobj(wbits=31)
            before = self._inflate.copy()
            try:
                text = self._inflate.decompress(raw, self.piece_bytes)
            except zlib.error as error:
                raw = yield from self._fail(before, raw, str(error))
                continue
            rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            self._hold(before, raw[: len(raw) - len(rest)], text)
            raw = rest
            while self._held and (
                self._held_raw - len(self._held[0].raw) >= HELD_BYTES or self._held_text > HELD_TEXT_BYTES
            ):
                yield from self._give()

    def _fail(self, before: zlib._Decompress, raw: bytes, why: str) -> Generator[bytes, None, bytes]:
        """Keep what can be relied on. Returns what is to be read on."""
        count = _readable(before, raw)
        self._hold(before, raw[:count], before.copy().decompress(raw[:count]))
        if "data check" in why:
            return (yield from self._judge_check(raw[count + 1 :]))
        if "length check" in why:
            return (yield from self._judge_check(bytes(_LENGTH_BYTES) + raw[count + 1 :]))
        yield from self._end(fails=True)
        return b""

    def _judge_check(self, after: bytes, ends: bool = False) -> Generator[bytes, None, bytes]:
        """Decide about a check sum that does not fit, by what follows it. Returns what is to be read on.

        At the end of a member it was the check sum, and some of the text is wrong. Elsewhere the end was none, but one of
        the wrong symbols after damage.
        """
        if not ends and len(after) < _LENGTH_BYTES + len(GZIP_MAGIC):
            self._after_check = after
            return b""
        self._after_check = None
        rest = after[_LENGTH_BYTES:]
        if rest.strip(b"\0") and not rest.startswith(GZIP_MAGIC):
            yield from self._end(fails=True)
            return b""
        self._tell("the check sum of the compressed stream does not fit: some of its text is wrong, and where is not known")
        yield from self._release()
        self._inflate = zlib.decompressobj(wbits=31)
        self._stopped = not rest.strip(b"\0")
        return rest

    def _end(self, fails: bool) -> Iterator[bytes]:
        """Give the text that can be relied on, and stop: the stream fails here, or it ends early."""
        self._stopped = True
        text = b"".join(unit.text for unit in self._held)
        certain = self._certain(text, fails)
        self._held.clear()
        for start in range(0, certain, self.piece_bytes):
            yield text[start : min(certain, start + self.piece_bytes)]
        self._given += certain
        dropped = len(text) - certain
        how = "is damaged" if fails or dropped else "ends early,"
        message = f"the compressed stream {how} after {self._given:,} bytes of text"
        self._tell(f"{message}, {dropped:,} more that may be garbled are left out" if dropped else message)

    def _certain(self, text: bytes, fails: bool) -> int:
        """How many bytes of the held text can be relied on."""
        raw = b"".join(unit.raw for unit in self._held)
        data = raw.rstrip(b"\0")
        if len(raw) - len(data) >= _ZERO_BYTES:
            raw, text, fails = data, text[: self._text_size(len(data))], False
        start = last_block_start(raw)
        if start is None:
            return 0 if fails else len(text)
        sign = _first_sign(raw, start, text, self._text_size((start + 7) // 8), fails)
        return len(text) if sign is None else sign

    def _text_size(self, count: int) -> int:
        """How many bytes of text the first held bytes make. A symbol is known as soon as its last bit is there."""
        size = 0
        for unit in self._held:
            if count < len(unit.raw):
                return size + len(unit.before.copy().decompress(unit.raw[:count]))
            size += len(unit.text)
            count -= len(unit.raw)
        return size

    def _hold(self, before: zlib._Decompress, raw: bytes, text: bytes) -> None:
        self._held.append(_Unit(before, raw, text))
        self._held_raw += len(raw)
        self._held_text += len(text)

    def _release(self) -> Iterator[bytes]:
        while self._held:
            yield from self._give()

    def _give(self) -> Iterator[bytes]:
        unit = self._held.popleft()
        self._held_raw -= len(unit.raw)
        self._held_text -= len(unit.text)
        self._given += len(unit.text)
        if unit.text:
            yield unit.text

    def _tell(self, damage: str) -> None:
        self.damage = self.damage or damage


def _first_sign(raw: bytes, start: int, text: bytes, at: int, fails: bool) -> int | None:
    """Where in the text the symbols become doubtful that follow from a bit on, at which `at` bytes of text have been made.

    A sign of damage is a repetition that could have gone on, and the end of the symbols if the stream fails there. None
    without a sign.
    """
    places: deque[int] = deque([at], maxlen=DOUBTFUL_SYMBOLS)
    distance = 0
    for length, next_distance in symbols(raw, start):
        if length and distance and at < len(text) and text[at] == text[at - distance]:
            return places[0]
        distance = next_distance if length < LONGEST_MATCH else 0
        places.append(at)
        at += length
    return places[0] if fails else None


def _readable(state: zlib._Decompress, raw: bytes) -> int:
    """How many of some compressed bytes are read before the decompressor fails."""
    done = 0
    for step in (4096, 64, 1):
        while done < len(raw):
            trial = state.copy()
            try:
                trial.decompress(raw[done : done + step])
            except zlib.error:
                break
            state, done = trial, min(done + step, len(raw))
    return done
