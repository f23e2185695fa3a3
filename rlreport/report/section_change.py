"""What changed between two arms, and what was held."""

from __future__ import annotations

from collections.abc import Iterable

from rlreport.comparators.analysis import Analysis, ComparisonResult
from rlreport.comparators.results import ABSENT, KnobDifference
from rlreport.report.model import Block, Code, Column, Inline, Paragraph, Row, Section, Table, Text
from rlreport.report.words import CHANGE_BADGES, HELD_KNOBS
from rlreport.run import format as fmt

#: Rows of differences on the page; what is beyond stands in report.json, and the table says so.
MOST_ROWS = 24


def change_section(analysis: Analysis) -> Section | None:
    """What differs between the arms, most important first, and what was held."""
    if not analysis.comparisons:
        return None
    blocks: list[Block] = []
    for index, comparison in enumerate(analysis.comparisons):
        blocks.append(Paragraph(_change_sentence(analysis, comparison)))
        blocks.extend(_change_tables(analysis, comparison, index))
    return Section("change", "What changed", tuple(blocks))


def _change_sentence(analysis: Analysis, comparison: ComparisonResult) -> Text:
    change = comparison.change
    baseline, variant = (analysis.runs[i].run.label for i in (comparison.baseline_id, comparison.variant_id))
    declared = analysis.request.changes
    parts: list[Inline] = [f"From {baseline} to {variant}: {CHANGE_BADGES[change.verdict][0]}"]
    if change.classes:
        parts.append(f" ({fmt.join_words(change.classes)})")
    parts.append(f"; declared was {fmt.join_words(declared)}." if declared else "; no change was declared.")
    counts = [f"{fmt.plural(change.n_equal, 'key is equal', 'keys are equal')}", f"{change.n_differing:,} differ"]
    folded = sum(len(fold.keys) for fold in change.folded)
    details = []
    if folded:
        details.append(f"{folded:,} exist for one alternative only")
    if change.identity:
        details.append(f"{len(change.identity):,} only name things (names, paths, loggers)")
    parts.append(f" {fmt.join_words(counts)}{', of which ' + fmt.join_words(details) if details else ''}.")
    return tuple(parts)


def _change_tables(analysis: Analysis, comparison: ComparisonResult, index: int) -> Iterable[Block]:
    change = comparison.change
    suffix = "" if index == 0 else f"-{index + 1}"
    columns = (
        Column("Knob", width=42),
        Column("Class", width=11),
        Column("Baseline", width=16),
        Column("Variant", width=16),
        Column("Why it is here", width=15),
    )
    rows = [_difference_row(difference) for difference in change.short_list]
    rows += [
        Row(((fold.title,), (fold.knob_class,), (), (), (f"{fmt.plural(len(fold.keys), 'key')}: {fold.cause}",)))
        for fold in change.folded
    ]
    held = _held_rows(analysis, comparison) if index == 0 else []
    if rows or held:
        yield Table(f"changed{suffix}", "What moved, and what was held", columns, tuple(rows + held))
    short = {difference.key for difference in change.short_list}
    rest = [difference for difference in change.differences if difference.key not in short]
    if rest:
        more = len(rest) - MOST_ROWS
        yield Table(
            f"also-changed{suffix}",
            "Also different",
            columns,
            tuple(_difference_row(difference) for difference in rest[:MOST_ROWS]),
            (f"{more:,} more stand in report.json.",) if more > 0 else (),
        )


def _difference_row(difference: KnobDifference) -> Row:
    label: Text = (
        (Code(difference.key),) if difference.label == difference.key else (difference.label, " ", Code(difference.key))
    )
    return Row(
        (
            label,
            (difference.knob_class,),
            (_side(difference.baseline),),
            (_side(difference.variant),),
            (_reason(difference),),
        ),
        marked=difference.waived is None and difference.coupled_by is None,
    )


def _side(value: object) -> str:
    return "not set" if value is ABSENT else fmt.config_value(value)


def _reason(difference: KnobDifference) -> str:
    if difference.waived is not None:
        return f"waived: {difference.waived}"
    if difference.coupled_by is not None:
        return f"follows from {difference.coupled_by}"
    return "declared" if difference.declared else "not declared"


def _held_rows(analysis: Analysis, comparison: ComparisonResult) -> list[Row]:
    """Knobs that a reader looks for first and that are equal on both sides."""
    baseline, variant = (analysis.runs[i].run for i in (comparison.baseline_id, comparison.variant_id))
    moved = {difference.key for difference in comparison.change.differences}
    held = [
        knob
        for wanted in HELD_KNOBS
        for key, knob in sorted(baseline.knobs.items())
        if key == wanted and key in variant.knobs and key not in moved and baseline.value(key) is not None
    ]
    return [
        Row(
            (
                (knob.label, " ", Code(knob.key)),
                (knob.knob_class,),
                (fmt.config_value(baseline.value(knob.key)),),
                (fmt.config_value(variant.value(knob.key)),),
                ("held",),
            )
        )
        for knob in held
    ]
