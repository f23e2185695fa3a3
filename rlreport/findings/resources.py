"""Tier 1, resources: which side owns the bubble, and whether devices should move, go or come."""

from __future__ import annotations

from rlreport.comparators.chain import first_value
from rlreport.findings.context import SEVERE, WAIT_WORTH_ACTING, Context
from rlreport.findings.fragments import next_experiment
from rlreport.findings.knobs import ROLLOUT_KEYS, rollout_overrides, round_up, smallest_unit
from rlreport.findings.model import Action, Finding
from rlreport.findings.waiting import can_move_to_rollout, lead_is_ruled_out, quota_pauses, waiting_remarks
from rlreport.run.format import config_value, count, number, percent

#: Without an account of the Rollouters' idle time, the first probe takes this share of their devices away.
FIRST_PROBE = 1 / 3


def excess_rollouters(context: Context) -> Finding | None:
    """The Rollouters wait for the Trainer: some of them can go, or work for the Trainer."""
    if context.owner() != "rollout" or _only_one_replica(context):
        return None
    share = context.rollout_wait_share
    if share is not None and share < WAIT_WORTH_ACTING:
        return None
    devices = context.run.devices
    bound = balanced = None
    if share is not None and devices.rollout is not None:
        balanced = balanced_rollout_devices(context, share)
        if devices.trainer is not None:
            needed = devices.rollout * (1 - share)
            bound = (devices.trainer + devices.rollout) / (devices.trainer + needed)
    return Finding(
        id="excess-rollouters",
        severity="high" if share is not None and share >= SEVERE else "medium",
        title=_excess_title(context, share),
        body=f"{_trainer_pace(context)} {_excess_evidence(context, share)}",
        run_id=context.run_id,
        evidence=("time-split", "idle"),
        owner="rollout",
        action=Action(
            tier=1,
            knob="resources",
            direction="decrease",
            text=_excess_action(context, balanced),
            gain_bound=bound,
            gain_of="throughput per device",
            risk=(
                "below the balance the Trainer begins to wait; longer responses later in training move the balance towards "
                "more Rollouters"
            ),
            refuted_by="the Trainer's wait rises above 2 % of the step, or throughput per device does not rise",
        ),
        fragment=_excess_fragment(context, balanced),
    )


def balanced_rollout_devices(context: Context, share: float) -> int | None:
    """Rollout devices at which production would just match consumption, rounded up to whole replicas, and nodes if possible.

    The Rollouters wait in `share` of their device time and produce what the Trainer consumes in the rest: n (1 - share) of
    n devices would produce as much without waiting. None without a smaller whole number.
    """
    devices = context.run.devices.rollout
    if devices is None:
        return None
    keys = ROLLOUT_KEYS.get(context.run.mode)
    per_node = None if keys is None else first_value(context.run, keys[1:])
    units = [smallest_unit(context.run), *([int(per_node[1])] if per_node is not None and devices > per_node[1] else [])]
    found = round_up(devices * (1 - share), units)
    return found if found < devices else None


def _only_one_replica(context: Context) -> bool:
    devices = context.run.devices.rollout
    return devices is not None and devices <= smallest_unit(context.run)


def _excess_title(context: Context, share: float | None) -> str:
    if share is None:
        return "More Rollouters than the Trainer needs: it is the bottleneck, and the queue is full"
    return f"More Rollouters than the Trainer needs: they wait for it in {percent(share)} of their time"


def _trainer_pace(context: Context) -> str:
    wait = context.wait_share
    told = "practically never waits for samples" if wait is None else f"waits for samples in {percent(wait)} of a step"
    return f"The Trainer {told}, so it sets the pace."


def _excess_evidence(context: Context, share: float | None) -> str:
    if share is not None:
        return f"By the trace, the Rollouters may not generate more in {percent(share)} of their device time."
    lead, quota, staleness = context.lead, context.quota, context.staleness
    told = ""
    if quota is not None and lead.basis not in ("queue", "gauge") and staleness is not None:
        told = (
            f"Responses are {number(staleness)} versions old when they are trained, of {config_value(quota.quota)} that the "
            "batches handed out ahead allow: they are ready as early as can be. "
        )
    elif quota is not None and lead.mini_batches is not None:
        told = (
            f"On average {number(lead.mini_batches)} mini-batches are ready when it asks, of "
            f"{config_value(quota.covered)} that may be generated ahead. "
        )
    return f"{told}How long the Rollouters idle is unknown: {context.result.idle.rollout.source}."


