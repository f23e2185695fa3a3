from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlreport.dialects.verl_knob_invariants import INVARIANTS
from rlreport.dialects.verl_knobs import VERL_RULES
from rlreport.run.expression import MOST_NESTED, MOST_TOKENS, ExpressionError, parse_expression

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
        ("7 % 4", 3.0),
        ("2 * 7 % 4", 2.0),
        ("a % z", None),
        ("sqrt(16) + floor(2.9) - ceil(2.1)", 3.0),
        ("min(a, b.c) + max(a, 10)", 12.0),
        ("sqrt(0 - a)", None),
        ("1e200 * 1e200", None),
        (".5 + 1.", 1.5),
        ("max(a, unknown)", None),
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a +",
        "(a",
        "a)",
        "a b",
        "a == b == c",
        "a ? b",
        "__import__('os')",
        "a ** 2",
        "exec(a)",
        "sqrt(1, 2)",
        "min(1)",
        "sqrt()",
        "sqrt",
        "1e999",
        "a,b",
        "f(",
        "a.b(1)",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    if text == "sqrt":
        assert parse_expression(text).variables == ("sqrt",)  # a name like any other, without brackets
        return
    with pytest.raises(ExpressionError):
        parse_expression(text)


def test_nesting_and_length_have_bounds() -> None:
    deep = "(" * MOST_NESTED + "1" + ")" * MOST_NESTED
    for text in (deep, "-" * MOST_NESTED + "1", "sqrt(" * MOST_NESTED + "1" + ")" * MOST_NESTED):
        with pytest.raises(ExpressionError, match="too deeply"):
            parse_expression(text)
    assert parse_expression("(" * (MOST_NESTED - 1) + "1" + ")" * (MOST_NESTED - 1)).value(VALUES.get) == 1.0
    terms = MOST_TOKENS // 2
    assert parse_expression("+".join("1" * terms)).value(VALUES.get) == terms
    with pytest.raises(ExpressionError, match=f"more than {MOST_TOKENS} parts"):
        parse_expression("+".join("1" * (terms + 1)))


def test_a_reader_sees_numbers_where_they_are_known() -> None:
    values = {"step": 4.0, "mini_batch": 128.0, "lr": 1e-6}
    assert parse_expression("step * mini_batch == batch").filled(values.get) == "4 × 128 == batch"
    assert parse_expression("lr * sqrt(step / 2) % step").filled(values.get) == "1e-06 × sqrt(4 / 2) mod 4"
    assert parse_expression("step.of + 1").filled(values.get) == "step.of + 1"


_LEAVES = st.sampled_from([("2", 2.0), ("0.5", 0.5), ("a", 6.0), ("b.c", 2.0), ("1e1", 10.0)])


def _join(pair: tuple[tuple[str, float], tuple[str, float], str]) -> tuple[str, float]:
    (left, x), (right, y), sign = pair
    return f"({left}) {sign} ({right})", {"+": x + y, "-": x - y, "*": x * y}[sign]


def _call(pair: tuple[tuple[str, float], tuple[str, float], str]) -> tuple[str, float]:
    (left, x), (right, y), name = pair
    return f"{name}({left}, {right})", min(x, y) if name == "min" else max(x, y)


_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner, st.sampled_from("+-*")).map(_join),
        st.tuples(inner, inner, st.sampled_from(("min", "max"))).map(_call),
        inner.map(lambda found: (f"-({found[0]})", -found[1])),
        inner.map(lambda found: (f" ( {found[0]} ) ", found[1])),
    ),
    max_leaves=8,
)


@given(_TREES)
def test_a_tree_is_worth_what_it_was_built_to_be(tree: tuple[str, float]) -> None:
    text, value = tree
    assume(text.count("(") < MOST_NESTED)
    found = parse_expression(text)
    assert found.value(VALUES.get) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert parse_expression(f"{text} == {text}").holds(VALUES.get) is True


@given(st.text(alphabet="ab.+-*/%(),= 19e_", max_size=30))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        found = parse_expression(text)
    except ExpressionError:
        return
    value = found.value(VALUES.get)
    assert value is None or abs(value) < float("inf")
    assert set(found.variables) == {name for name in found.variables if name in text}


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
        assert ("==" in invariant.expression) == (invariant.kind != "conserved")
        for variable in expression.variables:
            assert VERL_RULES.row(variable) is not None
