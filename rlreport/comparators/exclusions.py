"""Which steps cannot stand for a run's throughput, by rule and by cause. Nothing here looks at how the rest behaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.results import Exclusion
from rlreport.comparators.window import column_array
from rlreport.run.diagnostics import Notice
from rlreport.run.format import count, number, percent, plural
from rlreport.run.model import Run
from rlreport.stats.robust import find_stalls

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A checkpoint that takes a larger share of its step than this puts the step out of the window.
CHECKPOINT_MAX_SHARE = 0.01
#: A cause that more than this share of all steps have is part of an ordinary step, and excludes none.
_ORDINARY_SHARE = 0.5
#: Stalls in more than this share of all steps are how the run behaves, and exclude none.
_RECURRING_STALLS = 0.1
#: Fewer steps than this do not show what an ordinary step takes, so no stall can be told.
_FEWEST_FOR_STALLS = 8


@dataclass(frozen=True, slots=True)
class _Cause:
    """A part of a step that ordinary steps do not have: the metric that times it, its reason word, the share that counts."""

    metric: str
    reason: str
    smallest_share: float


def step_seconds(value_s: float) -> str:
    """The time of a step to the second, so that a reader finds it in the log: "22,543 s"; below 100 s three digits."""
    return f"{count(value_s) if value_s >= 100 else number(value_s)} s"


class _Sieve:
    """The logged steps of a run, and those already excluded."""

    def __init__(self, run: Run) -> None:
        import numpy as np

        self.run = run
        self.steps = np.asarray(run.steps.index, dtype=np.int64)
        self.time_s = column_array(run, "time.step_s")
        self.usable = np.ones(len(self.steps), dtype=np.bool_)
        self.excluded: dict[int, Exclusion] = {}
        self.notices: list[Notice] = []

    def drop(self, mask: NDArray[np.bool_], reason: str, detail: Callable[[int], str]) -> None:
        """Exclude the steps at the places of the mask that are still usable; `detail` gives the words for a place."""
        for place in (mask & self.usable).nonzero()[0]:
            step = int(self.steps[place])
            self.excluded[step] = Exclusion(step, reason, detail(int(place)))
        self.usable &= ~mask


def exclude_by_cause(
    run: Run, *, from_step: int | None, to_step: int | None, checkpoint_max_share: float
) -> tuple[list[int], dict[int, Exclusion], list[Notice]]:
    """Steps left after excluding by cause (ascending), the exclusions by step, and what a reader must know of them.

    In this order: outside a declared window; no step time (validation before training); a cut line or a missing token
    count; validation or checkpoint inside the step's time, as the run's semantics say; the first step after a restart; a
    one-off stall.
    """
    import numpy as np

    sieve = _Sieve(run)
    steps, time_s = sieve.steps, sieve.time_s
    first, last = (-np.inf if from_step is None else from_step), (np.inf if to_step is None else to_step)
    sieve.drop((steps < first) | (steps > last), "outside window", lambda _: "outside the declared window")
    timed = np.isfinite(time_s) & (time_s > 0)
    sieve.drop(~timed, "no step time", lambda _: "no training step, or its time was not logged")
    cut = np.isin(steps, list(run.partial_steps))
    sieve.drop(cut, "partial", lambda place: run.partial_steps[int(steps[place])])
    tokens = column_array(run, "work.tokens")
    counted = np.isfinite(tokens) & (tokens > 0)
    if sieve.usable.any() and float(counted[sieve.usable].mean()) >= _ORDINARY_SHARE:
        sieve.drop(~counted, "partial", lambda _: "no token count")
    _drop_timed_causes(sieve, checkpoint_max_share)
    sieve.drop(np.isin(steps, list(run.restarts)), "restart", lambda _: "first step after the run was resumed")
    _drop_stalls(sieve)
    return [int(step) for step in steps[sieve.usable]], sieve.excluded, sieve.notices


def _drop_timed_causes(sieve: _Sieve, checkpoint_max_share: float) -> None:
    """Exclude steps with validation or a checkpoint inside; the larger of the two names the reason."""
    import numpy as np

    causes = (
        _Cause("time.validate_s", "validation", 0.0),
        _Cause("time.checkpoint_s", "checkpoint", checkpoint_max_share),
    )
    usable = sieve.usable.copy()
    time_s = np.where(usable, sieve.time_s, 0.0)
    parts: list[tuple[_Cause, NDArray[np.float64], NDArray[np.bool_]]] = []
    for cause in causes:
        if cause.metric not in sieve.run.semantics.contains:
            continue
        part_s = np.nan_to_num(column_array(sieve.run, cause.metric), nan=0.0)
        mask = usable & (part_s > cause.smallest_share * time_s)
        n = int(mask.sum())
        if n > max(1.0, _ORDINARY_SHARE * int(usable.sum())):
            message = (
                f"{plural(n, 'step')} of {int(usable.sum())} contain a {cause.reason}: it counts as part of an ordinary "
                "step, and none is excluded for it"
            )
            sieve.notices.append(Notice("RR447", message))
        elif n:
            parts.append((cause, part_s, mask))
    if not parts:
        return

    def detail(place: int) -> str:
        found = [f"{step_seconds(float(part_s[place]))} of {cause.reason}" for cause, part_s, mask in parts if mask[place]]
        return f"{' and '.join(found)} in a step of {step_seconds(float(sieve.time_s[place]))}"

    largest = np.argmax(np.stack([np.where(mask, part_s, -1.0) for _, part_s, mask in parts]), axis=0)
    for rank, (cause, _, mask) in enumerate(parts):
        sieve.drop(mask & (largest == rank), cause.reason, detail)


def _drop_stalls(sieve: _Sieve) -> None:
    """Exclude one-off stalls; where they recur they belong to the run, and a notice says so."""
    import numpy as np

    places = np.flatnonzero(sieve.usable)
    n = len(places)
    if n < _FEWEST_FOR_STALLS:
        return
    time_s = sieve.time_s
    stalled = places[find_stalls(time_s[places])]
    if not stalled.size:
        return
    median_s = float(np.median(time_s[places]))
    share = float(time_s[stalled].sum() / time_s[places].sum())
    stalls = plural(int(stalled.size), "step")
    if stalled.size > max(2.0, _RECURRING_STALLS * n):
        message = (
            f"{stalls} of {n} take more than three times the median around them and hold {percent(share)} of all step time: "
            "they recur, so they stay in the window"
        )
        sieve.notices.append(Notice("RR448", message))
        return
    mask = np.zeros(len(time_s), dtype=np.bool_)
    mask[stalled] = True
    sieve.drop(
        mask, "stall", lambda place: f"{step_seconds(float(time_s[place]))} against a median of {step_seconds(median_s)}"
    )
    message = (
        f"{stalls} with a one-off stall, {percent(share)} of all step time, left out "
        f"(the median step takes {step_seconds(median_s)})"
    )
    sieve.notices.append(Notice("RR449", message))
