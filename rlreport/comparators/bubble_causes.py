"""The rules that give an idle moment its cause: coats of paint, each rule a small function.

A later coat covers an earlier one, so every moment has one cause at most: first what is inferred from gaps, then what the
log tells, then what the trace itself shows, and over all of it the work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rlreport.comparators.bubble_paint import (
    UNTOLD,
    Coat,
    Intervals,
    busy_state,
    idle_state,
    intersect,
    intervals,
    union,
)
from rlreport.comparators.bubble_scene import Scene, columns, gauge_shift, minus, trainer_validates
from rlreport.comparators.cycles_events import hidden_phases, seconds_of, trainer_work
from rlreport.comparators.lanes import Seat, lane_intervals
from rlreport.run.model import SEPARATED_MODES, Mode
from rlreport.run.spans import ACTIVITIES, BUSY, Activity, IdleCause, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Why a replica without work idles, by mode: (while another replica still generates, when none does).
#:
#: * separate_async: prompts are handed out as far as the off-policy limits allow. A replica without work would have some if
#:   the limits were wider, also while others still generate: nothing waits for a batch to end.
#: * fully_async: the same, with the quota of `staleness_threshold`.
#: * one_step_off: exactly one batch is ahead. While it is generated, a replica that is done waits for its longest responses;
#:   then for the next batch, which is not handed out before the Trainer takes this one.
#: * sync, colocate_async: the step waits for the longest responses.
#: * unknown: nobody knows.
REPLICA_IDLE: Mapping[Mode, tuple[IdleCause, IdleCause]] = {
    "separate_async": ("quota", "quota"),
    "fully_async": ("quota", "quota"),
    "one_step_off": ("long_tail", "quota"),
    "sync": ("long_tail", "unknown"),
    "colocate_async": ("long_tail", "unknown"),
    "unknown": ("unknown", "unknown"),
}

#: What the name of a waiting span says of its cause.
NAME_CAUSES: tuple[tuple[str, IdleCause], ...] = (
    (r"quota|stale", "quota"),
    (r"queue.?full", "queue_full"),
    (r"weight|param|sync", "weight_sync"),
    (r"validat|\btest", "validation"),
    (r"checkpoint|\bsave", "checkpoint"),
    (r"tail|drain|straggl", "long_tail"),
    (r"switch|resume|wake|sleep", "switching"),
    (r"start.?up|\binit", "startup"),
    (r"sample|batch|data", "samples"),
)
#: The cause of an idle span by its activity, where that alone tells it.
ACTIVITY_CAUSES: Mapping[Activity, IdleCause] = {
    "weight_sync": "weight_sync",
    "checkpoint": "checkpoint",
    "switch": "switching",
}

#: Gauges that count finished samples which wait, and samples in generation.
QUEUE_GAUGES = ("queue.samples",)
ACTIVE_GAUGES = ("rollout.active_samples", "rollout.active_requests")

#: Waiting in the trace beyond what the log calls waiting is something else from this share of a step on, and this long.
EXCESS_SHARE = 0.005
EXCESS_S = 0.1


def ground_state(scene: Scene, seat: Seat) -> int:
    """What nothing else explains: a replica idles by the rule of its mode, a Trainer device for no known cause."""
    if seat.side == "trainer":
        return idle_state("unknown")
    return idle_state(REPLICA_IDLE[scene.run.mode][1])


def start_up(scene: Scene) -> Coat:
    """Before any lane works for the first time, engines start and models load."""
    table = scene.table
    import numpy as np

    works = np.isin(table.activity, [busy_state(activity) for activity in ACTIVITIES if activity in BUSY])
    first = int(table.start_ns[works].min()) if works.any() else scene.course.end_ns
    return Coat(idle_state("startup"), intervals([(scene.course.begin_ns, first)]))


def waiting_for_samples(scene: Scene) -> list[Coat]:
    """A Trainer that does nothing before a round waits for its samples: what no event explains of the gap.

    Devices that generate in these gaps themselves wait for nobody: there the gap is the drain of the longest responses
    (while another engine generates), then the switch to training. Where nothing tells what lies between steps, a gap may
    hold a weight sync or a checkpoint as well, and its cause is not known.
    """
    if not scene.told_between:
        return []
    if not scene.shared:
        return [Coat(idle_state("samples"), scene.gaps)]
    tails, switches = [], []
    for start, end in scene.course.gaps:
        mine = intersect(scene.generated, intervals([(start, end)]))
        if len(mine):
            tails.append((int(mine.start_ns[0]), int(mine.end_ns[-1])))
            switches.append((int(mine.end_ns[-1]), end))
    return [Coat(idle_state("long_tail"), intervals(tails)), Coat(idle_state("switching"), intervals(switches))]


def lent_devices(scene: Scene) -> list[Coat]:
    """Trainer devices that generate in a gap first turn to generation: from the end of the events before it until then."""
    if scene.shared or not len(scene.lent):
        return []
    turns = []
    for start, end in scene.course.gaps:
        mine = intersect(scene.lent, intervals([(start, end)]))
        if len(mine):
            first = int(mine.start_ns[0])
            before = [event.end_ns for event in scene.course.events if start < event.end_ns <= first]
            turns.append((max([start, *before]), first))
    return [Coat(idle_state("switching"), intervals(turns))]


def excess_waiting(scene: Scene) -> list[Coat]:
    """Waiting that the log does not call waiting: in a step's gaps, beyond its logged seconds.

    Where the Trainer's devices validated in the gap it is their way back to training. Where they generated, the way back is
    taken to be as long as the way there, and what is left is waiting while they were lent. Else nobody knows.
    """
    matching = scene.course.matching
    waits = seconds_of(scene.run, "time.wait_s")
    if scene.shared or matching is None or not waits:
        return []
    there = union(*columns(_turns(scene)))
    taken = union(*columns([*scene.events.pairs(), *scene.lent.pairs(), *_turns(scene), *_hidden_pairs(scene)]))
    shown = trainer_work(scene.table, scene.lanes)
    step_s = seconds_of(scene.run, "time.step_s")
    switched, unknown = [], []
    for step, first in matching.first_round.items():
        if step not in waits:
            continue
        gaps = scene.course.gaps[first : first + matching.per_step]
        free = [minus(minus(intervals([gap]), taken), shown) for gap in gaps]
        excess_ns = sum(part.total_ns for part in free) - round(waits[step] * 1e9)
        if excess_ns < 1e9 * max(EXCESS_S, EXCESS_SHARE * step_s.get(step, 0.0)):
            continue
        place = _boundary_gap(scene, first, matching.per_step, matching.shifted)
        used = intersect(scene.lent, intervals([gaps[place]]))
        validated = [
            event.end_ns
            for event in scene.course.events
            if event.kind == "validate" and gaps[place][0] <= event.start_ns < gaps[place][1] and trainer_validates(scene)
        ]
        back = max([int(used.end_ns[-1]) if len(used) else 0, *validated])
        if back:
            way = intersect(there, intervals([gaps[place]])).total_ns if len(used) else excess_ns
            switched.append((back + max(excess_ns - way, 0), back + excess_ns))
        elif len(free[place]):
            begin = int(free[place].start_ns[0])
            unknown.append((begin, begin + excess_ns))
    return [Coat(idle_state("unknown"), intervals(unknown)), Coat(idle_state("switching"), intervals(switched))]


def _turns(scene: Scene) -> list[tuple[int, int]]:
    return [pair for coat in lent_devices(scene) for pair in coat.where.pairs()]


def _boundary_gap(scene: Scene, first: int, rounds: int, shifted: bool) -> int:
    """Which of a line's gaps lies between two steps: the first, or where lines are shifted by a round the second."""
    return 1 if shifted and rounds > 1 and first > 0 else 0


