from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.comparators.change_values import count_word, is_default, is_off, normal, same_value, written
from rlreport.comparators.results import ABSENT
from rlreport.run.knobs import KnobRow

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8))
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3))


@given(VALUES)
def test_a_value_is_the_same_as_itself_and_as_its_text(value: object) -> None:
    assert same_value(value, value)
    if isinstance(value, float | bool):
        assert same_value(value, str(value))


@given(VALUES, VALUES)
def test_sameness_has_no_direction(left: object, right: object) -> None:
    assert same_value(left, right) == same_value(right, left)


@given(st.integers(min_value=-(10**6), max_value=10**6), st.integers(min_value=-(10**6), max_value=10**6))
def test_whole_numbers_are_the_same_only_when_they_are(left: int, right: int) -> None:
    assert same_value(left, float(right)) == (left == right)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("1e-6", "plain", 1e-6),
        ("16:16", "plain", "16:16"),
        ("on", "plain", "on"),
        ("/a/./b/../c/", "plain", "/a/c"),
        ("/data/x/gsm8k/train.parquet", "files", "gsm8k/train.parquet"),
        ("train.parquet", "files", "train.parquet"),
        ("/cache/models--org--Model-7B/snapshots/abc", "model", "Model-7B"),
        ("org/Model-7B", "model", "Model-7B"),
        ("hdfs://host/models/x", "model", "hdfs://host/models/x"),
        (["/a/gsm8k/t.parquet"], "files", "gsm8k/t.parquet"),
        ([1, "2"], "plain", (1.0, 2.0)),
    ],
)
def test_normal_forms(value: object, kind: object, expected: object) -> None:
    assert normal(value, kind) == expected  # type: ignore[arg-type]


def test_true_is_no_number() -> None:
    assert not same_value(True, 1)
    assert not same_value(False, 0)
    assert same_value(True, "true")


def test_defaults_and_values_that_mean_the_same() -> None:
    row = KnobRow("k", "work", "label", defaults=(None, 1), same=(-1, None))
    assert is_default("1.0", row)
    assert is_default(None, row)
    assert not is_default(2, row)
    assert not is_default(None, None)
    assert same_value(-1, None, row)
    assert not same_value(-1, None)
    assert not same_value(-1, 2, row)


def test_off_values() -> None:
    assert all(is_off(value) for value in (None, "null", False, "", [], {}))
    assert not any(is_off(value) for value in (0, True, "x", [None], -1))


def test_values_in_words() -> None:
    assert [written(value) for value in (ABSENT, None, True, [1, "a"], 0.5)] == ["not given", "null", "on", "1, a", "0.5"]
    assert written("x" * 61) == "..." + "x" * 60
    assert [count_word(number) for number in (0, 2, 12, 13)] == ["no", "two", "twelve", "13"]
