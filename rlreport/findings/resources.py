"""Tier 1, resources: which side owns the bubble, and whether devices should move, go or come."""

from __future__ import annotations

from dataclasses import dataclass

from rlreport.comparators.chain import first_value
from rlreport.findings.context import SETS_THE_PACE, SEVERE, WAIT_WORTH_ACTING, Context
from rlreport.findings.fragments import next_experiment
from rlreport.findings.knobs import (
    ROLLOUT_KEYS,
    TRAINER_NODES,
    TRAINER_PER_NODE,
    rollout_overrides,
    round_up,
    smallest_unit,
)
from rlreport.findings.model import Action, Finding
from rlreport.findings.waiting import (
    can_move_to_rollout,
    lead_is_ruled_out,
    quota_may_pause,
    quota_pauses,
    waiting_remarks,
)
from rlreport.run.format import config_value, count, number, percent

#: Without an account of the Rollouters' idle time, the first probe takes this share of their devices away.
FIRST_PROBE = 1 / 3


def excess_rollouters(context: Context) -> Finding | None:
    """The Rollouters wait for the Trainer, which sets the pace: some of them can go, or work for the Trainer.

    Where the Trainer waits too, the lead or the quota is too short (`short_lead`, `staleness_quota`): fewer Rollouters would
    make it wait longer.
    """
    if context.owner() != "rollout" or _only_one_replica(context):
        return None
    share, waits = context.rollout_wait_share, context.wait_share
    if (share is not None and share < WAIT_WORTH_ACTING) or (waits is not None and waits >= SETS_THE_PACE):
        return None
    devices = context.run.devices
    expected = balanced = None
    if share is not None and devices.rollout is not None:
        balanced = balanced_rollout_devices(context, share)
        if balanced is not None and devices.trainer is not None:
            expected = (devices.trainer + devices.rollout) / (devices.trainer + balanced)
    return Finding(
        id="excess-rollouters",
        severity="high" if share is not None and share >= SEVERE else "medium" if _measured(context, share) else "low",
        title=_excess_title(context, share),
        body=f"{_trainer_pace(context)} {_excess_evidence(context, share)}",
        run_id=context.run_id,
        evidence=context.evidence("time-split", "idle"),
        owner="rollout" if _measured(context, share) else "unknown",
        action=Action(
            tier=1,
            knob="resources",
            direction="decrease",
            text=_excess_action(context, balanced),
            gain_expected=expected,
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
    n devices would produce as much without waiting, at the present rate of a device. Fewer replicas batch more densely and
    are faster each, so fewer devices may do. None without a smaller whole number.
    """
    devices = context.run.devices.rollout
    if devices is None:
        return None
    keys = ROLLOUT_KEYS.get(context.run.mode)
    per_node = None if keys is None else first_value(context.run, keys[1:])
    replica = smallest_unit(context.run)
    units = [replica, *([int(per_node[1])] if per_node is not None and devices > per_node[1] else [])]
    found = round_up(devices * (1 - share), units)
    if found >= devices:
        found = round_up(devices * (1 - share), [replica])
    return found if found < devices else None


def _measured(context: Context, share: float | None) -> bool:
    """Whether it is measured that the Rollouters wait; a full queue alone makes it likely only."""
    return share is not None or (context.rollout_waits_at_least or 0.0) >= WAIT_WORTH_ACTING


def _only_one_replica(context: Context) -> bool:
    devices = context.run.devices.rollout
    return devices is not None and devices <= smallest_unit(context.run)


def _excess_title(context: Context, share: float | None) -> str:
    if share is not None:
        return f"More Rollouters than the Trainer needs: they wait for it in {percent(share)} of their time"
    if _measured(context, share):
        least = percent(context.rollout_waits_at_least)
        return f"More Rollouters than the Trainer needs: they wait for it in at least {least} of their time"
    return "There may be more Rollouters than the Trainer needs: it sets the pace, and the queue is full"


def _trainer_pace(context: Context) -> str:
    wait = context.wait_share
    told = "practically never waits for samples" if wait is None else f"waits for samples in {percent(wait)} of a step"
    return f"The Trainer {told}, so it sets the pace."


def _excess_evidence(context: Context, share: float | None) -> str:
    if share is not None:
        return f"By the trace, the Rollouters may not generate more in {percent(share)} of their device time."
    lead, quota, staleness = context.lead, context.quota, context.staleness
    if _measured(context, share):
        least = percent(context.rollout_waits_at_least)
        return (
            f"By the ratio that the framework logs, the Rollouters are paused in at least {least} of their time; "
            "pauses that do not drain are not in it."
        )
    told = ""
    if quota is not None and lead.basis not in ("queue", "gauge") and staleness is not None:
        told = (
            f"Responses are {number(staleness)} versions old when they are trained, of {config_value(quota.quota)} that the "
            "batches handed out ahead allow: they are ready as early as can be. "
        )
    elif quota is not None and lead.mini_batches is not None:
        told = (
            f"On average {number(lead.mini_batches)} mini-batches are ready when it asks; "
            f"{config_value(quota.covered)} may be generated ahead of a version. "
        )
    return f"{told}How long the Rollouters wait is unknown ({context.result.idle.rollout.source})."


def _excess_action(context: Context, balanced: int | None) -> str:
    devices = context.run.devices.rollout
    if balanced is not None:
        return (
            f"Fewer Rollout devices: at the present rate of a device {count(balanced)} instead of {count(devices)} balance "
            "production and consumption (whole replicas). Fewer replicas batch more densely, so even fewer may do: go on "
            "until the wait begins to rise. Give the others back, or to the Trainer."
        )
    if context.rollout_wait_share is not None:
        return "Fewer Rollout devices, if smaller replicas allow it: what idles is less than one replica."
    return (
        "Fewer Rollout devices, in steps, until the wait begins to rise; give the others back, or to the Trainer. The count "
        "that balances both sides takes a trace of the replicas."
    )


def _excess_fragment(context: Context, balanced: int | None) -> str:
    devices = context.run.devices.rollout
    if devices is None:
        return ""
    target = balanced
    if target is None and context.rollout_wait_share is None:
        target = balanced_rollout_devices(context, FIRST_PROBE)
    if target is None:
        return ""
    if not rollout_overrides(context.run, target):
        target = _whole_nodes_below(context, target)
    return next_experiment(
        context.analysis,
        context.run_id,
        f"rollout{target}",
        rollout_overrides(context.run, target),
        ("resources",),
        question=f"Are {count(target)} Rollout devices enough?",
    )


def _whole_nodes_below(context: Context, devices: int) -> int:
    """The devices of as many whole nodes as fit, where no number of whole nodes gives the count that was asked for."""
    keys = ROLLOUT_KEYS.get(context.run.mode)
    per_node = None if keys is None else first_value(context.run, keys[1:])
    return devices if per_node is None else int(devices // per_node[1] * per_node[1])


def trainer_waits(context: Context) -> Finding | None:
    """The Trainer waits for samples, by enough to act on, and nothing in the configuration keeps the Rollouters from it."""
    share = context.wait_share
    if context.owner() != "trainer" or share is None or share < WAIT_WORTH_ACTING:
        return None
    if lead_is_ruled_out(context) or quota_pauses(context) or _both_wait(context):
        return None
    movable = can_move_to_rollout(context)
    shift = None if movable is False else balanced_move(context, share)
    told = not quota_may_pause(context)
    return Finding(
        id="trainer-waits",
        severity="high" if share >= SEVERE else "medium",
        title=f"The Trainer waits for samples during {percent(share)} of a step",
        body=(
            f"Of every step, {context.seconds('time.wait_s')} pass before the next mini-batch is there. "
            f"{_why_it_waits(context)}{waiting_remarks(context)}"
        ),
        run_id=context.run_id,
        evidence=context.evidence("time-split", "idle"),
        owner="trainer",
        action=Action(
            tier=1,
            knob="resources" if movable is not False else "engine",
            direction="increase" if told else "check",
            text=_waits_action(context, movable, shift) if told else UNDECIDED,
            gain_bound=1 / (1 - share),
            gain_expected=shift.gain if shift is not None and told else None,
            risk=_waits_risk(movable, shift, told=told),
            refuted_by=(
                "the Trainer's wait does not fall when Rollouters are added"
                if told
                else "a trace shows that the Rollouters neither pause nor are busy all the time"
            ),
        ),
        fragment=_waits_fragment(context, movable, shift) if told else "",
    )


def _both_wait(context: Context) -> bool:
    """Whether the Rollouters wait as well, by enough to act on: then it is not their number that is missing."""
    other = context.rollout_wait_share
    return other is not None and other >= WAIT_WORTH_ACTING


def _waits_risk(movable: bool | None, shift: Move | None, *, told: bool) -> str:
    if not told:
        return "a trace of a few versions may miss what happens rarely"
    if shift is not None:
        return "with fewer devices the Trainer's own update takes longer"
    return (
        "devices that are added are paid for in every step" if movable is not False else "shorter responses are another task"
    )


def _why_it_waits(context: Context) -> str:
    quota = context.quota
    if quota is None or not quota_may_pause(context):
        if context.timeline is None or context.timeline.owner == "unknown":
            return "Most likely the Rollouters produce more slowly than the Trainer consumes."
        return "The Rollouters produce more slowly than the Trainer consumes."
    return (
        "Either the Rollouters produce more slowly than the Trainer consumes, or they are paused: what may be generated "
        f"ahead ({quota.quota_key} = {config_value(quota.quota)}) covers {config_value(quota.covered)} of "
        f"{config_value(quota.rounds)} rounds of a version, and how long they pause is not in this log."
    )


#: What to do where the log does not tell why the Trainer waits.
UNDECIDED = (
    "Trace the replicas over a few versions before anything is moved. If they pause, let them generate farther ahead; if "
    "they are busy all the time, move devices to them."
)


@dataclass(frozen=True, slots=True)
class Move:
    """Devices of both sides after a move at the same total, and the gain in throughput that it is expected to bring."""

    trainer: int
    rollout: int
    gain: float


def balanced_move(context: Context, share: float) -> Move | None:
    """The move of whole nodes from the Trainer to the Rollouters that comes closest to balance; None where there is none.

    Both sides are taken to work in proportion to their devices. The Rollouters produce (1 - w) of what the Trainer could
    consume, w its share of waiting: with n and t devices the rates of a device are as (1 - w) t / n to 1. Throughput is the
    smaller of what both sides could do.
    """
    run = context.run
    keys, trainer, rollout = ROLLOUT_KEYS.get(run.mode), run.devices.trainer, run.devices.rollout
    if keys is None or not trainer or not rollout:
        return None
    sizes = [first_value(run, (key,)) for key in (*keys, TRAINER_NODES, TRAINER_PER_NODE)]
    if None in sizes:
        return None
    (_, per_rollout, nodes, per_trainer) = (int(size[1]) for size in sizes if size is not None)
    rate = (1 - share) * trainer / rollout
    best: Move | None = None
    for moved in range(1, nodes):
        if moved * per_trainer % per_rollout:
            continue
        t, n = trainer - moved * per_trainer, rollout + moved * per_trainer
        gain = min(t, n * rate) / ((1 - share) * trainer)
        if gain > (1.0 if best is None else best.gain):
            best = Move(t, n, gain)
    return best


def _waits_action(context: Context, movable: bool | None, shift: Move | None) -> str:
    if shift is not None:
        return (
            f"Move devices from the Trainer to the Rollouters at the same total: {count(shift.trainer)} + "
            f"{count(shift.rollout)} come closest to balance if both sides work in proportion to their devices. Or make "
            "generation cheaper."
        )
    if movable is not False and context.run.devices.trainer is not None:
        return "Add Rollout devices: no whole node can be moved with a gain. Or make generation cheaper."
    if movable is False:
        return (
            "The Trainer has one device, so none can be moved: add Rollout devices, or make generation cheaper (longer "
            "batches in the engine, shorter responses, prefix caching)."
        )
    return "Move devices from the Trainer to the Rollouters at the same total, or make generation cheaper."


def _waits_fragment(context: Context, movable: bool | None, shift: Move | None) -> str:
    devices, run = context.run.devices.rollout, context.run
    keys = ROLLOUT_KEYS.get(run.mode)
    if shift is not None:
        per_node = first_value(run, (TRAINER_PER_NODE,))
        assert per_node is not None
        return next_experiment(
            context.analysis,
            context.run_id,
            f"r{shift.rollout}t{shift.trainer}",
            {**rollout_overrides(run, shift.rollout), TRAINER_NODES: shift.trainer // int(per_node[1])},
            ("resources",),
            question=f"Do {count(shift.rollout)} Rollout and {count(shift.trainer)} Trainer devices wait less?",
        )
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
        evidence=context.evidence("time-split", "idle"),
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
