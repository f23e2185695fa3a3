"""The rules that set published numbers against each other: the table of all, in the order in which a report tells them.

Each rule is made from a case in published tables of asynchronous training; docs/published-tables.md names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlreport.comparators.results import Change
from rlreport.comparators.summary import SummaryStudy, study_summaries
from rlreport.comparators.summary_pair_traps import changed_in_effect, claimed, horizon, less_work, step_and_total
from rlreport.comparators.summary_row_traps import best_for_last, fewest_hours, repeated_totals, step_below_parts
from rlreport.comparators.summary_trap import Rule, Trap
from rlreport.run.model import Run

RULES: tuple[Rule, ...] = (
    horizon,
    fewest_hours,
    less_work,
    changed_in_effect,
    step_below_parts,
    repeated_totals,
    step_and_total,
    claimed,
    best_for_last,
)


def find_traps(study: SummaryStudy) -> tuple[Trap, ...]:
    """All traps in the published numbers of a report."""
    runs = tuple(study.runs.values())
    return tuple(trap for rule in RULES if (trap := rule(runs, study.comparisons)) is not None)


def study_published(runs: Mapping[str, Run], pairs: Sequence[tuple[str, str, Change]]) -> SummaryStudy | None:
    """The study of a report's published numbers with their traps; None when no run has any. See `study_summaries`."""
    study = study_summaries(runs, pairs)
    return None if study is None else replace(study, traps=find_traps(study))
