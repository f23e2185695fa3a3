"""Device time from a log's timers and gauges alone, with what stays unknown told as bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlreport.comparators.bubble_results import AccountSide, DeviceAccount, SideAccount
from rlreport.comparators.cycles_rounds import SHIFTED_MODES
from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import column_array
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import Activity, Gauge, IdleCause

#: What a timer of the Trainer says of its devices: they work, or idle for a cause.
TIMER_WORK: Mapping[str, Activity] = {
    "time.reward_s": "reward",
    "time.old_log_prob_s": "old_log_prob",
    "time.ref_s": "ref",
    "time.values_s": "values",
    "time.advantage_s": "advantage",
    "time.update_critic_s": "update_critic",
    "time.update_actor_s": "update_actor",
}
TIMER_IDLE: Mapping[str, IdleCause] = {
    "time.wait_s": "samples",
    "time.weight_sync_s": "weight_sync",
    "time.checkpoint_s": "checkpoint",
}
#: The Trainer waits for a validation unless its own devices take part; whether they do, this key tells (None: not known).
VALIDATES_KEY = "async_training.use_trainer_do_validate"
#: Gauges that count what a replica is generating.
REPLICA_GAUGES = ("rollout.active_requests", "rollout.running")
#: Gauges that count what all replicas are generating.
RUN_GAUGES = ("rollout.active_samples", "rollout.active_requests", "rollout.running")


def account_metrics(run: Run, window: SteadyState) -> DeviceAccount | None:
    """The account of the window from timers and gauges: all time from the first to the last of its steps.

    Seconds of timers that do not tell whether the devices worked stay untold: generation on shared devices holds an idle
    tail, switching times hold generation, and the remainder of a step is in no timer. None without a step in the window.
    """
    if window.first_step is None or window.last_step is None:
        return None
    steps = run.trained_steps
    inside = [int(step) for step in steps.index if window.first_step <= int(step) <= window.last_step]
    if not inside:
        return None
    trainer = _trainer(run, inside)
    rollout = _at_least_as_logged(run, inside, _rollout(run), trainer.wall_s)
    missing: dict[AccountSide, str] = {}
    if rollout is None:
        missing["rollout"] = why_no_rollout(run)
    return DeviceAccount("metrics", 0.0, trainer.wall_s, trainer, rollout, missing)


def why_no_rollout(run: Run) -> str:
    """Why nothing is known of the Rollouters."""
    if run.mode not in SEPARATED_MODES and run.mode != "unknown":
        return f"in mode {run.mode} there are no Rollouters on devices of their own"
    return "no timer shows what the replicas do; a trace of them, or a gauge of their requests, would tell it"


def _sum(run: Run, metric: str, steps: Sequence[int]) -> float:
    import numpy as np

    values = column_array(run, metric)[run.steps.index.isin(steps)]
    return float(np.nansum(values)) if len(values) else 0.0


def _trainer(run: Run, steps: Sequence[int]) -> SideAccount:
    separated = run.mode in SEPARATED_MODES
    weight = float(run.devices.trainer or 1)
    # A shifted line begins with the last round of the version before, after which that version is validated.
    validated = [step - 1 for step in steps] if run.mode in SHIFTED_MODES else list(steps)
    rows = {phase: validated if phase == "time.validate_s" else steps for phase in run.semantics.excludes}
    outside = {phase: _sum(run, phase, rows[phase]) for phase in run.semantics.excludes}
    timed_s = _sum(run, "time.step_s", steps) + math.fsum(outside.values())
    wall_s = max(timed_s, _clocked(run, steps) or 0.0)
    busy = {work: _sum(run, timer, steps) * weight for timer, work in TIMER_WORK.items()}
    idle = {cause: _sum(run, timer, steps) * weight for timer, cause in TIMER_IDLE.items()}
    validation_s = _sum(run, "time.validate_s", validated) * weight
    if separated and run.mode != "separate_async":
        if run.value(VALIDATES_KEY) is True:
            busy["validate"] = validation_s
        else:
            idle["validation"] = validation_s
    busy = {work: seconds for work, seconds in busy.items() if seconds > 0}
    idle = {cause: seconds for cause, seconds in idle.items() if seconds > 0}
    total = wall_s * weight
    known = math.fsum((*busy.values(), *idle.values()))
    untold = max(total - known, 0.0)
    return SideAccount(
        side="trainer",
        devices=None if run.devices.trainer is None else weight,
        weight=weight,
        wall_s=wall_s,
        busy=busy,
        idle=idle,
        untold_s=untold,
        source="timers of the log",
        at_least=math.fsum(idle.values()) / total if total else None,
        at_most=(math.fsum(idle.values()) + untold) / total if total else None,
    )


def _clocked(run: Run, steps: Sequence[int]) -> float | None:
    """The wall time from the begin of the first to the end of the last step, by the clock; None without one.

    What follows the last step outside of its own time is left out.
    """
    import numpy as np

    clock = column_array(run, "clock.wall_s")[run.steps.index.isin(steps)]
    lasts = column_array(run, "time.step_s")[run.steps.index.isin(steps)]
    if len(clock) < 2 or not (np.isfinite(clock[0]) and np.isfinite(clock[-1])):
        return None
    return float(clock[-1] - clock[0] + lasts[0])


@dataclass(frozen=True, slots=True)
class _Zero:
    """How long a count stood at 0: surely, possibly, and how long it was watched, in seconds."""

    sure_s: float
    possible_s: float
    watched_s: float


def _zero(gauge: Gauge) -> _Zero:
    """From the first to the last sample above 0: between two samples of 0 it is taken to be 0, between 0 and more, nobody
    knows.
    """
    entries = sorted(zip(gauge.time_ns, gauge.values, strict=True))
    alive = [place for place, (_, value) in enumerate(entries) if value > 0]
    if len(alive) < 2:
        return _Zero(0.0, 0.0, 0.0)
    kept = entries[alive[0] : alive[-1] + 1]
    sure = possible = 0.0
    for (start, before), (end, after) in itertools.pairwise(kept):
        length = (end - start) / 1e9
        sure += length if before == after == 0 else 0.0
        possible += length if before == 0 or after == 0 else 0.0
    return _Zero(sure, possible, (kept[-1][0] - kept[0][0]) / 1e9)


def _rollout(run: Run) -> SideAccount | None:
    """The Rollouters' idle time where gauges count requests: a replica idles while it has none."""
    replicas = [gauge for gauge in run.gauges if gauge.name in REPLICA_GAUGES and gauge.lane]
    whole = [gauge for gauge in run.gauges if gauge.name in RUN_GAUGES and not gauge.lane]
    if run.mode not in SEPARATED_MODES:
        return None
    devices = run.devices.rollout
    if replicas:
        zeros = [_zero(gauge) for gauge in replicas]
        watched = sum(zero.watched_s for zero in zeros)
        if not watched:
            return None
        weight = float(devices or len(replicas))
        return _bounded(
            weight,
            devices,
            watched / len(zeros),
            sum(zero.sure_s for zero in zeros) / watched,
            sum(zero.possible_s for zero in zeros) / watched,
            f"requests on {len(replicas)} replicas, sampled, over all of the run",
        )
    if not whole:
        return None
    zero = _zero(whole[0])
    if not zero.watched_s:
        return None
    source = f"{whole[0].name}: all replicas idle while nothing is in generation; while something is, some may idle too"
    return _bounded(float(devices or 1), devices, zero.watched_s, zero.sure_s / zero.watched_s, 1.0, source)


