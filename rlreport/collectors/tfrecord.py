"""TFRecord framing, read without TensorFlow: length, checksum of the length, data, checksum of the data.

Checksums are CRC-32C, masked (source: tensorflow/core/lib/io/record_writer.h). They are computed for all records of one
length at once, which makes checking cheap.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER_BYTES = 12
FOOTER_BYTES = 4

_CASTAGNOLI = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
#: Records longer than this (images, graphs) are not checked.
_CHECKED_LENGTH = 4096

Buffer = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Records:
    """Where the records of a file lie: (start, length) of each one's data; `incomplete_at` is where the last one breaks off.

    `damaged` counts records left out because their checksum does not match.
    """

    spans: list[tuple[int, int]]
    damaged: int
    incomplete_at: int | None


def find_records(buffer: Buffer) -> Records:
    """The records of a TFRecord file. A length that leads beyond the end ends the reading."""
    spans: list[tuple[int, int]] = []
    position, size = 0, len(buffer)
    incomplete: int | None = None
    while position < size:
        if size - position < HEADER_BYTES:
            incomplete = position
            break
        (length,) = struct.unpack_from("<Q", buffer, position)
        if length > size - position - HEADER_BYTES - FOOTER_BYTES:
            incomplete = position
            break
        spans.append((position + HEADER_BYTES, length))
        position += HEADER_BYTES + length + FOOTER_BYTES
    good = [span for span, fits in zip(spans, _intact(buffer, spans), strict=True) if fits]
    return Records(good, len(spans) - len(good), incomplete)


def masked_crc32c(data: bytes) -> int:
    """The masked CRC-32C of some bytes, as TFRecord stores it."""
    import numpy as np

    return int(_masked(np.frombuffer(data, dtype=np.uint8), np.zeros(1, dtype=np.int64), len(data))[0])


def _intact(buffer: Buffer, spans: list[tuple[int, int]]) -> list[bool]:
    """Whether length and data of each record match their checksums (long records are taken as intact)."""
    import numpy as np

    if not spans:
        return []
    raw = np.frombuffer(buffer, dtype=np.uint8)
    starts = np.array([start for start, _ in spans])
    lengths = np.array([length for _, length in spans])
    intact = _masked(raw, starts - HEADER_BYTES, 8) == _stored(raw, starts - 4)
    for length in np.unique(lengths[lengths <= _CHECKED_LENGTH]).tolist():
        these = np.flatnonzero(lengths == length)
        if length:
            intact[these] &= _masked(raw, starts[these], length) == _stored(raw, starts[these] + length)
    result: list[bool] = intact.tolist()
    return result


def _stored(raw: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The checksum stored at each start."""
    import numpy as np

    stored = np.zeros(len(starts), dtype=np.uint32)
    for byte in range(4):
        stored |= raw[starts + byte].astype(np.uint32) << np.uint32(8 * byte)
    return stored


def _masked(raw: NDArray[np.uint8], starts: NDArray[np.int64], length: int) -> NDArray[np.uint32]:
    """The masked checksum of the `length` bytes from each start."""
    import numpy as np

    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_CASTAGNOLI), table >> 1)
    crc = np.full(len(starts), 0xFFFFFFFF, dtype=np.uint32)
    for column in range(length):
        crc = table[(crc ^ raw[starts + column]) & 0xFF] ^ (crc >> 8)
    crc = ~crc
    rotated = (crc >> 15) | (crc << 17)
    return (rotated + np.uint32(_MASK_DELTA)).astype(np.uint32)
