from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlreport.renderers.json import render_json


def test_what_is_not_finite_is_null() -> None:
    data = {"a": math.nan, "b": [math.inf, -math.inf, 1.5], "c": {"d": None, "e": True, "f": 3, "g": "é"}}
    assert json.loads(render_json(data)) == {
        "a": None,
        "b": [None, None, 1.5],
        "c": {"d": None, "e": True, "f": 3, "g": "é"},
    }


def test_numbers_of_numpy_are_numbers() -> None:
    assert json.loads(render_json({"a": np.float64(0.1), "b": (np.float32(0.5),)})) == {"a": 0.1, "b": [0.5]}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_ten_digits_are_kept(value: float) -> None:
    back = json.loads(render_json({"x": value}))["x"]
    assert math.isclose(back, value, rel_tol=1e-9, abs_tol=0.0) or back == value


def test_the_last_bit_does_not_show() -> None:
    assert render_json({"x": 0.1 + 0.2}) == render_json({"x": 0.3})
