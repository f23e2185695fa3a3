"""The throughput of the wall clock beside that of steady state, and where the seconds between the two went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rlreport.comparators.alignment import align
from rlreport.comparators.arm import BY_NAME, Arm, Metric
from rlreport.comparators.results import SteadyState, ThroughputComparison
from rlreport.comparators.window import column_array
from rlreport.run.diagnostics import Notice
from rlreport.run.format import count, join_words, percent, ratio
from rlreport.run.model import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LossCause = Literal[
    "validation", "checkpoint", "start-up", "warm-up", "restart", "stall", "partial", "not logged", "pace", "unexplained"
]
LOSS_CAUSES: tuple[LossCause, ...] = get_args(LossCause)

#: What an excluded step's time beyond the steady pace is laid to, by the cause of its exclusion.
_BY_REASON: Mapping[str, LossCause] = {
    "warm-up": "warm-up",
    "restart": "restart",
    "stall": "stall",
    "partial": "partial",
    "no step time": "partial",
}
#: Phases that take time beside training, and what their seconds are laid to.
_PHASES: tuple[tuple[str, LossCause], ...] = (("time.validate_s", "validation"), ("time.checkpoint_s", "checkpoint"))
#: A clock that begins less than this share of a step before the first step began with it: start-up is not in it.
_SMALLEST_START = 0.05
#: Causes whose names need words in a sentence.
_SHORT: Mapping[LossCause, str] = {
    "unexplained": "time that no timer covers",
    "pace": "the slower or faster pace outside of the window",
    "partial": "time of steps whose work is not known",
    "not logged": "time of steps without a line",
}
#: An unexplained part of the wall clock larger than this is told.
_TELLING = 0.05


@dataclass(frozen=True, slots=True)
class WallClock:
    """One run's account of time from the start of its first training step (or earlier, where the clock tells) to a step.

    `steady` and `wall` are the metric's values in steady state and over all of `wall_s`. `losses` are the seconds by which
    the wall clock exceeds what the same work takes at the steady pace, by cause; they add up to `lost_s` exactly, and a
    negative one is a gain (the first steps of an async run, fed from prefetched samples). Steady throughput times
    1 - lost_s / wall_s is that of the wall clock.

    Causes: "validation" and "checkpoint" are their logged seconds, within steps that were excluded and between steps;
    "start-up" the time before the first step; "warm-up", "restart" and "stall" the excess of the steps excluded for it,
    "restart" also the time between a stop and the next step; "partial" the time of steps whose work is not known; "not
    logged" the excess of steps without a line; "pace" what the steps outside of the window took beyond the steady pace;
    "unexplained" the time between steps that no timer covers.
    """

    metric: str
    unit: str
    first_step: int
    last_step: int
    wall_s: float
    steps_s: float
    steady: float
    wall: float
    losses: Mapping[LossCause, float]
    start_up_known: bool
    notices: tuple[Notice, ...] = ()

    @property
    def lost_s(self) -> float:
        """Seconds beyond what the same work takes at the steady pace."""
        return sum(self.losses.values())

    def share(self, cause: LossCause) -> float:
        """A cause's seconds as a fraction of the wall clock."""
        return self.losses.get(cause, 0.0) / self.wall_s


@dataclass(frozen=True, slots=True)
class WallClockComparison:
    """Two runs by the wall clock over the training that both have done, beside their ratio in steady state.

    `time_ratio` is the baseline's wall clock over the variant's for that training.
    """

    baseline: WallClock
    variant: WallClock
    steady_ratio: float
    wall_ratio: float
    time_ratio: float
    notices: tuple[Notice, ...] = ()


