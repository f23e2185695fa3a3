from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.collectors.spans.splitting import repair, split_objects

TEXT = st.text(st.sampled_from('ab"\\{}[],: \n\t\u00e9'), max_size=12)
VALUES = st.recursive(
    st.none() | st.integers() | TEXT, lambda v: st.lists(v, max_size=2) | st.dictionaries(TEXT, v), max_leaves=5
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=4)


def ranges(piece: bytes) -> list[bytes]:
    split = split_objects(piece)
    return [piece[start:end] for start, end in zip(split.starts.tolist(), split.ends.tolist(), strict=True)]


@given(st.lists(OBJECTS, max_size=6), st.sampled_from([None, 1, 3]), st.sampled_from([",", ",\n", " , ", "\n", ""]))
def test_objects_are_found_whatever_they_hold(objects: list[dict[str, Any]], indent: int | None, between: str) -> None:
    texts = [json.dumps(value, indent=indent) for value in objects]
    piece = between.join(texts).encode()
    assert ranges(piece) == [text.encode() for text in texts]
    assert split_objects(piece).closed is None
    assert split_objects(piece).consumed == len(piece)


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.data())
def test_an_object_that_is_cut_waits(objects: list[dict[str, Any]], data: st.DataObject) -> None:
    texts = [json.dumps(value).encode() for value in objects]
    cut = data.draw(st.integers(1, len(texts[-1]) - 1))
    before = b"".join(text + b"," for text in texts[:-1])
    piece = before + texts[-1][:cut]
    assert ranges(piece) == texts[:-1]
    assert split_objects(piece).consumed <= len(before)


def test_the_bracket_that_closes_the_array_ends_it() -> None:
    piece = b'{"a": [1]}, {"b": "]"} ], "more": [{"c": 1}]}'
    split = split_objects(piece)
    assert ranges(piece) == [b'{"a": [1]}', b'{"b": "]"}']
    assert split.closed == split.consumed == piece.index(b" ], ") + 1


def test_numbers_and_strings_are_passed_over() -> None:
    assert ranges(b'1, "x", [{"a": 1}], {"b": 2}, null') == [b'[{"a": 1}]', b'{"b": 2}']


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (b'{"name": "a\x01b\nc"}', {"name": "a b c"}),
        (b'{"name": "\xff"}', {"name": "\ufffd"}),
        (b'{"name": "\\ud800"}', {"name": "?"}),
        (b'{"ts": 1, "args": {"a": 1,},}', {"ts": 1, "args": {"a": 1}}),
        (b'{"ts": NaN, "dur": -Infinity, "x": [nan, 1]}', {"ts": None, "dur": None, "x": [None, 1]}),
        (b'{"ts"\x00: 1}', {"ts": 1}),
    ],
)
def test_what_writers_get_wrong_is_put_right(broken: bytes, expected: dict[str, Any]) -> None:
    assert json.loads(repair(broken)) == expected


def test_a_repair_leaves_good_text_as_it_is() -> None:
    good = b'{"name": "NaN, Infinity: \xc3\xa9 \\u00e9 \\"x\\"", "ts": -1.5e3, "args": {"a": [1, 2]}}'
    assert repair(good) == good
