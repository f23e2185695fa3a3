"""A run's timeline: what every lane did, how device time adds up, and what the bubbles are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rlreport.comparators.bubble_lead import LeadSeries, QuotaCover, measure_lead_series, measure_quota
from rlreport.comparators.bubble_metrics import account_metrics
from rlreport.comparators.bubble_paint import idle_state, intersect, intervals
from rlreport.comparators.bubble_replicas import LongTail, ReplicaBalance, measure_balance, measure_long_tail
from rlreport.comparators.bubble_reported import ReportedIdle, compare_reported, measure_uncounted
from rlreport.comparators.bubble_results import WAITS_FOR_OTHER, CycleAccount, DeviceAccount, Owner, bubble_owner
from rlreport.comparators.bubble_scene import Scene
from rlreport.comparators.bubbles import PaintedSeat, account_cycles, account_stretches, paint_seats
from rlreport.comparators.cycles import chronicle, covered_ns, window_ns, within
from rlreport.comparators.lanes import find_lanes
from rlreport.comparators.periodic import PeriodicBubble, find_periodic
from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline_table import one_table
from rlreport.comparators.window import column_array
from rlreport.comparators.windows_shown import ShownWindow, choose_windows
from rlreport.run.diagnostics import Notice
from rlreport.run.format import percent, plural
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import IdleCause

#: busy + idle may differ from wall x devices by this share; more is a mistake and is told.
IDENTITY_TOLERANCE = 1e-3
#: Waiting for samples in the trace and in the log may differ by this share of the device time before it is told.
WAIT_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The trace behind a timeline, for figures and for export."""

    scene: Scene
    seats: tuple[PaintedSeat, ...]
    shown: tuple[ShownWindow, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """All that is known of a run's bubbles.

    `window` accounts for all time from the begin of the first to the end of the last step of the steady window; of the whole
    trace where its steps could not be tied to the log (`whole_trace`). `whole` and `cycles` account for all of the trace;
    from metrics alone there is neither. `prompts` are those of the window's steps, None where they are not known.
    `paused_by_checkpoints` is the share of the Rollouters' device time in which they wait for a Trainer that saves.
    """

    window: DeviceAccount
    whole: DeviceAccount | None
    cycles: tuple[CycleAccount, ...]
    whole_trace: bool
    prompts: float | None
    owner: Owner
    reported: tuple[ReportedIdle, ...]
    lead: LeadSeries | None
    balance: ReplicaBalance | None
    long_tail: LongTail | None
    periodic: tuple[PeriodicBubble, ...]
    quota: QuotaCover | None
    trace: Trace | None
    basis: str
    notices: tuple[Notice, ...] = ()
    paused_by_checkpoints: float = 0.0

    def idle_for_1000_prompts(self) -> Mapping[str, Mapping[IdleCause, float]] | None:
        """Idle device-seconds for 1,000 prompts by side and cause; None where prompts or devices are not known."""
        sides = [side for side in (self.window.trainer, self.window.rollout) if side is not None]
        if not self.prompts or any(side.devices is None for side in sides):
            return None
        scale = 1000 / self.prompts
        return {side.side: {cause: seconds * scale for cause, seconds in side.idle.items()} for side in sides}


def measure_timeline(run: Run, window: SteadyState) -> Timeline | None:
    """Measure a run's bubbles from its traces, else from its metrics; None where neither tells anything."""
    table, notices = one_table(run.spans)
    if table is None:
        return _from_metrics(run, window)
    lanes = find_lanes(run, table)
    course = chronicle(run, table, lanes)
    scene = Scene.of(run, table, lanes, course)
    seats = paint_seats(scene)
    if not seats:
        return _from_metrics(run, window)
    return _from_trace(scene, seats, window, (*notices, *lanes.notices))


def _from_metrics(run: Run, window: SteadyState) -> Timeline | None:
    account = account_metrics(run, window)
    if account is None:
        return None
    return Timeline(
        window=account,
        whole=None,
        cycles=(),
        whole_trace=False,
        prompts=_prompts(run, window),
        owner=bubble_owner(account, separated=run.mode in SEPARATED_MODES),
        reported=compare_reported(run, window.kept, account, None),
        lead=measure_lead_series(run, None, None),
        balance=None,
        long_tail=None,
        periodic=find_periodic(run),
        quota=measure_quota(run),
        trace=None,
        basis="timers of the log; there is no trace",
    )


def _from_trace(scene: Scene, seats: tuple[PaintedSeat, ...], window: SteadyState, notices: tuple[Notice, ...]) -> Timeline:
    import numpy as np

    run = scene.run
    covered = covered_ns(run, scene.table, scene.lanes, scene.course)
    course = within(scene.course, covered)
    scene = replace(scene, course=course)
    found = _overlap(window_ns(course, window.kept), covered)
    start, end = found or covered
    edges = np.array(covered, np.int64)
    whole = account_stretches(seats, scene, edges, course.begin_ns)[0]
    account = account_stretches(seats, scene, np.array([start, end], np.int64), course.begin_ns)[0]
    cycles = account_cycles(scene, seats)
    traced = {time.step for time in course.steps if time.start_ns >= start - 1_000_000 and time.end_ns <= end + 1_000_000}
    covered_steps = [step for step in window.kept if step in traced] if found else list(window.kept)
    steps = None if window.first_step is None or window.last_step is None else (window.first_step, window.last_step)
    inside = [(c.start_ns, c.end_ns) for c in course.cycles if c.end_ns > start and c.start_ns < end]
    return Timeline(
        window=account,
        whole=whole,
        cycles=cycles,
        whole_trace=found is None,
        prompts=None if found is None else _prompts(run, window, traced=traced),
        owner=bubble_owner(account, separated=not scene.shared) if scene.sides_known else "unknown",
        reported=compare_reported(run, covered_steps, account, measure_uncounted(scene, seats, start, end)),
        lead=measure_lead_series(run, scene.table, course),
        balance=measure_balance(scene, seats, start, end),
        long_tail=measure_long_tail(scene, seats, inside),
        periodic=find_periodic(run),
        quota=measure_quota(run),
        trace=Trace(scene, seats, choose_windows(course, cycles, steps)),
        basis=course.basis,
        notices=(*notices, *_checks(scene, account, window, tied=found is not None)),
        paused_by_checkpoints=_paused_by_checkpoints(scene, seats, start, end),
    )


def _paused_by_checkpoints(scene: Scene, seats: tuple[PaintedSeat, ...], start_ns: int, end_ns: int) -> float:
    """Share of the Rollouters' device time between two moments in which they wait for the Trainer while it saves."""
    saving = intersect(scene.course.of("checkpoint"), intervals([(start_ns, end_ns)]))
    states = [idle_state(cause) for cause in WAITS_FOR_OTHER["rollout"]]
    mine = [seat for seat in seats if seat.seat.side == "rollout"]
    weight = sum(seat.seat.weight for seat in mine)
    if not weight or not len(saving) or end_ns <= start_ns:
        return 0.0
    paused = sum(seat.seat.weight * intersect(seat.painted.where(states), saving).total_ns for seat in mine)
    return float(paused / (weight * (end_ns - start_ns)))


def _overlap(first: tuple[int, int] | None, second: tuple[int, int]) -> tuple[int, int] | None:
    if first is None:
        return None
    start, end = max(first[0], second[0]), min(first[1], second[1])
    return (start, end) if end > start else None


def _prompts(run: Run, window: SteadyState, traced: set[int] | None = None) -> float | None:
    """Prompts of all steps from the first to the last of the window that the account covers; None where one is unknown."""
    import numpy as np

    if not window.kept:
        return None
    kept = [step for step in window.kept if traced is None or step in traced]
    if not kept:
        return None
    index = np.asarray(run.steps.index, np.int64)
    rows = (index >= kept[0]) & (index <= kept[-1]) & np.isfinite(column_array(run, "time.step_s"))
    values = column_array(run, "work.prompts")[rows]
    return float(values.sum()) if values.size and bool(np.isfinite(values).all()) else None


def _checks(scene: Scene, account: DeviceAccount, window: SteadyState, *, tied: bool) -> tuple[Notice, ...]:
    """What does not add up, or adds up on another stretch of time than the reader expects."""
    notices = []
    if account.residual > IDENTITY_TOLERANCE:
        message = f"busy and idle device time differ from wall time x devices by {percent(account.residual, 2)}"
        notices.append(Notice("RR432", message))
    if not tied and window.kept:
        message = f"{scene.course.basis}: device time is accounted for over the whole trace, not over the steady window"
        notices.append(Notice("RR433", message))
    traced_steps = {time.step for time in scene.course.steps} & set(window.kept)
    if tied and len(traced_steps) < len(window.kept):
        message = f"the trace covers {len(traced_steps):,} of the window's {plural(len(window.kept), 'step')}"
        notices.append(Notice("RR437", message))
    logged = _logged_wait(scene, window)
    if tied and logged is not None and account.trainer is not None and not scene.shared:
        difference = account.trainer.share("samples") - logged
        if abs(difference) > WAIT_TOLERANCE:
            traced = percent(account.trainer.share("samples"))
            message = (
                f"the Trainer waits for samples in {traced} of the time by the trace and in {percent(logged)} by the log: "
                "some of what is taken for waiting, or for something else, is not"
            )
            notices.append(Notice("RR434", message))
    return tuple(notices)


def _logged_wait(scene: Scene, window: SteadyState) -> float | None:
    """Logged waiting of the window's steps over the window's time in the trace."""
    import numpy as np

    found = window_ns(scene.course, window.kept)
    if found is None:
        return None
    times = {time.step for time in scene.course.steps if found[0] <= time.start_ns and time.end_ns <= found[1]}
    wait = column_array(scene.run, "time.wait_s")[scene.run.steps.index.isin(sorted(times))]
    if not wait.size or not bool(np.isfinite(wait).all()):
        return None
    return float(wait.sum()) / ((found[1] - found[0]) / 1e9)
