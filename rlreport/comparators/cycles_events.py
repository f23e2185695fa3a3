"""What lies between two steps: weight sync, validation, checkpoint, with their places in time.

Traces of RL-Insight show generation and training only. What else happened lies in the gap between the last update of a step
and the first work of the next one, in an order that the framework's loop fixes, and takes the seconds that the log tells.
`ANATOMY` is that order; where a trace shows these states itself, it is believed instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.bubble_paint import Intervals, intersect, intervals, union
from rlreport.comparators.cycles_rounds import Matching, Rounds
from rlreport.comparators.lanes import Lanes, lane_intervals
from rlreport.comparators.window import column_array
from rlreport.run.model import Mode, Run
from rlreport.run.spans import Activity, SpanTable

if TYPE_CHECKING:
    from rlreport.comparators.bubble_paint import Times

EventKind = Literal["weight_sync", "drain", "validate", "checkpoint", "switch"]

#: The canonical timer of an event, and the activity of spans that show it.
_METRICS: Mapping[EventKind, str] = {
    "weight_sync": "time.weight_sync_s",
    "validate": "time.validate_s",
    "checkpoint": "time.checkpoint_s",
}


#: Phases before an update that a trace may not show: the driver computes them, or they are not instrumented.
HIDDEN_PHASES: tuple[tuple[Activity, str], ...] = (
    ("reward", "time.reward_s"),
    ("old_log_prob", "time.old_log_prob_s"),
    ("ref", "time.ref_s"),
    ("values", "time.values_s"),
    ("advantage", "time.advantage_s"),
)
#: What begins within this of a moment begins with it.
_AT_ONCE_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What fills the gap between the last update of a step and the next step's first work, besides waiting.

    `after` follows the update, in order; `before` precedes the next work, in order. An entry is (event, how many lines
    later its seconds are logged). `source` says where the order is written.
    """

    after: tuple[tuple[EventKind, int], ...]
    before: tuple[tuple[EventKind, int], ...]
    source: str


