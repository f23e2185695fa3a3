"""The idle time that the framework logs beside the one that the account shows, and what makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlreport.comparators.bubble_paint import IDLE_STATES, complement, intersect
from rlreport.comparators.bubble_results import AccountSide, DeviceAccount
from rlreport.comparators.bubble_scene import Scene
from rlreport.comparators.bubbles import PaintedSeat
from rlreport.comparators.window import column_array
from rlreport.run.model import Run
from rlreport.run.spans import CAUSE_WORDS

_AT_ONCE_NS = 10_000_000

#: What verl's own ratios count, by side.
COUNTS: Mapping[AccountSide, str] = {
    "trainer": "waiting for samples over step time",
    "rollout": "the time from the last drain of a version's pauses to the next version",
}


@dataclass(frozen=True, slots=True)
class ReportedIdle:
    """One side's idle share as logged and as reconstructed, over the window.

    `parts` are the shares that the account counts and the logged number does not, in words, the largest first; `rest` is
    what is left of the difference: other denominators, other steps, or a logged number that is wrong.
    """

    side: AccountSide
    reported: float
    reconstructed: float
    counts: str
    parts: tuple[tuple[str, float], ...]

    @property
    def difference(self) -> float:
        """Reconstructed minus reported."""
        return self.reconstructed - self.reported

    @property
    def rest(self) -> float:
        """The part of the difference that no named part explains."""
        return self.difference - sum(share for _, share in self.parts)


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Shares of the Rollouters' device time that their own ratio does not count.

    `while_others_generate` is replicas that idle while another one generates; `undrained_sync` weight syncs that interrupt
    generation, so that no pause had drained.
    """

    while_others_generate: float
    undrained_sync: float


def compare_reported(
    run: Run, steps: Sequence[int], account: DeviceAccount, uncounted: Uncounted | None
) -> tuple[ReportedIdle, ...]:
    """Set logged and reconstructed idle shares side by side, for the sides that have both.

    The Trainer's logged share counts waiting for samples; all other causes are what it leaves out. The Rollouters' counts
    the time from the moment when the last pause of a version has drained to the next version, weight sync included
    (verl/experimental/fully_async_policy/fully_async_rollouter.py, `reset_staleness`): what it leaves out is `uncounted`.
    `steps` are those of the window that the account covers.
    """
    found = []
    trainer, rollout = account.trainer, account.rollout
    logged = _logged_trainer(run, steps)
    if trainer is not None and trainer.idle_fraction is not None and logged is not None:
        parts = [(CAUSE_WORDS[cause], share) for cause, share in trainer.shares.items() if cause != "samples"]
        stretched = _stretched(run, steps, logged, trainer.wall_s)
        if stretched is not None:
            parts.append(("the same waiting over all time instead of step time", stretched))
        found.append(ReportedIdle("trainer", logged, trainer.idle_fraction, COUNTS["trainer"], tuple(parts)))
    reported = _mean(run, "idle.rollout_reported", steps)
    if rollout is not None and rollout.idle_fraction is not None and reported is not None:
        parts = [(CAUSE_WORDS[cause], rollout.share(cause)) for cause in ("validation", "startup")]
        if uncounted is not None:
            parts.append(("replicas that idle while others generate", uncounted.while_others_generate))
            parts.append(("weight sync of versions that never drained", uncounted.undrained_sync))
        told = sorted(((words, share) for words, share in parts if share > 0), key=lambda part: -part[1])
        found.append(ReportedIdle("rollout", reported, rollout.idle_fraction, COUNTS["rollout"], tuple(told)))
    return tuple(found)


def _logged_trainer(run: Run, steps: Sequence[int]) -> float | None:
    """Waiting over step time in the window, a ratio of sums; else the logged ratio's mean."""
    import numpy as np

    rows = run.steps.index.isin(steps)
    wait, step = column_array(run, "time.wait_s")[rows], column_array(run, "time.step_s")[rows]
    known = np.isfinite(wait) & np.isfinite(step)
    if known.any() and float(step[known].sum()) > 0:
        return float(wait[known].sum() / step[known].sum())
    return _mean(run, "idle.trainer_reported", steps)


def _stretched(run: Run, steps: Sequence[int], logged: float, wall_s: float) -> float | None:
    """What the logged share changes by when it is told of all time: of the steps from the first to the last, and between."""
    import numpy as np

    if not steps or not wall_s:
        return None
    inside = (np.asarray(run.steps.index) >= min(steps)) & (np.asarray(run.steps.index) <= max(steps))
    step_s = float(np.nansum(column_array(run, "time.step_s")[inside]))
    return logged * (step_s / wall_s - 1)


def _mean(run: Run, metric: str, steps: Sequence[int]) -> float | None:
    import numpy as np

    values = column_array(run, metric)[run.steps.index.isin(steps)]
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def measure_uncounted(scene: Scene, seats: Sequence[PaintedSeat], start_ns: int, end_ns: int) -> Uncounted | None:
    """What the Rollouters' own ratio does not count in a stretch of time; None without replicas of their own."""
    weight = sum(seat.seat.weight for seat in seats if seat.seat.side == "rollout")
    if not weight or end_ns <= start_ns:
        return None
    others = intersect(scene.generated, complement(scene.course.of("weight_sync", "validate"), start_ns, end_ns))
    idle = sum(
        seat.seat.weight * intersect(seat.painted.where(IDLE_STATES), others).total_ns
        for seat in seats
        if seat.seat.side == "rollout"
    )
    busy_until = scene.generated.end_ns
    undrained = sum(
        event.end_ns - event.start_ns
        for event in scene.course.events
        if event.kind == "weight_sync"
        and start_ns <= event.start_ns < end_ns
        and bool((abs(busy_until - event.start_ns) <= _AT_ONCE_NS).any())
    )
    whole = end_ns - start_ns
    return Uncounted(float(idle / (weight * whole)), undrained / whole)
