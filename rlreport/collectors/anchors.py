"""Finding a few words in a large buffer, many times faster than looking at every line.

Each word is known by four of its bytes. A buffer is viewed as 32-bit integers at each of the four alignments and compared
with that number at once; only where it is equal is the whole word compared. On logs of mostly foreign lines this takes a
third of the time of `bytes.find` for short words, and does not slow down with the number of lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Anchor:
    """A word to find: its name, the word, and the index of the four bytes by which it is found (choose rare ones).

    The word does not count directly after one of the bytes of `not_after`.
    """

    name: str
    word: bytes
    index: int = 0
    not_after: bytes = b""

    def __post_init__(self) -> None:
        if not 0 <= self.index <= len(self.word) - 4:
            raise ValueError(f"the four bytes at {self.index} do not lie within {self.word!r}")

    @property
    def number(self) -> np.uint32:
        """The four bytes as a number."""
        import numpy as np

        return np.uint32(int.from_bytes(self.word[self.index : self.index + 4], "little"))


class AnchorFinder:
    """Finds anchors in one buffer after the other. Keeps its working memory: taking it anew costs more than the search."""

    def __init__(self) -> None:
        self._aligned: NDArray[np.uint8] | None = None
        self._equal: NDArray[np.bool_] | None = None

    def find(self, buffer: bytes, end: int, anchors: Sequence[Anchor]) -> list[tuple[int, str]]:
        """Every (position, name) at which an anchor's word begins in `buffer[:end]`, in order of position."""
        import numpy as np

        count = end // 4
        if self._aligned is None or self._equal is None or len(self._equal) < count:
            self._aligned = np.empty(4 * count, dtype=np.uint8)
            self._equal = np.empty(count, dtype=np.bool_)
        raw = np.frombuffer(buffer, dtype=np.uint8, count=end)
        found: list[tuple[int, str]] = []
        for shift in range(4):
            size = (end - shift) // 4
            if size <= 0:
                break
            # A copy that begins at the shift is aligned, and comparing aligned numbers is twice as fast.
            self._aligned[: 4 * size] = raw[shift : shift + 4 * size]
            numbers = self._aligned[: 4 * size].view("<u4")
            for anchor in anchors:
                equal = np.equal(numbers, anchor.number, out=self._equal[:size])
                if equal.any():
                    positions = np.flatnonzero(equal) * 4 + (shift - anchor.index)
                    if anchor.not_after:
                        before = raw[np.maximum(positions - 1, 0)]
                        positions = positions[~np.isin(before, list(anchor.not_after)) | (positions <= 0)]
                    found += _verified(buffer, end, anchor, positions.tolist())
        found.sort()
        return found


def _verified(buffer: bytes, end: int, anchor: Anchor, positions: list[int]) -> list[tuple[int, str]]:
    """The positions at which the anchor's whole word stands, with its name."""
    word, last = anchor.word, end - len(anchor.word)
    return [(at, anchor.name) for at in positions if 0 <= at <= last and buffer.startswith(word, at)]


def count_newlines(buffer: bytes, start: int, end: int) -> int:
    """How many line ends `buffer[start:end]` holds."""
    if end - start < 8192:
        return buffer.count(b"\n", start, end)
    import numpy as np

    view: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end - start, offset=start)
    return int(np.count_nonzero(view == 10))
