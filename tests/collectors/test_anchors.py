from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.collectors.anchors import Anchor, count_newlines, find_anchors

ANCHORS = (Anchor("step", b"step:", 1), Anchor("bar", b"Progress:", 2), Anchor("long", b"abcabcab", 4))


def slow(buffer: bytes, end: int) -> list[tuple[int, str]]:
    found = []
    for position in range(end):
        for anchor in ANCHORS:
            if buffer[position:end].startswith(anchor.word):
                found.append((position, anchor.name))
    return sorted(found)


@given(
    st.lists(st.sampled_from([b"step:", b"Progress:", b"abcab", b"cab", b"s", b"\n", b"tep:", b"xyz"]), max_size=40),
    st.integers(0, 9),
)
def test_finds_what_a_slow_search_finds(parts: list[bytes], less: int) -> None:
    buffer = b"".join(parts)
    end = max(0, len(buffer) - less)
    assert find_anchors(buffer, end, ANCHORS) == slow(buffer, end)


def test_an_anchor_needs_four_bytes_within_its_word() -> None:
    with pytest.raises(ValueError, match="do not lie within"):
        Anchor("x", b"step:", 2)


@pytest.mark.parametrize("size", [0, 10, 8191, 8193, 50_000])
def test_counts_line_ends(size: int) -> None:
    buffer = (b"ab\ncd\n\n" * (size // 7 + 1))[:size]
    assert count_newlines(buffer, 0, size) == buffer.count(b"\n")
    assert count_newlines(buffer, size // 3, size) == buffer[size // 3 :].count(b"\n")
