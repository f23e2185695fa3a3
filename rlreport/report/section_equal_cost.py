"""Quality at equal cost, what it took to reach a target, and the signals of training."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis, ComparisonResult
from rlreport.comparators.course import Course, RunCourse
from rlreport.comparators.equal_budget import Budget
from rlreport.comparators.signals import Signal, SignalComparison
from rlreport.comparators.target import Cost, TargetComparison, TargetResult
from rlreport.report.model import Block, Column, Row, Section, Table, Text
from rlreport.report.words import QUALITY_WORDS
from rlreport.run import format as fmt
from rlreport.run.estimate import Estimate
from rlreport.run.metrics import METRICS

_UNIT_WORDS = {"prompts": "prompts", "steps": "steps", "hours": "h", "device-hours": "device-h"}


def equal_cost_section(analysis: Analysis, courses: Sequence[Course]) -> Section | None:
    """Tables of quality at equal cost, of targets and of signals, as far as the logs tell them; None for none."""
    pairs = [
        (_prefix(analysis, comparison), course) for comparison, course in zip(analysis.comparisons, courses, strict=True)
    ]
    blocks: list[Block] = []
    budgets = [(prefix, budget) for prefix, course in pairs for budget in course.budgets]
    if budgets:
        blocks.append(_budget_table(budgets))
    targets = [(prefix, target) for prefix, course in pairs for target in course.targets]
    if targets:
        blocks.append(_target_table(targets))
    signals = [(prefix, signal) for prefix, course in pairs for signal in course.signals]
    if signals:
        blocks.append(_signal_table(signals))
    return Section("equal-cost", "Quality at equal cost", tuple(blocks)) if blocks else None


def run_signals_section(course: RunCourse) -> Section | None:
    """Targets and signals of a single run, None where it has neither."""
    blocks: list[Block] = []
    if course.targets:
        blocks.append(_run_targets(course.targets))
    if course.signals:
        blocks.append(_run_signals(course.signals))
    return Section("equal-cost", "Targets and signals", tuple(blocks)) if blocks else None


def _prefix(analysis: Analysis, comparison: ComparisonResult) -> str:
    return f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""


def _budget_table(budgets: Sequence[tuple[str, Budget]]) -> Table:
    columns = (
        Column("Quality", width=23),
        Column("Spent by both", numeric=True, width=12),
        Column("Steps", numeric=True, width=10),
        Column("Baseline", numeric=True, width=8),
        Column("Variant", numeric=True, width=8),
        Column("Difference", numeric=True, width=9),
        Column("95 % interval", numeric=True, width=16),
        Column("Verdict", width=14),
    )
    rows = [
        Row(
            (
                (f"{prefix}{_short(budget.metric)} at equal {budget.basis}",),
                (f"{fmt.scaled(budget.budget)} {_UNIT_WORDS[budget.unit]}",),
                (f"{budget.step_baseline:,} / {budget.step_variant:,}",),
                (fmt.number(budget.baseline.estimate),),
                (fmt.number(budget.variant.estimate),),
                (fmt.number(budget.difference),),
                (fmt.interval(budget.ci_low, budget.ci_high),),
                (_verdict(budget),),
            )
        )
        for prefix, budget in budgets
    ]
    clock = budgets[0][1].clock
    note: Text = (
        "Means over the last fifth of what both spent, with errors about a line through it; of accuracy over the last "
        f"evaluations. Hours: {clock}, from the beginning of the first step. Not shown to be worse is not the same as "
        "equivalent.",
    )
    return Table("equal-cost-table", "Quality when both runs have cost the same", columns, tuple(rows), note)


def _short(metric: str) -> str:
    """A metric's label without what stands after its comma."""
    return METRICS[metric].label.split(",", maxsplit=1)[0]


def _verdict(budget: Budget) -> str:
    margin = "" if budget.margin is None else f" (±{fmt.number(budget.margin, 2)})"
    if budget.verdict == "inconclusive" and budget.non_inferior:
        return f"not worse by more than the margin{margin}"
    return f"{QUALITY_WORDS[budget.verdict]}{margin if budget.verdict == 'equivalent' else ''}"


