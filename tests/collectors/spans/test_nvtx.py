from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.traces import UNIX_NS, nvtx, rows, write

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect, search
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

BEGIN = 6_589_107_243_593_703


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "nvtx"
    return found.read(path, SourceOptions(path.name))


def test_a_folder_of_workers_is_on_one_clock(tmp_path: Path) -> None:
    write(tmp_path / "nvtx" / "worker_process_70.1.jsonl", nvtx([("compute_log_prob", 100, 900)], 0, BEGIN))
    write(tmp_path / "nvtx" / "worker_process_70.2.jsonl", nvtx([("update_critic", 5, 10)], 0, BEGIN + 2000))
    write(tmp_path / "nvtx" / "worker_process_71.1.jsonl", nvtx([("compute_log_prob", 80, 905)], 1, BEGIN + 7))
    table = read(tmp_path / "nvtx")
    assert rows(table.spans) == [
        ("rank_0", "compute_log_prob", BEGIN + 100, BEGIN + 900),
        ("rank_0", "update_critic", BEGIN + 2005, BEGIN + 2010),
        ("rank_1", "compute_log_prob", BEGIN + 87, BEGIN + 912),
    ]
    assert table.spans is not None
    assert table.spans.zero_unix_ns is None
    assert table.notices == []


def test_newer_exports_tell_unix_time(tmp_path: Path) -> None:
    path = write(tmp_path / "worker_process_70.1.jsonl", nvtx([("update_actor", 100, 900)], 0, BEGIN, unix_ns=UNIX_NS))
    spans = read(path).spans
    assert spans is not None
    assert (spans.zero_unix_ns, rows(spans)) == (UNIX_NS + 100, [("rank_0", "update_actor", 0, 800)])


def test_names_may_come_after_ranges_and_without_a_table(tmp_path: Path) -> None:
    lines = nvtx([("update_actor", 100, 900)], 0, BEGIN).split("\n")
    own = json.dumps({"table": "NVTX_EVENTS", "eventType": 59, "start": 1000, "end": 1100, "text": "named here"})
    spans = read(write(tmp_path / "worker_process_1.1.jsonl", "\n".join([*reversed(lines), own]))).spans
    assert [row[1] for row in rows(spans)] == ["update_actor", "named here"]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "n"
    write(folder / "worker_process_1.1.jsonl", nvtx([("update_actor", 100, 900), ("open", 5, None)], None, BEGIN))  # type: ignore[list-item]
    write(folder / "worker_process_2.1.jsonl", nvtx([("update_actor", 100, 900)], 1, None))
    nameless = json.dumps({"table": "NVTX_EVENTS", "eventType": 60, "start": 1, "end": 2, "textId": 5})
    write(folder / "worker_process_3.1.jsonl", nvtx([], 2, BEGIN) + "\n" + nameless + "\n{broken\n")
    table = read(folder)
    assert rows(table.spans) == [("worker_process_1", "update_actor", BEGIN + 100, BEGIN + 900)]
    assert [(n.code, n.message, n.where) for n in table.notices] == [
        ("RR268", "the export does not tell the process's rank", "n/worker_process_1.1.jsonl"),
        ("RR260", "the trace ends early; records up to there are used", "n/worker_process_3.1.jsonl"),
        ("RR261", "2 ranges without a name, or without the beginning of the analysis, left out", "n"),
        ("RR262", "1 span left out: 1 with no time or no duration", "n"),
    ]


def test_an_export_without_ranges_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RlreportError, match="RR253"):
        read(write(tmp_path / "worker_process_1.1.jsonl", nvtx([], 0, BEGIN)))
    write(tmp_path / "e" / "worker_process_1.1.jsonl", "")
    with pytest.raises(RlreportError, match="RR203"):
        read(tmp_path / "e")


def test_a_folder_is_one_source(tmp_path: Path) -> None:
    for process in (70, 71):
        write(tmp_path / "nvtx" / f"worker_process_{process}.1.jsonl", nvtx([("update_actor", 1, 9)], process - 70))
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [("nvtx", "nvtx")]
    assert found.unknown == []
