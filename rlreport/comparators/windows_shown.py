"""Which parts of a timeline are shown in detail: chosen by rule, so that nobody picks the pretty one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from rlreport.comparators.bubble_results import CycleAccount
from rlreport.comparators.cycles_events import Chronicle

WindowKind = Literal["median", "worst", "validation", "whole"]

#: Cycles shown around the median one, and the share of a cycle shown before and after.
MEDIAN_CYCLES = 3
MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A part of the timeline: what it stands for, and from when to when.

    `first_step` and `last_step` are the steps of its cycles, None where they are not known; `cycles` how many whole ones.
    """

    kind: WindowKind
    start_ns: int
    end_ns: int
    first_step: int | None
    last_step: int | None
    cycles: int


def choose_windows(
    course: Chronicle, accounts: Sequence[CycleAccount], steps: tuple[int, int] | None
) -> tuple[ShownWindow, ...]:
    """A median cycle with its neighbours, the worst one, and one with a validation; the whole trace without cycles.

    Of the cycles in the steady window (`steps`; without steps all but the first and the last): the *median* is the one whose
    length is nearest to the median length, the *worst* the one with the most idle device time, both the earliest of equals.
    The *validation* is the one of median length among those that hold one, from the window if it has any. A cycle that
    another choice shows already is not shown again.
    """
    whole = ShownWindow("whole", course.begin_ns, course.end_ns, None, None, 0)
    places = _candidates(accounts, steps)
    if not places:
        return (whole,)
    lengths = {place: course.cycles[place].end_ns - course.cycles[place].start_ns for place in places}
    middle = _median_place(places, lengths)
    first = max(min(middle - MEDIAN_CYCLES // 2, places[-1] - MEDIAN_CYCLES + 1), places[0])
    shown = list(range(first, min(first + MEDIAN_CYCLES, places[-1] + 1)))
    chosen = [_window(course, "median", shown)]
    worst = max(places, key=lambda place: (_idle_share(accounts[place]), -place))
    if worst not in shown and _idle_share(accounts[worst]) > 1.1 * _idle_share(accounts[middle]):
        chosen.append(_window(course, "worst", [worst]))
        shown.append(worst)
    with_validation = [place for place in places if _validates(course, place)] or [
        place for place in range(len(course.cycles)) if _validates(course, place)
    ]
    if with_validation and not set(with_validation) & set(shown):
        all_lengths = {place: course.cycles[place].end_ns - course.cycles[place].start_ns for place in with_validation}
        chosen.append(_window(course, "validation", [_median_place(with_validation, all_lengths)]))
    return tuple(chosen)


def _candidates(accounts: Sequence[CycleAccount], steps: tuple[int, int] | None) -> list[int]:
    """Places of the cycles to choose from: those whose steps all lie in the window, else all but the first and last."""
    if steps is not None:
        inside = [
            place
            for place, cycle in enumerate(accounts)
            if cycle.first_step is not None
            and cycle.last_step is not None
            and steps[0] <= cycle.first_step
            and cycle.last_step <= steps[1]
        ]
        if inside:
            return inside
    return list(range(1, len(accounts) - 1))


def _median_place(places: Sequence[int], lengths: dict[int, int]) -> int:
    typical = median(lengths[place] for place in places)
    return min(places, key=lambda place: (abs(lengths[place] - typical), place))


def _idle_share(cycle: CycleAccount) -> float:
    sides = [side for side in (cycle.account.trainer, cycle.account.rollout) if side is not None]
    total = sum(side.total_s for side in sides)
    return sum(side.idle_s for side in sides) / total if total else 0.0


def _validates(course: Chronicle, place: int) -> bool:
    cycle = course.cycles[place]
    return any(
        event.kind == "validate" and cycle.start_ns <= event.start_ns < cycle.end_ns and event.end_ns > event.start_ns
        for event in course.events
    )


def _window(course: Chronicle, kind: WindowKind, places: Sequence[int]) -> ShownWindow:
    cycles = [course.cycles[place] for place in places]
    length = max(cycle.end_ns - cycle.start_ns for cycle in cycles)
    margin = round(MARGIN * length)
    steps = [step for cycle in cycles for step in (cycle.first_step, cycle.last_step) if step is not None]
    return ShownWindow(
        kind,
        max(cycles[0].start_ns - margin, course.begin_ns),
        min(cycles[-1].end_ns + margin, course.end_ns),
        min(steps, default=None),
        max(steps, default=None),
        len(cycles),
    )
