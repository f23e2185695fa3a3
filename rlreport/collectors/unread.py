"""Why a file is read by no collector, in words that tell what to do: it is empty, compressed otherwise, or no UTF-8 text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlreport.collectors.files import ChunkReader, read_head
from rlreport.collectors.gunzip import GZIP_MAGIC

#: How containers begin that are not read: the bytes, where they stand, what the file is, what to do first.
CONTAINERS: tuple[tuple[bytes, int, str, str], ...] = (
    (b"\x28\xb5\x2f\xfd", 0, "compressed with zstd", "decompress it first (unzstd), or compress it with gzip"),
    (b"\xfd7zXZ\0", 0, "compressed with xz", "decompress it first (unxz), or compress it with gzip"),
    (b"BZh", 0, "compressed with bzip2", "decompress it first (bunzip2), or compress it with gzip"),
    (b"\x04\x22\x4d\x18", 0, "compressed with lz4", "decompress it first (unlz4), or compress it with gzip"),
    (b"\x1f\x9d", 0, "compressed with compress", "decompress it first (uncompress), or compress it with gzip"),
    (b"PK\x03\x04", 0, "a zip archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7z archive", "unpack it first"),
    (b"ustar", 257, "a tar archive", "unpack it first"),
)
_BZIP2_BLOCK = b"1AY&SY"

_HEAD_BYTES = 512
#: Of the bytes at even or at odd places, the share that is zero in UTF-16 text of mostly Latin letters.
_ZERO_SHARE = 0.7
#: A file that holds no more than so many bytes of gzip may hold no text.
_SMALL_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Unread:
    """A reason: the diagnostic's code, the message, a short form for a list of files, and what to do."""

    code: str
    message: str
    short: str
    hint: str


UNKNOWN_SHORT = "of no known format"


def why_unread(path: Path) -> Unread | None:
    """The reason why a file cannot be read by any collector; None when its beginning gives none. Raises OSError."""
    with path.open("rb") as file:
        raw = file.read(_HEAD_BYTES)
    if not raw:
        return Unread("RR203", "the source is empty", "empty", "was the run's output written elsewhere?")
    if found := container_of(raw):
        return found
    text = raw
    if raw.startswith(GZIP_MAGIC):
        if path.stat().st_size <= _SMALL_BYTES and (found := _without_text(path)):
            return found
        text = read_head(path, _HEAD_BYTES)
        if found := container_of(text):
            return found
    return _utf16(text)


def container_of(head: bytes) -> Unread | None:
    """The reason if a file (or what a gzip file holds) begins as a container that is not read. It may hold text as it is."""
    for magic, at, what, hint in CONTAINERS:
        if head.startswith(magic, at) and (magic != b"BZh" or head.startswith(_BZIP2_BLOCK, 4) or len(head) < 10):
            return Unread("RR204", f"the source is {what}, which is not read", f"{what}, which is not read", hint)
    return None


def _without_text(path: Path) -> Unread | None:
    """The reason if a small gzip file holds no text."""
    reader = ChunkReader(path)
    if any(reader.chunks()):
        return None
    if reader.damage is None:
        hint = "was the run's output written elsewhere?"
        return Unread("RR203", "the compressed file is empty", "empty", hint)
    hint = "was it copied or written to its end?"
    return Unread("RR209", f"the compressed file is cut or damaged: it holds no text ({reader.damage})", "cut", hint)


def _utf16(head: bytes) -> Unread | None:
    """The reason if the text is UTF-16, by its byte order mark or by the zero bytes of its Latin letters."""
    even, odd = head[::2], head[1::2]
    zeros = sorted((even.count(0) / max(len(even), 1), odd.count(0) / max(len(odd), 1)))
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and not (len(odd) > 16 and zeros[1] > _ZERO_SHARE and zeros[0] < 1 - _ZERO_SHARE):
        return None
    hint = "write it as UTF-8 first, as with: iconv -f UTF-16 -t UTF-8"
    return Unread("RR204", "the source is UTF-16 text, which is not read", "UTF-16 text, which is not read", hint)
