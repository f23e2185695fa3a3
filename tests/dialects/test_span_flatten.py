from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from support.traces import rows

from rlreport.dialects.span_flatten import flatten_lanes, flatten_rows, without_containers
from rlreport.run.spans import ACTIVITIES, Activity, Lane, SpanTable, span_table

OTHER = ACTIVITIES.index("other")
LANE, SECOND = Lane("a", "unknown"), Lane("b", "unknown")


def made(*spans: tuple[Activity, str, int, int], lane: Lane = LANE) -> SpanTable:
    return span_table([(lane, activity, name, start, end, -1) for activity, name, start, end in spans])


def flat(*spans: tuple[Activity, str, int, int]) -> list[tuple[str, str, int, int]]:
    return rows(flatten_lanes(made(*spans)).table)


def test_spans_that_follow_each_other_stay() -> None:
    table = made(("generate", "g", 0, 5), ("wait", "w", 5, 9), ("generate", "g", 12, 13))
    found = flatten_lanes(table)
    assert found.table is table
    assert (found.containers, found.covered) == (0, 0)


def test_the_innermost_known_activity_counts() -> None:
    assert flat(("train", "train", 0, 10), ("update_actor", "update", 2, 6), ("weight_sync", "sync", 4, 5)) == [
        ("a", "train", 0, 2),
        ("a", "update", 2, 4),
        ("a", "sync", 4, 5),
        ("a", "update", 5, 6),
        ("a", "train", 6, 10),
    ]


def test_unknown_children_do_not_hide_their_parent() -> None:
    assert flat(("train", "train", 0, 10), ("other", "aten::mm", 2, 3), ("other", "aten::mm", 9, 12)) == [
        ("a", "train", 0, 10),
        ("a", "aten::mm", 10, 12),
    ]


def test_a_step_given_as_one_span_is_no_work_of_its_own() -> None:
    found = flatten_lanes(made(("other", "step", 0, 10), ("generate", "gen", 1, 4), ("train", "train", 6, 9)))
    assert rows(found.table) == [("a", "gen", 1, 4), ("a", "train", 6, 9)]
    assert found.containers == 1
    assert flat(("other", "step", 0, 10), ("other", "inner", 1, 4)) == [
        ("a", "step", 0, 1),
        ("a", "inner", 1, 4),
        ("a", "step", 4, 10),
    ]


def test_devices_and_requests_of_one_replica_are_one_span() -> None:
    assert flat(("generate", "g", 0, 10), ("generate", "g", 1, 9), ("generate", "g", 8, 12), ("generate", "g", 12, 13)) == [
        ("a", "g", 0, 13),
    ]


def test_lanes_do_not_touch_each_other() -> None:
    table = span_table(
        [
            (LANE, "train", "t", 0, 10, 1),
            (LANE, "wait", "w", 2, 3, 2),
            (SECOND, "train", "t", 0, 10, 3),
            (SECOND, "ref", "r", 10, 12, 3),
        ]
    )
    found = flatten_lanes(table).table
    assert rows(found) == [("a", "t", 0, 2), ("a", "w", 2, 3), ("a", "t", 3, 10), ("b", "t", 0, 10), ("b", "r", 10, 12)]
    assert found.version.tolist() == [1, 2, 1, 3, 3]


SPANS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(1, 10), st.sampled_from([0, 1, OTHER])).map(
        lambda span: (span[0], span[0] + span[1], span[2], span[2], -1)
    ),
    max_size=9,
)


@given(SPANS)
def test_every_moment_has_the_known_activity_that_began_last(spans: list[tuple[int, int, int, int, int]]) -> None:
    spans.sort(key=lambda row: (row[0], -row[1]))
    found = flatten_rows(spans)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    for moment in range(40):
        running = [(row[2] != OTHER, row[0], index) for index, row in enumerate(spans) if row[0] <= moment < row[1]]
        now = [row[2] for row in found if row[0] <= moment < row[1]]
        assert len(now) == min(1, len(running))
        if running:
            known, start, _ = max(running)
            best = {spans[index][2] for is_known, at, index in running if (is_known, at) == (known, start)}
            assert now[0] in best


@given(SPANS)
def test_containers_are_unknown_spans_around_known_ones(spans: list[tuple[int, int, int, int, int]]) -> None:
    spans.sort(key=lambda row: (row[0], -row[1]))
    kept, count = without_containers(spans)
    expected = [
        row
        for index, row in enumerate(spans)
        if row[2] != OTHER
        or not any(
            other[2] != OTHER and row[0] <= other[0] and other[1] <= row[1]
            for place, other in enumerate(spans)
            if place > index
        )
    ]
    assert kept == expected
    assert count == len(spans) - len(expected)