def account_time(
    run: Run, window: SteadyState, metric: Metric | None = None, last_step: int | None = None
) -> WallClock | None:
    """Account for a run's wall clock up to a step (default: its last), by cause.

    The metric defaults to the first that the run's window tells. None without an absolute clock (TensorBoard, a progress
    bar), without a steady window, or with fewer than two clocked steps.
    """
    import numpy as np

    arm = Arm.of(run, window)
    chosen = metric or next((one for one in BY_NAME.values() if arm.knows(one)), None)
    clock = run.metric("clock.wall_s")
    if chosen is None or clock is None or not arm.knows(chosen):
        return None
    work_in_window = arm.work(chosen)
    assert work_in_window is not None
    pace_s = float(arm.arrays.time_s.sum() / work_in_window.sum())  # seconds for one unit of work
    index = np.asarray(run.steps.index, dtype=np.int64)
    time_s = column_array(run, "time.step_s")
    moments = column_array(run, "clock.wall_s")
    rows = np.flatnonzero(np.isfinite(time_s) & np.isfinite(moments) & (index <= (last_step or index[-1])))
    if len(rows) < 2 or bool((np.diff(moments[rows]) <= 0).any()):
        return None
    ledger = _Ledger(run, window, pace_s, index[rows], rows)
    work = np.ones(len(index)) if chosen.work == "steps" else column_array(run, f"work.{chosen.work}")
    begins_s = float(moments[rows[0]] - time_s[rows[0]])
    zero_s = min(0.0, begins_s)  # the clock starts at its first known moment: the first log line, or earlier
    known = begins_s - zero_s > _SMALLEST_START * float(np.median(time_s[rows]))
    ledger.add("start-up" if known else "unexplained", begins_s - zero_s)
    wall_s = float(moments[rows[-1]]) - zero_s
    done = ledger.book_steps(time_s[rows], work[rows])
    ledger.book_gaps(moments[rows], time_s[rows], float(np.nanmean(work[rows])))
    done += ledger.unlogged_work
    factor = arm.factor(chosen)
    return WallClock(
        metric=chosen.name,
        unit=chosen.unit,
        first_step=int(index[rows[0]]),
        last_step=int(index[rows[-1]]),
        wall_s=wall_s,
        steps_s=float(time_s[rows].sum()),
        steady=factor / pace_s,
        wall=done / wall_s * factor,
        losses={cause: ledger.seconds[cause] for cause in LOSS_CAUSES if abs(ledger.seconds[cause]) > 1e-9 * wall_s},
        start_up_known=known,
        notices=_notices(run, ledger, wall_s, known=known),
    )


def compare_wall_clock(baseline: Run, variant: Run, throughput: ThroughputComparison) -> WallClockComparison | None:
    """Compare two runs by the wall clock up to the end of the training that both have done.

    The metric is the headline's. None unless both runs have an absolute clock and a steady window.
    """
    runs, windows = (baseline, variant), (throughput.window_baseline, throughput.window_variant)
    metric = BY_NAME.get(throughput.headline.metric)
    if metric is None or any(run.trained_steps.empty for run in runs):
        return None
    aligned = align(runs, ("baseline", "variant"))
    trained = [[int(step) for step in run.trained_steps.index] for run in runs]
    end = min(places.end[steps[-1]] for places, steps in zip(aligned.places, trained, strict=True))
    accounts = []
    for run, window, places, steps in zip(runs, windows, aligned.places, trained, strict=True):
        last = max((step for step in steps if places.end[step] <= end * (1 + 1e-9)), default=steps[0])
        accounts.append(account_time(run, window, metric, last))
    first, second = accounts
    if first is None or second is None:
        return None
    steady_ratio, wall_ratio = second.steady / first.steady, second.wall / first.wall
    notices = []
    if abs(wall_ratio / steady_ratio - 1) > throughput.headline.margin / 2:
        message = (
            f"by the wall clock the ratio is {ratio(wall_ratio)}, in steady state {ratio(steady_ratio)}: "
            f"{_difference(first, second)}"
        )
        notices.append(Notice("RR466", message))
    unknown = [run.label for run, account in zip(runs, (first, second), strict=True) if not account.start_up_known]
    if unknown:
        notices.append(_no_start_up(unknown))
    own = (notice for account in (first, second) for notice in account.notices if notice.code != "RR467")
    return WallClockComparison(first, second, steady_ratio, wall_ratio, first.wall_s / second.wall_s, (*notices, *own))


