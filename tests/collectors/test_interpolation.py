from __future__ import annotations

from typing import Any

import pytest

from rlreport.collectors.interpolation import UNRESOLVED, Resolver, has_interpolation

TREE: dict[str, Any] = {
    "a": {"b": 1, "c": "${a.b}", "list": ["x", "${a.b}"], "empty": None, "sub": {"k": "${..b}", "own": "${.k}"}},
    "text": "run-${a.b}-${a.c}-end",
    "whole": "${a.sub}",
    "chain": "${text}",
    "select": "${oc.select:a.b,9}",
    "select_default": "${oc.select:a.missing,16:16}",
    "select_number": "${oc.select:a.missing, 1e-6}",
    "select_list": "${oc.select:a.missing,[1,2]}",
    "select_none": "${oc.select:a.missing}",
    "select_null": "${oc.select:a.empty,5}",
    "select_nested": "${oc.select:a.missing,${oc.select:a.other,${a.b}}}",
    "item": "${a.list.1}",
    "item_in_brackets": "${a.list[0]}",
    "through": "${whole.k}",
    "indirect": "${a.${name}}",
    "name": "b",
    "loop": "${pool}",
    "pool": "x ${loop}",
    "self": "${self}",
    "environment": "${oc.env:HOME,/root}",
    "uses_environment": "at ${environment}",
    "clock": "${now:%Y-%m-%d}",
    "missing": "${a.nothing}",
    "mandatory": "???",
    "uses_mandatory": "${oc.select:mandatory,7}",
    "broken": "${a.b",
    "mapping_in_text": "x ${a.sub}",
    "too_far_up": "${....x}",
}


def resolved(key: str) -> Any:
    return Resolver(TREE).resolve(TREE, ())[key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a", {"b": 1, "c": 1, "list": ["x", 1], "empty": None, "sub": {"k": 1, "own": 1}}),
        ("text", "run-1-1-end"),
        ("whole", {"k": 1, "own": 1}),
        ("chain", "run-1-1-end"),
        ("select", 1),
        ("select_default", "16:16"),
        ("select_number", 1e-06),
        ("select_list", [1, 2]),
        ("select_none", None),
        ("select_null", None),
        ("select_nested", 1),
        ("item", 1),
        ("item_in_brackets", "x"),
        ("through", 1),
        ("indirect", 1),
        ("uses_mandatory", 7),
    ],
)
def test_what_the_configuration_decides(key: str, value: Any) -> None:
    assert resolved(key) == value
    assert type(resolved(key)) is type(value)


@pytest.mark.parametrize(
    "key",
    [
        "loop",
        "pool",
        "self",
        "environment",
        "uses_environment",
        "clock",
        "missing",
        "mandatory",
        "broken",
        "mapping_in_text",
        "too_far_up",
    ],
)
def test_what_it_does_not_decide(key: str) -> None:
    assert resolved(key) is UNRESOLVED


def test_recognising() -> None:
    assert has_interpolation("a ${b}")
    assert has_interpolation("???")
    assert not has_interpolation("$HOME")
    assert not has_interpolation(3)
