from __future__ import annotations

from typing import Any

import pytest

from rlreport.collectors.scalars import read_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-06),
        ("1E+3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-0.25", -0.25),
        ("12", 12),
        ("-3", -3),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("16:16", "16:16"),
        ("on", "on"),
        ("yes", "yes"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("2026-07-30", "2026-07-30"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("[a, 1, 1e-3]", ["a", 1, 0.001]),
        ("'12'", "12"),
        ("a: b: c", "a: b: c"),
        ("<<", "<<"),
        ("e5", "e5"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert read_scalar(text) == value
    assert type(read_scalar(text)) is type(value)


def test_values_that_are_not_finite() -> None:
    assert read_scalar("inf") == float("inf")
    assert read_scalar("-.inf") == -float("inf")
    assert str(read_scalar("nan")) == "nan"
