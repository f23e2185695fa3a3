from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.comparators.change_expression import ExpressionError, parse_expression
from rlreport.dialects.verl_knobs import INVARIANTS, VERL_RULES

VALUES = {"a": 6.0, "b.c": 2.0, "z": 0.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("a / b.c / 3", 1.0),
        ("a - b.c - 1", 3.0),
        ("-a + 1e1", 4.0),
        ("a * -b.c", -12.0),
        ("a / z", None),
        ("a + unknown", None),
    ],
)
def test_values(text: str, value: float | None) -> None:
    assert parse_expression(text).value(VALUES.get) == value


def test_equalities() -> None:
    assert parse_expression("a == 3 * b.c").holds(VALUES.get) is True
    assert parse_expression("a == b.c").holds(VALUES.get) is False
    assert parse_expression("a == unknown").holds(VALUES.get) is None
    with pytest.raises(ExpressionError, match="no '=='"):
        parse_expression("a").holds(VALUES.get)


def test_variables_in_order_of_appearance() -> None:
    assert parse_expression("b.c * a == a + 1").variables == ("b.c", "a")


@pytest.mark.parametrize("text", ["", "a +", "(a", "a)", "a b", "a == b == c", "a ? b", "__import__('os')", "a ** 2"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expression(text)


@given(st.lists(st.integers(min_value=0, max_value=99), min_size=1, max_size=6), st.data())
def test_arithmetic_agrees_with_python(numbers: list[int], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from("+-*"), min_size=len(numbers) - 1, max_size=len(numbers) - 1))
    text = str(numbers[0]) + "".join(f" {sign} {number}" for sign, number in zip(signs, numbers[1:], strict=True))
    products: list[float] = [numbers[0]]
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign == "*":
            products[-1] *= number
        else:
            products.append(-number if sign == "-" else number)
    assert parse_expression(text).value(VALUES.get) == sum(products)


def test_the_invariants_of_verl_are_expressions_over_known_names() -> None:
    for invariant in INVARIANTS:
        expression = parse_expression(invariant.expression)
        assert ("==" in invariant.expression) == (invariant.kind == "holds")
        for variable in expression.variables:
            assert VERL_RULES.row(variable) is not None
