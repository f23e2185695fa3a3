from __future__ import annotations

import gzip
import random
import zlib
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verl_logs import VerlLog, training_values

from rlreport.collectors import gunzip
from rlreport.collectors.gunzip import Gunzip

PIECE = 1 << 20


@cache
def log_text(steps: int = 900) -> bytes:
    log = VerlLog()
    for step in range(1, steps + 1):
        log.foreign(10, seed=step).metrics(step, training_values(step))
    return log.data


@cache
def packed(steps: int = 900) -> bytes:
    return gzip.compress(log_text(steps), mtime=0)


def read(raw: bytes, fed: int = 1 << 20, piece: int = PIECE) -> tuple[bytes, str | None]:
    stream = Gunzip(piece)
    text = b""
    for start in range(0, len(raw), fed):
        for part in stream.feed(raw[start : start + fed]):
            assert 0 < len(part) <= piece
            text += part
    text += b"".join(stream.close())
    return text, stream.damage


@settings(deadline=None)
@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=4), st.integers(1, 5000), st.integers(1, 4000))
def test_members_in_any_pieces(members: list[bytes], fed: int, piece: int) -> None:
    raw = b"".join(gzip.compress(member) for member in members) + b"\0" * (len(members) - 1)
    assert read(raw, fed, piece) == (b"".join(members), None)


def test_a_long_stream_comes_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gunzip, "HELD_BYTES", 40_000)
    monkeypatch.setattr(gunzip, "_PART_BYTES", 10_000)
    stream, raw = Gunzip(PIECE), packed()
    given_ = []
    for start in range(0, len(raw), 10_000):
        given_.append(sum(map(len, stream.feed(raw[start : start + 10_000]))))
        # What is held: at least the 40,000 bytes that must follow, at most a part more.
        certain = len(zlib.decompressobj(wbits=31).decompress(raw[: max(0, start + 10_000 - 50_000)]))
        assert sum(given_) >= certain
    assert 0 < sum(given_) < len(log_text())
    assert sum(given_) + sum(map(len, stream.close())) == len(log_text())


def test_what_is_held_is_bounded_where_a_file_shrinks_a_thousandfold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gunzip, "HELD_TEXT_BYTES", 100_000)
    raw = gzip.compress(bytes(5_000_000))
    assert len(raw) < 10_000
    stream = Gunzip(20_000)
    assert sum(map(len, stream.feed(raw[:-20]))) > 4_500_000


def unpacked(raw: bytes) -> bytes:
    return zlib.decompressobj(wbits=31).decompress(raw)


@pytest.mark.parametrize("seed", range(60))
def test_random_bytes_in_place_of_the_tail_leave_no_garbled_text(seed: int) -> None:
    """Whether the stream then fails or goes on to the end of the file; some kilobytes before the damage are given up."""
    random_ = random.Random(seed)
    raw = packed()
    keep = random_.randrange(2000, len(raw) - 2000)
    damaged = raw[:keep] + random_.randbytes(random_.choice([600, len(raw) - keep, 300_000]))
    text, damage = read(damaged, fed=random_.choice([1000, 50_000, 1 << 20]))
    assert log_text().startswith(text)
    # 600 symbols of at most 15 + 5 + 15 + 13 bits, and those before the first sign, are less than 6,000 bytes.
    assert len(text) >= len(unpacked(raw[: max(0, keep - 6000)]))
    assert damage is not None
    assert damage.startswith(f"the compressed stream is damaged after {len(text):,} bytes of text, ")
    assert damage.endswith(" more that may be garbled are left out")


@pytest.mark.parametrize("level", [1, 4, 6, 9])
@pytest.mark.parametrize("keep", [0.05, 0.3, 0.6, 0.99])
def test_of_a_stream_that_only_ends_nothing_is_left_out(level: int, keep: float) -> None:
    raw = gzip.compress(log_text(), level, mtime=0)
    cut = raw[: int(keep * len(raw))]
    text, damage = read(cut, 30_000)
    assert text == unpacked(cut)
    assert damage == f"the compressed stream ends early, after {len(text):,} bytes of text"