def hidden_work(scene: Scene) -> list[Coat]:
    """Phases that the log times and the trace does not show lie right before the update, in their order."""
    return [Coat(busy_state(activity), intervals(pairs)) for activity, pairs in _hidden(scene).items()]


def _hidden_pairs(scene: Scene) -> list[tuple[int, int]]:
    return [pair for pairs in _hidden(scene).values() for pair in pairs]


def _hidden(scene: Scene) -> dict[Activity, list[tuple[int, int]]]:
    matching, rounds = scene.course.matching, scene.course.rounds
    if matching is None:
        return {}
    found: dict[Activity, list[tuple[int, int]]] = {}
    at = {number: int(rounds.end_ns[number]) - round(1e9 * float(rounds.update_s[number])) for number in range(len(rounds))}
    lines = {first + place: step for step, first in matching.first_round.items() for place in range(matching.per_step)}
    for activity, seconds in reversed(hidden_phases(scene.run, scene.table, scene.lanes).items()):
        usual = sum(seconds.values()) / len(seconds)  # for rounds that no line tells: those at the ends of a trace
        for number in range(len(rounds)):
            length = round(1e9 * seconds.get(lines.get(number, -1), usual) / matching.per_step)
            if length:
                start = max(at[number] - length, scene.course.gaps[number][0])
                found.setdefault(activity, []).append((start, at[number]))
                at[number] = start
    return found