class _Ledger:
    """Seconds by cause, as they are booked."""

    def __init__(
        self, run: Run, window: SteadyState, pace_s: float, steps: NDArray[np.int64], rows: NDArray[np.intp]
    ) -> None:
        self.run = run
        self.pace_s = pace_s
        self.steps = steps
        self.rows = rows
        self.kept = set(window.kept)
        self.reasons = {exclusion.step: exclusion.reason for exclusion in window.excluded}
        self.seconds: dict[LossCause, float] = defaultdict(float)
        self.unlogged_work = 0.0

    def add(self, cause: LossCause, seconds: float) -> None:
        self.seconds[cause] += seconds

    def book_steps(self, time_s: Array, work: Array) -> float:
        """Book what the steps took beyond the steady pace; gives the work that they did."""
        import numpy as np

        inside = {
            cause: np.nan_to_num(column_array(self.run, phase)[self.rows])
            for phase, cause in _PHASES
            if phase in self.run.semantics.contains
        }
        done = 0.0
        for place, step in enumerate(int(step) for step in self.steps):
            own = float(work[place]) if np.isfinite(work[place]) else 0.0
            done += own
            excess = float(time_s[place]) - own * self.pace_s
            if step in self.kept:
                self.add("pace", excess)
                continue
            for cause, seconds in inside.items():
                self.add(cause, float(seconds[place]))
                excess -= float(seconds[place])
            self.add("partial" if own == 0 else _BY_REASON.get(self.reasons.get(step, ""), "pace"), excess)
        return done

    def book_gaps(self, moments: Array, time_s: Array, typical_work: float) -> None:
        """Book the time between steps: timed phases, restarts, steps that were not logged, and what nothing explains."""
        import numpy as np

        outside = {
            cause: np.nan_to_num(column_array(self.run, phase)[self.rows])
            for phase, cause in _PHASES
            if phase not in self.run.semantics.contains
        }
        for place in range(1, len(self.steps)):
            gap = float(moments[place] - moments[place - 1] - time_s[place])
            missing = int(self.steps[place] - self.steps[place - 1]) - 1
            for cause, seconds in outside.items():
                taken = min(float(seconds[place]), max(gap, 0.0))
                self.add(cause, taken)
                gap -= taken
            if int(self.steps[place]) in self.run.restarts:
                self.add("restart", gap)
            elif missing:
                self.unlogged_work += missing * typical_work
                self.add("not logged", gap - missing * typical_work * self.pace_s)
            else:
                self.add("unexplained", gap)


def _notices(run: Run, ledger: _Ledger, wall_s: float, *, known: bool) -> tuple[Notice, ...]:
    notices = []
    if not known:
        notices.append(_no_start_up([run.label]))
    if ledger.seconds["unexplained"] > _TELLING * wall_s:
        message = (
            f"{run.label}: {count(ledger.seconds['unexplained'])} s between steps, "
            f"{percent(ledger.seconds['unexplained'] / wall_s)} of the wall clock, are covered by no timer"
        )
        notices.append(Notice("RR468", message))
    return tuple(notices)


def _no_start_up(labels: Sequence[str]) -> Notice:
    return Notice(
        "RR467", f"the clock of {join_words(labels)} starts with the first step: start-up is not in the wall clock"
    )


def _difference(first: WallClock, second: WallClock) -> str:
    """Which causes make the difference between both ratios, the largest first."""
    shares = {cause: (first.share(cause), second.share(cause)) for cause in LOSS_CAUSES}
    largest = sorted(shares, key=lambda cause: -abs(shares[cause][0] - shares[cause][1]))[:2]
    told = [
        f"{_SHORT.get(cause, cause)} takes {percent(shares[cause][0])} of the baseline's time and "
        f"{percent(shares[cause][1])} of the variant's"
        for cause in largest
        if abs(shares[cause][0] - shares[cause][1]) > 0.002
    ]
    return join_words(told) or "no one cause explains it"
