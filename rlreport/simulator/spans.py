"""What every device did when: the truth of a simulation, as spans without gaps.

A lane is a group of devices that always does one thing at a time. Its spans follow each other without gap or overlap, so
busy and idle device-seconds add up to wall time times devices by construction. Kinds of work and causes of idling have the
names of `rlreport.run.spans`, so that a report's timeline and the truth can be compared word by word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rlreport.run.spans import Activity, IdleCause

Side = Literal["trainer", "rollout"]

#: Kinds of work that a lane does; a subset of `rlreport.run.spans.BUSY`.
Work = Literal["generate", "validate", "old_log_prob", "advantage", "update_actor", "other"]

#: The causes that the model knows, and what each means here.
IDLE_CAUSES: dict[IdleCause, str] = {
    "startup": "models load and engines start",
    "samples": "the Trainer waits for finished samples (`timing_s/gen` of the separated modes)",
    "quota": "a replica has nothing to do: every prompt that may be handed out is generated or runs elsewhere",
    "queue_full": "a replica has nothing to do because the message queue is full",
    "long_tail": "a side waits until the last responses of a batch, or of an old policy, are decoded",
    "weight_sync": "new weights are on their way",
    "switching": "the Trainer's devices turn from training to generation or back",
    "validation": "the Trainer waits for a validation that it takes no part in",
    "checkpoint": "the Trainer's devices wait for a checkpoint; so do replicas that live on them",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A lane's time from `start_s` to `end_s`: work of the kind `state`, or idle (`state` "idle") for a `cause`.

    `version` is the parameter version that the replicas held when the span began: how many steps (in fully_async: how many
    versions) their weights have been trained.
    """

    lane: str
    side: Side
    devices: int
    state: str
    cause: IdleCause | None
    start_s: float
    end_s: float
    version: int = 0


@dataclass(slots=True, eq=False)
class Lane:
    """A group of devices and its spans. `work` and `idle` end the running span and begin the next.

    `side` is who owns the devices. `first_device` is the number of its first device on that side (on the Trainer's: the
    rank); `replica` the number of the inference engine that lives on these devices, None where none does. In sync and
    colocate_async, and with step switching, a lane of the Trainer has an engine too.
    """

    name: str
    side: Side
    devices: int
    first_device: int = 0
    replica: int | None = None
    version: int = 0
    spans: list[Span] = field(default_factory=list)
    _state: str = "idle"
    _cause: IdleCause | None = "startup"
    _since_s: float = 0.0
    _since_version: int = 0

    def work(self, now_s: float, state: Work) -> None:
        """From now on the lane does useful work of this kind."""
        self._enter(now_s, state, None)

    def idle(self, now_s: float, cause: IdleCause) -> None:
        """From now on the lane waits."""
        self._enter(now_s, "idle", cause)

    def close(self, now_s: float) -> None:
        """The end of the run: ends the running span."""
        self._enter(now_s, self._state, self._cause)

    def _enter(self, now_s: float, state: str, cause: IdleCause | None) -> None:
        if now_s > self._since_s:
            span = Span(
                self.name, self.side, self.devices, self._state, self._cause, self._since_s, now_s, self._since_version
            )
            self.spans.append(span)
            self._since_s = now_s
        self._state, self._cause, self._since_version = state, cause, self.version


#: The activity of `rlreport.run.spans` that shows an idle span of a cause, for writers of timelines; else it is "wait".
CAUSE_ACTIVITY: dict[IdleCause, Activity] = {
    "weight_sync": "weight_sync",
    "switching": "switch",
    "checkpoint": "checkpoint",
}


@dataclass(frozen=True, slots=True)
class DeviceSeconds:
    """Device-seconds of one side within some intervals: work by state, idle by cause."""

    devices: int
    wall_s: float
    busy: dict[str, float]
    idle: dict[str, float]

    @property
    def total(self) -> float:
        """Devices times wall time; equals busy plus idle."""
        return self.devices * self.wall_s

    def idle_fraction(self, *causes: str) -> float | None:
        """Share of the device time that is idle for these causes (all, when none is named); None without devices."""
        if not self.total:
            return None
        return sum(seconds for cause, seconds in self.idle.items() if not causes or cause in causes) / self.total


def device_seconds(lanes: Iterable[Lane], side: Side, intervals: Sequence[tuple[float, float]]) -> DeviceSeconds:
    """Sum the spans of one side over disjoint, ascending intervals of time."""
    mine = [lane for lane in lanes if lane.side == side]
    starts = [start for start, _ in intervals]
    busy: dict[str, float] = {}
    idle: dict[str, float] = {}
    for lane in mine:
        for span in lane.spans:
            seconds = _overlap(span, intervals, starts) * span.devices
            if seconds:
                sums, key = (busy, span.state) if span.cause is None else (idle, span.cause)
                sums[key] = sums.get(key, 0.0) + seconds
    wall_s = sum(end - start for start, end in intervals)
    return DeviceSeconds(sum(lane.devices for lane in mine), wall_s, dict(sorted(busy.items())), dict(sorted(idle.items())))


def _overlap(span: Span, intervals: Sequence[tuple[float, float]], starts: Sequence[float]) -> float:
    seconds = 0.0
    index = max(0, bisect_right(starts, span.start_s) - 1)
    while index < len(intervals) and intervals[index][0] < span.end_s:
        start, end = intervals[index]
        seconds += max(0.0, min(end, span.end_s) - max(start, span.start_s))
        index += 1
    return seconds
