"""The rules: small named functions from a run's result to a finding, or to none.

A rule reads results and computes nothing but its bound: removing a phase of share f of the step entirely would make the
step 1 / (1 - f) times as fast, and no action can gain more than that.
"""

from __future__ import annotations

from collections.abc import Callable

from rlreport.comparators.analysis import Analysis, RunResult
from rlreport.comparators.time_split import largest_phase
from rlreport.findings.model import Action, Finding
from rlreport.run.format import duration, number, percent
from rlreport.run.metrics import METRICS
from rlreport.run.model import SEPARATED_MODES

#: A wait below this share of the step means that the Trainer is the bottleneck; above it the wait is worth acting on.
TRAINER_BOUND_WAIT = 0.02
WAIT_WORTH_ACTING = 0.10
#: A phase is told as the largest part of a step when it takes at least this share.
LARGEST_PHASE = 0.25
#: A phase beside the update is worth a finding of its own from this share on.
SYNC_WORTH_ACTING = 0.10
#: A checkpoint that takes longer than this many average steps has stalled.
STALL_STEPS = 5.0
UNTIMED_WORTH_ACTING = 0.10

Rule = Callable[[RunResult], Finding | None]


def weight_sync_is_largest(result: RunResult) -> Finding | None:
    """Weight sync takes a large part of the step: a bubble on both sides, which adding devices does not fill."""
    share = result.time_split.fractions.get("time.weight_sync_s")
    if share is None or share < SYNC_WORTH_ACTING:
        return None
    largest = largest_phase(result.time_split)
    first = largest is not None and largest[0] == "time.weight_sync_s"
    title = f"Weight sync is {'the largest part' if first else 'a large part'} of a step: {percent(share)}"
    return Finding(
        id="weight-sync",
        severity="high" if share >= LARGEST_PHASE else "medium",
        title=title,
        body=(
            f"Sending new weights takes {_seconds(result, 'time.weight_sync_s')} of every step; meanwhile neither training "
            "nor new generation makes progress, so moving devices from one side to the other cannot fill this time."
        ),
        run_id=result.run.run_id,
        evidence=("time-split",),
        owner="both",
        action=Action(
            tier=3,
            knob="sync",
            direction="decrease",
            text=(
                "Make a sync cheaper (checkpoint-engine backend, bucket size, if adapters are merged before sending), or "
                "rarer (parameter_sync_step with the mini-batch that its invariant asks for)."
            ),
            gain_bound=1 / (1 - share),
            refuted_by="the share of weight sync stays the same after the change",
        ),
    )


def trainer_waits(result: RunResult) -> Finding | None:
    """The Trainer waits for samples: production is the bottleneck."""
    share = result.time_split.fractions.get("time.wait_s")
    if result.run.mode not in SEPARATED_MODES or share is None or share < WAIT_WORTH_ACTING:
        return None
    return Finding(
        id="trainer-waits",
        severity="high" if share >= LARGEST_PHASE else "medium",
        title=f"The Trainer waits for samples during {percent(share)} of a step",
        body=(
            f"Of every step, {_seconds(result, 'time.wait_s')} pass before the next mini-batch is there: the Rollouters "
            "produce more slowly than the Trainer consumes."
        ),
        run_id=result.run.run_id,
        evidence=("time-split",),
        owner="trainer",
        action=Action(
            tier=1,
            knob="resources",
            direction="increase",
            text="Move devices from the Trainer to the Rollouters at the same total, or make generation cheaper.",
            gain_bound=1 / (1 - share),
            refuted_by="the Trainer's wait does not fall when Rollouters are added",
        ),
    )


