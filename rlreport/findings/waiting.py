"""Why the Trainer waits, as far as configuration and results tell it: what rules of several tiers ask."""

from __future__ import annotations

from rlreport.findings import knobs
from rlreport.findings.context import Context
from rlreport.findings.polling import find_polling
from rlreport.run.format import config_value

#: The Rollouters pause for the quota when they idle by this share at least, by the log or by the trace.
PAUSE_WORTH_TELLING = 0.02


def lead_is_ruled_out(context: Context) -> bool:
    """Whether the configuration lets the Rollouters finish nothing before the Trainer asks for it.

    In verl's separate_async: no warm-up batch, a weight sync after every mini-batch, and samples of an older policy held
    back (threshold 1 with strategy "wait"); verl/trainer/ppo/v1/trainer_separate_async.py. A threshold that is not told
    counts as one that allows a lead.
    """
    run = context.run
    return (
        run.mode == "separate_async"
        and knobs.number_of(run, knobs.WARM_UP) == 0
        and knobs.number_of(run, knobs.SYNC_STEP) == 1
        and knobs.number_of(run, knobs.OFF_POLICY) == 1
        and run.value(knobs.OFF_POLICY_STRATEGY) == "wait"
    )


def quota_pauses(context: Context) -> bool:
    """Whether the Trainer waits although the Rollouters are paused: the quota, not their number, holds the Trainer up."""
    quota = context.quota
    if context.run.mode != "fully_async" or quota is None or quota.whole >= quota.rounds:
        return False
    paused = context.rollout_wait_share
    if paused is None:
        paused = context.result.idle.rollout.fraction
    return paused is not None and paused >= PAUSE_WORTH_TELLING


def quota_may_pause(context: Context) -> bool:
    """Whether what may be generated ahead is less than a version, and no trace tells how long that pauses the Rollouters.

    The framework's own ratio leaves out pauses that are not drained: that it is small says nothing.
    """
    quota = context.quota
    return quota is not None and quota.whole < quota.rounds and context.rollout_wait_share is None


def can_move_to_rollout(context: Context) -> bool | None:
    """Whether the Trainer has more than one device to give; None where its devices are not known."""
    devices = context.run.devices.trainer
    return None if devices is None else devices > 1


def waiting_remarks(context: Context) -> str:
    """What else the waiting times tell, each with a blank before: polling, and what is unknown of the other side."""
    remarks = ""
    polling = find_polling(context.run, context.result.steady_state)
    if polling is not None:
        period = f"{config_value(polling.period_s)} s"
        remarks += (
            f" The waits cluster at multiples of {period}: the Trainer looks for samples every {period}, so up to {period} "
            "of each wait may be polling alone."
        )
    idle = context.result.idle.rollout
    if idle.fraction is None and context.account is None:
        remarks += f" Rollouter idle is unknown: {idle.source}."
    return remarks
