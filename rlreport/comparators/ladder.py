"""A ladder of changes: each rung against the one before and against the first, and what can be laid to which change.

Rungs are counted from 1, the run that the ladder starts from; a change leads from one rung to the next.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rlreport.comparators.analysis import DEFAULT_THROUGHPUT_MARGIN, Analysis, ComparisonResult
from rlreport.comparators.chain import (
    free_classes,
    free_differences,
    is_decided,
    own_windows,
    ratio_on,
    shared_metric,
)
from rlreport.comparators.headroom import BUDGET_KEYS, BudgetAdvice, Headroom, advise_budget, measure_headroom
from rlreport.comparators.lead import Lead, measure_lead
from rlreport.comparators.missing_runs import MissingRun, missing_runs
from rlreport.comparators.results import Change, RatioComparison, SteadyState, ThroughputComparison
from rlreport.comparators.steady_state import common_window
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.diagnostics import Notice
from rlreport.run.format import ratio as ratio_text
from rlreport.run.format import ratio_interval
from rlreport.run.knobs import KnobClass
from rlreport.run.metrics import METRICS

#: What a rung's difference in throughput can be laid to.
Attribution = Literal["one-class", "several-classes", "undeclared", "no-change", "unknown", "not-comparable"]

_BY_VERDICT: Mapping[str, Attribution] = {
    "identical": "no-change",
    "single": "one-class",
    "coupled": "one-class",
    "undeclared": "undeclared",
    "confounded": "several-classes",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class Rung:
    """One run of the ladder. The first has no comparison: what is said about a change is None there.

    `ratio` is its throughput over that of the rung before, `cumulative` over that of the first rung, both measured over the
    windows that the two runs share, on the ladder's metric; `window` is the first and last step of the rung's window against
    the first. `classes` moved by themselves; `missing` are the runs that would tell several classes apart.
    """

    number: int
    run_id: str
    previous_id: str | None
    comparison: ComparisonResult | None
    attribution: Attribution | None
    classes: tuple[KnobClass, ...]
    ratio: RatioComparison | None
    cumulative: RatioComparison | None
    window: tuple[int, int] | None
    missing: tuple[MissingRun, ...]
    lead: Lead
    headroom: Headroom

    @property
    def attributable(self) -> bool:
        """Whether the difference to the rung before can be laid to one class of knobs."""
        return self.attribution in (None, "one-class", "undeclared", "no-change")


@dataclass(frozen=True, slots=True)
class Ladder:
    """All rungs, first to last, the metric of their ratios (None when they share none), and the advice on memory."""

    metric: str | None
    rungs: tuple[Rung, ...]
    budget: BudgetAdvice
    notices: tuple[Notice, ...] = ()

    @property
    def changes(self) -> tuple[Rung, ...]:
        """The rungs that a change leads to: all but the first."""
        return self.rungs[1:]

    @property
    def total(self) -> RatioComparison | None:
        """The last rung against the first."""
        return self.rungs[-1].cumulative


def measure_ladder(analysis: Analysis) -> Ladder:
    """Climb a ladder: the analysis has each rung against the one before; here each is also compared with the first.

    The cumulative ratio is measured, not multiplied: rung k and the first over the window that both have in steady state.
    A rung that may not be compared with the one before breaks the chain: no later one may be compared with the first.
    """
    first_id = analysis.request.baseline
    own = own_windows(analysis)
    totals: dict[str, ThroughputComparison] = {}
    reasons: list[str] = []
    for index, comparison in enumerate(analysis.comparisons):
        run_id = comparison.variant_id
        reasons += [f"rung {index + 2}: {reason}" for reason in comparison.change.blocking]
        totals[run_id] = comparison.throughput if index == 0 else _against_first(analysis, own, run_id, reasons)
    metric = shared_metric([*(c.throughput for c in analysis.comparisons), *totals.values()])
    rungs = [_first_rung(analysis, first_id)]
    for number, comparison in enumerate(analysis.comparisons, 2):
        rungs.append(_rung(analysis, number, comparison, totals[comparison.variant_id], metric))
    notices = [*_metric_notices(metric, rungs), *_product_notices(rungs), *_lead_notices(rungs)]
    return Ladder(metric, tuple(rungs), _budget(rungs), tuple(notices))


def _against_first(
    analysis: Analysis, own: Mapping[str, SteadyState], run_id: str, reasons: Sequence[str]
) -> ThroughputComparison:
    first_id = analysis.request.baseline
    first, run = analysis.runs[first_id].run, analysis.runs[run_id].run
    return compare_throughput(
        first,
        run,
        *common_window(first, own[first_id], run, own[run_id]),
        margin=analysis.request.margins.get("throughput", DEFAULT_THROUGHPUT_MARGIN),
        comparable=not reasons,
        reasons=reasons,
    )


def _first_rung(analysis: Analysis, run_id: str) -> Rung:
    result = analysis.runs[run_id]
    lead, headroom = measure_lead(result.run, result.steady_state), measure_headroom(result.run)
    return Rung(1, run_id, None, None, None, (), None, None, None, (), lead, headroom)


def _rung(
    analysis: Analysis,
    number: int,
    comparison: ComparisonResult,
    total: ThroughputComparison,
    metric: str | None,
) -> Rung:
    result, window = analysis.runs[comparison.variant_id], total.window_variant
    ends = None if window.first_step is None or window.last_step is None else (window.first_step, window.last_step)
    return Rung(
        number=number,
        run_id=comparison.variant_id,
        previous_id=comparison.baseline_id,
        comparison=comparison,
        attribution="not-comparable" if comparison.change.blocking else _BY_VERDICT[comparison.change.verdict],
        classes=free_classes(comparison.change),
        ratio=ratio_on(comparison.throughput, metric),
        cumulative=ratio_on(total, metric),
        window=ends,
        missing=missing_runs(comparison.change, comparison.baseline_id),
        lead=measure_lead(result.run, result.steady_state),
        headroom=measure_headroom(result.run),
    )


def _budget(rungs: Sequence[Rung]) -> BudgetAdvice:
    """Advice for the last rung, by the last two neighbours that differ in the token budget alone."""
    pair: tuple[Headroom, Headroom] | None = None
    for before, after in pairwise(rungs):
        if after.comparison is not None and _moves_budget_alone(after.comparison.change):
            pair = (before.headroom, after.headroom)
    return advise_budget(rungs[-1].headroom, pair)


def _moves_budget_alone(change: Change) -> bool:
    moved = [difference.key for difference in free_differences(change)]
    return len(moved) == 1 and moved[0] in BUDGET_KEYS


def _metric_notices(metric: str | None, rungs: Sequence[Rung]) -> list[Notice]:
    if metric is not None or len(rungs) < 2:
        return []
    return [
        Notice("RR495", "the rungs share no metric of throughput: each ratio is on the first one that its two runs have")
    ]


def _product_notices(rungs: Sequence[Rung]) -> list[Notice]:
    """The product of the rungs against the measured total: far apart, the pairs' windows tell different stories."""
    total = rungs[-1].cumulative
    parts = [rung.ratio.ratio for rung in rungs if rung.ratio is not None]
    if len(rungs) < 3 or total is None or not is_decided(total) or None in parts or total.metric != _only_metric(rungs):
        return []
    product = math.prod(part for part in parts if part is not None)
    if total.ci_low is None or total.ci_high is None or total.ci_low <= product <= total.ci_high:
        return []
    message = (
        f"the rungs multiply to {ratio_text(product)}, outside of the interval of the measured total "
        f"({ratio_interval(total.ci_low, total.ci_high)}): the pairs were compared over different windows; the total counts"
    )
    return [Notice("RR496", message)]


def _only_metric(rungs: Sequence[Rung]) -> str | None:
    metrics = {rung.ratio.metric for rung in rungs if rung.ratio is not None}
    return metrics.pop() if len(metrics) == 1 else None


def _lead_notices(rungs: Sequence[Rung]) -> list[Notice]:
    """Leads that are known in different ways are not to be compared with each other."""
    bases = {rung.lead.basis for rung in rungs} - {"unknown"}
    if len(bases) < 2:
        return []
    words = f"the Rollouters' lead is known in different ways ({METRICS['queue.samples'].label}, staleness)"
    return [Notice("RR497", f"{words}: compare it along the ladder with care")]
