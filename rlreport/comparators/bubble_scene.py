"""What the rules of idle causes look at: a run with its trace, its lanes and its course in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.bubble_paint import Intervals, complement, intersect, intervals, union
from rlreport.comparators.cycles_events import Chronicle
from rlreport.comparators.lanes import Lanes, lane_intervals
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import ACTIVITIES, Gauge, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What the rules look at: the run, its trace, whose lanes are whose, and what happened when.

    `shared` says that training and generation take turns on the same devices. `generated` is when any replica of the
    Rollouters' own (where devices are shared: any engine) generated, `lent` when an engine on the Trainer's devices did.
    """

    run: Run
    table: SpanTable
    lanes: Lanes
    course: Chronicle
    shared: bool
    generated: Intervals
    lent: Intervals

    @classmethod
    def of(cls, run: Run, table: SpanTable, lanes: Lanes, course: Chronicle) -> Scene:
        """Look at a run."""
        shared = run.mode not in SEPARATED_MODES and not lanes.of("rollout")
        own = lanes.of("trainer", "hybrid") if shared else lanes.of("rollout")
        generated = lane_intervals(table, [use.code for use in own], ("generate",))
        lent = lane_intervals(table, [use.code for use in lanes.of("trainer", "hybrid")], ("generate",))
        return cls(run, table, lanes, course, shared, generated, lent)

    @property
    def gaps(self) -> Intervals:
        """When no Trainer lane works, before each round."""
        return intervals(self.course.gaps)

    @property
    def sides_known(self) -> bool:
        """Whether it is known that both sides share devices, or do not."""
        return not self.shared or self.run.mode != "unknown" or len(self.lent) > 0

    @property
    def told_between(self) -> bool:
        """Whether anything tells what lies between two steps: the log's timers, or spans of the trace."""
        if self.course.matching is not None:
            return True
        between = [ACTIVITIES.index(activity) for activity in ("weight_sync", "validate", "checkpoint", "switch")]
        return any(bool((self.table.activity == code).any()) for code in between)

    @property
    def silent(self) -> Intervals:
        """When no lane of the trace shows anything but waiting."""
        shown = self.table.activity != ACTIVITIES.index("wait")
        seen = union(self.table.start_ns[shown], self.table.end_ns[shown])
        return complement(seen, self.course.begin_ns, self.course.end_ns)

    @property
    def events(self) -> Intervals:
        """When anything happened between two steps."""
        return union(*columns([(event.start_ns, event.end_ns) for event in self.course.events]))


def columns(pairs: Sequence[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs as two arrays."""
    import numpy as np

    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def minus(found: Intervals, other: Intervals) -> Intervals:
    """What some intervals leave of others."""
    if not len(found):
        return found
    begin, end = int(found.start_ns[0]), int(found.end_ns[-1])
    return intersect(found, complement(intersect(other, intervals([(begin, end)])), begin, end))


def trainer_validates(scene: Scene) -> bool:
    """Whether the Trainer's devices take part in validations.

    verl: always in separate_async where engines live on them (trainer_separate_async.py); in fully_async by
    `use_trainer_do_validate`.
    """
    if scene.run.mode == "separate_async":
        return scene.lanes.hybrid_exist is True
    return scene.run.value("async_training.use_trainer_do_validate") is True


def gauge_shift(table: SpanTable, gauge: Gauge) -> int | None:
    """What must be added to a gauge's times to get the table's; None where the clocks have nothing in common.

    Two clocks without a known zero are the same only where their times overlap.
    """
    if not len(gauge.time_ns) or not len(table):
        return None
    if table.zero_unix_ns is None:
        shift = 0 if gauge.zero_unix_ns is None else None
    else:
        shift = None if gauge.zero_unix_ns is None else gauge.zero_unix_ns - table.zero_unix_ns
    if shift is None:
        return None
    overlap = min(gauge.time_ns) + shift <= int(table.end_ns.max()) and max(gauge.time_ns) + shift >= int(
        table.start_ns.min()
    )
    return shift if overlap else None
