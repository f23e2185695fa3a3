"""Training quality beside speed: reward, accuracy, response length."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.results import QualityComparison
from rlreport.report.figure_data import curve_figure, length_figure
from rlreport.report.model import Block, Column, Paragraph, Row, Section, Table, add_figure
from rlreport.report.words import QUALITY_WORDS
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS

#: The curves of the section: metric, id, title, and whether its values are rare enough to be shown as points.
_CURVES = (
    ("quality.reward_mean", "reward", "Reward", False),
    ("quality.accuracy", "accuracy", "Validation accuracy", True),
)


def quality_section(analysis: Analysis, shown: frozenset[str] = frozenset()) -> Section:
    """Reward, accuracy and response length: what the speed costs, and what moves the speed.

    `shown` are the ids of figures that stand elsewhere on the page.
    """
    blocks: list[Block] = []
    for metric, figure_id, title, rare in _CURVES:
        if figure_id in shown:
            continue
        caption = _quality_caption(analysis, metric)
        add_figure(blocks, curve_figure(analysis, metric, id=figure_id, title=title, caption=caption, points=rare))
    add_figure(blocks, length_figure(analysis, _quality_caption(analysis, "length.response_mean")))
    table = _quality_table(analysis)
    if table is not None:
        blocks.append(table)
    if not blocks:
        blocks.append(Paragraph(("Neither reward, accuracy nor response length is logged.",)))
    return Section("quality", "Training quality", tuple(blocks))


def _quality_caption(analysis: Analysis, metric: str) -> str:
    words = METRICS[metric].label.split(",", maxsplit=1)[0]
    told = []
    for comparison in analysis.comparisons:
        for quality in comparison.quality:
            if quality.metric == metric and quality.difference is not None:
                who = f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""
                judged = "" if _unjudged(quality) else f"{QUALITY_WORDS[quality.verdict]}, "
                told.append(
                    f"{who}{judged}difference {fmt.number(quality.difference)} "
                    f"(95 % interval {fmt.interval(quality.ci_low, quality.ci_high)})"
                )
    title = f"{words[0].upper()}{words[1:]}"
    return f"{title} over the window: {'; '.join(told)}." if told else f"{title} of each logged step."


def _unjudged(quality: QualityComparison) -> bool:
    """Whether no verdict was possible for want of a margin: whatever the difference, nothing says what would matter."""
    return quality.margin is None and quality.verdict == "inconclusive"


def _quality_table(analysis: Analysis) -> Table | None:
    columns = (
        Column("Quality over the window"),
        Column("Baseline", numeric=True),
        Column("Variant", numeric=True),
        Column("Difference", numeric=True),
        Column("95 % interval", numeric=True),
        Column("Margin", numeric=True),
        Column("Volatility ratio", numeric=True),
        Column("Verdict"),
    )
    rows = []
    for comparison in analysis.comparisons:
        prefix = f"{analysis.runs[comparison.variant_id].run.label}: " if len(analysis.comparisons) > 1 else ""
        for quality in comparison.quality:
            rows.append(
                Row(
                    (
                        (f"{prefix}{METRICS[quality.metric].label}",),
                        (fmt.number(quality.baseline.estimate),),
                        (fmt.number(quality.variant.estimate),),
                        (fmt.number(quality.difference),),
                        (fmt.interval(quality.ci_low, quality.ci_high),),
                        (fmt.UNKNOWN if quality.margin is None else f"±{fmt.number(quality.margin, 2)}",),
                        (fmt.ratio(quality.volatility_ratio),),
                        ("no margin given" if _unjudged(quality) else QUALITY_WORDS[quality.verdict],),
                    )
                )
            )
    return Table("qualities", "Quality beside speed", columns, tuple(rows)) if rows else None
