"""Tier 2, deterministic bubbles: validation gaps, checkpoints, and batches that do not divide."""

from __future__ import annotations

import math
import statistics

from rlreport.comparators.change_invariants import check_invariants
from rlreport.comparators.change_lookup import lookup_of
from rlreport.findings.context import SEVERE, Context
from rlreport.findings.fragments import next_experiment
from rlreport.findings.knobs import SAVE_FREQ, TEST_FREQ, TRAINER_VALIDATES, number_of
from rlreport.findings.model import Action, Finding
from rlreport.run.expression import TOLERANCE, parse_expression
from rlreport.run.format import duration, join_words, number, percent, plural

#: A bubble that comes back is told when it takes this share of the wall time.
GAP_WORTH_ACTING = 0.05
#: A checkpoint that takes longer than this many average steps has stalled.
STALL_STEPS = 5.0
#: Uneven shares of a batch are told when the fullest share is by so much larger than the mean.
UNEVEN_WORTH_ACTING = 0.05


def validation_gaps(context: Context) -> Finding | None:
    """Validation comes back every few steps and takes a share of the wall time that is worth acting on."""
    gap = next((found for found in context.periodic if found.cause == "validation"), None)
    if gap is None or gap.share < GAP_WORTH_ACTING:
        return None
    run = context.run
    helps = run.mode == "fully_async" and run.value(TRAINER_VALIDATES) is False
    period = number_of(run, TEST_FREQ[0]) or number_of(run, TEST_FREQ[1])
    tied = f" ({gap.tied_to})" if gap.tied_to else ""
    if helps:
        text = (
            "Let the Trainer's devices validate too (async_training.use_trainer_do_validate): they stand still meanwhile. "
            "Or validate more rarely."
        )
        overrides: dict[str, object] = {TRAINER_VALIDATES: True}
    else:
        text = "Validate more rarely, or on fewer prompts, with the same validation in every run of the study."
        rarer = int(2 * period) if period is not None and period == gap.period else None
        overrides = {} if rarer is None else {key: rarer for key in TEST_FREQ if number_of(run, key) == period}
    return Finding(
        id="validation-gaps",
        severity="high" if gap.share >= SEVERE else "medium",
        title=f"Validation takes {percent(gap.share)} of the wall time",
        body=(
            f"Every {plural(gap.period, 'step')}{tied} a validation of {number(gap.seconds)} s on average stands between "
            f"the steps, {gap.times} times in this run. It is outside of the steady-state throughput, but the cluster pays "
            "for it."
        ),
        run_id=context.run_id,
        evidence=("wall-clock", "excluded-steps"),
        owner="both" if not helps else "trainer",
        action=Action(
            tier=2,
            knob=TRAINER_VALIDATES if helps else TEST_FREQ[0],
            direction="change" if helps else "increase",
            text=text,
            gain_bound=1 / (1 - gap.share),
            gain_of="throughput by the wall clock",
            risk=(
                "the Trainer's devices switch to inference and back, which takes time and memory"
                if helps
                else "fewer points of accuracy: a collapse is seen later, and runs are harder to compare"
            ),
            refuted_by="the wall time between two validations does not get shorter for the same steps",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            "validation",
            overrides,
            ("schedule",),
            question="How much wall time does the other way of validating save?",
        ),
    )


def checkpoint_stall(context: Context) -> Finding | None:
    """A checkpoint took many times a step: a storage stall, not a property of the configuration."""
    step_s, series = context.result.time_split.step_s, context.result.checkpoint_seconds
    if step_s is None or not series:
        return None
    stalled = [(step, seconds) for step, seconds in series if seconds >= STALL_STEPS * step_s]
    if not stalled:
        return None
    step, longest_s = max(stalled, key=lambda item: (item[1], -item[0]))
    usual = [seconds for at, seconds in series if at not in dict(stalled)]
    others = f" The other checkpoints took {number(statistics.median(usual))} s in the middle." if usual else ""
    more = f" {len(stalled)} checkpoints took as long as {number(STALL_STEPS)} steps or longer." if len(stalled) > 1 else ""
    counted = step in context.result.steady_state.kept
    where = "inside" if counted else "outside"
    moves = "moves the estimate" if counted else "does not move the estimate, but the cluster did nothing meanwhile"
    return Finding(
        id="checkpoint-stall",
        severity="medium",
        title=f"A checkpoint stalled for {duration(longest_s)}, logged with step {step}",
        body=(
            f"That is {number(longest_s / step_s)} average steps.{others}{more} The step is {where} the window and {moves}."
        ),
        run_id=context.run_id,
        evidence=("wall-clock", "excluded-steps"),
        owner="both",
        action=Action(
            tier=2,
            knob=SAVE_FREQ,
            direction="check",
            text="Look at the storage at that time; save to a local disk first, or asynchronously.",
            risk="a checkpoint that is still being copied when the job dies is lost",
            refuted_by="the log of the storage shows no stall at that time",
        ),
    )