def test_a_stream_that_was_flushed_after_every_line() -> None:
    """Small blocks of every kind: the last one with codes of its own may be some lines back."""
    lines = log_text(60).splitlines(keepends=True)
    deflate = zlib.compressobj(6, wbits=31)
    raw = b"".join(deflate.compress(line) + deflate.flush(zlib.Z_SYNC_FLUSH) for line in lines)
    assert read(raw, 777) == (log_text(60), f"the compressed stream ends early, after {len(log_text(60)):,} bytes of text")
    for seed in range(20):
        random_ = random.Random(seed)
        keep = random_.randrange(3000, len(raw))
        text, _ = read(raw[:keep] + random_.randbytes(2000))
        assert log_text(60).startswith(text)
        assert len(text) >= len(unpacked(raw[: keep - 6000])) if keep > 6000 else text is not None


def test_without_the_rule_there_would_be_garbled_text() -> None:
    """What the decompressor makes of random bytes: the reason why text is left out."""
    raw, garbled = packed(), 0
    for seed in range(40):
        random_ = random.Random(seed)
        keep = random_.randrange(70_000, len(raw) - 2000)
        inflate, text = zlib.decompressobj(wbits=31), b""
        try:
            damaged = raw[:keep] + random_.randbytes(100_000)
            for start in range(0, len(damaged), 64):
                text += inflate.decompress(damaged[start : start + 64])
        except zlib.error:
            pass
        garbled += not log_text().startswith(text)
    assert garbled > 30


@pytest.mark.parametrize("zeros", [64, 5000, 300_000])
def test_a_file_that_was_extended_and_not_written(zeros: int) -> None:
    raw = packed()[:100_000].rstrip(b"\0")
    text, damage = read(raw + bytes(zeros), fed=30_000)
    assert text == unpacked(raw)
    assert damage is not None
    assert damage.startswith(f"the compressed stream is damaged after {len(text):,} bytes of text, ")


@pytest.mark.parametrize("at", [-8, -5, -4, -1])
@pytest.mark.parametrize("after", [b"", b"\0" * 100, gzip.compress(b"another member")], ids=["end", "zeros", "member"])
def test_a_check_sum_that_does_not_fit(at: int, after: bytes) -> None:
    """The text may be wrong anywhere, so it is given, and told."""
    raw = bytearray(packed(50))
    raw[at] ^= 0x10
    for fed in (1, 7, 1 << 20) if len(after) < 50 else (1 << 20,):
        text, damage = read(bytes(raw) + after, fed)
        assert text == log_text(50) + (b"another member" if after[:2] == b"\x1f\x8b" else b"")
        assert damage is not None
        assert "check sum" in damage


def test_a_wrong_symbol_in_the_middle_is_told() -> None:
    raw = bytearray(packed(50))
    for at in range(len(raw) // 2, len(raw) // 2 + 40):
        changed = bytes([*raw[:at], raw[at] ^ 0x04, *raw[at + 1 :]])
        text, damage = read(changed)
        assert damage is not None
        assert "check sum" in damage or log_text(50).startswith(text)


def test_members_before_a_damaged_one_are_whole() -> None:
    second = bytearray(packed(50))
    second[12:] = random.Random(1).randbytes(len(second))
    text, damage = read(packed(20) + bytes(second), 4096)
    assert text == log_text(20)
    assert damage is not None
    assert damage.startswith(f"the compressed stream is damaged after {len(text):,} bytes of text")


@pytest.mark.parametrize("keep", [1, 2, 5, 10, 11, 1000, 30_000])
def test_a_stream_that_ends_early(keep: int) -> None:
    text, damage = read(packed()[:keep], 700)
    assert text == unpacked(packed()[:keep])
    assert damage == f"the compressed stream ends early, after {len(text):,} bytes of text"


def test_other_bytes_after_the_stream() -> None:
    assert read(packed(20) + b"more") == (log_text(20), "other bytes follow the compressed stream")


def test_any_changed_byte_of_a_small_file_is_survived() -> None:
    raw = gzip.compress(log_text(3), mtime=0)
    for at in range(len(raw)):
        text, damage = read(raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :], 100)
        assert damage is None or len(text) <= 2 * len(log_text(3))
        assert damage is not None or text == log_text(3)
