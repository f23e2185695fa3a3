from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.comparators.bubble_paint import (
    IDLE_FROM,
    UNTOLD,
    Coat,
    Intervals,
    busy_state,
    complement,
    idle_state,
    intersect,
    intervals,
    is_idle,
    paint,
    state_name,
    union,
)

pair = st.tuples(st.integers(0, 60), st.integers(0, 60))
pairs = st.lists(pair, max_size=8)


def moments(found: Intervals) -> set[int]:
    """The whole moments that intervals cover: an independent, slow definition of a set of intervals."""
    return {at for start, end in found.pairs() for at in range(start, end)}


def covered(listed: list[tuple[int, int]]) -> set[int]:
    return {at for start, end in listed for at in range(start, end)}


@given(pairs)
def test_a_union_covers_what_its_intervals_cover(listed: list[tuple[int, int]]) -> None:
    found = intervals(listed)
    assert moments(found) == covered(listed)
    assert all(a[1] < b[0] for a, b in zip(found.pairs(), found.pairs()[1:], strict=False))


@given(pairs, pairs)
def test_an_intersection_covers_what_both_cover(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    assert moments(intersect(intervals(first), intervals(second))) == covered(first) & covered(second)


@given(pairs, st.integers(0, 30), st.integers(30, 60))
def test_a_complement_covers_the_rest(listed: list[tuple[int, int]], begin: int, end: int) -> None:
    assert moments(complement(intervals(listed), begin, end)) == set(range(begin, end)) - covered(listed)


def test_a_union_can_bridge_small_gaps() -> None:
    found = union(np.array([0, 12, 30]), np.array([10, 20, 31]), bridge_ns=2)
    assert found.pairs() == [(0, 20), (30, 31)]


@given(st.lists(st.tuples(st.integers(0, 5), pairs), max_size=5))
def test_the_last_coat_is_seen_and_nothing_is_lost(layers: list[tuple[int, list[tuple[int, int]]]]) -> None:
    seen = dict.fromkeys(range(60), IDLE_FROM)
    for state, listed in layers:
        for at in covered(listed):
            seen[at] = state
    painted = paint(0, 60, IDLE_FROM, [Coat(state, intervals(listed)) for state, listed in layers])
    got = {at: state for start, end, state in painted.clipped(0, 60) for at in range(start, end)}
    assert got == seen
    assert all(a != b for a, b in zip(painted.states, painted.states[1:], strict=False))
    assert painted.seconds_by_state(np.array([0, 60])).sum() == pytest.approx(60e-9)


def test_seconds_by_state_are_those_between_two_moments() -> None:
    generate, quota = busy_state("generate"), idle_state("quota")
    painted = paint(0, 10 * 10**9, quota, [Coat(generate, intervals([(0, 6 * 10**9)]))])
    seconds = painted.seconds_by_state(np.array([0, 2, 8, 10]) * 10**9)
    assert seconds[generate].tolist() == [2.0, 4.0, 0.0]
    assert seconds[quota].tolist() == [0.0, 2.0, 2.0]


def test_states_have_names() -> None:
    assert (state_name(busy_state("update_actor")), state_name(idle_state("long_tail"))) == ("update_actor", "long_tail")
    assert is_idle(idle_state("samples")) and not is_idle(busy_state("generate")) and not is_idle(UNTOLD)
    assert state_name(UNTOLD) == "untold"
