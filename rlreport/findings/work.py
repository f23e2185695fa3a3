"""Tier 3, batch sizes and sync: the lead by configuration, the token budget, warm-up batches, weight sync."""

from __future__ import annotations

from rlreport.comparators.chain import free_differences
from rlreport.comparators.headroom import BUDGET_KEYS, BudgetAdvice, Headroom, advise_budget, measure_headroom
from rlreport.comparators.ladder import Ladder
from rlreport.comparators.time_split import largest_phase
from rlreport.findings import knobs
from rlreport.findings.context import SETS_THE_PACE, SEVERE, TRAINER_BOUND_WAIT, WAIT_WORTH_ACTING, Context
from rlreport.findings.fragments import next_experiment
from rlreport.findings.model import Action, Finding
from rlreport.findings.polling import find_polling
from rlreport.findings.waiting import can_move_to_rollout, lead_is_ruled_out, waiting_remarks
from rlreport.run.format import config_value, count, number, percent
from rlreport.run.knobs import plain_value

#: A phase beside the update is worth a finding of its own from this share on.
SYNC_WORTH_ACTING = 0.10
#: The update takes this share of a step at least, or a larger token budget has nothing to speed up.
UPDATE_WORTH_ACTING = 0.25
#: A token budget is worth raising by this much at least.
BUDGET_STEP = 1.10
#: A lead of so many batches is longer than anything that it could bridge.
LONG_LEAD_BATCHES = 2.0


def no_lead(context: Context) -> Finding | None:
    """The Trainer waits because the configuration rules a lead out: the knob comes before devices."""
    share = context.wait_share
    if share is None or share < WAIT_WORTH_ACTING or not lead_is_ruled_out(context):
        return None
    devices = context.run.devices
    rest = ""
    if can_move_to_rollout(context) is False:
        rest = f" With {count(devices.trainer)} Trainer and {count(devices.rollout)} Rollout device none can be moved."
    polling = find_polling(context.run, context.result.steady_state)
    return Finding(
        id="trainer-waits-no-lead",
        severity="high" if share >= SEVERE else "medium",
        title=(
            f"The Trainer waits for samples during {percent(share)} of a step: the configuration allows no lead"
            f"{'' if polling is None else f' (polled every {config_value(polling.period_s)} s)'}"
        ),
        body=(
            f"Of every step, {context.seconds('time.wait_s')} pass before the next mini-batch is there. With no warm-up "
            "batch, a weight sync after every mini-batch and a threshold of 1 that waits, generation begins when the "
            f"Trainer already waits for it: both sides take turns.{waiting_remarks(context)}{rest}"
        ),
        run_id=context.run_id,
        evidence=context.evidence("time-split", "idle"),
        owner="trainer",
        action=Action(
            tier=3,
            knob=knobs.WARM_UP,
            direction="increase",
            text="Allow a lead before buying devices: one warm-up batch (num_warmup_batches 0 to 1).",
            gain_bound=1 / (1 - share),
            risk="samples are one version older: watch reward, KL and the importance weights",
            refuted_by="the wait stays as long although a batch is generated ahead",
        ),
        fragment=_one_warm_up_batch(context, "Does one warm-up batch take the wait away?"),
    )


def weight_sync(context: Context) -> Finding | None:
    """Weight sync takes a large part of the step: a bubble on both sides, which adding devices does not fill."""
    share = context.result.time_split.fractions.get("time.weight_sync_s")
    if share is None or share < SYNC_WORTH_ACTING:
        return None
    largest = largest_phase(context.result.time_split)
    first = largest is not None and largest[0] == "time.weight_sync_s"
    return Finding(
        id="weight-sync",
        severity="high" if share >= SEVERE else "medium",
        title=f"Weight sync is {'the largest part' if first else 'a large part'} of a step: {percent(share)}",
        body=(
            f"Sending new weights takes {context.seconds('time.weight_sync_s')} of every step; meanwhile the Trainer does "
            "not train, and moving devices from one side to the other cannot fill this time."
        ),
        run_id=context.run_id,
        evidence=("time-split",),
        owner="both",
        action=Action(
            tier=3,
            knob="sync",
            direction="decrease",
            text=(
                "Make a sync cheaper (checkpoint-engine backend, bucket size, if adapters are merged before sending), or "
                "rarer (parameter_sync_step with the batch that its invariant asks for)."
            ),
            gain_bound=1 / (1 - share),
            risk="rarer syncs train on older samples; a larger bucket takes memory on both sides",
            refuted_by="the share of weight sync stays the same after the change",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            "rarer-sync",
            _rarer_sync(context),
            ("sync",),
            question="How much does half as many weight syncs bring?",
        ),
    )