def _at_least_as_logged(run: Run, steps: Sequence[int], known: SideAccount | None, wall_s: float) -> SideAccount | None:
    """The Rollouters' account with the idle ratio that the framework logs as the least that they idle.

    verl counts the time from the moment when the last pause of a version has drained to the next version
    (fully_async_rollouter.py, `reset_staleness`): a weight sync lies in it, a validation may, which is work, and what idles
    before the drain does not. A ratio outside [0, 1] says nothing.
    """
    import numpy as np

    rows = run.steps.index.isin(steps)
    values, lasts = column_array(run, "idle.rollout_reported")[rows], column_array(run, "time.step_s")[rows]
    known_rows = np.isfinite(values) & np.isfinite(lasts)
    values, lasts = values[known_rows], lasts[known_rows]
    if run.mode != "fully_async" or not values.size or values.min() < 0 or values.max() > 1 or not wall_s:
        return known
    least = max(float(np.average(values, weights=lasts)) - _sum(run, "time.validate_s", steps) / wall_s, 0.0)
    if known is not None and known.at_least is not None and known.at_least >= least:
        return known
    devices = run.devices.rollout
    weight = float(devices or 1)
    total = weight * wall_s
    sync = min(_sum(run, "time.weight_sync_s", steps) / wall_s, least)
    idle: dict[IdleCause, float] = {"weight_sync": sync * total, "quota": (least - sync) * total}
    return SideAccount(
        side="rollout",
        devices=None if devices is None else weight,
        weight=weight,
        wall_s=wall_s,
        busy={},
        idle={cause: seconds for cause, seconds in idle.items() if seconds > 0},
        untold_s=total * (1 - least),
        source="the idle ratio that the framework logs, less validation: a lower bound",
        at_least=least,
        at_most=1.0,
    )


def _bounded(weight: float, devices: int | None, wall_s: float, least: float, most: float, source: str) -> SideAccount:
    total = weight * wall_s
    return SideAccount(
        side="rollout",
        devices=None if devices is None else weight,
        weight=weight,
        wall_s=wall_s,
        busy={"generate": total * (1 - most)} if most < 1 else {},
        idle={"unknown": total * least} if least > 0 else {},
        untold_s=total * (most - least),
        source=source,
        at_least=least,
        at_most=most,
    )
