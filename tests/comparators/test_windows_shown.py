from __future__ import annotations

import numpy as np

from rlreport.comparators.bubble_results import CycleAccount, DeviceAccount, SideAccount
from rlreport.comparators.cycles_events import Chronicle, Cycle, Event
from rlreport.comparators.cycles_rounds import Rounds
from rlreport.comparators.windows_shown import ShownWindow, Unshown, choose_windows


def course(lengths: list[int], *validated: int, more: int = 1) -> Chronicle:
    """Cycles of some lengths, one step each; those at some places begin with a validation; so much training follows them."""
    cycles, at, events = [], 0, []
    for place, length in enumerate(lengths):
        cycles.append(Cycle(at, at + length, place + 1, place + 1))
        if place in validated:
            events.append(Event("validate", at, at + 1, place))
        at += length
    starts = np.array([cycle.start_ns for cycle in cycles] + [at] * more, np.int64)
    rounds = Rounds(starts, starts + 1, np.ones(len(starts)), {})
    return Chronicle(0, at, rounds, (), None, (), tuple(cycles), tuple(events), (), "made")


def accounts(idle: list[float]) -> list[CycleAccount]:
    """Accounts in which so large a share of the Trainer's time is idle."""
    return [
        CycleAccount(
            DeviceAccount("spans", 0, 1, SideAccount("trainer", 1, 1, 100, {}, {"samples": share * 100}), None, {}),
            place + 1,
            place + 1,
            None,
        )
        for place, share in enumerate(idle)
    ]


def places(windows: tuple[ShownWindow, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(window.kind, window.first_step, window.last_step) for window in windows]


def test_the_median_cycle_stands_between_its_neighbours() -> None:
    lengths = [50, 90, 100, 140, 101, 99, 80, 60]
    found = choose_windows(course(lengths), accounts([0.2] * 8), (2, 7))
    # Of steps 2 to 7 the median length is 99.5: step 3 (100) is the first that is nearest to it.
    assert places(found) == [("median", 2, 4)]


def test_the_worst_cycle_and_one_with_a_validation_are_shown_beside_it() -> None:
    lengths = [100] * 12
    idle = [0.2] * 12
    idle[9] = 0.7
    found = choose_windows(course(lengths, 6, 11), accounts(idle), (2, 11))
    assert places(found) == [("median", 2, 4), ("worst", 10, 10), ("validation", 7, 7)]


def test_a_worst_cycle_that_is_hardly_worse_is_not_shown() -> None:
    idle = [0.2] * 8
    idle[6] = 0.21
    found = choose_windows(course([100] * 8), accounts(idle), (1, 8))
    assert places(found) == [("median", 1, 3)]
    worst = found[0].worst
    assert worst is not None and (worst.first_step, worst.within) == (7, False)
    assert worst.over_median is not None and round(worst.over_median, 6) == 1.05


def test_a_worst_cycle_among_the_median_ones_is_named() -> None:
    found = choose_windows(course([100] * 4), accounts([0.2, 0.4, 0.2, 0.2]), (1, 4))
    assert places(found) == [("median", 1, 3)] and found[0].worst == Unshown(2, 2, 2.0, within=True)


def test_the_worst_is_so_by_share_and_not_by_length() -> None:
    """Step 6 idles 80 of 400 seconds, step 8 idles 60 of 100."""
    idle = [0.1] * 5 + [0.2, 0.1, 0.6, 0.1]
    lengths = [100] * 5 + [400, 100, 100, 100]
    assert ("worst", 8, 8) in places(choose_windows(course(lengths), accounts(idle), (1, 9)))


def test_what_ends_a_run_is_neither_typical_nor_the_worst() -> None:
    idle = [0.2] * 7 + [0.9]
    assert places(choose_windows(course([100] * 8, more=0), accounts(idle), (1, 8))) == [("median", 1, 3)]
    assert ("worst", 8, 8) in places(choose_windows(course([100] * 8, more=1), accounts(idle), (1, 8)))


def test_median_cycles_hold_no_validation_where_that_can_be() -> None:
    found = choose_windows(course([100, 100, 130, 100, 100, 130], 2, 5), accounts([0.2] * 6), (1, 6))
    assert places(found) == [("median", 1, 2), ("validation", 3, 3)]
    assert not found[0].validates and (found[0].end_ns, found[1].start_ns) == (200, 190)
    every = choose_windows(course([100] * 4, 0, 1, 2, 3), accounts([0.2] * 4), (1, 4))
    assert places(every) == [("median", 1, 3)] and every[0].validates


def test_without_a_window_the_first_and_last_cycle_are_not_chosen() -> None:
    assert places(choose_windows(course([10, 100, 100, 100, 10]), accounts([0.2] * 5), None)) == [("median", 2, 4)]


def test_without_cycles_the_whole_trace_is_shown() -> None:
    found = choose_windows(course([100]), accounts([0.2]), None)
    assert places(found) == [("whole", None, None)] and (found[0].start_ns, found[0].end_ns) == (0, 100)


def test_windows_have_a_margin_within_the_trace() -> None:
    (found,) = choose_windows(course([100] * 5), accounts([0.2] * 5), (2, 4))
    assert (found.start_ns, found.end_ns) == (92, 408)
