from __future__ import annotations

import random
import zlib
from itertools import pairwise

import pytest
from support.verl_logs import VerlLog, training_values

from rlreport.collectors.deflate import last_block_start, symbols


def parts(count: int) -> list[bytes]:
    """Pieces of a log, each small enough for a single block."""
    return [VerlLog().foreign(40, seed=part).metrics(part, training_values(part)).data for part in range(count)]


def stream_of(pieces: list[bytes]) -> tuple[bytes, list[int]]:
    """A deflate stream and the byte at which each piece begins: after a full flush a block begins at a whole byte."""
    deflate = zlib.compressobj(9, wbits=-15)
    stream, starts = b"", []
    for piece in pieces:
        starts.append(len(stream))
        stream += deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)
    return stream, starts


STREAM, STARTS = stream_of(parts(6))


@pytest.mark.parametrize("shift", range(8))
def test_the_last_block_is_found_at_any_bit(shift: int) -> None:
    shifted = (int.from_bytes(STREAM, "little") << shift).to_bytes(len(STREAM) + 1, "little")
    assert last_block_start(shifted) == 8 * STARTS[-1] + shift
    assert last_block_start(shifted[: STARTS[3] + 200]) == 8 * STARTS[3] + shift


def test_a_block_counts_only_with_a_whole_header() -> None:
    found = [last_block_start(STREAM[: STARTS[3] + size]) for size in range(400)]
    assert set(found) == {8 * STARTS[2], 8 * STARTS[3]}
    assert found == sorted(found)  # type: ignore[type-var]
    assert found[5] == 8 * STARTS[2]
    assert found[200] == 8 * STARTS[3]


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_after_it_hide_no_block_and_form_none(seed: int) -> None:
    noise = random.Random(seed).randbytes(100_000)
    assert last_block_start(noise) is None
    assert last_block_start(STREAM + noise) == 8 * STARTS[-1]
    assert last_block_start(noise + STREAM[STARTS[2] : STARTS[3]] + noise) == 8 * 100_000


def test_a_block_at_the_border_of_what_is_searched_at_once() -> None:
    block = STREAM[STARTS[1] : STARTS[2]]
    for before in range(65_536 - 80, 65_536 + 20, 7):
        zeros = bytes(before)
        assert last_block_start(zeros + block + bytes(65_536 - len(block))) == 8 * before


@pytest.mark.parametrize("raw", [b"", b"\0", b"\xff" * 1000, bytes(1000), b"\x04", b"\x04" + bytes(30)])
def test_nothing_to_find(raw: bytes) -> None:
    assert last_block_start(raw) is None


def test_blocks_of_the_other_kinds_are_not_found() -> None:
    fixed = zlib.compressobj(9, wbits=-15, strategy=zlib.Z_FIXED)
    assert last_block_start(fixed.compress(parts(1)[0]) + fixed.flush()) is None
    stored = zlib.compressobj(0, wbits=-15)
    assert last_block_start(stored.compress(b"abc" * 1000) + stored.flush()) is None


def rebuilt(raw: bytes, start: int, text: bytes) -> bytes:
    """The text that symbols make; literals and stored pieces are looked up in the text itself."""
    made = bytearray()
    for length, distance in symbols(raw, start):
        for _ in range(length):
            made.append(made[-distance] if distance else text[len(made)])
    return bytes(made)


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_RLE, zlib.Z_HUFFMAN_ONLY])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_symbols_of_blocks_of_every_kind_make_the_text(level: int, strategy: int) -> None:
    text = parts(1)[0] + bytes(1000) + random.Random(1).randbytes(500) + parts(1)[0]
    deflate = zlib.compressobj(level, wbits=-15, strategy=strategy)
    raw = deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH) + deflate.compress(text) + deflate.flush()
    assert rebuilt(raw, 0, 2 * text) == 2 * text
    shifted = (int.from_bytes(raw, "little") << 8).to_bytes(len(raw) + 1, "little")
    assert rebuilt(shifted, 8, 2 * text) == 2 * text
    found = list(symbols(raw, 0))
    assert found[-1] == (0, 0)
    for size in range(0, 4000, 499):
        cut = list(symbols(raw[:size], 0))
        assert cut[:-1] == found[: len(cut)][:-1]


def test_symbols_end_where_data_are_invalid() -> None:
    for seed in range(200):
        noise = random.Random(seed).randbytes(300)
        assert sum(length for length, _ in symbols(noise, seed % 8)) < 300 * 8 * 258
    assert list(symbols(b"\x07", 0)) == []
    assert list(symbols(b"", 0)) == []


def test_as_many_blocks_as_zlib_makes_are_found_in_a_long_stream() -> None:
    """zlib begins a block after 16,383 symbols: cutting at each one found walks back through all of them."""
    text = b"".join(parts(700))
    deflate = zlib.compressobj(6, wbits=-15)
    stream = deflate.compress(text) + deflate.flush()
    ends = []
    bit = last_block_start(stream)
    while bit is not None:
        inflate = zlib.decompressobj(wbits=-15)
        ends.append(len(inflate.decompress(stream[: (bit + 7) // 8])))
        bit = last_block_start(stream[: (bit + 7) // 8])
    assert ends[-1] == 0
    sizes = [later - earlier for later, earlier in pairwise(ends)]
    assert len(sizes) >= 4
    assert max(sizes) < 2 * min(sizes)
