"""Whether a run's configuration agrees with itself, and whether runs of different modes do equal work.

What the relations are stands in the dialect's table (`KnobRules.invariants`, `KnobRules.quantities`).
"""

from __future__ import annotations

import math

from rlreport.comparators.change_entries import plain_config
from rlreport.comparators.change_lookup import lookup_of
from rlreport.comparators.change_results import InvariantFinding
from rlreport.run.diagnostics import Notice
from rlreport.run.expression import TOLERANCE, Lookup, parse_expression, written_number
from rlreport.run.knobs import Invariant, Quantity
from rlreport.run.model import Run


def check_invariants(run: Run) -> tuple[InvariantFinding, ...]:
    """Every relation that the dialect asks of one run in its mode, with the run's numbers put in.

    A relation over a knob that is not known is "unknown". Relations between two runs ("conserved") are not looked at.
    """
    values, lookup = plain_config(run), lookup_of(run)
    return tuple(
        _check(run, invariant, lookup)
        for invariant in run.knob_rules.invariants
        if invariant.kind in ("holds", "check") and invariant.speaks_of(values, run.mode)
    )


def _check(run: Run, invariant: Invariant, lookup: Lookup) -> InvariantFinding:
    holds = parse_expression(invariant.expression).holds(lookup)
    left, right = (parse_expression(side.strip()) for side in invariant.expression.split("=="))
    if holds is None:
        missing = [name for name in (*left.variables, *right.variables) if lookup(name) is None]
        message = f"not known: {', '.join(missing)}"
        return InvariantFinding(run.run_id, invariant.name, "unknown", message, invariant.source)
    numbers = f"{left.filled(lookup)} is {_value(left.value(lookup))}"
    if holds:
        return InvariantFinding(run.run_id, invariant.name, "holds", numbers, invariant.source)
    message = f"{numbers}, not {_value(right.value(lookup))}"
    if invariant.otherwise:
        message = f"{message}: {invariant.otherwise}"
    return InvariantFinding(run.run_id, invariant.name, "violated", message, invariant.source)


def _value(value: float | None) -> str:
    return "unknown" if value is None else written_number(value)


def invariant_notices(run: Run) -> tuple[Notice, ...]:
    """One notice for each relation that a run's configuration breaks, with the numbers."""
    return tuple(
        Notice("RR416", f"{finding.name}, which does not hold: {finding.message} ({finding.source})")
        for finding in check_invariants(run)
        if finding.standing == "violated"
    )


def compare_quantities(baseline: Run, variant: Run) -> list[Notice]:
    """What runs of different modes must have in common, where both are known and they have not; none for one mode.

    Within a mode these quantities move with the knobs that they are made of, which the differences show.
    """
    if baseline.mode == variant.mode or baseline.knob_rules.quantities != variant.knob_rules.quantities:
        return []
    notices = []
    for quantity in baseline.knob_rules.quantities:
        values = [_quantity(run, quantity) for run in (baseline, variant)]
        left, right = values
        if left is None or right is None or math.isclose(left, right, rel_tol=TOLERANCE):
            continue
        message = (
            f"{quantity.name}: {written_number(left)} {quantity.unit} in the baseline, {written_number(right)} in the "
            f"variant; for a fair comparison of modes, {quantity.fair} ({quantity.source})"
        )
        notices.append(Notice("RR417", message))
    return notices


def _quantity(run: Run, quantity: Quantity) -> float | None:
    expression = quantity.by_mode.get(run.mode)
    return None if expression is None else parse_expression(expression).value(lookup_of(run))