def _rarer_sync(context: Context) -> dict[str, object]:
    """Twice as many mini-batches a sync, with the batch that verl's assertion asks for."""
    run = context.run
    if run.mode == "fully_async":
        trigger = knobs.number_of(run, knobs.TRIGGER)
        return {} if trigger is None else {knobs.TRIGGER: int(2 * trigger)}
    step, mini = knobs.number_of(run, knobs.SYNC_STEP), knobs.number_of(run, knobs.MINI_BATCH)
    if run.mode != "separate_async" or step is None or mini is None:
        return {}
    return {knobs.SYNC_STEP: int(2 * step), knobs.TRAIN_BATCH: int(2 * step * mini)}


def long_lead(context: Context) -> Finding | None:
    """More is generated ahead than the Trainer could ever need: the samples only get older."""
    lead, run = context.lead, context.run
    batches, updates = knobs.number_of(run, knobs.WARM_UP), knobs.number_of(run, knobs.SYNC_STEP)
    wait = context.wait_share
    if run.mode != "separate_async" or batches is None or batches <= 1 or not updates or wait is None:
        return None
    least = lead.low if lead.low is not None else lead.mini_batches
    if wait >= TRAINER_BOUND_WAIT or least is None or least < LONG_LEAD_BATCHES * updates:
        return None
    return Finding(
        id="long-lead",
        severity="low",
        title=f"The Rollouters are {number(least)} mini-batches or more ahead, and the Trainer never waits",
        body=(
            f"{config_value(batches)} batches are handed out ahead. A lead of more than "
            f"{config_value(LONG_LEAD_BATCHES)} batches of {config_value(updates)} mini-batches bridges "
            "nothing; it only makes the samples older."
        ),
        run_id=context.run_id,
        evidence=context.evidence("idle"),
        owner="rollout",
        action=Action(
            tier=3,
            knob=knobs.WARM_UP,
            direction="decrease",
            text="Fewer warm-up batches, down to one; throughput should not move.",
            risk="with too short a lead a slow batch makes the Trainer wait",
            refuted_by="the Trainer begins to wait, or staleness does not fall",
        ),
        fragment=_one_warm_up_batch(context, "Is one warm-up batch enough?"),
    )


def short_lead(context: Context) -> Finding | None:
    """Both sides wait in turns, by the trace: neither is too slow, the lead between them is too short."""
    share, other, run = context.wait_share, context.rollout_wait_share, context.run
    batches = knobs.number_of(run, knobs.WARM_UP)
    if run.mode != "separate_async" or batches is None or share is None or other is None or lead_is_ruled_out(context):
        return None
    if share < SETS_THE_PACE or other < WAIT_WORTH_ACTING:
        return None
    least = min(share, other)
    return Finding(
        id="short-lead",
        severity="high" if least >= SEVERE else "medium",
        title=f"Both sides wait in turns: the Trainer {percent(share)}, the Rollouters {percent(other)} of their time",
        body=(
            f"With {config_value(batches)} batches handed out ahead, the Rollouters run into that limit, and the Trainer "
            "runs out of samples in the same run: slow and fast batches follow each other, and the lead is too short for "
            "them."
        ),
        run_id=context.run_id,
        evidence=context.evidence("time-split", "idle"),
        owner="both",
        action=Action(
            tier=3,
            knob=knobs.WARM_UP,
            direction="increase",
            text=(
                f"One more warm-up batch ({config_value(batches)} to {config_value(batches + 1)}) before any device "
                "is moved."
            ),
            gain_bound=1 / (1 - least),
            risk="samples are older by up to one version more",
            refuted_by="neither side waits less with the longer lead",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            f"warmup{config_value(batches + 1)}",
            {knobs.WARM_UP: batches + 1},
            ("work",),
            question="Does a longer lead take the waits away?",
        ),
    )


def token_budget(context: Context) -> Finding | None:
    """The Trainer is the bottleneck, its update has memory to spare, and the token budget can grow into it."""
    if context.analysis.ladder is not None and budget_rung(context.analysis.ladder) is not None:
        return _budget_finding(context, context.analysis.ladder)
    if context.separated:
        wait, other = context.wait_share, context.rollout_wait_share
        if wait is None or wait >= TRAINER_BOUND_WAIT or (other is not None and other < WAIT_WORTH_ACTING):
            return None
    update = context.result.time_split.fractions.get("time.update_actor_s", 0.0)
    return None if update < UPDATE_WORTH_ACTING else _budget_finding(context, context.analysis.ladder)


