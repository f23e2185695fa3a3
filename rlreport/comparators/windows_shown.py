"""Which parts of a timeline are shown in detail: chosen by rule, so that nobody picks the pretty one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from rlreport.comparators.bubble_results import CycleAccount
from rlreport.comparators.cycles_events import Chronicle

WindowKind = Literal["median", "worst", "validation", "whole"]

#: The worst cycle is shown when it idles by this factor more than the median one.
WORSE = 1.1
#: Cycles shown around the median one, and the share of a cycle shown before and after.
MEDIAN_CYCLES = 3
MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class Unshown:
    """Why no worst cycle is shown for itself: the cycle that idles most, and its idle share over the median cycle's.

    `within` says that the median window shows it already; else it idles hardly more than the median one.
    """

    first_step: int | None
    last_step: int | None
    over_median: float | None
    within: bool


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A part of the timeline: what it stands for, and from when to when.

    `first_step` and `last_step` are the steps of its cycles, None where they are not known; `cycles` how many whole ones;
    `validates` says that one of them holds a validation. `worst` stands at the median window where no worst one is shown.
    """

    kind: WindowKind
    start_ns: int
    end_ns: int
    first_step: int | None
    last_step: int | None
    cycles: int
    validates: bool = False
    worst: Unshown | None = None


def choose_windows(
    course: Chronicle, accounts: Sequence[CycleAccount], steps: tuple[int, int] | None
) -> tuple[ShownWindow, ...]:
    """A median cycle with its neighbours, the worst one, and one with a validation; the whole trace without cycles.

    Chosen are cycles in the steady window (`steps`; without steps all but the first and the last) that training follows,
    since what ends a run is not typical of it; where training follows none, all of them. The *median* is the one whose
    length is nearest to the median length, of those without a validation if there are any, with neighbours that hold none
    either. The *worst* is the one with the largest idle share (idle device-seconds over all, so that cycles of different
    length compare); it is shown when it idles by a tenth more than the median one. The *validation* is the one of median
    length among those that hold one. Of equals the earliest is taken; a cycle that another choice shows already is not shown
    again.
    """
    whole = ShownWindow("whole", course.begin_ns, course.end_ns, None, None, 0)
    places = _candidates(accounts, steps)
    if not places:
        return (whole,)
    lengths = {place: cycle.end_ns - cycle.start_ns for place, cycle in enumerate(course.cycles)}
    validating = {place for place in range(len(course.cycles)) if _validates(course, place)}
    followed = [place for place in places if _is_followed(course, place)] or places
    plain = [place for place in followed if place not in validating] or followed
    middle = _median_place(plain, lengths)
    shown = _neighbours(middle, plain)
    chosen = [_window(course, "median", shown, validating)]
    worst = max(followed, key=lambda place: (_idle_share(accounts[place]), -place))
    usual = _idle_share(accounts[middle])
    if worst not in shown and _idle_share(accounts[worst]) > WORSE * usual:
        chosen.append(_window(course, "worst", [worst], validating))
        shown.append(worst)
    elif worst != middle:
        cycle, over = course.cycles[worst], _idle_share(accounts[worst]) / usual if usual else None
        told = Unshown(cycle.first_step, cycle.last_step, over, within=worst in shown)
        chosen[0] = replace(chosen[0], worst=told)
    with_validation = [place for place in followed if place in validating] or sorted(validating)
    if with_validation and not set(with_validation) & set(shown):
        chosen.append(_window(course, "validation", [_median_place(with_validation, lengths)], validating))
    return tuple(chosen)


def _neighbours(middle: int, places: Sequence[int]) -> list[int]:
    """Up to `MEDIAN_CYCLES` places in a row with a given one among them, as near to its middle as there are."""
    first = last = middle
    while last - first + 1 < MEDIAN_CYCLES:
        before, after = first - 1 in places, last + 1 in places
        if not before and not after:
            break
        if before and (middle - first <= last - middle or not after):
            first -= 1
        else:
            last += 1
    return list(range(first, last + 1))


def _is_followed(course: Chronicle, place: int) -> bool:
    """Whether the trace shows training after a cycle."""
    starts = course.rounds.start_ns
    return len(starts) > 0 and int(starts[-1]) >= course.cycles[place].end_ns


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


def _window(course: Chronicle, kind: WindowKind, places: Sequence[int], validating: set[int]) -> ShownWindow:
    """A window of some cycles with a margin to both sides, but for a neighbour that validates: it would look like a part."""
    cycles = [course.cycles[place] for place in places]
    margin = round(MARGIN * max(cycle.end_ns - cycle.start_ns for cycle in cycles))
    steps = [step for cycle in cycles for step in (cycle.first_step, cycle.last_step) if step is not None]
    validates = bool(validating.intersection(places))
    before = 0 if not validates and places[0] - 1 in validating else margin
    after = 0 if not validates and places[-1] + 1 in validating else margin
    return ShownWindow(
        kind,
        max(cycles[0].start_ns - before, course.begin_ns),
        min(cycles[-1].end_ns + after, course.end_ns),
        min(steps, default=None),
        max(steps, default=None),
        len(cycles),
        validates,
    )
