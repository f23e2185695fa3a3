"""Who waits for whom, as far as the metrics of a log tell it."""

from __future__ import annotations

from typing import Literal

from rlreport.comparators.bubble_results import Owner
from rlreport.comparators.results import Idle, SideIdle, SteadyState
from rlreport.comparators.timeline import Timeline
from rlreport.run.diagnostics import Notice
from rlreport.run.format import percent
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import cause_words

SIDES = {"trainer": "Trainer", "rollout": "Rollouters"}
SIDE_WORDS = {"trainer": "Trainer's", "rollout": "Rollouters'"}
#: What the Rollouters' logged ratio is.
LOGGED_RATIO = "Rollouters: the framework's own idle ratio, without pauses that do not drain, perhaps with validation"
#: Two sides whose idle fractions differ by less than this own the bubble together: neither is named.
OWNER_DIFFERENCE = 0.05


def measure_idle(run: Run, window: SteadyState, owner: Owner | None = None) -> Idle:
    """Idle fraction of each side over the window, and the owner of the bubble where both sides are known.

    The Trainer's is sum(time.wait_s) / sum(time.step_s) in modes where the two sides have devices of their own: waiting
    alone. The Rollouters' is the ratio that the framework logs, where it logs one within [0, 1] (verl counts only the time
    after the last drain of a window, and a validation that lies in it). What is not logged stays unknown, with the reason.
    `owner` is the one that an account of device time names; without one a side owns the bubble that idles clearly more.
    """
    if run.mode == "unknown" and run.metric("time.wait_s") is None:
        reason = "the execution mode is not known, so no timer can be read as waiting"
        return Idle(SideIdle(None, reason), SideIdle(None, reason), "unknown")
    if run.mode not in SEPARATED_MODES and run.mode != "unknown":
        reason = f"in mode {run.mode} training and generation take turns on the same devices: neither waits for the other"
        return Idle(SideIdle(None, reason), SideIdle(None, reason), "neither")
    trainer = _trainer_idle(run, window)
    rollout = _rollout_idle(run, window)
    return Idle(trainer, rollout, owner or _owner(trainer, rollout), _notices(rollout))


def idle_of_trace(timeline: Timeline | None) -> Idle | None:
    """Who waits for whom as a trace tells it: idle share of each side's device time, for all causes; None without one."""
    if timeline is None or timeline.trace is None:
        return None
    account, words = timeline.window, cause_words(timeline.trace.scene.run.mode)
    sides = []
    for name, side in (("trainer", account.trainer), ("rollout", account.rollout)):
        if side is None:
            sides.append(SideIdle(None, account.missing.get(name, "the trace does not tell it")))  # type: ignore[call-overload]
            continue
        if side.idle_fraction is None:
            untold = percent(side.untold_s / side.total_s) if side.total_s else "all"
            sides.append(SideIdle(None, f"{untold} of the {SIDE_WORDS[name]} device time may be work or idle: not traced"))
            continue
        told = [(cause, share) for cause, share in side.shares.items() if share >= 0.0005]
        causes = ", ".join(f"{words[cause]} {percent(share)}" for cause, share in told)
        what = "the traced part of the window" if not timeline.whole_trace else "the whole trace"
        sides.append(SideIdle(side.idle_fraction, f"{SIDES[name]}: device time without work in {what}: {causes or 'none'}"))
    return Idle(sides[0], sides[1], timeline.owner, timeline.notices)


def _trainer_idle(run: Run, window: SteadyState) -> SideIdle:
    frame = run.trained_steps
    rows = frame.loc[frame.index.isin(window.kept)]
    if rows.empty:
        return SideIdle(None, "no step lies in the window")
    if "time.wait_s" not in rows.columns or not bool(rows["time.wait_s"].notna().any()):
        return SideIdle(None, "no timer of the Trainer's waiting is logged")
    timed = rows[rows["time.wait_s"].notna()]
    fraction = float(timed["time.wait_s"].sum() / timed["time.step_s"].sum())
    return SideIdle(fraction, f"Trainer: waiting over step time in the window ({run.semantics.wait_is})")


def _rollout_idle(run: Run, window: SteadyState) -> SideIdle:
    reported = run.metric("idle.rollout_reported")
    if reported is not None:
        values = reported[reported.index.isin(window.kept)].dropna()
        if len(values):
            return SideIdle(float(values.mean()), LOGGED_RATIO)
    who = f"mode {run.mode} logs" if run.mode != "unknown" else "these sources hold"
    return SideIdle(None, f"{who} no idle time of the Rollouters; a trace of the replicas would tell it")


def _owner(trainer: SideIdle, rollout: SideIdle) -> Literal["trainer", "rollout", "neither", "unknown"]:
    if trainer.fraction is None or rollout.fraction is None:
        return "unknown"
    difference = trainer.fraction - rollout.fraction
    if abs(difference) < OWNER_DIFFERENCE:
        return "neither"
    return "trainer" if difference > 0 else "rollout"


def _notices(rollout: SideIdle) -> tuple[Notice, ...]:
    if rollout.fraction is None:
        return (Notice("RR431", f"Rollouter idle time is unknown: {rollout.source}"),)
    return ()
