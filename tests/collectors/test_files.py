from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlreport.collectors import files, gunzip
from rlreport.collectors.files import ChunkReader, iter_lines, read_head

ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def read(data: bytes, folder: Path) -> tuple[bytes, ChunkReader]:
    path = folder / "x"
    path.write_bytes(data)
    reader = ChunkReader(path)
    return b"".join(reader.chunks()), reader


@ANY_FOLDER
@given(st.binary(max_size=5000).filter(lambda data: not data.startswith(b"\x1f\x8b")))
def test_plain_files(tmp_path: Path, data: bytes) -> None:
    content, reader = read(data, tmp_path)
    text = data.removeprefix(b"\xef\xbb\xbf")
    assert content == text
    assert reader.sha256 == hashlib.sha256(data).hexdigest()
    assert reader.size_bytes == len(data)
    assert reader.empty is (not text)
    assert reader.damage is None


@pytest.mark.parametrize("chunk", [10, 100, 1 << 20])
def test_gzip_of_several_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    parts = [b"first " * 500, b"second " * 700, b""]
    packed = b"".join(gzip.compress(part) for part in parts) + b"\0" * 7
    path = tmp_path / "x"
    path.write_bytes(packed)
    reader = ChunkReader(path)
    pieces = list(reader.chunks())
    assert b"".join(pieces) == b"".join(parts)
    assert max(map(len, pieces)) <= chunk
    assert reader.damage is None
    assert reader.sha256 == hashlib.sha256(packed).hexdigest()
    assert read_head(path)[:20] == (b"first " * 500)[:20]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_gzip_that_ends_early(tmp_path: Path, keep: float) -> None:
    data = b"".join(f"line {number} {number * 7919 % 104729}\n".encode() for number in range(20_000))
    packed = gzip.compress(data)
    content, reader = read(packed[: int(len(packed) * keep)], tmp_path)
    assert data.startswith(content)
    assert len(content) > len(data) * keep / 2
    assert reader.damage is not None
    assert "ends early" in reader.damage


def test_gzip_with_a_damaged_byte_and_with_other_bytes_after_it(tmp_path: Path) -> None:
    packed = gzip.compress(b"abc" * 1000)
    assert read(packed[:20] + b"\xff\xff" + packed[22:], tmp_path)[1].damage is not None
    content, reader = read(packed + b"more", tmp_path)
    assert content == b"abc" * 1000
    assert reader.damage == "other bytes follow the compressed stream"


@ANY_FOLDER
@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=10), st.booleans())
def test_lines(tmp_path: Path, lines: list[bytes], ends: bool) -> None:
    path = tmp_path / "x"
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    if data.startswith(b"\x1f\x8b"):
        return
    path.write_bytes(data)
    text = data.removeprefix(b"\xef\xbb\xbf")  # a byte order mark is no text
    expected = [(number, line, True) for number, line in enumerate(text.split(b"\n"), start=1)]
    number, last, _ = expected.pop()
    assert list(iter_lines(ChunkReader(path))) == expected + ([(number, last, False)] if last else [])


def test_a_very_long_line_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 100)
    path = tmp_path / "x"
    path.write_bytes(b"a" * 1000 + b"\nb\n")
    pieces = list(iter_lines(ChunkReader(path), limit=300))
    assert b"".join(piece for _, piece, _ in pieces) == b"a" * 1000 + b"b"
    assert max(len(piece) for _, piece, _ in pieces) <= 400
    assert pieces[-1] == (2, b"b", True)


def test_the_head_of_a_long_healthy_file_is_not_searched_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(f"line {number} {number * 7919 % 104729}\n".encode() for number in range(40_000))
    packed = gzip.compress(data, mtime=0)
    assert len(packed) > files.HEAD_BYTES
    path = tmp_path / "x"
    path.write_bytes(packed)
    searched: list[int] = []
    monkeypatch.setattr(gunzip, "last_block_start", lambda raw: searched.append(len(raw)))
    assert read_head(path) == data[: files.HEAD_BYTES]
    assert searched == []
    path.write_bytes(packed[: files.HEAD_BYTES])  # the file ends where the head ends: this is damage
    assert data.startswith(read_head(path))
    assert searched == [files.HEAD_BYTES]


@pytest.mark.parametrize(
    ("data", "lines"), [(b"\xef\xbb\xbf", []), (b"\xef\xbb\xbfa\nb", [(1, b"a", True), (2, b"b", False)])]
)
def test_a_byte_order_mark_is_no_text(tmp_path: Path, data: bytes, lines: list[tuple[int, bytes, bool]]) -> None:
    (tmp_path / "x").write_bytes(data)
    assert list(iter_lines(ChunkReader(tmp_path / "x"))) == lines