def _excess_action(context: Context, balanced: int | None) -> str:
    devices = context.run.devices.rollout
    if balanced is not None:
        return (
            f"Fewer Rollout devices: {count(balanced)} instead of {count(devices)} would balance production and consumption "
            "(whole replicas). Give the others back, or to the Trainer."
        )
    return (
        "Fewer Rollout devices, in steps, until the wait begins to rise; give the others back, or to the Trainer. The count "
        "that balances both sides takes a trace of the replicas."
    )


def _excess_fragment(context: Context, balanced: int | None) -> str:
    devices = context.run.devices.rollout
    if devices is None:
        return ""
    target = balanced
    if target is None:
        target = balanced_rollout_devices(context, FIRST_PROBE)
    if target is None:
        return ""
    return next_experiment(
        context.analysis,
        context.run_id,
        f"rollout{target}",
        rollout_overrides(context.run, target),
        ("resources",),
        question=f"Are {count(target)} Rollout devices enough?",
    )


def trainer_waits(context: Context) -> Finding | None:
    """The Trainer waits for samples, by enough to act on, and nothing in the configuration keeps the Rollouters from it."""
    share = context.wait_share
    if context.owner() != "trainer" or share is None or share < WAIT_WORTH_ACTING:
        return None
    if lead_is_ruled_out(context) or quota_pauses(context) or _both_wait(context):
        return None
    movable = can_move_to_rollout(context)
    return Finding(
        id="trainer-waits",
        severity="high" if share >= SEVERE else "medium",
        title=f"The Trainer waits for samples during {percent(share)} of a step",
        body=(
            f"Of every step, {context.seconds('time.wait_s')} pass before the next mini-batch is there: the Rollouters "
            f"produce more slowly than the Trainer consumes.{waiting_remarks(context)}"
        ),
        run_id=context.run_id,
        evidence=("time-split", "idle"),
        owner="trainer",
        action=Action(
            tier=1,
            knob="resources" if movable is not False else "engine",
            direction="increase",
            text=_waits_action(movable),
            gain_bound=1 / (1 - share),
            risk="with fewer devices the Trainer's own update takes longer" if movable is not False else "",
            refuted_by="the Trainer's wait does not fall when Rollouters are added",
        ),
        fragment=_waits_fragment(context, movable),
    )


def _both_wait(context: Context) -> bool:
    """Whether the Rollouters wait as well, by enough to act on: then it is not their number that is missing."""
    other = context.rollout_wait_share
    return other is not None and other >= WAIT_WORTH_ACTING


def _waits_action(movable: bool | None) -> str:
    if movable is False:
        return (
            "The Trainer has one device, so none can be moved: add Rollout devices, or make generation cheaper (longer "
            "batches in the engine, shorter responses, prefix caching)."
        )
    return "Move devices from the Trainer to the Rollouters at the same total, or make generation cheaper."


def _waits_fragment(context: Context, movable: bool | None) -> str:
    devices, run = context.run.devices.rollout, context.run
    keys = ROLLOUT_KEYS.get(run.mode)
    if devices is None or movable is False or keys is None or first_value(run, keys[:1]) is None:
        return ""
    per_node = first_value(run, keys[1:])
    step = smallest_unit(run) if per_node is None else int(per_node[1])
    overrides = rollout_overrides(run, devices + step)
    return next_experiment(
        context.analysis,
        context.run_id,
        f"rollout{devices + step}",
        overrides,
        ("resources",),
        question=f"Does the wait fall with {count(devices + step)} Rollout devices?",
    )


def trainer_bound(context: Context) -> Finding | None:
    """The Trainer practically never waits, and nothing tells whether the Rollouters idle: look before moving devices."""
    if context.owner() != "unknown" or context.wait_share is None:
        return None
    return Finding(
        id="trainer-bound",
        severity="low",
        title=f"The Trainer is the bottleneck: it waits {percent(context.wait_share)} of a step",
        body=(
            "Samples are always there when the Trainer asks for them, so whatever time is idle is on the Rollouters' side. "
            f"How much it is cannot be read from this log: {context.result.idle.rollout.source}."
        ),
        run_id=context.run_id,
        evidence=("time-split", "idle"),
        owner="rollout",
        action=Action(
            tier=1,
            knob="resources",
            direction="check",
            text=(
                "Trace the replicas over a few steps. If they idle, try fewer Rollout devices until the wait begins to rise."
            ),
            risk="without a trace a balanced run looks the same: taking devices away would make the Trainer wait",
            refuted_by="a trace shows that the Rollouters hardly ever wait",
        ),
    )
