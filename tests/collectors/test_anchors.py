from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlreport.collectors.anchors import Anchor, AnchorFinder, count_newlines

ANCHORS = (Anchor("step", b"step:", 1, not_after=b"_/"), Anchor("bar", b"Progress:", 2), Anchor("long", b"abcabcab", 4))


def split(anchor: Anchor) -> list[bytes]:
    return [bytes([byte]) for byte in anchor.not_after]


def slow(buffer: bytes, end: int) -> list[tuple[int, str]]:
    found = []
    for position in range(end):
        for anchor in ANCHORS:
            if buffer[position:end].startswith(anchor.word) and buffer[max(0, position - 1) : position] not in split(anchor):
                found.append((position, anchor.name))
    return sorted(found)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([b"step:", b"Progress:", b"abcab", b"cab", b"s", b"\n", b"tep:", b"_", b"/", b"xyz"]), max_size=40
    ),
    st.integers(0, 9),
)
def test_finds_what_a_slow_search_finds(parts: list[bytes], less: int) -> None:
    buffer = b"".join(parts)
    end = max(0, len(buffer) - less)
    assert AnchorFinder().find(buffer, end, ANCHORS) == slow(buffer, end)


def test_an_anchor_needs_four_bytes_within_its_word() -> None:
    with pytest.raises(ValueError, match="do not lie within"):
        Anchor("x", b"step:", 2)


@pytest.mark.parametrize("size", [0, 10, 8191, 8193, 50_000])
def test_counts_line_ends(size: int) -> None:
    buffer = (b"ab\ncd\n\n" * (size // 7 + 1))[:size]
    assert count_newlines(buffer, 0, size) == buffer.count(b"\n")
    assert count_newlines(buffer, size // 3, size) == buffer[size // 3 :].count(b"\n")


def test_a_finder_can_be_used_again_on_shorter_and_longer_buffers() -> None:
    finder = AnchorFinder()
    for buffer in (b"xstep:1" * 3, b"", b"step:", b"..step:" * 9, b"Progress:step:"):
        assert finder.find(buffer, len(buffer), ANCHORS) == slow(buffer, len(buffer))
