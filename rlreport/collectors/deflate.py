"""Walking through a deflate stream without decompressing it: where its blocks begin, and which symbols it consists of.

A block with codes of its own (a "dynamic" one) begins with a header that random bits hardly ever form: its code lengths must
make complete prefix codes. So the beginning of such a block is found at any bit of damaged data. Blocks of the other kinds
have no such header and are not found.
Source: RFC 1951, sections 3.2.4 to 3.2.7; the checks are those of zlib's inflate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The longest text that one symbol can repeat.
LONGEST_MATCH = 258

#: Bits before the lengths of the code for code lengths: last block, type, and the three counts.
_FIXED_BITS = 17
_HEADER_BYTES = 600
_SEGMENT_BYTES = 64 << 10

_CODE_LENGTHS = 19
#: The order in which the lengths of the code for code lengths are stored.
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
#: Symbols that repeat a length: (bits of the count, smallest count).
_REPEATS = {16: (2, 3), 17: (3, 3), 18: (7, 11)}
_END_OF_BLOCK = 256
_LONGEST_CODE = 15

#: Extra bits of the symbols for match lengths (257 to 285) and distances, and the smallest value of each symbol.
_LENGTH_BITS = (*(0,) * 8, *(bits for bits in range(1, 6) for _ in range(4)), 0)
_LENGTHS = (*accumulate((1 << bits for bits in _LENGTH_BITS[:-2]), initial=3), LONGEST_MATCH)
_DISTANCE_BITS = (0, 0, *(bits for bits in range(14) for _ in range(2)))
_DISTANCES = (*accumulate((1 << bits for bits in _DISTANCE_BITS[:-1]), initial=1),)

#: Canonical prefix codes: (length, code) -> symbol.
_Codes = dict[tuple[int, int], int]


def last_block_start(raw: bytes) -> int | None:
    """The position, in bits, at which the last dynamic block of deflate data begins whose header is whole; None without one.

    `raw` may begin and end anywhere, and what it ends with may be no deflate data at all.
    """
    for end in range(len(raw), 0, -_SEGMENT_BYTES):
        start = max(0, end - _SEGMENT_BYTES)
        for position in reversed(_candidates(raw[start : end + _HEADER_BYTES], 8 * (end - start))):
            bits = _Bits(raw[start : end + _HEADER_BYTES], position)
            bits.take(3)
            if _dynamic_codes(bits) is not None:
                return 8 * start + position
    return None


def symbols(raw: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The symbols of the blocks from a bit on, as (bytes of text, distance); they end where the data do or become invalid.

    A literal is (1, 0), a piece of stored text (its length, 0), the end of a block (0, 0).
    """
    bits = _Bits(raw, start)
    last = 0
    while not last:
        last, kind = bits.take(1), bits.take(2)
        if kind == 0:
            size = bits.stored()
            if size is None:
                return
            yield size, 0
        else:
            codes = _fixed_codes() if kind == 1 else _dynamic_codes(bits) if kind == 2 else None
            if codes is None or bits.left < 0:
                return
            yield from _symbols_of_block(bits, *codes)
        if bits.left < 0:
            return
        yield 0, 0


def _symbols_of_block(bits: _Bits, literals: _Codes, distances: _Codes) -> Iterator[tuple[int, int]]:
    """The symbols up to the end of a block. Invalid data use up the bits."""
    while (symbol := bits.symbol(literals)) != _END_OF_BLOCK:
        length, distance = 1, 0
        if symbol is None or symbol - 257 >= len(_LENGTHS):
            bits.left = -1
        elif symbol > _END_OF_BLOCK:
            length = _LENGTHS[symbol - 257] + bits.take(_LENGTH_BITS[symbol - 257])
            far = bits.symbol(distances)
            if far is None or far >= len(_DISTANCES):
                bits.left = -1
            else:
                distance = _DISTANCES[far] + bits.take(_DISTANCE_BITS[far])
        if bits.left < 0:
            return
        yield length, distance


