from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest

from rlreport.collectors.base import Collector, SourceOptions
from rlreport.collectors.table import CsvCollector, JsonlTableCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

COLUMNS = {"iteration": "step", "secs": "time.step_s", "toks": "work.tokens"}


def read(
    collector: Collector, text: str | bytes, folder: Path, name: str = "t.csv", columns: Mapping[str, str] | None = None
) -> SourceTable:
    """Read a table; without `columns`, those of COLUMNS that stand in it are mapped."""
    if columns is None:
        columns = {column: metric for column, metric in COLUMNS.items() if column in str(text)}
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return collector.read(path, SourceOptions(name, columns))


def codes(table: SourceTable) -> list[str]:
    return [notice.code for notice in table.notices]


def test_a_table_with_mapped_columns(tmp_path: Path) -> None:
    text = "iteration,secs,toks,note,quality.reward_mean\n1,10.5,100,x,0.25\n2,,200,y,\n3,nan,3e2,z,abc\n"
    table = read(CsvCollector(), text, tmp_path)
    assert [(row.step, row.line) for row in table.rows] == [(1, 2), (2, 3), (3, 4)]
    assert table.rows[0].values == {"time.step_s": 10.5, "work.tokens": 100.0, "quality.reward_mean": 0.25}
    assert table.rows[1].values == {"work.tokens": 200.0}
    assert str(table.rows[2].values["time.step_s"]) == "nan"
    assert codes(table) == ["RR236", "RR232"]
    assert "note" in table.notices[0].message


@pytest.mark.parametrize("name", ["t.tsv", "t.csv"])
def test_tabs_byte_order_mark_and_other_line_ends(tmp_path: Path, name: str) -> None:
    text = b"\xef\xbb\xbfiteration\tsecs\r\n1\t2.5\r\n2\t3.5\r\n"
    table = read(CsvCollector(), text, tmp_path, name)
    assert [(row.step, row.values) for row in table.rows] == [(1, {"time.step_s": 2.5}), (2, {"time.step_s": 3.5})]
    assert table.notices == []
    columns = {"iteration": "step", "secs": "time.step_s"}
    packed = read(CsvCollector(), gzip.compress(text), tmp_path, f"{name}.gz", columns)
    assert packed.rows == table.rows


def test_rows_without_a_step_and_restarts(tmp_path: Path) -> None:
    table = read(CsvCollector(), "iteration,secs\n1,1\n2,2\n,3\nx,4\n\n1,5\n", tmp_path)
    assert [(row.step, row.attempt) for row in table.rows] == [(1, 0), (2, 0), (1, 1)]
    assert codes(table) == ["RR231", "RR225"]
    assert table.notices[0].message.startswith("2 rows")
    assert table.notices[0].where == "t.csv:4"


def test_quoted_cells_over_lines(tmp_path: Path) -> None:
    table = read(CsvCollector(), 'iteration,text,secs\n1,"a, b\nc",2\n2,d,3\n', tmp_path)
    assert [(row.step, row.values) for row in table.rows] == [(1, {"time.step_s": 2.0}), (2, {"time.step_s": 3.0})]


@pytest.mark.parametrize(
    ("last", "row"),
    [("3,30", (3, {})), ("3,30,4", (3, {"time.step_s": 30.0})), ("3", None), ("3,", (3, {}))],
)
def test_a_last_line_without_its_end(tmp_path: Path, last: str, row: tuple[int, dict[str, float]] | None) -> None:
    table = read(CsvCollector(), f"iteration,secs,toks\n1,10,5\n{last}", tmp_path)
    assert [(entry.step, entry.values) for entry in table.rows[1:]] == ([] if row is None else [row])
    assert "RR233" in codes(table)


def test_json_lines(tmp_path: Path) -> None:
    text = '{"iteration": 1, "secs": 2.5, "name": "x"}\n\nnonsense\n{"iteration": 2, "secs": null, "toks": true}\n'
    table = read(JsonlTableCollector(), text, tmp_path, "t.jsonl")
    assert [(row.step, row.values, row.line) for row in table.rows] == [
        (1, {"time.step_s": 2.5}, 1),
        (2, {"work.tokens": 1.0}, 4),
    ]
    assert codes(table) == ["RR231", "RR236"]


@pytest.mark.parametrize(
    ("collector", "text", "code"),
    [
        (CsvCollector(), "", "RR203"),
        (CsvCollector(), "a,b\n1,2\n", "RR207"),
        (CsvCollector(), "iteration,secs\nx,2\n", "RR209"),
        (JsonlTableCollector(), "", "RR203"),
        (JsonlTableCollector(), '{"a": 1}\n', "RR207"),
        (JsonlTableCollector(), "nonsense\n", "RR209"),
        (JsonlTableCollector(), '{"iteration": "x"}\n', "RR209"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, collector: Collector, text: str, code: str) -> None:
    with pytest.raises(RlreportError) as caught:
        read(collector, text, tmp_path)
    assert caught.value.exit_code == 3
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


@pytest.mark.parametrize("collector", [CsvCollector(), JsonlTableCollector()])
def test_a_mapping_to_something_that_is_no_metric(tmp_path: Path, collector: Collector) -> None:
    with pytest.raises(RlreportError) as caught:
        read(collector, "iteration,secs\n1,2\n", tmp_path, columns={"iteration": "step", "secs": "time.step"})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR208"
    assert diagnostic.hint == "did you mean 'time.step_s'?"


def test_sniffing(tmp_path: Path) -> None:
    table, lines = CsvCollector(), JsonlTableCollector()
    assert table.sniff(tmp_path / "a.csv", b"step,time.step_s\n1,2\n")
    assert table.sniff(tmp_path / "a.tsv.gz", b"step\ttime.step_s\n")
    assert not table.sniff(tmp_path / "a.csv", b"step,other\n")
    assert not table.sniff(tmp_path / "a.log", b"step,time.step_s\n")
    assert not table.sniff(tmp_path / "a.csv", b"")
    assert lines.sniff(tmp_path / "a.jsonl", b'{"step": 1, "time.step_s": 2}\n')
    assert not lines.sniff(tmp_path / "a.jsonl", b'{"step": 1, "data": {"a": 1}}\n')
    assert not lines.sniff(tmp_path / "a.jsonl", b"[1, 2]\n")


@pytest.mark.parametrize(
    ("collector", "text"),
    [(CsvCollector(), "iteration,secs,tok\n1,2,3\n"), (JsonlTableCollector(), '{"iteration": 1, "secs": 2, "tok": 3}\n')],
)
def test_a_mapped_column_that_is_not_there(tmp_path: Path, collector: Collector, text: str) -> None:
    with pytest.raises(RlreportError) as caught:
        read(collector, text, tmp_path, columns=COLUMNS)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR215"
    assert "'toks'" in diagnostic.message
    assert diagnostic.hint == "did you mean 'tok'?"


def test_semicolons_part_columns_too(tmp_path: Path) -> None:
    table = read(CsvCollector(), "iteration;secs;toks\n1;2.5;30\n", tmp_path)
    assert table.rows[0].values == {"time.step_s": 2.5, "work.tokens": 30.0}
