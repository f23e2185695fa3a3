"""Reading files in chunks: gzip is transparent, the bytes on disk are hashed on the way, memory does not grow with size."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rlreport.collectors.base import SourceOptions
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.raw import SourceTable

if TYPE_CHECKING:
    from concurrent.futures import Future

CHUNK_BYTES = 4 << 20
HEAD_BYTES = 64 << 10
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(slots=True)
class ChunkReader:
    """Reads one file once, in order.

    After `chunks` has been used up, `size_bytes` and `sha256` describe the bytes on disk, and `damage` says in words what
    was wrong with a gzip stream (None when nothing was).
    """

    path: Path
    size_bytes: int = 0
    sha256: str = ""
    damage: str | None = None
    empty: bool = True
    _stream: _Gunzip | None = field(default=None, repr=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content in pieces of at most `CHUNK_BYTES`. Raises OSError when the file cannot be read.

        Hashing runs beside the reader in one thread (it releases the interpreter lock), one chunk behind at most.
        """
        from concurrent.futures import ThreadPoolExecutor

        digest = hashlib.sha256()
        pending: Future[None] | None = None
        with self.path.open("rb", buffering=0) as file, ThreadPoolExecutor(max_workers=1) as hasher:
            while raw := file.read(CHUNK_BYTES):
                if pending is not None:
                    pending.result()
                pending = hasher.submit(digest.update, raw)
                if self.size_bytes == 0 and raw.startswith(GZIP_MAGIC):
                    self._stream = _Gunzip()
                self.size_bytes += len(raw)
                for piece in self._stream.feed(raw) if self._stream else (raw,):
                    self.empty = False
                    yield piece
            if pending is not None:
                pending.result()
        if self._stream is not None:
            self.damage = self._stream.end()
        self.sha256 = digest.hexdigest()


class _Gunzip:
    """An incremental gzip reader of bounded memory, over any number of members; damage ends it and is told in words."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)
        self._damage: str | None = None
        self._total = 0

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield what can be decompressed from the next compressed bytes."""
        while raw and self._damage is None:
            if self._inflate.eof:
                if not raw.strip(b"\0"):
                    return
                if not raw.startswith(GZIP_MAGIC[: len(raw)]):
                    self._damage = "other bytes follow the compressed stream"
                    return
                self._inflate = zlib.decompressobj(wbits=31)
            try:
                piece = self._inflate.decompress(raw, CHUNK_BYTES)
            except zlib.error:
                self._damage = f"the compressed stream is damaged after {self._total:,} bytes of text"
                return
            raw = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if piece:
                self._total += len(piece)
                yield piece

    def end(self) -> str | None:
        """What was wrong with the stream, once all bytes were fed."""
        if self._damage is None and not self._inflate.eof:
            return f"the compressed stream ends early, after {self._total:,} bytes of text"
        return self._damage


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first `size` bytes of a file, decompressed; fewer when the file is shorter or damaged. Raises OSError."""
    with path.open("rb") as file:
        raw = file.read(size)
    if not raw.startswith(GZIP_MAGIC):
        return raw
    return b"".join(_Gunzip().feed(raw))[:size]


def iter_lines(reader: ChunkReader, limit: int = 64 << 20) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (line number from 1, line without its end, whether the line end was seen) for each line of a file.

    A line longer than `limit` bytes is cut into pieces of that size, so that memory stays bounded.
    """
    number = 1
    carry = b""
    for chunk in reader.chunks():
        lines = (carry + chunk).split(b"\n")
        carry = lines.pop()
        for line in lines:
            yield number, line, True
            number += 1
        if len(carry) > limit:
            yield number, carry, False
            carry = b""
    if carry:
        yield number, carry, False


def new_table(reader: ChunkReader, source_format: str, options: SourceOptions) -> SourceTable:
    """An empty table for a file that was read to its end, with the notice of a damaged gzip stream when there is one."""
    table = SourceTable(path=options.display, format=source_format, size_bytes=reader.size_bytes, sha256=reader.sha256)
    if reader.damage is not None:
        table.notices.append(Notice("RR230", f"{reader.damage}; what came before is used", options.display))
    return table


def unreadable(code: str, message: str, path: str, hint: str | None = None, line: int | None = None) -> RlreportError:
    """The error of one source that cannot be read, with exit code 3."""
    return RlreportError.of(Diagnostic(code, message, Location(path, line), hint), EXIT_UNREADABLE)
