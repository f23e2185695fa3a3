"""Which differences follow from others: repeated keys, what a mode brings, and what an invariant forces."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rlreport.comparators.change_entries import Comparison, Entry, plain_config
from rlreport.comparators.change_facts import MODE_KEY
from rlreport.comparators.change_lookup import lookup_of
from rlreport.comparators.change_values import same_value
from rlreport.comparators.results import ABSENT
from rlreport.run.expression import TOLERANCE, Expression, parse_expression
from rlreport.run.knobs import Invariant, matches
from rlreport.run.model import Run


def couple(comparison: Comparison) -> tuple[str, ...]:
    """Mark the entries that follow from others; returns the names of the invariants that tie some together."""
    for entry in comparison.entries.values():
        if entry.coupled_by is None:
            _couple_derived(comparison, entry)
    if comparison.mode_moved:
        for entry in comparison.entries.values():
            if entry.coupled_by is None and _follows_mode(comparison, entry.key):
                entry.coupled_by, entry.forced = MODE_KEY, True
    return tuple(
        invariant.name
        for invariant in comparison.rules.invariants
        if invariant.kind != "check"
        and all(invariant.speaks_of(plain_config(run), run.mode) for run in comparison.runs)
        and _couple_by(comparison, invariant)
    )


def _couple_derived(comparison: Comparison, entry: Entry) -> None:
    for pattern, source in comparison.rules.derived:
        lead = comparison.entries.get(source)
        if lead is None or source == entry.key or not matches(pattern, entry.key):
            continue
        pairs = zip(entry.values, lead.values, strict=True)
        if source == MODE_KEY or all(ABSENT in pair or same_value(*pair, entry.row) for pair in pairs):
            entry.coupled_by = source
            lead.declared = lead.declared or entry.declared
            return


def _follows_mode(comparison: Comparison, key: str) -> bool:
    if key == MODE_KEY:
        return False
    devices = {name for keys in comparison.rules.variables.values() for name in keys} | set(comparison.rules.variables)
    if key in devices:
        return comparison.total_kept
    return any(matches(pattern, key) for part in comparison.rules.mode_parts for pattern in part.patterns)


def _couple_by(comparison: Comparison, invariant: Invariant) -> bool:
    """Couple the second of exactly two moved variables to the first, where the invariant holds across the pair."""
    expression = parse_expression(invariant.expression)
    moved = [variable for variable in expression.variables if _free_entries(comparison, variable)]
    if len(moved) != 2 or not _is_kept(expression, invariant, comparison.runs):
        return False
    lead_name = _lead(comparison, moved)
    lead = _free_entries(comparison, lead_name)[0]
    for variable in moved:
        if variable != lead_name:
            for entry in _free_entries(comparison, variable):
                entry.coupled_by, entry.forced = lead.key, True
    return True


def _free_entries(comparison: Comparison, variable: str) -> list[Entry]:
    keys = (variable, *comparison.rules.variables.get(variable, ()))
    found = [comparison.entries[key] for key in keys if key in comparison.entries]
    return [entry for entry in found if entry.coupled_by is None and entry.waived is None]


def _lead(comparison: Comparison, moved: Sequence[str]) -> str:
    declared = [variable for variable in moved if any(entry.declared for entry in _free_entries(comparison, variable))]
    return declared[0] if declared else moved[0]


def _is_kept(expression: Expression, invariant: Invariant, runs: tuple[Run, Run]) -> bool:
    lookups = [lookup_of(run) for run in runs]
    if invariant.kind == "holds":
        return all(expression.holds(lookup) is True for lookup in lookups)
    left, right = (expression.value(lookup) for lookup in lookups)
    return left is not None and right is not None and math.isclose(left, right, rel_tol=TOLERANCE)
