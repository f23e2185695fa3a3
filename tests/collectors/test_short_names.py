from __future__ import annotations

from pathlib import Path

import pytest

from rlreport.collectors import read_sources

COLUMNS = {"iteration": "step", "secs": "time.step_s"}


@pytest.mark.parametrize(
    ("name", "text", "short", "columns", "found"),
    [
        ("t.tsv", "iteration\tsecs\n1\t2\n", "tsv", COLUMNS, "csv"),
        ("t.jsonl", '{"iteration": 1, "secs": 2}\n', "jsonl", COLUMNS, "jsonl-table"),
        ("t.jsonl", '{"step": 1, "data": {"timing_s/step": 2}}\n', "jsonl", {}, "verl-jsonl"),
    ],
)
def test_a_format_goes_by_its_short_name(
    tmp_path: Path, name: str, text: str, short: str, columns: dict[str, str], found: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    (table,) = read_sources([(tmp_path / name, short, columns)])
    assert table.format == found
    assert [row.step for row in table.rows] == [1]
