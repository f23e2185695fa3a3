"""Tier 4, off-policy: what the staleness quota covers, where more of it stops helping, and what it does to the reward."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.sweep import Dose, Sweep
from rlreport.comparators.volatility import FEWEST_VALUES, compare_volatility, logged_values
from rlreport.findings import knobs
from rlreport.findings.context import SEVERE, WAIT_WORTH_ACTING, Context
from rlreport.findings.fragments import next_experiment
from rlreport.findings.model import Action, Finding
from rlreport.findings.waiting import quota_pauses
from rlreport.run.format import config_value, count, percent, ratio, ratio_interval

#: Volatility that grows by this much, with its interval above 1, is worth acting on.
ROUGHER = 1.25
REWARD = "quality.reward_mean"


def staleness_quota(context: Context) -> Finding | None:
    """Both sides wait in turns: the quota is used up while the Trainer still needs samples later in the version."""
    share, quota = context.wait_share, context.quota
    if share is None or share < WAIT_WORTH_ACTING or quota is None or not quota_pauses(context):
        return None
    paused = context.rollout_wait_share
    measured = "by the trace" if paused is not None else "by the log's own ratio"
    paused = paused if paused is not None else context.result.idle.rollout.fraction
    following = min(round(quota.quota + 0.2, 10), 1.0)
    return Finding(
        id="staleness-quota",
        severity="high" if share >= SEVERE else "medium",
        title=f"The staleness quota covers {config_value(quota.covered)} of {count(quota.rounds)} trigger steps",
        body=(
            f"With a threshold of {config_value(quota.quota)}, samples of {config_value(quota.covered)} rounds are ready "
            f"after a sync: {_whole(quota.whole)}. The Trainer waits in {percent(share)} of a "
            f"step while the Rollouters pause in {percent(paused)} of their time ({measured}): more devices would only "
            "pause earlier."
        ),
        run_id=context.run_id,
        evidence=context.evidence("time-split", "idle"),
        owner="both",
        action=Action(
            tier=4,
            knob=quota.quota_key,
            direction="increase",
            text=(
                f"Raise the staleness threshold in steps ({config_value(quota.quota)} to "
                f"{config_value(following)}) until the wait stops falling."
            ),
            gain_bound=1 / (1 - share),
            risk="older samples make the reward rougher: watch its volatility, and enable RS/IS",
            refuted_by="the wait does not fall with the higher threshold",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            f"stale{config_value(following)}",
            {quota.quota_key: following} if following > quota.quota else {},
            (quota.quota_key,),
            question=f"Does the wait fall at a staleness of {config_value(following)}?",
        ),
    )


def _whole(rounds: int) -> str:
    if rounds == 0:
        return "not even the first finds all of its own"
    return "the first finds all of its own" if rounds == 1 else f"the first {count(rounds)} find all of theirs"


def staleness_plateau(analysis: Analysis) -> Finding | None:
    """A sweep shows the smallest dose that is not worse than the best: the candidate, to be validated on one's workload."""
    sweep = analysis.sweep
    candidate = None if sweep is None else sweep.dose(sweep.candidate_id)
    if sweep is None or candidate is None or sweep.shape not in ("levels-off", "peak", "flat"):
        return None
    best = sweep.dose(sweep.best_id) or candidate
    value, label = config_value(candidate.value), sweep.knob.label or "the knob"
    levels = sweep.wait_levels_off == candidate.run_id
    return Finding(
        id="sweep-plateau",
        severity="high",
        title=f"{label[0].upper()}{label[1:]}: {value} is the candidate, more of it brings nothing",
        body=(
            f"{_standing(candidate, best, sweep)}"
            f"{' The wait for samples stops falling there.' if levels else ''}{_roughness(sweep)}"
        ),
        run_id=candidate.run_id,
        evidence=("sweep-speed", "doses"),
        owner="both",
        action=Action(
            tier=4,
            knob=sweep.knob.key or "off-policy",
            direction="keep",
            text=f"Keep {value}, to be validated on your workload: repeat it with another seed.",
            risk="one run a dose: longer responses or more frequent syncs need another dose",
            refuted_by="the candidate repeated with another seed differs from itself by more than the margin",
        ),
        fragment=next_experiment(
            analysis,
            candidate.run_id,
            "again",
            {knobs.SEED: 2},
            ("environment",),
            question=f"Does {value} hold with another seed?",
        ),
    )


def _standing(candidate: Dose, best: Dose, sweep: Sweep) -> str:
    if candidate is best or candidate.to_best is None:
        return f"{config_value(candidate.value)} is the best dose, and no smaller one is as good."
    found = candidate.to_best
    return (
        f"It is the smallest dose that is not worse than the best ({config_value(best.value)}) by more than "
        f"{percent(sweep.margin, 0)}: {ratio(found.ratio, found.ci_low, found.ci_high)} "
        f"({ratio_interval(found.ci_low, found.ci_high)})."
    )


def _roughness(sweep: Sweep) -> str:
    last = sweep.doses[-1]
    found = last.volatility_ratio
    if found.estimate is None or found.ci_low is None or found.ci_low <= 1:
        return ""
    return (
        f" The reward is {ratio(found.estimate)} as rough at {config_value(last.value)} as at "
        f"{config_value(sweep.doses[0].value)} ({ratio_interval(found.ci_low, found.ci_high)})."
    )


def rougher_reward(context: Context) -> Finding | None:
    """The reward gets rougher along training on off-policy samples, and no correction is enabled."""
    run, window = context.run, context.result.steady_state
    if not context.separated or not (knobs.is_off(run, knobs.IMPORTANCE) and knobs.is_off(run, knobs.REJECTION)):
        return None
    values = logged_values(run, window, REWARD)
    half = len(values) // 2
    if half < FEWEST_VALUES or not _is_off_policy(context):
        return None
    found = compare_volatility(values[:half], values[half:])
    if found.estimate is None or found.ci_low is None or found.ci_low <= 1 or found.estimate < ROUGHER:
        return None
    return Finding(
        id="rougher-reward",
        severity="medium",
        title=f"The reward gets rougher ({ratio(found.estimate)}), and RS/IS is not enabled",
        body=(
            f"From step to step the reward scatters {ratio(found.estimate)} as much in the second half of the window as in "
            f"the first ({ratio_interval(found.ci_low, found.ci_high)}). Samples are older than the policy, and nothing "
            "corrects for it."
        ),
        run_id=context.run_id,
        evidence=("qualities",) if context.analysis.comparisons else ("quality",),
        owner="unknown",
        action=Action(
            tier=4,
            knob=knobs.IMPORTANCE,
            direction="change",
            text="Enable importance weights (rollout_is) or rejection of far-off samples (rollout_rs).",
            risk="weights that are clipped hard throw samples away; log-probabilities of the sampler must be computed",
            refuted_by="the reward is as rough with the correction as without",
        ),
        fragment=next_experiment(
            context.analysis,
            context.run_id,
            "corrected",
            {knobs.IMPORTANCE: "token"},
            ("off-policy",),
            question="Does the correction smooth the reward?",
        ),
    )


def _is_off_policy(context: Context) -> bool:
    """Whether samples are known to be older than the policy: by the quota in force, or by staleness as logged."""
    import numpy as np

    quota = context.quota
    if quota is not None and quota.quota > 0:
        return True
    values = logged_values(context.run, context.result.steady_state, "staleness.mean")
    return bool(np.size(values)) and float(values.mean()) > 0
