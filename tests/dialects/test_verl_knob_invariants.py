from __future__ import annotations

from typing import get_args

import pytest

from rlreport.dialects.verl_knob_invariants import INVARIANTS, QUANTITIES
from rlreport.dialects.verl_knobs import FACTS, VERL_RULES
from rlreport.run.expression import parse_expression
from rlreport.run.knobs import Invariant
from rlreport.run.model import Mode


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda invariant: invariant.name)
def test_relations_are_about_listed_knobs_in_known_modes(invariant: Invariant) -> None:
    expression = parse_expression(invariant.expression)
    assert len(expression.sides) == (1 if invariant.kind == "conserved" else 2)
    for name in expression.variables:
        row = VERL_RULES.row(name)
        assert row is not None, name
        assert row.knob_class != "identity"
    assert set(invariant.modes) <= set(get_args(Mode)) - {"unknown"}
    assert invariant.source
    assert bool(invariant.otherwise) == (invariant.kind != "conserved")
    for condition in invariant.conditions:
        assert VERL_RULES.row(condition.key) is not None


def test_names_are_told_apart() -> None:
    names = [invariant.name for invariant in INVARIANTS]
    assert len(set(names)) == len(names)


def test_quantities_are_defined_for_every_mode() -> None:
    for quantity in QUANTITIES:
        assert set(quantity.by_mode) == set(get_args(Mode)) - {"unknown"}
        for text in quantity.by_mode.values():
            assert all(VERL_RULES.row(name) is not None for name in parse_expression(text).variables)
        assert quantity.fair
        assert quantity.source


def test_facts_are_listed_keys() -> None:
    assert all(VERL_RULES.row(key) is not None for keys in FACTS.values() for key in keys)
