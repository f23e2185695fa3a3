"""The idle time that the framework logs beside the one that the account shows, and what makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlreport.comparators.bubble_paint import IDLE_STATES, complement, intersect
from rlreport.comparators.bubble_results import AccountSide, DeviceAccount
from rlreport.comparators.bubble_scene import Scene
from rlreport.comparators.bubbles import PaintedSeat
from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import column_array
from rlreport.run.model import Run
from rlreport.run.spans import CAUSE_WORDS

#: What verl's own ratios count, by side.
COUNTS: Mapping[AccountSide, str] = {
    "trainer": "waiting for samples over step time",
    "rollout": "the time after the last drain of a version's pauses",
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


def compare_reported(
    run: Run, window: SteadyState, account: DeviceAccount, draining: float | None
) -> tuple[ReportedIdle, ...]:
    """Set logged and reconstructed idle shares side by side, for the sides that have both.

    The Trainer's logged share counts waiting for samples; all other causes are what it leaves out. The Rollouters' counts
    time in which nothing is in generation, once the last pause of a version has drained: it leaves out weight sync and
    validation, and replicas that idle while others still generate (`draining`, a share of their device time).
    """
    found = []
    trainer, rollout = account.trainer, account.rollout
    logged = _logged_trainer(run, window)
    if trainer is not None and trainer.idle_fraction is not None and logged is not None:
        parts = [(CAUSE_WORDS[cause], share) for cause, share in trainer.shares.items() if cause != "samples"]
        found.append(ReportedIdle("trainer", logged, trainer.idle_fraction, COUNTS["trainer"], tuple(parts)))
    reported = _mean(run, "idle.rollout_reported", window)
    if rollout is not None and rollout.idle_fraction is not None and reported is not None:
        parts = [(CAUSE_WORDS[cause], rollout.share(cause)) for cause in ("weight_sync", "validation", "startup")]
        if draining is not None:
            parts.append(("replicas that idle while others generate", draining))
        told = sorted(((words, share) for words, share in parts if share > 0), key=lambda part: -part[1])
        found.append(ReportedIdle("rollout", reported, rollout.idle_fraction, COUNTS["rollout"], tuple(told)))
    return tuple(found)


def _logged_trainer(run: Run, window: SteadyState) -> float | None:
    """Waiting over step time in the window, a ratio of sums; else the logged ratio's mean."""
    import numpy as np

    rows = run.steps.index.isin(window.kept)
    wait, step = column_array(run, "time.wait_s")[rows], column_array(run, "time.step_s")[rows]
    known = np.isfinite(wait) & np.isfinite(step)
    if known.any() and float(step[known].sum()) > 0:
        return float(wait[known].sum() / step[known].sum())
    return _mean(run, "idle.trainer_reported", window)


def _mean(run: Run, metric: str, window: SteadyState) -> float | None:
    import numpy as np

    values = column_array(run, metric)[run.steps.index.isin(window.kept)]
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def draining_share(scene: Scene, seats: Sequence[PaintedSeat], start_ns: int, end_ns: int) -> float | None:
    """Share of the Rollouters' device time in which a replica idles while another one generates; None without replicas."""
    weight = sum(seat.seat.weight for seat in seats if seat.seat.side == "rollout")
    if not weight or end_ns <= start_ns:
        return None
    others = intersect(scene.generated, complement(scene.course.of("weight_sync", "validate"), start_ns, end_ns))
    idle = sum(
        seat.seat.weight * intersect(seat.painted.where(IDLE_STATES), others).total_ns
        for seat in seats
        if seat.seat.side == "rollout"
    )
    return float(idle / (weight * (end_ns - start_ns)))
