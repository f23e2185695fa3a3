"""A run's course in time: its steps, its parameter versions, and what happened between them, laid over its trace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from rlreport.comparators.cycles_events import (
    Chronicle,
    Cycle,
    Event,
    EventPlacer,
    StepTime,
    gaps_of,
)
from rlreport.comparators.cycles_rounds import Matching, Rounds, find_rounds, match_rounds
from rlreport.comparators.lanes import Lanes
from rlreport.run.format import percent, plural
from rlreport.run.model import Run
from rlreport.run.spans import SpanTable

#: Moments within this of each other are one boundary.
_SAME_NS = 1_000_000


def chronicle(run: Run, table: SpanTable, lanes: Lanes) -> Chronicle:
    """Tell what happened when: rounds, steps, events and parameter versions.

    Steps are tied to the trace by the seconds of their updates (`match_rounds`). Parameter versions begin where the source
    says so, else where a weight sync ends, else where the version of the Trainer's spans changes.
    """
    begin, end = int(table.start_ns.min()), int(table.end_ns.max())
    rounds = find_rounds(table, lanes)
    matching = match_rounds(run, rounds)
    placer = EventPlacer(run, table, lanes)
    last_rounds = _last_rounds(matching, rounds)
    steps: list[StepTime] = []
    begins = begin
    events: list[Event] = []
    for number in range(-1, len(rounds)):
        step = last_rounds.get(number)
        if number < 0 and last_rounds:
            step = last_rounds[min(last_rounds)] - 1
        hidden = 0 if step is None or matching is None else placer.hidden_ns(step + 1, matching.per_step)
        gap = _gap_after(rounds, number, (begin, end), hidden)
        if number < 0:
            events += placer.place(step, gap, begins=True)
            continue
        placed = placer.place(step, gap)
        events += placed
        if step is not None and matching is not None:
            inside = [event.end_ns for event in placed if placer.in_step(event)]
            after = [event.end_ns for event in placed if not placer.in_step(event) and event.end_ns < gap[1]]
            ends = max([gap[0], *inside])
            first = number + 1 - matching.per_step
            steps.append(StepTime(step, begins, ends, first, matching.per_step))
            begins = max([ends, *after])
    boundaries = _boundaries(table, events, rounds)
    return Chronicle(
        begin_ns=begin,
        end_ns=end,
        rounds=rounds,
        gaps=gaps_of(rounds, begin),
        matching=matching,
        steps=tuple(steps),
        cycles=_cycles(begin, end, boundaries, steps),
        events=tuple(events),
        boundaries=boundaries,
        basis=_basis(matching, rounds, run),
    )


def _gap_after(rounds: Rounds, number: int, whole: tuple[int, int], hidden_ns: int) -> tuple[int, int]:
    """From the end of a round (-1: from the begin of the trace) to the begin of the next one.

    That begins with its first traced work, or before it with what the trace does not show: hidden phases lie right before
    the update, and what does not fit between the traced work and the update came first.
    """
    begin = whole[0] if number < 0 else int(rounds.end_ns[number])
    if number + 1 >= len(rounds):
        return begin, max(begin, whole[1])
    start = int(rounds.start_ns[number + 1])
    update = int(rounds.end_ns[number + 1]) - round(1e9 * float(rounds.update_s[number + 1]))
    return begin, max(begin, start - max(hidden_ns - max(update - start, 0), 0))


def _last_rounds(matching: Matching | None, rounds: Rounds) -> dict[int, int]:
    """Round -> the step that it ends. A shifted line begins one round before its step does.

    What is left before the first and after the last matched step is cut in steps too, as far as it is whole ones: the first
    version of a shifted log has a line of its own that is not whole, and the last round stands in no line.
    """
    if matching is None or not matching.first_round:
        return {}
    shift = 1 if matching.shifted else 0
    lasts = {first + shift + matching.per_step - 1: step for step, first in matching.first_round.items()}
    earliest, latest = min(lasts), max(lasts)
    step = lasts[earliest]
    while earliest - matching.per_step >= matching.per_step - 1:
        earliest, step = earliest - matching.per_step, step - 1
        lasts[earliest] = step
    step = lasts[latest]
    while latest + matching.per_step < len(rounds):
        latest, step = latest + matching.per_step, step + 1
        lasts[latest] = step
    return {number: step for number, step in lasts.items() if number < len(rounds)}


def _boundaries(table: SpanTable, events: Sequence[Event], rounds: Rounds) -> tuple[tuple[int, int | None], ...]:
    """(moment, version) of every change of the parameter version; the version is None where it is not told."""
    if table.boundaries_ns:
        return tuple(sorted((at, version) for version, at in table.boundaries_ns.items()))
    ends: list[int] = []
    for at in sorted(event.end_ns for event in events if event.kind == "weight_sync"):
        if ends and at - ends[-1] <= _SAME_NS:
            ends[-1] = at
        else:
            ends.append(at)
    versions = _version_changes(table)
    if not ends:
        return versions
    return tuple((at, _nearest_version(at, versions)) for at in ends)


def _version_changes(table: SpanTable) -> tuple[tuple[int, int | None], ...]:
    """When the first span of each version but the first began."""
    import numpy as np

    known = table.version >= 0
    found = np.unique(table.version[known])
    starts = [(int(table.start_ns[table.version == version].min()), int(version)) for version in found.tolist()]
    return tuple(sorted(starts)[1:])


def _nearest_version(at: int, versions: Sequence[tuple[int, int | None]]) -> int | None:
    """The version whose first span began at a moment or soon after it, before the next one."""
    later = [(moment, version) for moment, version in versions if moment >= at - _SAME_NS]
    return later[0][1] if later else None


def _cycles(
    begin: int, end: int, boundaries: Sequence[tuple[int, int | None]], steps: Sequence[StepTime]
) -> tuple[Cycle, ...]:
    """The stretches between two boundaries; without boundaries those between the ends of steps."""
    cuts: list[tuple[int, int | None]] = [(at, version) for at, version in boundaries if begin < at < end]
    if not cuts:
        cuts = [(step.end_ns, None) for step in steps if begin < step.end_ns < end]
    cycles = []
    edges = [(begin, None), *cuts, (end, None)]
    for (start, _), (stop, version) in itertools.pairwise(edges):
        mine = [step.step for step in steps if start < step.end_ns - _SAME_NS <= stop]
        cycles.append(Cycle(start, stop, min(mine, default=None), max(mine, default=None), version))
    return tuple(cycles)


def _basis(matching: Matching | None, rounds: Rounds, run: Run) -> str:
    if not len(rounds):
        return "the trace shows no update of the Trainer, so steps have no place in it"
    if matching is None:
        told = run.metric("time.update_actor_s") is not None
        return "updates in the trace and in the log do not fit together" if told else "the log tells no seconds of updates"
    return (
        f"steps are tied to the trace by the seconds of their work, {plural(matching.per_step, 'round')} a step; trace and "
        f"log differ by {percent(matching.residual)}"
    )


def window_ns(found: Chronicle, steps: Sequence[int]) -> tuple[int, int] | None:
    """From the begin of the first to the end of the last of some steps in the trace; None where none of them is in it."""
    inside = [time for time in found.steps if time.step in set(steps)]
    if not inside:
        return None
    first, last = inside[0], inside[-1]
    return (first.start_ns, last.end_ns) if last.end_ns > first.start_ns else None


def covered_ns(run: Run, table: SpanTable, lanes: Lanes, found: Chronicle) -> tuple[int, int]:
    """The stretch of a trace in which all lanes are seen.

    A trace that begins within the run has no spans that began before it: there it counts from the moment when every replica
    has begun a span, or from the first parameter version, whichever comes first. One that ends within the run counts to the
    end of its last step.
    """
    trained = [int(step) for step in run.trained_steps.index]
    begin, end = found.begin_ns, found.end_ns
    if not found.steps or not trained:
        return begin, end
    if found.steps[0].step > trained[0]:
        firsts = [
            int(table.start_ns[table.lane == use.code].min())
            for use in lanes.of("rollout")
            if (table.lane == use.code).any()
        ]
        begin = min([max([begin, *firsts]), *(at for at, _ in found.boundaries)])
    if found.steps[-1].step < trained[-1]:
        end = found.steps[-1].end_ns
    return (begin, end) if end > begin else (found.begin_ns, found.end_ns)


def within(found: Chronicle, stretch: tuple[int, int]) -> Chronicle:
    """The same course with the cycles that lie in a stretch of it."""
    start, end = stretch[0] - _SAME_NS, stretch[1] + _SAME_NS
    cycles = tuple(cycle for cycle in found.cycles if start <= cycle.start_ns and cycle.end_ns <= end)
    return replace(found, cycles=cycles)