def trainer_is_bottleneck(result: RunResult) -> Finding | None:
    """The Trainer practically never waits: more Rollouters cannot help, fewer may cost nothing."""
    share = result.time_split.fractions.get("time.wait_s")
    if result.run.mode not in SEPARATED_MODES or share is None or share >= TRAINER_BOUND_WAIT:
        return None
    return Finding(
        id="trainer-bound",
        severity="medium",
        title=f"The Trainer is the bottleneck: it waits {percent(share)} of a step",
        body=(
            "Samples are always there when the Trainer asks for them, so whatever time is idle is on the Rollouters' side. "
            "How much it is cannot be read from this log: it takes a trace of the replicas."
        ),
        run_id=result.run.run_id,
        evidence=("time-split",),
        owner="rollout",
        action=Action(
            tier=1,
            knob="resources",
            direction="decrease",
            text="Try fewer Rollout devices, or give some of them to the Trainer, until the wait begins to rise.",
            refuted_by="the Trainer's wait rises above 2 % of the step",
        ),
    )


def checkpoint_stall(result: RunResult) -> Finding | None:
    """A checkpoint took many times a step: a storage stall, not a property of the configuration."""
    step_s, series = result.time_split.step_s, result.checkpoint_seconds
    if step_s is None or not series:
        return None
    step, longest_s = max(series, key=lambda item: (item[1], -item[0]))
    if longest_s < STALL_STEPS * step_s:
        return None
    return Finding(
        id="checkpoint-stall",
        severity="medium",
        title=f"A checkpoint stalled for {duration(longest_s)} at step {step}",
        body=(
            f"That is {number(longest_s / step_s)} average steps. The step is outside the window and does not move the "
            "estimate, but the cluster did nothing meanwhile."
        ),
        run_id=result.run.run_id,
        evidence=("excluded-steps",),
        owner="both",
        action=Action(
            tier=2,
            knob="trainer.save_freq",
            direction="check",
            text="Look at the storage at that time; save to a local disk first, or asynchronously.",
            refuted_by="the log of the storage shows no stall at that time",
        ),
    )


def untimed_remainder(result: RunResult) -> Finding | None:
    """A large part of the step is covered by no timer."""
    share = result.time_split.fractions.get("time.other_s")
    if share is None or share < UNTIMED_WORTH_ACTING:
        return None
    return Finding(
        id="untimed",
        severity="medium",
        title=f"{percent(share)} of a step is covered by no timer",
        body=f"{_seconds(result, 'time.other_s')} of every step are in none of the logged phases.",
        run_id=result.run.run_id,
        evidence=("time-split",),
        owner="unknown",
        action=Action(
            tier=2,
            knob="instrumentation",
            direction="check",
            text="Profile one step before moving resources: what is not measured cannot be tuned.",
            refuted_by="a profile of one step shows the time in a known phase",
        ),
    )


RULES: tuple[Rule, ...] = (weight_sync_is_largest, trainer_waits, trainer_is_bottleneck, checkpoint_stall, untimed_remainder)

_SEVERITY_ORDER = {"high": 0, "medium": 1, "low": 2}


def find(analysis: Analysis) -> tuple[Finding, ...]:
    """All findings of a report's runs that matter for the next step: those of the last run of a ladder or pair, else of the
    only run. Ordered by severity, then by the bound on the gain, then by the guide's tier.
    """
    last = analysis.request.run_ids[-1]
    result = analysis.runs[last]
    if result.steady_state.n == 0:
        return ()
    found = [finding for rule in RULES if (finding := rule(result)) is not None]
    return tuple(sorted(found, key=_order))


def _order(finding: Finding) -> tuple[int, float, int, str]:
    bound = finding.action.gain_bound if finding.action and finding.action.gain_bound else 1.0
    tier = finding.action.tier if finding.action else 9
    return (_SEVERITY_ORDER[finding.severity], -bound, tier, finding.id)


def _seconds(result: RunResult, phase: str) -> str:
    total = "" if result.time_split.step_s is None else f" of {number(result.time_split.step_s)}"
    return f"{number(result.time_split.seconds[phase])}{total} s ({METRICS[phase].label})"
