"""Replicates: every run as an observation, and the spread between runs beside the difference that is claimed."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.replicated import ReplicatedComparison, RunMean
from rlreport.report.figure_data import roles
from rlreport.report.figures import IntervalFigure, IntervalRow
from rlreport.report.model import Block, Column, Figure, Paragraph, Row, Section, Table, Text
from rlreport.report.words import metric_words
from rlreport.run import format as fmt

_BASIS_WORDS = {
    "both arms": "between runs of both arms",
    "baseline": "between runs of the baseline's configuration only",
    "variant": "between runs of the variant's configuration only",
}


def replicates_section(analysis: Analysis, replicated: Sequence[ReplicatedComparison | None]) -> Section | None:
    """The runs of each group, their spread, and the comparison with runs as the unit; None without any replicates.

    `replicated` are those of the analysis's comparisons, in their order, None where a pair has no replicates.
    """
    shown = [(c, r) for c, r in zip(analysis.comparisons, replicated, strict=True) if r is not None]
    if not shown:
        return None
    look = roles(analysis)
    blocks: list[Block] = []
    for comparison, found in shown:
        suffix = f"-{comparison.variant_id}" if len(shown) > 1 else ""
        name = analysis.runs[comparison.variant_id].run.label
        blocks.append(Figure(_figure(found, name, look[comparison.baseline_id], look[comparison.variant_id], suffix)))
        blocks.append(Paragraph(_sentence(found, name)))
    blocks.append(_table([(analysis.runs[c.variant_id].run.label if len(shown) > 1 else "", r) for c, r in shown]))
    return Section("replicates", "Runs as observations", tuple(blocks))


def _figure(found: ReplicatedComparison, name: str, baseline_role: int, variant_role: int, suffix: str) -> IntervalFigure:
    rows = [_row(one, baseline_role) for one in found.baseline] + [_row(one, variant_role) for one in found.variant]
    words = metric_words(found.metric)
    known = [one.rate.estimate for one in found.baseline if one.rate.estimate is not None]
    return IntervalFigure(
        id=f"replicates{suffix}",
        title=f"Every run's {words}",
        caption=_caption(found),
        how_to_read=(
            "A point a run, over the part of training that all runs share. Its interval holds the noise within that run; "
            "how far points of one colour lie apart is the spread between runs."
        ),
        alt=f"{words} of every run, {name} and its baseline. " + "; ".join(f"{row.label}: {row.text}" for row in rows) + ".",
        rows=tuple(rows),
        x_label=f"{words}, with the 95 % interval within the run",
        reference=sum(known) / len(known) if known else None,
        reference_text="mean of the baseline's runs",
    )


def _row(one: RunMean, role: int) -> IntervalRow:
    return IntervalRow(
        label=one.label,
        role=role,
        estimate=one.rate.estimate,
        ci_low=one.rate.ci_low,
        ci_high=one.rate.ci_high,
        text=fmt.estimate(one.rate),
    )


def _caption(found: ReplicatedComparison) -> str:
    outside = not found.ci_low <= 1 <= found.ci_high
    if found.basis != "both arms":
        arm = found.basis
        return (
            f"Only the {arm} has replicates: the difference is {'more' if outside else 'no more'} than its runs differ "
            "among themselves."
        )
    return (
        "The groups lie farther apart than runs of one configuration do."
        if outside
        else "The groups lie no farther apart than the spread of their runs allows."
    )


def _sentence(found: ReplicatedComparison, name: str) -> Text:
    k, m = len(found.baseline), len(found.variant)
    needed = (
        f" {found.runs_needed} runs an arm would show the ratio found with 80 % power."
        if found.runs_needed and found.ci_low <= 1 <= found.ci_high
        else ""
    )
    return (
        f"{name}: {fmt.ratio(found.ratio, found.ci_low, found.ci_high)} the baseline's {metric_words(found.metric)} from "
        f"{m} against {k} runs, 95 % interval {fmt.ratio_interval(found.ci_low, found.ci_high)} "
        f"{_BASIS_WORDS[found.basis]}. Runs of one configuration spread by {fmt.percent(found.floor.sigma)} (standard "
        f"deviation).{needed}",
    )


def _table(shown: Sequence[tuple[str, ReplicatedComparison]]) -> Table:
    columns = (
        Column("Runs"),
        Column("Ratio", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Median ratio", numeric=True),
        Column("Spread between runs", numeric=True),
        Column("Smallest visible", numeric=True),
        Column("Rank test", numeric=True),
        Column("Smallest possible p", numeric=True),
    )
    rows = [
        Row(
            (
                (f"{f'{name}: ' if name else ''}{len(found.variant)} against {len(found.baseline)}",),
                (fmt.ratio(found.ratio, found.ci_low, found.ci_high),),
                (fmt.ratio_interval(found.ci_low, found.ci_high),),
                (fmt.ratio(found.median_ratio, found.ci_low, found.ci_high),),
                (f"{fmt.percent(found.floor.sigma)} ({fmt.percent(found.floor.low)} to {fmt.percent(found.floor.high)})",),
                (f"±{fmt.percent(found.smallest_visible - 1)}",),
                (fmt.p_value(found.rank_p),),
                (fmt.p_value(found.smallest_rank_p),),
            )
        )
        for name, found in shown
    ]
    note: Text = (
        "Ratio of geometric means of runs, interval by Welch's t between runs; the median of all ratios of two runs beside "
        "it (Hodges-Lehmann). The spread is the noise floor: what runs of one configuration differ by without any change.",
    )
    return Table("replicate-table", "The comparison with runs as the unit", columns, tuple(rows), note)