def between_steps(scene: Scene, seat: Seat) -> list[Coat]:
    """Weight sync, its drain, validation and checkpoint, on the devices that they stop.

    A weight sync stops both sides, a checkpoint the Trainer's devices. Validation is work of the replicas, unless the trace
    shows the validation itself: then what it does not show is idle. It is work of the Trainer's devices too where engines
    on them take part, else the Trainer waits for it.
    """
    course = scene.course
    coats = [
        Coat(idle_state("long_tail"), course.of("drain")),
        Coat(idle_state("weight_sync"), course.of("weight_sync")),
    ]
    if seat.side == "trainer":
        coats.append(Coat(idle_state("checkpoint"), course.of("checkpoint")))
        coats.append(Coat(idle_state("switching"), course.of("switch")))
    validation = course.of("validate")
    seen = len(lane_intervals(scene.table, [use.code for use in scene.lanes.uses], ("validate",))) > 0
    generating = intersect(validation, scene.generated).total_ns > 0.1 * validation.total_ns
    works = seat.side == "rollout" or scene.shared or trainer_validates(scene)
    if works and not seen and not generating:
        coats.append(Coat(busy_state("validate"), validation))
    else:
        coats.append(Coat(idle_state("validation"), validation))
    return coats


def replica_without_work(scene: Scene) -> list[Coat]:
    """A replica that idles while another still generates, by mode (`REPLICA_IDLE`), or because of what gauges tell.

    In fully_async the queue is as long as the quota, and what is in the queue counts against the quota: a full queue never
    comes first (verl fully_async_rollouter.py, `_should_pause_generation`).
    """
    cause = REPLICA_IDLE[scene.run.mode][0]
    coats = [Coat(idle_state(cause), scene.generated)]
    if scene.run.mode == "fully_async":
        coats.append(Coat(idle_state("long_tail"), slots_taken(scene)))
    elif scene.run.mode in SEPARATED_MODES:
        coats.append(Coat(idle_state("queue_full"), queue_full(scene)))
    return coats


def slots_taken(scene: Scene) -> Intervals:
    """When as many samples are in generation as may be: a replica that idles then waits for longer responses elsewhere."""
    return _at_capacity(scene, ACTIVE_GAUGES)


def queue_full(scene: Scene) -> Intervals:
    """When the queue of finished samples is as long as it may be."""
    return _at_capacity(scene, QUEUE_GAUGES)


def _at_capacity(scene: Scene, names: Sequence[str]) -> Intervals:
    """When a gauge of the whole run stands at its capacity; none without a capacity or a common clock."""
    pairs: list[tuple[int, int]] = []
    for gauge in scene.run.gauges:
        if gauge.name not in names or gauge.lane or not gauge.capacity:
            continue
        shift = gauge_shift(scene.table, gauge)
        if shift is None:
            continue
        moments = [int(at) + shift for at in gauge.time_ns]
        ends = [*moments[1:], moments[-1]] if moments else []
        full = [value >= gauge.capacity for value in gauge.values]
        pairs += [(a, b) for a, b, at_most in zip(moments, ends, full, strict=True) if at_most]
    return intervals(pairs)


def silence(scene: Scene) -> Coat:
    """While no lane shows anything, devices may sync weights, validate or idle: nobody knows where nothing tells of that."""
    return Coat(UNTOLD, intervals([]) if scene.told_between else scene.silent)


def unseen(scene: Scene, codes: Sequence[int]) -> list[Coat]:
    """Lanes without a single span: what they did is not traced."""
    import numpy as np

    if bool(np.isin(scene.table.lane, np.asarray(codes, np.int32)).any()):
        return []
    return [Coat(UNTOLD, intervals([(scene.course.begin_ns, scene.course.end_ns)]))]


def doubtful_generation(scene: Scene) -> Coat:
    """While a lane generates that may be an engine on the Trainer's devices, nobody knows whether these work."""
    return Coat(UNTOLD, lane_intervals(scene.table, [use.code for use in scene.lanes.unknown], ("generate",)))


def shown_states(scene: Scene, codes: Sequence[int]) -> list[Coat]:
    """What the spans of some lanes show: idle time by its own word, then work, the longest kinds of span first."""
    import numpy as np

    table = scene.table
    mine = np.isin(table.lane, np.asarray(codes, np.int32))
    coats: list[Coat] = []
    for activity, cause in ACTIVITY_CAUSES.items():
        coats.append(_coat(table, mine & (table.activity == busy_state(activity)), idle_state(cause)))
    waits = mine & (table.activity == busy_state("wait"))
    for code in np.unique(table.name[waits]).tolist():
        told = name_cause(table.names[code])
        if told is not None:
            coats.append(_coat(table, waits & (table.name == code), idle_state(told)))
    for activity in ("other", "train", *(a for a in ACTIVITIES if a in BUSY and a not in ("other", "train"))):
        coats.append(_coat(table, mine & (table.activity == busy_state(activity)), busy_state(activity)))
    return [coat for coat in coats if len(coat.where)]


def name_cause(name: str) -> IdleCause | None:
    """The cause that the name of a waiting span tells, None where it tells none."""
    return next((cause for pattern, cause in NAME_CAUSES if re.search(pattern, name, re.IGNORECASE)), None)


def _coat(table: SpanTable, chosen: NDArray[np.bool_], state: int) -> Coat:
    return Coat(state, union(table.start_ns[chosen], table.end_ns[chosen]))
