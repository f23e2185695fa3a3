from __future__ import annotations

import random

import numpy as np

from rlreport.collectors.spans.open_spans import OpenSpans


def courses(spans: OpenSpans) -> dict[int, list[tuple[int, int]]]:
    return {course.row: list(zip(course.time_ns.tolist(), course.count.tolist(), strict=True)) for course in spans.courses()}


def filled(spans: list[tuple[int, int, int]], limit: int = 1_000_000) -> OpenSpans:
    found = OpenSpans(limit)
    for row, start, end in spans:
        found.add(row, start, end)
    return found


def test_counts_change_where_spans_begin_and_end() -> None:
    found = filled([(0, 10, 40), (0, 20, 30), (0, 20, 50), (1, 5, 6)])
    assert courses(found) == {0: [(10, 1), (20, 3), (30, 2), (40, 1), (50, 0)], 1: [(5, 1), (6, 0)]}
    assert (found.added, found.step_ns) == (4, 1)


def test_a_stretch_lasts_while_any_span_is_open() -> None:
    # The first two touch, the third follows after a gap.
    (course,) = filled([(3, 0, 10), (3, 10, 20), (3, 25, 30)]).courses()
    assert [bounds.tolist() for bounds in course.busy()] == [[0, 25], [20, 30]]
    assert course.most == 1


def test_nothing_at_all() -> None:
    assert OpenSpans().courses() == []


def side_by_side(random_: random.Random, count: int) -> list[tuple[int, int, int]]:
    """Spans of up to 0.1 s in three rows within a second."""
    return [
        (random_.randrange(3), start := random_.randrange(10**9), start + random_.randrange(1, 10**8)) for _ in range(count)
    ]


def test_too_many_edges_are_rounded() -> None:
    # Spans of 2,048 ns, 4,096 ns apart: at steps of 4,096 ns they are one stretch, two edges. Where 100 edges are allowed,
    # that happens after 51 spans and then after every 50 more, so that the last 49 of a thousand stay exact.
    found = filled([(0, 4096 * n + 1024, 4096 * n + 3072) for n in range(1000)], limit=100)
    assert (found.added, found.step_ns) == (1000, 4096)
    (course,) = found.courses()
    starts, ends = course.busy()
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [
        (0, 951 * 4096),
        *((4096 * n + 1024, 4096 * n + 3072) for n in range(951, 1000)),
    ]


def test_rounded_times_are_off_by_less_than_a_step() -> None:
    random_ = random.Random(3)
    spans = side_by_side(random_, 800)
    found = filled(spans, limit=200)
    assert 1 < found.step_ns < 10**8
    for course in found.courses():
        mine = [(start, end) for row, start, end in spans if row == course.row]
        assert int(course.count[-1]) == 0
        for at in (random_.randrange(11 * 10**8) for _ in range(300)):
            place = int(np.searchsorted(course.time_ns, at, "right"))
            counted = int(course.count[place - 1]) if place else 0
            surely = sum(start <= at - found.step_ns and at + found.step_ns < end for start, end in mine)
            possibly = sum(start - found.step_ns < at < end + found.step_ns for start, end in mine)
            assert surely <= counted <= possibly


def test_rounded_durations_are_right_on_average() -> None:
    spans = side_by_side(random.Random(5), 5000)
    found = filled(spans, limit=200)
    total = sum(float((course.count[:-1] * np.diff(course.time_ns)).sum()) for course in found.courses())
    assert found.step_ns > 10**7
    assert abs(total / sum(end - start for _, start, end in spans) - 1) < 0.02


def test_rows_with_few_spans_stay_exact() -> None:
    few = [(1, 10**6, 10**6 + 3), (2, 0, 7)]
    found = filled([few[0], *((0, 1000 * n, 1000 * n + 1500) for n in range(2000)), few[1]], limit=100)
    assert found.step_ns > 1
    counted = courses(found)
    assert counted[1] == [(10**6, 1), (10**6 + 3, 0)]
    assert counted[2] == [(0, 1), (7, 0)]


def test_the_order_of_spans_does_not_matter() -> None:
    random_ = random.Random(4)
    spans = [(n % 2, start := random_.randrange(10**6), start + 1 + random_.randrange(10**5)) for n in range(300)]
    before = courses(filled(spans))
    random_.shuffle(spans)
    assert courses(filled(spans)) == before
