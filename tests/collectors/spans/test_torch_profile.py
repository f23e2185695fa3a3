from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, UNIX_S, event, profile, rows, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect, search
from rlreport.collectors.spans.torch_profile import TorchProfileCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

EVENTS = [event("aten::mm", 3000.5, 40.25, "x", 1), event("cudaLaunch", 2000.125, 10), event("kernel", 5000, 1000)]


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "torch-profile"
    return found.read(path, SourceOptions(path.name))


def test_a_folder_is_a_role_and_a_profile_is_one_span(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_json(tmp_path / "actor_update" / f"prof_rank-{rank}_1.json.gz", profile(EVENTS, rank), indent=2)
    table = read(tmp_path / "actor_update")
    spans = table.spans
    assert spans is not None
    assert rows(spans) == [
        ("rank_0", "actor_update", 0, 3_999_875),
        ("rank_1", "actor_update", 0, 3_999_875),
    ]
    assert spans.zero_unix_ns == UNIX_NS + 2_000_125
    assert table.size_bytes == sum(file.stat().st_size for file in (tmp_path / "actor_update").iterdir())
    assert table.notices == []


def test_profiles_of_a_replica_are_one_lane_of_several_devices(tmp_path: Path) -> None:
    folder = tmp_path / "agent_loop_rollout_replica_3"
    for rank in (0, 1):
        write_json(folder / f"host_77.{UNIX_NS + rank}.pt.trace.json.gz", profile(EVENTS, rank))
    write_json(folder / "host_77.5.async_llm.pt.trace.json.gz", profile([event("front end", 1, 10**7)], 0))
    spans = read(folder).spans
    assert spans is not None
    assert [(lane.name, lane.index, lane.devices) for lane in spans.lanes] == [("replica_3", 3, 2)]
    assert [end for _, _, _, end in rows(spans)] == [3_999_875, 3_999_875]


def test_one_file_is_read_with_its_folder_as_role(tmp_path: Path) -> None:
    path = write_json(tmp_path / "ref_compute_log_prob" / "anything.json", profile(EVENTS, 5))
    assert rows(read(path).spans) == [("rank_5", "ref_compute_log_prob", 0, 3_999_875)]


def test_the_rank_may_stand_in_the_name_only(tmp_path: Path) -> None:
    path = write_json(tmp_path / "actor_update" / "prof_rank-4_1.json", profile(EVENTS, None))
    assert rows(read(path).spans)[0][0] == "rank_4"
    path = write_json(tmp_path / "actor_update" / "prof_x.json", profile(EVENTS, None))
    assert rows(read(path).spans)[0][0] == "actor_update"


@pytest.mark.parametrize("base", [None, 0])
def test_without_a_base_time_the_clock_is_its_own_unless_it_is_unix_time(tmp_path: Path, base: int | None) -> None:
    path = write_json(tmp_path / "r" / "a.json", profile(EVENTS, 0, base))
    spans = read(path).spans
    assert spans is not None
    assert (spans.zero_unix_ns, rows(spans)[0][2]) == (None, 2_000_125)
    path = write_json(tmp_path / "r" / "b.json", profile([event("a", UNIX_S * 1e6, 10)], 0, None))
    spans = read(path).spans
    assert spans is not None
    assert spans.zero_unix_ns == UNIX_NS


def test_artefacts_do_not_move_the_interval(tmp_path: Path) -> None:
    """Events at time 0 without a duration, negative durations, instants and metadata are no activity."""
    broken = [
        event("zero", 0, 0),
        event("negative", 10, -5),
        event("text", "x", "y"),
        {"ph": "i", "name": "Iteration Start", "ts": 1},
        {"ph": "M", "name": "process_name", "ts": 0, "args": {"name": "python"}},
        {"ph": "i", "name": "Record Window End", "ts": 6000.0},
    ]
    table = read(write_json(tmp_path / "r" / "a.json", profile([*broken, *EVENTS], 0)))
    assert rows(table.spans) == [("rank_0", "r", 0, 3_999_875)]
    assert table.notices == []


def test_a_duration_far_beyond_the_profilers_window_is_doubted(tmp_path: Path) -> None:
    events = [event("stuck", 1000, 10**7), {"ph": "i", "name": "Record Window End", "ts": 4_000_000.0}]
    table = read(write_json(tmp_path / "r" / "a.json", profile(events, 0)))
    assert rows(table.spans) == [("rank_0", "r", 0, 10**10)]
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR267", "the last event ends 6 s after the profiler was stopped: its duration may be wrong")
    ]


