"""Spans: what a lane of devices did from when to when, and gauges: what was counted when.

All times are integer nanoseconds from a zero that belongs to the table, so that no precision is lost on absolute clocks;
`zero_unix_ns` ties that zero to Unix time where the source has an absolute clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rlreport.run.model import Mode

LaneSide = Literal["trainer", "rollout", "hybrid", "unknown"]

Activity = Literal[
    "generate",
    "update_actor",
    "update_critic",
    "old_log_prob",
    "ref",
    "values",
    "reward",
    "advantage",
    "train",
    "weight_sync",
    "validate",
    "checkpoint",
    "switch",
    "wait",
    "other",
]
ACTIVITIES: tuple[Activity, ...] = get_args(Activity)

#: Activities in which a lane's devices do useful work; the others are idle time with a known cause, or unknown.
BUSY: frozenset[Activity] = frozenset(
    {
        "generate",
        "update_actor",
        "update_critic",
        "old_log_prob",
        "ref",
        "values",
        "reward",
        "advantage",
        "train",
        "validate",
        "other",
    }
)

IdleCause = Literal[
    "samples",
    "quota",
    "queue_full",
    "weight_sync",
    "validation",
    "checkpoint",
    "long_tail",
    "switching",
    "startup",
    "unknown",
]
IDLE_CAUSES: tuple[IdleCause, ...] = get_args(IdleCause)

#: Idle causes in words, for tables and legends.
CAUSE_WORDS: Mapping[IdleCause, str] = {
    "samples": "waiting for samples",
    "quota": "staleness quota",
    "queue_full": "queue full",
    "weight_sync": "weight sync",
    "validation": "validation",
    "checkpoint": "checkpoint",
    "long_tail": "long-tail drain",
    "switching": "switching",
    "startup": "start-up",
    "unknown": "unknown cause",
}


def cause_words(mode: Mode) -> Mapping[IdleCause, str]:
    """The causes in words of one mode: one_step_off has no quota, it hands out one batch ahead."""
    return {**CAUSE_WORDS, "quota": "next batch not handed out yet"} if mode == "one_step_off" else CAUSE_WORDS


@dataclass(frozen=True, slots=True)
class Lane:
    """A group of devices whose spans stand in one row: a Trainer rank, a Rollouter replica.

    `index` is the rank or replica number where the source tells it; `devices` how many devices the lane stands for.
    """

    name: str
    side: LaneSide
    index: int | None = None
    devices: int | None = None


@dataclass(frozen=True, slots=True)
class SpanTable:
    """Spans as columns, ordered by lane and start; all arrays have the same length.

    `lane` indexes `lanes`, `activity` indexes `run.spans.ACTIVITIES`; `start_ns` and `end_ns` are int64 from the table's
    zero; `version` is the parameter version that the span belongs to, -1 where it is not told. `names` are the raw names of
    the activities by code in `name`, kept for the timeline export. `boundaries_ns` maps a parameter version to when it
    began to serve, `markers_ns` maps named events that several processes share to their times, for aligning clocks.
    """

    lanes: tuple[Lane, ...]
    lane: npt.NDArray[np.int32]
    activity: npt.NDArray[np.int8]
    name: npt.NDArray[np.int32]
    names: tuple[str, ...]
    start_ns: npt.NDArray[np.int64]
    end_ns: npt.NDArray[np.int64]
    version: npt.NDArray[np.int32]
    zero_unix_ns: int | None = None
    boundaries_ns: Mapping[int, int] = field(default_factory=dict)
    markers_ns: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity counted over time: times in nanoseconds from `zero_unix_ns` (0 when the clock is absolute), and values.

    `name` is what was counted ("rollout.active_requests", "queue.samples", "replay.pending"); `lane` the lane it belongs
    to, empty for the whole run; `capacity` its largest possible value where known.
    """

    name: str
    lane: str
    time_ns: Sequence[int]
    values: Sequence[float]
    zero_unix_ns: int | None = None
    capacity: float | None = None


def span_table(
    rows: Sequence[tuple[Lane, Activity, str, int, int, int]],
    *,
    zero_unix_ns: int | None = None,
    boundaries_ns: Mapping[int, int] | None = None,
    markers_ns: Mapping[str, int] | None = None,
) -> SpanTable:
    """A table from rows (lane, activity, raw name, start_ns, end_ns, version), in any order.

    Lanes are ordered by side (Trainer, hybrid, Rollouter, unknown), then by index, then by name.
    """
    import numpy as np

    sides = {"trainer": 0, "hybrid": 1, "rollout": 2, "unknown": 3}
    lanes = sorted(
        {row[0] for row in rows},
        key=lambda lane: (sides[lane.side], lane.index is None, lane.index or 0, lane.name),
    )
    lane_codes = {lane: code for code, lane in enumerate(lanes)}
    names = tuple(dict.fromkeys(row[2] for row in rows))
    name_codes = {name: code for code, name in enumerate(names)}
    activities = {activity: code for code, activity in enumerate(ACTIVITIES)}
    ordered = sorted(rows, key=lambda row: (lane_codes[row[0]], row[3], row[4]))
    return SpanTable(
        lanes=tuple(lanes),
        lane=np.array([lane_codes[row[0]] for row in ordered], np.int32),
        activity=np.array([activities[row[1]] for row in ordered], np.int8),
        name=np.array([name_codes[row[2]] for row in ordered], np.int32),
        names=names,
        start_ns=np.array([row[3] for row in ordered], np.int64),
        end_ns=np.array([row[4] for row in ordered], np.int64),
        version=np.array([row[5] for row in ordered], np.int32),
        zero_unix_ns=zero_unix_ns,
        boundaries_ns=dict(boundaries_ns or {}),
        markers_ns=dict(markers_ns or {}),
    )
