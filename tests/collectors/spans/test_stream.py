from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.traces import write

from rlreport.collectors import files
from rlreport.collectors.files import ChunkReader
from rlreport.collectors.spans.stream import JsonStream


class Item(msgspec.Struct):
    n: int | None = None
    text: str | None = None


class Loose(msgspec.Struct):
    n: Any = None


@pytest.fixture(params=[7, 64, 4 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Files are read in chunks of this many bytes, so that elements are cut at every place."""
    monkeypatch.setattr(files, "CHUNK_BYTES", request.param)
    return int(request.param)


def read(path: Path, data: str | bytes, **how: Any) -> tuple[list[Any], JsonStream[Any]]:
    stream: JsonStream[Any] = JsonStream(ChunkReader(write(path, data)), (Item,), ("items", "things"), **how)
    return [item for batch in stream.batches() for item in batch], stream


ITEMS = [{"n": number, "text": 'a "quoted" }, { text', "more": [{"n": 1}, {"n": 2}]} for number in range(40)]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_an_array_an_object_and_lines_give_the_same(tmp_path: Path, indent: int | None, name: str) -> None:
    texts = {
        "array": json.dumps(ITEMS, indent=indent),
        "object": json.dumps({"version": {"items": 1}, "items": ITEMS, "end": [{"n": 99}]}, indent=indent),
        "lines": "\n".join(json.dumps(item) for item in ITEMS),
    }
    for layout, text in texts.items():
        items, stream = read(tmp_path / name, text)
        assert [item.n for item in items] == list(range(40)), layout
        assert {item.text for item in items} == {ITEMS[0]["text"]}
        assert stream.layout == layout
        assert (stream.unreadable, stream.repaired, stream.unfinished) == (0, 0, False)


@pytest.mark.usefixtures("chunk")
def test_the_text_around_the_array_is_kept(tmp_path: Path) -> None:
    _, stream = read(tmp_path / "a.json", '\ufeff \n{"a": 1, "things" : [ {"n": 1} ] , "b": [2]}')
    assert stream.head == b'{"a": 1, "things" : ['
    assert stream.tail == b' , "b": [2]}'


def test_the_first_key_that_holds_an_array_counts(tmp_path: Path) -> None:
    items, _ = read(tmp_path / "a.json", '{"items": 5, "things": [{"n": 3}]}')
    assert [item.n for item in items] == [3]


@pytest.mark.parametrize("text", ["", " \n", "\0\0"])
def test_nothing_is_nothing(tmp_path: Path, text: str) -> None:
    items, stream = read(tmp_path / "a.json", text)
    assert (items, stream.layout, stream.unfinished) == ([], "none", False)


@pytest.mark.parametrize("text", ["hello", "%PDF", "<html>", '"a"', "17"])
def test_what_is_no_json_is_told(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "a.json", text)[1].layout == "none"


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"n": 1},\n{"n": 2},\n', [1, 2]),
        ('[{"n": 1}, {"n": 2}', [1, 2]),
        ('[{"n": 1}, {"n": 2},]', [1, 2]),
        ('[{"n": 1}, null, 5, {"n": 2}]', [1, 2]),
    ],
)
def test_an_array_need_not_be_closed_or_clean(tmp_path: Path, text: str, expected: list[int]) -> None:
    items, stream = read(tmp_path / "a.json", text)
    assert [item.n for item in items] == expected
    assert (stream.unreadable, stream.unfinished) == (0, False)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    "text", ['[{"n": 1},\n{"n": 2},\n{"n"', '{"items": [{"n": 1},\n{"n": 2}', '{"n": 1}\n{"n": 2}\n{"te']
)
def test_a_file_that_ends_early_is_told(tmp_path: Path, text: str) -> None:
    items, stream = read(tmp_path / "a.json", text)
    assert [item.n for item in items] == [1, 2]
    assert stream.unfinished


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("kind", ["lost quote", "lost {", "lost }", "extra }", "extra {", "extra ]", "extra [", "garbage"])
def test_damage_costs_the_element_that_has_it(tmp_path: Path, chunk: int, kind: str, indent: int | None) -> None:
    good = [{"n": number, "text": f"t{number}"} for number in range(30)]
    text = json.dumps(good, indent=indent)
    at = text.index('"t12"')
    start, end = text.rindex("{", 0, at), text.index("}", at) + 1
    broken = {
        "lost quote": text[:at] + text[at + 1 :],
        "lost {": text[:start] + text[start + 1 :],
        "lost }": text[: end - 1] + text[end:],
        "extra }": text[:end] + "}" + text[end:],
        "extra {": text[:start] + "{" + text[start:],
        "extra ]": text[:end] + "]" + text[end:],
        "extra [": text[:start] + "[" + text[start:],
        "garbage": text[:at] + "\x00\xff{{" + text[at:],
    }[kind]
    items, stream = read(tmp_path / "a.json", broken, max_element_bytes=4096)
    found = [item.n for item in items if item.n is not None]
    assert found == sorted(found)
    assert {*range(30)} - {*found} <= {12, 13}
    assert stream.unreadable >= 1
    assert stream.first_unreadable is not None
    assert start - 4 <= stream.first_unreadable <= end + 4 or chunk < 64


def test_a_simpler_structure_is_tried(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '[{"n": 1}, {"n": {"deep": 1}}, {"n": 3}]')
    stream: JsonStream[Any] = JsonStream(ChunkReader(path), (Item, Loose))
    found = [item for batch in stream.batches() for item in batch]
    assert [type(item) for item in found] == [Item, Loose, Item]
    assert stream.unreadable == 0


@pytest.mark.usefixtures("chunk")
def test_an_element_without_end_does_not_grow_without_bound(tmp_path: Path) -> None:
    text = '[{"n": 1},{"text": "' + "x" * 5000 + ",".join('{"n": 2}' for _ in range(2000))
    _, stream = read(tmp_path / "a.json", text, max_element_bytes=1024)
    assert stream.unreadable >= 1


def test_control_characters_are_repaired(tmp_path: Path) -> None:
    items, stream = read(tmp_path / "a.json", b'[{"n": 1, "text": "a\x01b"}, {"n": 2,}]')
    assert [(item.n, item.text) for item in items] == [(1, "a b"), (2, None)]
    assert (stream.repaired, stream.unreadable) == (2, 0)


def test_deep_nesting_is_damage(tmp_path: Path) -> None:
    items, stream = read(tmp_path / "a.json", '[{"x": ' + "[" * 100_000 + "]" * 100_000 + '},\n{"n": 2}]')
    assert [item.n for item in items] == [2]
    assert stream.unreadable == 1