_V1 = Anatomy(
    (("checkpoint", 0), ("weight_sync", 0), ("validate", 0)),
    (),
    "verl/trainer/ppo/v1/trainer_base.py: save_checkpoint, on_step_end (update_weights), then validation",
)
ANATOMY: Mapping[Mode, Anatomy] = {
    "sync": _V1,
    "colocate_async": _V1,
    "separate_async": _V1,
    "one_step_off": Anatomy(
        (("validate", 0), ("checkpoint", 0)),
        (("weight_sync", 1),),
        "verl/experimental/one_step_off_policy/ray_trainer.py: fit_step syncs after it has the batch, before it trains",
    ),
    "fully_async": Anatomy(
        (("weight_sync", 1), ("validate", 0), ("checkpoint", 1)),
        (),
        "verl/experimental/fully_async_policy/fully_async_trainer.py: fit_step; lines are shifted by one round (:560-604)",
    ),
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened between two steps; `step` is the one after whose last update it lies, None when not known."""

    kind: EventKind
    start_ns: int
    end_ns: int
    step: int | None = None


@dataclass(frozen=True, slots=True)
class StepTime:
    """When a step began and ended, without what lies outside of its timer, and which rounds of the trace it has."""

    step: int
    start_ns: int
    end_ns: int
    first_round: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """From one parameter version to the next: the steps trained in it, None where not known, and the version at its end."""

    start_ns: int
    end_ns: int
    first_step: int | None = None
    last_step: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Chronicle:
    """What happened when, as far as it is known.

    `gaps` are the stretches in which no Trainer lane works, before each round. `boundaries` are the moments from which a
    new parameter version served. `basis` says how steps were tied to the trace; `matching` is None where they were not.
    """

    begin_ns: int
    end_ns: int
    rounds: Rounds
    gaps: tuple[tuple[int, int], ...]
    matching: Matching | None
    steps: tuple[StepTime, ...]
    cycles: tuple[Cycle, ...]
    events: tuple[Event, ...]
    boundaries: tuple[tuple[int, int | None], ...]
    basis: str

    def of(self, *kinds: EventKind) -> Intervals:
        """When events of some kinds took place."""
        return intervals((event.start_ns, event.end_ns) for event in self.events if event.kind in kinds)


def hidden_phases(run: Run, table: SpanTable, lanes: Lanes) -> dict[Activity, dict[int, float]]:
    """The seconds by step of phases that the log times and no Trainer lane shows, in the order of the phases."""
    ranks = [use.code for use in lanes.of("trainer")]
    return {
        activity: seconds
        for activity, metric in HIDDEN_PHASES
        if any((seconds := seconds_of(run, metric)).values()) and not len(lane_intervals(table, ranks, (activity,)))
    }


def seconds_of(run: Run, metric: str) -> dict[int, float]:
    """A timer by step, where it is logged."""
    values = column_array(run, metric)
    return {int(step): float(value) for step, value in zip(run.steps.index, values, strict=True) if value >= 0}


class EventPlacer:
    """Places the events of a gap from the seconds that the log tells, or from spans that show them."""

    def __init__(self, run: Run, table: SpanTable, lanes: Lanes) -> None:
        self._anatomy = ANATOMY.get(run.mode)
        self._contains = run.semantics.contains
        self._seconds = {kind: seconds_of(run, metric) for kind, metric in _METRICS.items()}
        every = [use.code for use in lanes.uses]
        self._shown: dict[EventKind, Intervals] = {
            "weight_sync": lane_intervals(table, every, ("weight_sync",)),
            "validate": lane_intervals(table, every, ("validate",)),
            "checkpoint": lane_intervals(table, every, ("checkpoint",)),
        }
        self._generated = lane_intervals(table, [use.code for use in lanes.of("rollout")], ("generate",))
        self._hidden = hidden_phases(run, table, lanes)
        self._ways_back = _ways_back(run, lanes)

    def shows(self, kind: EventKind) -> bool:
        """Whether the trace itself shows such events."""
        return len(self._shown[kind]) > 0

    def in_step(self, event: Event) -> bool:
        """Whether an event belongs to the time of the step after which it lies."""
        if self._anatomy is not None and event.kind in {kind for kind, _ in self._anatomy.before}:
            return False
        return _METRICS.get(event.kind, "time.weight_sync_s") in self._contains

    def hidden_ns(self, step: int, rounds: int) -> int:
        """How long the phases that the trace does not show took in each of a step's rounds."""
        return round(sum(seconds.get(step, 0.0) for seconds in self._hidden.values()) * 1e9 / rounds)

    def place(self, step: int | None, gap: tuple[int, int], *, begins: bool = False) -> list[Event]:
        """The events of the gap after a step, in order of time; without a step those that spans show.

        With `begins` the gap is the first of the trace: what follows an update is not looked for in it.
        """
        shown = [kind for kind in self._shown if self.shows(kind)]
        events = self._from_spans(step, gap, shown)
        if self._anatomy is None or step is None:
            return events
        at, at_end = gap
        for kind, later in () if begins else self._anatomy.after:
            if kind in shown:
                events += self._drain_before(step, gap, events, later) if kind == "weight_sync" else []
                at = max([at, *(event.end_ns for event in events if event.kind == kind)])
                continue
            event = Event(kind, at, min(at + self._length(kind, step + later), gap[1]), step)
            found = self._fitted(event, gap[1]) if event.end_ns > at else []
            events += found
            at = max([at, *(part.end_ns for part in found)])
        for kind, later in reversed(self._anatomy.before):
            if kind not in shown:
                start = max(at_end - self._length(kind, step + later), at)
                events += [Event(kind, start, at_end, step)] if at_end > start else []
                at_end = start
        return sorted(events, key=lambda event: (event.start_ns, event.end_ns, event.kind))

    def _from_spans(self, step: int | None, gap: tuple[int, int], kinds: Sequence[EventKind]) -> list[Event]:
        here = intervals([gap])
        return [Event(k, start, end, step) for k in kinds for start, end in intersect(self._shown[k], here).pairs()]

    def _drain_before(self, step: int, gap: tuple[int, int], events: Sequence[Event], later: int) -> list[Event]:
        """What the logged weight sync is longer than the one that the trace shows: the Trainer waited for replicas first."""
        syncs = [event for event in events if event.kind == "weight_sync"]
        if not syncs:
            return []
        shown = sum(event.end_ns - event.start_ns for event in syncs)
        start = max(syncs[0].start_ns - (self._length("weight_sync", step + later) - shown), gap[0])
        return [Event("drain", start, syncs[0].start_ns, step)] if syncs[0].start_ns - start > 0.02 * shown else []

    def _length(self, kind: EventKind, step: int) -> int:
        return round(self._seconds[kind].get(step, 0.0) * 1e9)

    def _fitted(self, event: Event, gap_end: int) -> list[Event]:
        """An event at the place where the replicas' generation leaves room for it."""
        if event.kind == "weight_sync":
            return self._with_drain(event)
        return self._when_quiet(event, gap_end) if event.kind == "validate" else [event]

    def _with_drain(self, event: Event) -> list[Event]:
        """A weight sync before which replicas still generate: the Trainer waits for them first (partial_rollout off)."""
        still = intersect(self._generated, intervals([(event.start_ns, event.end_ns)]))
        if not len(still) or still.start_ns[0] > event.start_ns + _AT_ONCE_NS:
            return [event]
        drained = int(still.end_ns[0])
        if drained - event.start_ns < 0.02 * (event.end_ns - event.start_ns):
            return [event]
        drain = Event("drain", event.start_ns, drained, event.step)
        return [drain, Event("weight_sync", drained, event.end_ns, event.step)] if event.end_ns > drained else [drain]

    def _when_quiet(self, event: Event, gap_end: int) -> list[Event]:
        """A validation begins when the replicas stop generating, which may be a while after the update: engines switch.

        Where they do not stop, their generation is the validation itself, and the event stays where it is. Where they had
        stopped before, the Trainer's engines take as long to wake as the log says they take on their way back.
        """
        length = event.end_ns - event.start_ns
        still = intersect(self._generated, intervals([(event.start_ns, event.end_ns)]))
        if not len(still) or still.start_ns[0] > event.start_ns + _AT_ONCE_NS:
            way = min(round(self._ways_back.get((event.step or 0) + 1, 0.0) * 1e9), length // 2)
            switch = Event("switch", event.start_ns, event.start_ns + way, event.step)
            return [switch, Event(event.kind, switch.end_ns, event.end_ns, event.step)] if way else [event]
        quiet = int(still.end_ns[0])
        later = self._generated.start_ns[self._generated.start_ns > quiet]
        end = min(quiet + length, int(later[0]) if len(later) else gap_end, gap_end)
        if end - quiet <= 0.5 * length:
            return [event]
        switch = Event("switch", event.start_ns, quiet, event.step)
        return [switch, Event(event.kind, quiet, end, event.step)]


def _ways_back(run: Run, lanes: Lanes) -> dict[int, float]:
    """How long the Trainer's devices took to turn back to training, by the step that began with it.

    Known for separate_async: the timer of validation holds the way there, that of the next step the way back
    (verl/trainer/ppo/v1/trainer_separate_async.py). With step switching the timer holds generation too and says nothing.
    """
    switches = run.value("trainer.v1.separate_async.hybrid_rollout.enable_switch") is True
    if run.mode != "separate_async" or switches or lanes.hybrid_exist is not True:
        return {}
    return seconds_of(run, "time.switch_s")


def trainer_work(table: SpanTable, lanes: Lanes) -> Intervals:
    """When any Trainer lane shows work or a cause of its own (anything but waiting, generation and validation)."""
    import numpy as np

    from rlreport.run.spans import ACTIVITIES

    mine = np.isin(table.lane, np.array([use.code for use in lanes.of("trainer")], np.int32))
    quiet = [ACTIVITIES.index(activity) for activity in ("wait", "generate", "validate")]
    chosen = mine & ~np.isin(table.activity, quiet)
    return union(table.start_ns[chosen], table.end_ns[chosen])


def gaps_of(rounds: Rounds, begin_ns: int) -> tuple[tuple[int, int], ...]:
    """The gap before each round, from the update before it (the first: from the begin)."""
    import numpy as np

    ends: Times = np.concatenate([[begin_ns], rounds.end_ns[:-1]]) if len(rounds) else rounds.end_ns
    return tuple((int(a), max(int(a), int(b))) for a, b in zip(ends, rounds.start_ns, strict=True))
