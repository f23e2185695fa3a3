"""All rules, and the order of what they find.

A rule reads results and computes nothing but its bound: removing a phase of share f of the step entirely would make the
step 1 / (1 - f) times as fast, and no action can gain more than that. docs/findings has a page a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.timeline import Timeline
from rlreport.comparators.window import FEWEST_STEPS
from rlreport.findings.context import TRAINER_BOUND_WAIT, WAIT_WORTH_ACTING, Context
from rlreport.findings.measurement import length_drift, reported_idle, untimed_remainder, wait_moved
from rlreport.findings.model import Finding
from rlreport.findings.off_policy import rougher_reward, staleness_plateau, staleness_quota
from rlreport.findings.resources import excess_rollouters, trainer_bound, trainer_waits
from rlreport.findings.schedule import checkpoint_gaps, checkpoint_stall, divisibility, validation_gaps
from rlreport.findings.work import long_lead, no_lead, short_lead, token_budget, weight_sync

__all__ = ["RULES", "RULE_IDS", "STUDY_RULES", "TRAINER_BOUND_WAIT", "WAIT_WORTH_ACTING", "find", "start_of_next"]

Rule = Callable[[Context], Finding | None]
StudyRule = Callable[[Analysis], Finding | None]

#: Rules about the run from which the next experiment starts, by the id of what they find.
RULES: Mapping[str, Rule] = {
    "excess-rollouters": excess_rollouters,
    "trainer-waits": trainer_waits,
    "trainer-bound": trainer_bound,
    "validation-gaps": validation_gaps,
    "checkpoint-gaps": checkpoint_gaps,
    "divisibility": divisibility,
    "trainer-waits-no-lead": no_lead,
    "weight-sync": weight_sync,
    "short-lead": short_lead,
    "long-lead": long_lead,
    "token-budget": token_budget,
    "staleness-quota": staleness_quota,
    "rougher-reward": rougher_reward,
    "reported-idle": reported_idle,
    "length-drift": length_drift,
    "untimed": untimed_remainder,
}
#: Rules about every run of a report: what happened in one of them is told wherever it happened.
EVERY_RUN_RULES: Mapping[str, Rule] = {"checkpoint-stall": checkpoint_stall}
#: Rules about what the runs of a report show together.
STUDY_RULES: Mapping[str, StudyRule] = {"sweep-plateau": staleness_plateau, "wait-moved": wait_moved}

RULE_IDS: tuple[str, ...] = (*RULES, *EVERY_RUN_RULES, *STUDY_RULES)

#: So many findings carry a manifest fragment; more would not be run next.
MOST_FRAGMENTS = 3

#: Findings that answer the question of a report.
ANSWERS = frozenset({"sweep-plateau"})
_NO_TIER = 9


def find(analysis: Analysis, timelines: Mapping[str, Timeline] | None = None) -> tuple[Finding, ...]:
    """All findings of a report, in the order in which they are worth acting on.

    First what a sweep shows, the answer to its question; then what asks for a change, by the guide's tier (from cheap to
    costly), then by the gain; last what is only to be known or looked at (severity "low"), in the same order.

    `timelines` are those of the runs that have one; without them rules read metrics alone, and say what they cannot know.
    A run with fewer steps in its window than an interval needs has no findings.
    """
    contexts = [Context(analysis, run_id, (timelines or {}).get(run_id)) for run_id in analysis.request.run_ids]
    measured = [context for context in contexts if context.result.steady_state.n >= FEWEST_STEPS]
    start = start_of_next(analysis)
    found = [
        *_apply(RULES, (context for context in measured if context.run_id == start)),
        *_apply(EVERY_RUN_RULES, measured),
    ]
    if measured:
        found += [finding for rule in STUDY_RULES.values() if (finding := rule(analysis)) is not None]
    ranked = sorted(found, key=_order)
    return tuple(
        finding if place < MOST_FRAGMENTS else replace(finding, fragment="") for place, finding in enumerate(ranked)
    )


def start_of_next(analysis: Analysis) -> str:
    """The run from which the next experiment starts.

    A sweep's candidate, else its best dose; a pair's or ladder's last variant, unless it is a regression against a run that
    it may be compared with: then that run.
    """
    request = analysis.request
    if analysis.sweep is not None:
        return analysis.sweep.candidate_id or analysis.sweep.best_id or request.run_ids[-1]
    last = request.run_ids[-1]
    for comparison in analysis.comparisons:
        if comparison.variant_id == last and comparison.throughput.headline.verdict == "regressed":
            return comparison.baseline_id
    return last


def _apply(rules: Mapping[str, Rule], contexts: Iterable[Context]) -> list[Finding]:
    return [finding for context in contexts for rule in rules.values() if (finding := rule(context)) is not None]


def _order(finding: Finding) -> tuple[int, int, float, str, str]:
    action = finding.action
    gain = 1.0 if action is None else action.gain_expected or action.gain_bound or 1.0
    tier = _NO_TIER if action is None else action.tier
    rank = 0 if finding.id in ANSWERS else 2 if finding.severity == "low" else 1
    return (rank, tier, -gain, finding.id, finding.run_id)