def test_profiles_that_cannot_be_used_are_left_out_one_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "actor_update"
    write_json(folder / "prof_rank-0.json", profile(EVENTS, 0))
    write_json(folder / "prof_rank-1.json", profile([{"ph": "M", "name": "process_name"}], 1))
    write(folder / "prof_rank-2.json", "")
    whole = json.dumps(profile(EVENTS, 3), indent=1)
    write(folder / "prof_rank-3.json", whole[: whole.index('"kernel"')])
    table = read(folder)
    assert rows(table.spans) == [
        ("rank_0", "actor_update", 0, 3_999_875),
        ("rank_3", "actor_update", 0, 1_040_625),
    ]
    assert [(n.code, n.where) for n in table.notices] == [
        ("RR268", "actor_update/prof_rank-1.json"),
        ("RR268", "actor_update/prof_rank-2.json"),
        ("RR260", "actor_update/prof_rank-3.json"),
    ]


@pytest.mark.parametrize(("events", "code"), [([], "RR253"), ([{"ph": "M", "name": "process_name"}], "RR253")])
def test_a_role_without_a_usable_event_is_refused(tmp_path: Path, events: Any, code: str) -> None:
    write_json(tmp_path / "r" / "prof_1.json", profile(events, 0))
    with pytest.raises(RlreportError, match=code):
        read(tmp_path / "r")


def test_empty_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "r" / "prof_1.json", "")
    with pytest.raises(RlreportError, match="RR203"):
        TorchProfileCollector().read(tmp_path / "r", SourceOptions("r"))


def test_a_folder_of_roles_is_a_source_a_role(tmp_path: Path) -> None:
    for role in ("actor_update", "actor_compute_log_prob"):
        for rank in (0, 1):
            write_json(tmp_path / "profile" / role / f"prof_rank-{rank}.json.gz", profile(EVENTS, rank))
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [
        ("actor_compute_log_prob", "torch-profile"),
        ("actor_update", "torch-profile"),
    ]
    assert (found.unknown, found.unreadable) == ([], [])


def test_what_profilers_write_beside_profiles_belongs_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "agent_loop_rollout_replica_0"
    write_json(folder / "host_77.5.pt.trace.json.gz", profile(EVENTS, 0))
    for name in ("profiler_out_0.txt", "rank0_memory.html", "memory_snapshot.pickle"):
        write(folder / name, "Name  Self CUDA\n")
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [(folder.name, "torch-profile")]
    assert found.unknown == []


def test_other_files_beside_profiles_are_looked_at(tmp_path: Path) -> None:
    """A folder that holds more than profiles is searched: nothing in it is passed over silently."""
    write_json(tmp_path / "prof_rank-0.json", profile(EVENTS, 0))
    write_json(tmp_path / "inner" / "prof_rank-1.json", profile(EVENTS, 1))
    write(tmp_path / "notes.txt", "hello\n")
    write(tmp_path / "metrics.jsonl", '{"step": 1, "data": {"a/b": 1}}\n')
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [
        (tmp_path.name, "torch-profile"),
        ("metrics.jsonl", "verl-jsonl"),
        ("inner", "torch-profile"),
    ]
    assert [path.name for path in found.unknown] == ["notes.txt"]