def _budget_finding(context: Context, ladder: Ladder | None) -> Finding | None:
    headroom = measure_headroom(context.run)
    advice = advise_budget(headroom)
    if ladder is not None and ladder.rungs[-1].run_id == context.run_id:
        advice = ladder.budget
    if not _room(context, headroom, advice) or headroom.budget_tokens is None or advice.tokens is None:
        return None
    bound = None if ladder is None else budget_gain_bound(ladder, context.run_id, advice.tokens)
    how = "" if bound is None else " What it can bring is bounded by what the last step of the budget brought."
    return Finding(
        id="token-budget",
        severity="medium" if bound is None or bound >= 1 + SYNC_WORTH_ACTING else "low",
        title=(
            f"The token budget has room: at {count(headroom.budget_tokens)} tokens {percent(headroom.free_fraction)} of "
            "memory is free"
        ),
        body=(
            f"At most {number(headroom.reserved_gb)} of {number(headroom.device_gb)} GB were ever reserved (step "
            f"{headroom.at_step}); {percent(headroom.margin)} are kept free as a safety margin. The Trainer sets the pace, "
            f"and micro-batches of more tokens have less overhead.{how}"
        ),
        run_id=context.run_id,
        evidence=("ladder-lead",) if ladder is not None else ("time-split",),
        owner="trainer",
        action=Action(
            tier=3,
            knob=knobs.TOKEN_BUDGET,
            direction="increase",
            text=f"Raise the token budget up to {count(advice.tokens)} tokens, not beyond ({advice.basis}).",
            gain_bound=bound,
            gain_of="throughput, if the overhead is one of micro-batches",
            risk="one step out of memory ends the run; the Rollouters may become the bottleneck",
            refuted_by="the update takes as long as before, or reserved memory passes the margin",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            f"tokens{advice.tokens}",
            {knobs.TOKEN_BUDGET: advice.tokens},
            ("work",),
            question=f"What does a token budget of {count(advice.tokens)} bring?",
        ),
    )


def _room(context: Context, headroom: Headroom, advice: BudgetAdvice) -> bool:
    dynamic = plain_value(context.run.value(knobs.DYNAMIC_BATCH)) is not False
    budget = headroom.budget_tokens
    return dynamic and budget is not None and advice.tokens is not None and advice.tokens >= BUDGET_STEP * budget


def budget_rung(ladder: Ladder) -> int | None:
    """The place of the last rung, when the token budget is all that led to it; None otherwise."""
    last = ladder.rungs[-1]
    if last.comparison is None or last.comparison.change.blocking:
        return None
    moved = [difference.key for difference in free_differences(last.comparison.change)]
    return len(ladder.rungs) - 1 if len(moved) == 1 and moved[0] in BUDGET_KEYS else None


def budget_gain_bound(ladder: Ladder, run_id: str, tokens: int) -> float | None:
    """The largest gain of a further step to `tokens`, when the ladder's last rung moved the budget alone.

    The overhead of micro-batches falls as 1 / budget: t(b) = a + c / b. From budget b1 to b2 the time per work fell by the
    ratio R of throughputs, so c (1/b1 - 1/b2) = 1 - 1/R with t(b1) = 1, and the gain from b2 to b3 is t(b2) / t(b3). R is
    taken at the upper end of its interval, which makes this a bound. None where R is unknown or budgets do not rise.
    """
    place = budget_rung(ladder)
    if place is None or ladder.rungs[place].run_id != run_id:
        return None
    before, after = ladder.rungs[place - 1].headroom.budget_tokens, ladder.rungs[place].headroom.budget_tokens
    ratio = ladder.rungs[place].ratio
    if ratio is None or ratio.ci_high is None or ratio.ci_high <= 1 or before is None or after is None:
        return None
    if not before < after < tokens:
        return None
    overhead = (1 - 1 / ratio.ci_high) / (1 / before - 1 / after)
    time = 1 / ratio.ci_high
    return time / (time - overhead * (1 / after - 1 / tokens))


def _one_warm_up_batch(context: Context, question: str) -> str:
    """The manifest fragment of the run with one warm-up batch."""
    setting = {knobs.WARM_UP: 1}
    return next_experiment(context.analysis, context.run_id, "warmup1", setting, ("work",), question=question)