def _candidates(raw: bytes, count: int) -> list[int]:
    """The bits among the first `count` at which type, counts and the code for code lengths are those of a dynamic block."""
    import numpy as np

    needed = _FIXED_BITS + 3 * _CODE_LENGTHS
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder="little")
    bits = np.concatenate((bits, np.zeros(needed + 3, dtype=np.uint8)))

    def ones(first: int, last: int) -> NDArray[np.bool_]:
        """Whether all bits from `first` to `last` after a position are set: a count beyond what is allowed."""
        result: NDArray[np.bool_] = np.all([bits[index : index + count] == 1 for index in range(first, last + 1)], axis=0)
        return result

    fits = (bits[1 : 1 + count] == 0) & (bits[2 : 2 + count] == 1) & ~ones(4, 7) & ~ones(9, 12)
    places = np.flatnonzero(fits)
    counts = 4 + sum(bits[places + 13 + index].astype(np.int64) << index for index in range(4))
    lengths = bits[:-2] + 2 * bits[1:-1] + 4 * bits[2:]
    shares = np.array([0, 64, 32, 16, 8, 4, 2, 1], dtype=np.int64)[lengths]
    total = np.zeros(len(places), dtype=np.int64)
    for index in range(_CODE_LENGTHS):
        total += np.where(index < counts, shares[places + _FIXED_BITS + 3 * index], 0)
    found: list[int] = places[total == 128].tolist()
    return found


def _dynamic_codes(bits: _Bits) -> tuple[_Codes, _Codes] | None:
    """The codes for literals and lengths and for distances in a block's header, after its type; None when it is none."""
    literals, distances, stored = bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4
    own = [0] * _CODE_LENGTHS
    for symbol in _ORDER[:stored]:
        own[symbol] = bits.take(3)
    codes = _codes_of(own)
    lengths: list[int] = []
    while len(lengths) < literals + distances:
        length = bits.symbol(codes)
        if length is None or (length == 16 and not lengths):
            return None
        if length in _REPEATS:
            width, least = _REPEATS[length]
            lengths += [lengths[-1] if length == 16 else 0] * (least + bits.take(width))
        else:
            lengths.append(length)
    if len(lengths) > literals + distances or bits.left < 0 or lengths[_END_OF_BLOCK] == 0:
        return None
    if not (_is_complete(lengths[:literals]) and _is_complete(lengths[literals:])):
        return None
    return _codes_of(lengths[:literals]), _codes_of(lengths[literals:])


@cache
def _fixed_codes() -> tuple[_Codes, _Codes]:
    return _codes_of([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8), _codes_of([5] * 30)


def _is_complete(lengths: list[int]) -> bool:
    """Whether code lengths make a complete prefix code, or one that has a single code of one bit, or none."""
    used = [length for length in lengths if length]
    return sum(1 << (_LONGEST_CODE - length) for length in used) == 1 << _LONGEST_CODE or used in ([], [1])


def _codes_of(lengths: list[int]) -> _Codes:
    """The canonical prefix codes of code lengths by symbol; 0 is no code."""
    counts = [0] * (_LONGEST_CODE + 1)
    for length in lengths:
        counts[length] += length > 0
    following = [0, *accumulate(counts[1:], lambda code, count: (code + count) << 1, initial=0)]
    codes: _Codes = {}
    for symbol, length in enumerate(lengths):
        if length:
            codes[length, following[length]] = symbol
            following[length] += 1
    return codes


class _Bits:
    """Bits in the order of a deflate stream. Beyond the end they are zero, and `left` is negative."""

    _REFILL = 64

    def __init__(self, raw: bytes, start: int) -> None:
        self._raw = raw
        self._next = start // 8
        self._value = self._count = 0
        self.left = 8 * (len(raw) - self._next)
        self.take(start % 8)

    def take(self, count: int) -> int:
        """The next bits as a number, the first one lowest."""
        if self._count < count:
            more = self._raw[self._next : self._next + self._REFILL]
            self._value |= int.from_bytes(more, "little") << self._count
            self._next += self._REFILL
            self._count += 8 * self._REFILL
        taken = self._value & ((1 << count) - 1)
        self._value >>= count
        self._count -= count
        self.left -= count
        return taken

    def symbol(self, codes: _Codes) -> int | None:
        """The next symbol of a prefix code, None where no code fits."""
        code = 0
        for length in range(1, _LONGEST_CODE + 1):
            code = code << 1 | self.take(1)
            symbol = codes.get((length, code))
            if symbol is not None:
                return symbol
        return None

    def stored(self) -> int | None:
        """Skip stored text from the next whole byte on. Gives its size, as far as it is there; None when there is none."""
        self.take(self.left % 8)
        size, inverted = self.take(16), self.take(16)
        if self.left < 0 or size ^ inverted != 0xFFFF:
            return None
        at = len(self._raw) - self.left // 8
        there = min(size, len(self._raw) - at)
        self._next, self._value, self._count = at + there, 0, 0
        self.left = 8 * (len(self._raw) - self._next) if there == size else -1
        return there
