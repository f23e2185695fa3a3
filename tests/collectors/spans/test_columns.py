from __future__ import annotations

import random

import pytest

from rlreport.collectors.spans import columns
from rlreport.collectors.spans.columns import (
    OTHER_NAME,
    SHORT_NAME,
    Names,
    SpanColumns,
    clean_name,
    join_neighbours,
    version_of,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((0, 0), (7, 7), ("12", 12), (3.0, 3), (2**31 - 1, 2**31 - 1)),
        *(
            (None, -1),
            (-1, -1),
            (2**31, -1),
            ("x", -1),
            ("1.5", -1),
            (1.5, -1),
            (True, -1),
            ("9" * 11, -1),
            ("٣", -1),
            (10**40, -1),
        ),
    ],
)
def test_a_version_is_a_whole_number_from_zero_on(value: object, expected: int) -> None:
    assert version_of(value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [(" a\x00b\n", "a b"), ("x" * 500, "x" * 200), ("", "(no name)"), (None, "(no name)"), (5, "5"), ("\u00e9", "\u00e9")],
)
def test_names_are_one_line_of_text(name: object, expected: str) -> None:
    assert clean_name(name) == expected


def test_names_beyond_the_limit_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_NAMES", 3)
    names = Names()
    codes = [names[f"n{number}"] for number in range(6)]
    assert names.texts == ("n0", "n1", "n2", OTHER_NAME)
    assert codes == [0, 1, 2, 3, 3, 3]
    assert [names["n1"], names["n1 "], names["n9"]] == [1, 1, 3]


def test_what_is_no_span_is_counted_by_reason() -> None:
    spans = SpanColumns()
    for start, duration in ((1, 5), (None, 5), (1, None), (1, -1), (1, 0), (5 * 10**18, 1), (3 * 10**18, 2 * 10**18)):
        spans.add(0, "a", start, duration)
    dropped = spans.dropped
    assert (len(spans), dropped.untimed, dropped.negative, dropped.empty, dropped.impossible) == (1, 2, 1, 1, 2)


def test_neighbours_are_joined_when_there_are_too_many() -> None:
    spans = SpanColumns(limit=100)
    for number in range(1000):
        # Two tracks; a gap of 400 ns after every span, and of 50 ms after every hundredth.
        spans.add(number % 2, "a", (number // 2) * 1000 + (number // 200) * 50_000_000, 600)
    assert len(spans) <= 100
    table = spans.arrays()
    busy = {track: int((table.end_ns - table.start_ns)[table.track == track].sum()) for track in (0, 1)}
    # Joined spans reach over the gaps of 400 ns and no further: five blocks of 100 spans, each 99 us and 600 ns at most.
    assert busy[0] == busy[1]
    assert 500 * 600 <= busy[0] <= 5 * 99_600
    assert spans.joined + len(spans) == 1000
    assert (spans.filled_ns, spans.left_out) == (1000, 0)


def test_only_neighbours_in_time_of_one_track_and_version_are_joined() -> None:
    columns = SpanColumns()
    for track, name, start, version in ((0, "a", 0, 1), (0, "a", 10, 1), (0, "b", 20, 1), (0, "a", 30, 1), (1, "a", 40, 1)):
        columns.add(track, name, start, 9, version)
    columns.add(1, "a", 50, 9, 2)
    joined = join_neighbours(columns.arrays(), 5, 0, -1)
    found = list(
        zip(joined.track.tolist(), joined.name.tolist(), joined.start_ns.tolist(), joined.end_ns.tolist(), strict=True)
    )
    assert found == [(0, 0, 0, 19), (0, 1, 20, 29), (0, 0, 30, 39), (1, 0, 40, 49), (1, 0, 50, 59)]


def test_short_spans_of_any_name_are_joined_and_long_ones_keep_theirs() -> None:
    spans = SpanColumns(limit=200)
    for number in range(1000):
        # Operators of 20 names, 9 us each, one every 10 us; and every hundredth of them lies in a phase of 40 ms.
        spans.add(0, f"op {number % 20}", number * 10_000, 9_000)
        if number % 100 == 0:
            spans.add(0, f"phase {number}", number * 10_000 + 10**9, 40_000_000)
    assert len(spans) <= 200
    table = spans.arrays()
    named = {spans.names.texts[code]: number for number, code in enumerate(table.name.tolist())}
    assert {f"phase {number}" for number in range(0, 1000, 100)} <= set(named)
    longest = named[SHORT_NAME]
    assert int(table.end_ns[longest] - table.start_ns[longest]) > 1_000_000
    covered = max(int(end) for end, name in zip(table.end_ns, table.name, strict=True) if spans.names.texts[name][0] != "p")
    assert covered == 999 * 10_000 + 9_000
    assert (spans.short_ns, spans.filled_ns, spans.left_out) == (1_000_000, 1_000_000, 0)


def test_what_is_joined_keeps_its_name_where_it_has_one() -> None:
    columns = SpanColumns()
    for name, start, length in (("a", 0, 5), ("a", 6, 5), ("b", 100, 5), ("c", 106, 5), ("d", 112, 50), ("e", 170, 5)):
        columns.add(0, name, start, length)
    joined = join_neighbours(columns.arrays(), 10, 20, 99)
    found = list(zip(joined.name.tolist(), joined.start_ns.tolist(), joined.end_ns.tolist(), strict=True))
    assert found == [(0, 0, 11), (99, 100, 111), (3, 112, 162), (4, 170, 175)]


def test_where_joining_does_not_help_the_longest_spans_stay() -> None:
    random_ = random.Random(1)
    lengths = [random_.randint(1, 10**9) for _ in range(101)]
    spans = SpanColumns(limit=100)
    for number, length in enumerate(lengths):
        spans.add(0, f"name {number}", number * 10**12, length)
    kept = spans.arrays()
    assert sorted((kept.end_ns - kept.start_ns).tolist(), reverse=True) == sorted(lengths, reverse=True)[:50]
    assert (spans.left_out, spans.joined) == (51, 0)
