from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from support.verl_logs import training_values

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.jsonl import JsonlCollector, decode_json, whole_step
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable


def read(text: str | bytes, folder: Path, name: str = "metrics.jsonl") -> SourceTable:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return JsonlCollector().read(path, SourceOptions("metrics.jsonl"))


def row(step: object, data: object, **more: object) -> str:
    return json.dumps({"step": step, "data": data, **more}) + "\n"


def codes(table: SourceTable) -> list[str]:
    return [notice.code for notice in table.notices]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = "".join(row(step, training_values(step)) for step in range(1, 6))
    table = read(text, tmp_path)
    assert [(entry.step, entry.values, entry.line) for entry in table.rows] == [
        (s, training_values(s), s) for s in range(1, 6)
    ]
    assert table.notices == []
    assert table.format == "verl-jsonl"
    packed = read(gzip.compress(text.encode()), tmp_path, "metrics.jsonl.gz")
    assert packed.rows == table.rows


def test_fields_of_the_users_own_are_kept_under_file(tmp_path: Path) -> None:
    table = read(row(1, {"a/b": 1}, elapsed_seconds=12.5, host="x", timestamp=1785407939.5), tmp_path)
    assert table.rows[0].values == {"a/b": 1.0, "file/elapsed_seconds": 12.5, "file/timestamp": 1785407939.5}
    assert table.rows[0].wall_s == 1785407939.5
    assert read(row(1, {"a/b": 1}, timestamp=12.0), tmp_path).rows[0].wall_s is None


def test_nan_literals_nulls_and_values_that_are_no_numbers(tmp_path: Path) -> None:
    text = '{"step": 1, "data": {"a/b": NaN, "c/d": -Infinity, "e/f": null, "g/h": "x", "i/j": [1], "k/l": true}}\n'
    table = read(text, tmp_path)
    values = table.rows[0].values
    assert math.isnan(values["a/b"])
    assert values["c/d"] == -math.inf
    assert values["k/l"] == 1.0
    assert len(values) == 3
    assert codes(table) == ["RR232", "RR245"]
    assert table.notices[0].message.startswith("2 values")
    assert table.notices[1].message.startswith("1 value ")


def test_blank_foreign_and_partial_lines(tmp_path: Path) -> None:
    text = (
        "\n"
        + row(1, {"a/b": 1})
        + "not json\n"
        + '{"other": 1}\n'
        + row("x", {})
        + row(2, {"a/b": 2})
        + '{"step":3,"data":{"a/'
    )
    table = read(text, tmp_path)
    assert [entry.step for entry in table.rows] == [1, 2]
    assert codes(table) == ["RR231", "RR233"]
    assert table.notices[0].message.startswith("3 lines")
    assert table.notices[0].where == "metrics.jsonl:3"
    assert table.notices[1].where == "metrics.jsonl:7"


def test_a_last_line_without_its_end_that_is_whole_counts(tmp_path: Path) -> None:
    assert len(read(row(1, {"a/b": 1}).strip(), tmp_path).rows) == 1


def test_a_step_that_goes_backwards_is_a_restart(tmp_path: Path) -> None:
    table = read("".join(row(step, {"timing_s/step": 1.0}) for step in (1, 2, 3, 2, 3)), tmp_path)
    assert [entry.attempt for entry in table.rows] == [0, 0, 0, 1, 1]
    assert codes(table) == ["RR225"]


@pytest.mark.parametrize(("text", "code"), [("", "RR203"), ("hello\n", "RR209"), ('{"a": 1}\n', "RR209")])
def test_files_with_nothing_in_them(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(RlreportError) as caught:
        read(text, tmp_path)
    assert caught.value.exit_code == 3
    assert caught.value.diagnostics[0].code == code


def test_integers_beyond_the_range_of_floats(tmp_path: Path) -> None:
    table = read('{"step": 1, "data": {"a/b": 1' + "0" * 400 + "}}\n", tmp_path)
    assert table.rows[0].values == {"a/b": math.inf}


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (3, 3),
        (3.0, 3),
        ("3", 3),
        (" 4 ", 4),
        (3.5, None),
        ("x", None),
        ("", None),
        (True, None),
        (None, None),
        (math.nan, None),
    ],
)
def test_steps(value: object, step: int | None) -> None:
    assert whole_step(value) == step


def test_json_that_is_none() -> None:
    assert decode_json(b"[" * 100_000) is None
    assert decode_json(b"\xff\xfe") is None


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'{"step":1,"data":{"a":1}}\n', True),
        (b' {"step": 12, "data": {', True),
        (b'{"data":{"a":1},"step":1}\n', True),
        (b'{"step":1,"loss":2}\n', False),
        (b'{"step":"x","data":{}}', False),
        (b"step:1 - a/b:1", False),
    ],
)
def test_sniffing(tmp_path: Path, head: bytes, found: bool) -> None:
    assert JsonlCollector().sniff(tmp_path / "x", head) is found
