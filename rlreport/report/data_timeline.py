"""What report.json holds of a run's timeline: idle time by cause, and a block with the accounts behind it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlreport.comparators.bubble_results import AccountSide, DeviceAccount, SideAccount
from rlreport.comparators.lead import Lead
from rlreport.comparators.timeline import Timeline
from rlreport.run.spans import IDLE_CAUSES


def idle_by_cause(timeline: Timeline | None, side: AccountSide) -> dict[str, Any]:
    """Extra fields of `idle.<side>`: the share of each cause, and bounds of the whole; None where nothing is known."""
    account = None if timeline is None else timeline.window.side(side)
    if account is None:
        return {"by_cause": None, "at_least": None, "at_most": None}
    return {
        "by_cause": {cause: account.share(cause) for cause in IDLE_CAUSES if account.idle.get(cause)},
        "at_least": account.at_least,
        "at_most": account.at_most,
    }


def timeline_data(timeline: Timeline | None, lead: Lead | None = None) -> dict[str, Any] | None:
    """The `timeline` block of a run; None without one. Seconds are device-seconds, or lane-seconds without device counts.

    `lead` is what is known of the Rollouters' lead, in mini-batches (`comparators.bubble_lead.known_lead`).
    """
    if timeline is None:
        return None
    per_1000 = timeline.idle_for_1000_prompts()
    return {
        "basis": timeline.window.basis,
        "tied_by": timeline.basis,
        "window": _account(timeline.window),
        "whole_trace": timeline.whole_trace,
        "whole": None if timeline.whole is None else _account(timeline.whole),
        "owner": timeline.owner,
        "identity_residual": round(timeline.window.residual, 9),
        "prompts": timeline.prompts,
        "idle_device_s_per_1000_prompts": None
        if per_1000 is None
        else {side: dict(idle) for side, idle in per_1000.items()},
        "cycles": [
            {
                "first_step": cycle.first_step,
                "last_step": cycle.last_step,
                "version": cycle.version,
                "start_s": cycle.account.start_s,
                "end_s": cycle.account.end_s,
                "trainer": _shares(cycle.account.trainer),
                "rollout": _shares(cycle.account.rollout),
            }
            for cycle in timeline.cycles
        ],
        "reported": [
            {
                "side": found.side,
                "reported": found.reported,
                "reconstructed": found.reconstructed,
                "counts": found.counts,
                "parts": [{"what": words, "share": share} for words, share in found.parts],
                "not_explained": found.rest,
            }
            for found in timeline.reported
        ],
        "lead": _lead(timeline, lead),
        "replica_balance": None
        if timeline.balance is None
        else {"max_over_mean": timeline.balance.max_over_mean, "busy": dict(timeline.balance.busy)},
        "long_tail": None if timeline.long_tail is None else asdict(timeline.long_tail),
        "periodic": [asdict(bubble) for bubble in timeline.periodic],
        "quota": None
        if timeline.quota is None
        else {**asdict(timeline.quota), "covered_rounds": timeline.quota.covered, "whole_rounds": timeline.quota.whole},
    }


def _lead(timeline: Timeline, lead: Lead | None) -> dict[str, Any] | None:
    """The lead when the Trainer asks, with its interval or bounds; the smallest one where single moments are known."""
    if lead is None:
        return None
    return {
        "mean_when_asked": lead.mini_batches,
        "low": lead.low,
        "high": lead.high,
        "basis": lead.basis,
        "least_when_asked": None if timeline.lead is None else timeline.lead.least_when_asked,
        "source": lead.source,
    }


def _account(account: DeviceAccount) -> dict[str, Any]:
    return {
        "start_s": account.start_s,
        "end_s": account.end_s,
        "trainer": _side(account.trainer),
        "rollout": _side(account.rollout),
        "missing": dict(account.missing),
    }


def _side(side: SideAccount | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "devices": side.devices,
        "wall_s": side.wall_s,
        "total_device_s": side.total_s,
        "busy_device_s": dict(side.busy),
        "idle_device_s": dict(side.idle),
        "untold_device_s": side.untold_s,
        "idle_fraction": side.idle_fraction,
        "at_least": side.at_least,
        "at_most": side.at_most,
        "source": side.source,
    }


def _shares(side: SideAccount | None) -> dict[str, float] | None:
    return None if side is None else {str(cause): share for cause, share in side.shares.items()}
