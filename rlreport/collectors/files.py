"""Reading files in chunks: gzip is transparent, the bytes on disk are hashed on the way, memory does not grow with size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.gunzip import GZIP_MAGIC, Gunzip
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.raw import SourceTable

if TYPE_CHECKING:
    from concurrent.futures import Future

CHUNK_BYTES = 4 << 20
HEAD_BYTES = 64 << 10
#: Some editors and systems write it before UTF-8 text; it is no part of the text.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
    _stream: Gunzip | None = field(default=None, repr=False)

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
                    self._stream = Gunzip(CHUNK_BYTES)
                self.size_bytes += len(raw)
                for piece in self._stream.feed(raw) if self._stream else (raw,):
                    yield self._began(piece)
            if pending is not None:
                pending.result()
        if self._stream is not None:
            for piece in self._stream.close():
                yield self._began(piece)
            self.damage = self._stream.damage
        self.sha256 = digest.hexdigest()

    def _began(self, piece: bytes) -> bytes:
        """A piece of text; the first one without a byte order mark."""
        if self.empty:
            piece = piece.removeprefix(BYTE_ORDER_MARK)
            self.empty = not piece
        return piece


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first `size` bytes of a file's text, decompressed; fewer when the file is shorter or damaged. Raises OSError."""
    with path.open("rb") as file:
        raw = file.read(size)
        whole = not file.peek(1)
    if not raw.startswith(GZIP_MAGIC):
        return raw.removeprefix(BYTE_ORDER_MARK)
    stream = Gunzip(CHUNK_BYTES)
    text = b"".join((*stream.feed(raw), *(stream.close() if whole else stream.stop())))
    return text.removeprefix(BYTE_ORDER_MARK)[:size]


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
