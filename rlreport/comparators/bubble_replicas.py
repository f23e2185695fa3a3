"""How evenly replicas work, and how long the last few samples of a batch keep the others waiting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rlreport.comparators.bubble_causes import ACTIVE_GAUGES
from rlreport.comparators.bubble_paint import BUSY_STATES, Intervals, busy_state, intersect, intervals
from rlreport.comparators.bubble_scene import Scene, gauge_shift
from rlreport.comparators.bubbles import PaintedSeat

#: The last share of a batch's samples: the tail.
TAIL_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class ReplicaBalance:
    """How evenly the Rollouters' replicas work over a stretch of time.

    `busy` is the share of the time in which each works, by lane in the order of their numbers; `max_over_mean` is 1 when all
    work alike.
    """

    busy: tuple[tuple[str, float], ...]

    @property
    def mean(self) -> float:
        """The mean share."""
        return math.fsum(share for _, share in self.busy) / len(self.busy)

    @property
    def max_over_mean(self) -> float | None:
        """The largest share over the mean one; None when none works."""
        return max(share for _, share in self.busy) / self.mean if self.mean else None

    @property
    def busiest(self) -> tuple[str, float]:
        """The replica that works most."""
        return max(self.busy, key=lambda item: item[1])

    @property
    def idlest(self) -> tuple[str, float]:
        """The replica that works least."""
        return min(self.busy, key=lambda item: item[1])


def measure_balance(scene: Scene, seats: Sequence[PaintedSeat], start_ns: int, end_ns: int) -> ReplicaBalance | None:
    """The share of a stretch of time in which each replica of the Rollouters' own works; None below two replicas."""
    mine = [seat for seat in seats if seat.seat.side == "rollout"]
    if len(mine) < 2 or end_ns <= start_ns:
        return None
    here = intervals([(start_ns, end_ns)])
    shares = [
        (
            scene.table.lanes[seat.seat.lanes[0]].name,
            intersect(seat.painted.where(BUSY_STATES), here).total_ns / (end_ns - start_ns),
        )
        for seat in mine
    ]
    return ReplicaBalance(tuple(shares))


@dataclass(frozen=True, slots=True)
class LongTail:
    """The share of generating time in which the last tenth of a batch runs alone, over some cycles.

    From "samples": at most a tenth of the most samples that a cycle had in generation are left. From "replicas": at most a
    tenth of the replicas, and at least one, generate, and the others have nothing. `others_idle` is the share of the
    replicas' device time that idles meanwhile.
    """

    share: float
    others_idle: float
    basis: Literal["samples", "replicas"]


def measure_long_tail(scene: Scene, seats: Sequence[PaintedSeat], cycles: Sequence[tuple[int, int]]) -> LongTail | None:
    """The long tail over some cycles, from a gauge of samples in generation where there is one, else from the replicas.

    Generation on shared devices is looked at as well; None below two replicas.
    """
    generating = busy_state("generate")
    side = "trainer" if scene.shared else "rollout"
    mine = [seat.painted.where([generating]) for seat in seats if seat.seat.side == side]
    if len(mine) < 2 or not cycles:
        return None
    here = intervals(cycles)
    counted = _counts(mine)
    gauge = _gauge_tail(scene, cycles)
    few = max(1, math.floor(TAIL_SHARE * len(mine)))
    tail = gauge if gauge is not None else intersect(intervals((a, b) for a, b, n in counted if 0 < n <= few), here)
    alive = intersect(intervals((a, b) for a, b, n in counted if n > 0), here)
    if not alive.total_ns:
        return None
    tail = intersect(tail, alive)
    idle = sum(tail.total_ns - intersect(found, tail).total_ns for found in mine)
    return LongTail(
        tail.total_ns / alive.total_ns,
        idle / (len(mine) * max(here.total_ns, 1)),
        "samples" if gauge is not None else "replicas",
    )


def _counts(lanes: Sequence[Intervals]) -> list[tuple[int, int, int]]:
    """(start, end, how many of the lanes have an interval there)."""
    steps: dict[int, int] = {}
    for lane in lanes:
        for start, end in lane.pairs():
            steps[start] = steps.get(start, 0) + 1
            steps[end] = steps.get(end, 0) - 1
    moments = sorted(steps)
    counted, running = [], 0
    for start, end in itertools.pairwise(moments):
        running += steps[start]
        counted.append((start, end, running))
    return counted


def _gauge_tail(scene: Scene, cycles: Sequence[tuple[int, int]]) -> Intervals | None:
    """When at most a tenth of a cycle's most samples are in generation; None without a gauge on the trace's clock."""
    for gauge in scene.run.gauges:
        shift = gauge_shift(scene.table, gauge)
        if gauge.name not in ACTIVE_GAUGES or gauge.lane or shift is None:
            continue
        entries = sorted((int(at) + shift, float(value)) for at, value in zip(gauge.time_ns, gauge.values, strict=True))
        held = [(at, after, value) for (at, value), (after, _) in itertools.pairwise(entries)]
        tails: list[tuple[int, int]] = []
        for begin, end in cycles:
            mine = [(max(a, begin), min(b, end), value) for a, b, value in held if a < end and b > begin]
            most = max((value for _, _, value in mine), default=0.0)
            tails += [(a, b) for a, b, value in mine if 0 < value <= TAIL_SHARE * most]
        return intervals(tails)
    return None
