from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces import UNIX_NS, S, rows

from rlreport.collectors.spans.columns import SpanColumns
from rlreport.collectors.spans.tables import build_table, clip_overflow
from rlreport.run.spans import Lane


def made(*spans: tuple[int, str, int, int], version: int = -1) -> SpanColumns:
    columns = SpanColumns()
    for track, name, start, end in spans:
        columns.add(track, name, start, end - start, version)
    return columns


def lanes(*names: str) -> list[Lane]:
    return [Lane(name, "unknown") for name in names]


def test_lanes_and_spans_are_put_in_order() -> None:
    columns = made((0, "b", 50, 60), (1, "a", 10, 20), (2, "c", 0, 5), (1, "b", 0, 7), version=3)
    table, notices = build_table(columns, [Lane("x", "unknown"), Lane("r1", "unknown", 1), Lane("r0", "unknown", 0)], "t")
    assert table is not None
    assert [lane.name for lane in table.lanes] == ["r0", "r1", "x"]
    assert rows(table) == [("r0", "c", 0, 5), ("r1", "b", 0, 7), ("r1", "a", 10, 20), ("x", "b", 50, 60)]
    assert set(table.version.tolist()) == {3}
    assert (table.zero_unix_ns, notices) == (None, [])


def test_tracks_of_one_lane_are_one() -> None:
    table, _ = build_table(made((0, "a", 0, 9), (1, "a", 1, 8)), lanes("r", "r"), "t")
    assert rows(table) == [("r", "a", 0, 9), ("r", "a", 1, 8)]


def test_an_absolute_clock_counts_from_its_first_span() -> None:
    columns = made((0, "a", UNIX_NS + 5, UNIX_NS + 9), (0, "b", UNIX_NS + 20, UNIX_NS + 30))
    table, _ = build_table(columns, lanes("r"), "t", markers_ns={"a@1": UNIX_NS + 9}, boundaries_ns={2: UNIX_NS + 20})
    assert table is not None
    assert rows(table) == [("r", "a", 0, 4), ("r", "b", 15, 25)]
    assert table.zero_unix_ns == UNIX_NS + 5
    assert (table.markers_ns, table.boundaries_ns) == ({"a@1": 4}, {2: 15})


def test_an_offset_makes_a_clock_absolute() -> None:
    table, _ = build_table(made((0, "a", 7, 9)), lanes("r"), "t", unix_offset_ns=UNIX_NS)
    assert table is not None
    assert (rows(table), table.zero_unix_ns) == ([("r", "a", 0, 2)], UNIX_NS + 7)


def test_impossible_times_are_left_out_and_told() -> None:
    columns = made(
        *((0, "a", UNIX_NS + second * S, UNIX_NS + second * S + S) for second in range(9)),
        (0, "clock at zero", 0, S),
        (0, "too long", UNIX_NS, UNIX_NS + 31 * 86_400 * S),
    )
    columns.add(0, "backwards", UNIX_NS, -S)
    columns.add(0, "nothing", None, 5)
    table, notices = build_table(columns, lanes("r"), "t.json")
    assert {name for _, name, _, _ in rows(table)} == {"a"}
    assert [(n.code, n.message, n.where) for n in notices] == [
        (
            "RR262",
            "4 spans left out: 1 with a negative duration, 2 with times that no clock shows, 1 with no time or no duration",
            "t.json",
        )
    ]


def test_a_month_is_not_too_long() -> None:
    table, notices = build_table(made((0, "a", 0, 29 * 86_400 * S)), lanes("r"), "t")
    assert (len(rows(table)), notices) == (1, [])


def test_without_a_span_there_is_no_table() -> None:
    columns = made()
    columns.add(0, "a", 1, -1)
    table, notices = build_table(columns, lanes("r"), "t")
    assert table is None
    assert [n.code for n in notices] == ["RR262"]


def clip(*spans: tuple[int, int]) -> tuple[list[tuple[int, int]], int, int]:
    start, end = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    count, total = clip_overflow(np.zeros(len(spans), np.int32), start, end)
    return list(zip(start.tolist(), end.tolist(), strict=True)), count, total


@pytest.mark.parametrize(
    ("spans", "expected", "count"),
    [
        # The first reaches into the second and ends later than it begins.
        ([(0, 15_000), (10_000, 20_000)], [(0, 10_000), (10_000, 20_000)], 1),
        # The second lies within the first.
        ([(0, 30_000), (10_000, 20_000)], [(0, 30_000), (10_000, 20_000)], 0),
        # One after the other.
        ([(0, 10_000), (10_000, 20_000)], [(0, 10_000), (10_000, 20_000)], 0),
        # The overflow hides below a span that encloses both.
        ([(0, 90_000), (0, 15_000), (10_000, 20_000)], [(0, 90_000), (0, 10_000), (10_000, 20_000)], 1),
        # One duration reaches over two starts: it ends at the first of them.
        ([(0, 25_000), (10_000, 30_000), (28_000, 40_000)], [(0, 10_000), (10_000, 28_000), (28_000, 40_000)], 2),
        # An overlap within the rounding of microseconds does not count.
        ([(0, 10_900), (10_000, 20_000)], [(0, 10_000), (10_000, 20_000)], 0),
        # A child that ends within that rounding after its parent is cut to it.
        ([(0, 20_000), (5_000, 20_900)], [(0, 20_000), (5_000, 20_000)], 0),
    ],
)
def test_durations_that_reach_too_far(spans: list[tuple[int, int]], expected: list[tuple[int, int]], count: int) -> None:
    found, clipped, total = clip(*spans)
    assert (found, clipped) == (expected, count)
    assert (total > 0) == (count > 0)


def test_tracks_do_not_clip_each_other_and_lanes_of_many_at_a_time_are_left_alone() -> None:
    spans = ((0, "a", 0, 15_000), (1, "a", 10_000, 20_000))
    assert build_table(made(*spans), lanes("r", "s"), "t")[1] == []
    same = ((0, "a", 0, 15_000), (0, "a", 10_000, 20_000))
    assert [n.code for n in build_table(made(*same), lanes("r"), "t")[1]] == ["RR263"]
    table, notices = build_table(made(*same), lanes("r"), "t", concurrent=True)
    assert (rows(table), notices) == ([("r", "a", 0, 15_000), ("r", "a", 10_000, 20_000)], [])


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=12))
def test_after_clipping_any_two_spans_are_nested_or_apart(raw: list[tuple[int, int]]) -> None:
    spans = [(start * 10_000, (start + length) * 10_000) for start, length in raw]
    found, _, _ = clip(*spans)
    for before, after in zip(spans, found, strict=True):
        assert after[0] == before[0]
        assert before[0] < after[1] <= before[1]
    for start, end in found:
        for other_start, other_end in found:
            assert (
                other_start >= end
                or other_end <= start
                or (start <= other_start and other_end <= end)
                or (other_start <= start and end <= other_end)
            )


def test_joined_spans_are_told() -> None:
    columns = SpanColumns(limit=10)
    for number in range(40):
        columns.add(0, "a", number * 1000, 900)
    _, notices = build_table(columns, lanes("r"), "t")
    assert [n.code for n in notices] == ["RR265"]
    assert "gaps up to 0.001 ms" in notices[0].message