def checkpoint_gaps(context: Context) -> Finding | None:
    """Ordinary checkpoints take a share of the wall time that is worth acting on."""
    gap = next((found for found in context.periodic if found.cause == "checkpoint"), None)
    step_s = context.result.time_split.step_s
    if gap is None or step_s is None:
        return None
    usual = [seconds for _, seconds in context.result.checkpoint_seconds if seconds < STALL_STEPS * step_s]
    stalled_s = math.fsum(seconds for _, seconds in context.result.checkpoint_seconds) - math.fsum(usual)
    wall_s = gap.seconds * gap.times / gap.share
    share = math.fsum(usual) / (wall_s - stalled_s) if usual and wall_s > stalled_s else 0.0
    if share < GAP_WORTH_ACTING:
        return None
    tied = f" ({gap.tied_to})" if gap.tied_to else ""
    every = number_of(context.run, SAVE_FREQ)
    return Finding(
        id="checkpoint-gaps",
        severity="medium",
        title=f"Checkpoints take {percent(share)} of the wall time",
        body=f"Every {plural(gap.period, 'step')}{tied} saving takes {number(statistics.median(usual))} s in the middle.",
        run_id=context.run_id,
        evidence=("wall-clock", "excluded-steps"),
        owner="both",
        action=Action(
            tier=2,
            knob=SAVE_FREQ,
            direction="increase",
            text="Save more rarely, or asynchronously.",
            gain_bound=1 / (1 - share),
            gain_of="throughput by the wall clock",
            risk="a crash costs the steps since the last checkpoint",
            refuted_by="the wall time between two checkpoints does not get shorter for the same steps",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            "rarer-checkpoint",
            {} if every is None else {SAVE_FREQ: int(2 * every)},
            ("schedule",),
            question="How much wall time do half as many checkpoints save?",
        ),
    )


def divisibility(context: Context) -> Finding | None:
    """Batches, devices or replicas that do not divide: work that is uneven, padded or left out in every step."""
    uneven = [(found.name, found.message) for found in check_invariants(context.run) if _matters(context, found.name)]
    if not uneven:
        return None
    names = join_words([name for name, _ in uneven])
    return Finding(
        id="divisibility",
        severity="low" if len(uneven) == 1 else "medium",
        title=f"The configuration has no {names}",
        body=f"{'; '.join(message[0].upper() + message[1:] for _, message in uneven)}.",
        run_id=context.run_id,
        evidence=("runs",),
        owner="both",
        action=Action(
            tier=2,
            knob="data.train_batch_size",
            direction="change",
            text="Choose batch, mini-batch and replicas so that they divide without remainder.",
            risk="another batch size is another training: compare quality at equal samples",
            refuted_by="the shares of ranks and replicas are equal in a trace",
        ),
    )


def _matters(context: Context, name: str) -> bool:
    """Whether a divisibility is broken by enough: the fullest of uneven shares is clearly larger than the mean."""
    lookup = lookup_of(context.run)
    for invariant in context.run.knob_rules.invariants:
        if invariant.name != name or invariant.kind != "check" or " % " not in invariant.expression:
            continue
        if parse_expression(invariant.expression).holds(lookup) is not False:
            continue
        whole, part = invariant.expression.removesuffix("== 0").rsplit(" % ", 1)
        values = [parse_expression(side.strip()).value(lookup) for side in (whole, part)]
        if values[0] is None or values[1] is None or values[0] <= 0 or values[1] <= 0:
            continue
        shares = values[0] / values[1]
        if math.ceil(shares - TOLERANCE) / shares - 1 >= UNEVEN_WORTH_ACTING:
            return True
    return False