def _target_table(targets: Sequence[tuple[str, TargetComparison]]) -> Table:
    columns = (
        Column("To reach"),
        Column("Cost"),
        Column("Baseline", numeric=True),
        Column("Variant", numeric=True),
        Column("Baseline / variant", numeric=True),
    )
    rows: list[Row] = []
    for prefix, target in targets:
        label = f"{prefix}{METRICS[target.baseline.metric].label} {fmt.number(target.baseline.target)}"
        for words, field, ratio in (
            ("samples", "samples", target.samples_ratio),
            ("hours", "hours", target.hours_ratio),
            ("device-hours", "device_hours", target.device_hours_ratio),
        ):
            sides = [_cost(side, field) for side in (target.baseline, target.variant)]
            bound = f"{target.bound} " if target.bound and ratio is not None else ""
            rows.append(
                Row(((label,), (words,), (sides[0],), (sides[1],), (f"{bound}{fmt.ratio(ratio)}",)), marked=words == "hours")
            )
            label = ""
    note: Text = (
        "The first evaluation at the target, interpolated from the one before (in brackets the two); a run that did not "
        "reach it took more than all it had. One run reaches a target once: there is no interval.",
    )
    return Table("targets", "What it took to reach the target", columns, tuple(rows), note)


def _cost(side: TargetResult, field: str) -> str:
    def value(cost: Cost | None) -> float | None:
        return None if cost is None else getattr(cost, field)

    if not side.reached:
        end = value(side.end)
        return "not reached" if end is None else f"not reached in {fmt.scaled(end)}"
    at, after, by = value(side.at), value(side.after), value(side.by)
    if at is None:
        return fmt.UNKNOWN
    bracket = "" if after is None or by is None else f" ({fmt.scaled(after)} to {fmt.scaled(by)})"
    return f"{fmt.scaled(at)}{bracket}"


def _run_targets(targets: Sequence[TargetResult]) -> Table:
    columns = (Column("To reach"), *(Column(word, numeric=True) for word in ("Samples", "Hours", "Device-hours")))
    rows = [
        Row(
            (
                (f"{METRICS[target.metric].label} {fmt.number(target.target)}",),
                *((_cost(target, field),) for field in ("samples", "hours", "device_hours")),
            )
        )
        for target in targets
    ]
    return Table("targets", "What it took to reach the target", columns, tuple(rows))


def _signal_table(signals: Sequence[tuple[str, SignalComparison]]) -> Table:
    columns = (
        Column("Signal"),
        Column("Baseline: first → last"),
        Column("Variant: first → last"),
        Column("Mean, baseline", numeric=True),
        Column("Mean, variant", numeric=True),
        Column("Difference", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Volatility ratio", numeric=True),
    )
    rows = []
    for prefix, signal in signals:
        unit = METRICS[signal.metric].unit
        rows.append(
            Row(
                (
                    (f"{prefix}{METRICS[signal.metric].label}{f' ({unit})' if unit else ''}",),
                    (_ends(signal.baseline),),
                    (_ends(signal.variant),),
                    (fmt.number(_mean(signal.baseline).estimate),),
                    (fmt.number(_mean(signal.variant).estimate),),
                    (fmt.number(signal.difference),),
                    (fmt.interval(signal.ci_low, signal.ci_high),),
                    (fmt.ratio(signal.volatility_ratio),),
                ),
                marked=bool(signal.different),
            )
        )
    note: Text = (
        "First and last: means of five logged steps at either end of the run. Means and differences are over the window; "
        "marked: the interval excludes 0. More or less is neither better nor worse in itself.",
    )
    return Table("signals", "Signals of training", columns, tuple(rows), note)


def _run_signals(signals: Sequence[Signal]) -> Table:
    columns = (
        Column("Signal"),
        Column("First → last"),
        Column("Mean over the window", numeric=True),
        Column("Volatility", numeric=True),
    )
    rows = [
        Row(
            (
                (f"{METRICS[signal.metric].label}{f' ({signal.unit})' if signal.unit else ''}",),
                (_ends(signal),),
                (fmt.estimate(signal.mean),),
                (fmt.number(signal.volatility),),
            )
        )
        for signal in signals
    ]
    return Table("signals", "Signals of training", columns, tuple(rows))


def _ends(signal: Signal | None) -> str:
    return "not logged" if signal is None else f"{fmt.number(signal.first, 2)} → {fmt.number(signal.last, 2)}"


def _mean(signal: Signal | None) -> Estimate:
    return Estimate.unknown("") if signal is None else signal.mean
