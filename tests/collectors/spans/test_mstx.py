from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, UNIX_S, ascend_profile, event, named, overlap_analysis, rows, write

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect, search
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable


def us(offset: str) -> str:
    """A Unix microsecond as the profiler writes it."""
    return f"{UNIX_S}{offset}"


EVENTS: list[dict[str, Any]] = [
    named("process", "Python", 3, 0),
    overlap_analysis(7),
    event("aten::add", us("000000.000"), 1.0, 3),
    event("Computing", us("000100.250"), 10, 7, 2),
    event("Free", us("000050.125"), "25.5", 7, 3),
    event("Communication", us("000300.001"), 100.5, 7, 0),
]


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "mstx"
    return found.read(path, SourceOptions("profile"))


@pytest.mark.parametrize("part", ["", "ASCEND_PROFILER_OUTPUT", "ASCEND_PROFILER_OUTPUT/trace_view.json"])
def test_a_profile_is_one_span_of_its_overlap_analysis(tmp_path: Path, part: str) -> None:
    table = read(ascend_profile(tmp_path, "actor_update", 3, EVENTS).parent / part)
    assert rows(table.spans) == [("rank_3", "actor_update", 0, 350_376)]
    assert table.spans is not None
    assert table.spans.zero_unix_ns == UNIX_NS + 50_125
    assert table.notices == []


def test_the_analysis_may_be_named_after_its_events(tmp_path: Path) -> None:
    folder = ascend_profile(tmp_path, "actor_update", 3, [*EVENTS[2:], *EVENTS[:2]])
    assert rows(read(folder).spans) == [("rank_3", "actor_update", 0, 350_376)]


def test_the_metadata_may_tell_the_role_and_a_replica_is_a_lane(tmp_path: Path) -> None:
    folder = ascend_profile(tmp_path, "profiles", 1, EVENTS, told_role="agent_loop_rollout_replica_2")
    spans = read(folder).spans
    assert spans is not None
    assert [(lane.name, lane.index) for lane in spans.lanes] == [("replica_2", 2)]
    assert spans.names == ("agent_loop_rollout_replica_2",)


@pytest.mark.parametrize("metadata", ["", "[1]", '{"role": 5}', '{"role": ""}', "{"])
def test_metadata_that_tells_no_role_is_passed_over(tmp_path: Path, metadata: str) -> None:
    folder = ascend_profile(tmp_path, "actor_update", 3, EVENTS)
    write(folder.parent / "profiler_metadata.json", metadata)
    assert rows(read(folder).spans)[0][1] == "actor_update"


def test_without_a_rank_the_lane_is_the_role(tmp_path: Path) -> None:
    assert rows(read(ascend_profile(tmp_path, "actor_update", None, EVENTS)).spans)[0][0] == "actor_update"


def test_events_without_times_are_counted(tmp_path: Path) -> None:
    broken = [event("Free", "x", 5, 7), event("Free", us("000400.000"), None, 7), event("Free", us("000400.000"), -1, 7)]
    table = read(ascend_profile(tmp_path, "actor_update", 3, [*EVENTS, *broken]))
    assert rows(table.spans) == [("rank_3", "actor_update", 0, 350_376)]
    assert [(n.code, n.message) for n in table.notices] == [("RR261", "3 events without usable times left out")]


def refusal(path: Path) -> str:
    with pytest.raises(RlreportError) as raised:
        read(path)
    return str(raised.value)


def test_what_cannot_be_reduced_is_refused_with_the_reason(tmp_path: Path) -> None:
    operators = ascend_profile(tmp_path, "a", 0, [event("aten::add", us("000000.000"), 1.0, 3)])
    assert "error[RR255]: the profile has no process 'Overlap Analysis'" in refusal(operators)
    names_only = ascend_profile(tmp_path, "b", 0, EVENTS[:2])
    assert "error[RR253]" in refusal(names_only)
    assert "the process 'Overlap Analysis' has no event with times" in refusal(names_only)
    empty = ascend_profile(tmp_path, "c", 0, [])
    write(empty / "trace_view.json", "")
    assert "error[RR203]" in refusal(empty)
    write(empty / "trace_view.json", "no json")
    assert "error[RR254]" in refusal(empty)


def test_a_profile_that_was_not_analysed_is_refused_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "actor_update" / "host_ascend_pt"
    write(folder / "PROF_1" / "host" / "data.bin", b"\0\1")
    assert "error[RR255]: the profile has no timeline" in refusal(folder)
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [("host_ascend_pt", "mstx")]
    assert found.unknown == []


def test_a_folder_is_one_source_a_device_with_everything_in_it(tmp_path: Path) -> None:
    for rank in (0, 1):
        folder = ascend_profile(tmp_path, "actor_update", rank, EVENTS, told_role="actor_update")
        write(folder / "operator_memory.csv", "Name,Size(KB)\naten::add,1\n")
        write(folder.parent / "FRAMEWORK" / "torch.op_range", b"\0\1\2")
        write(folder.parent / "logs" / "profiler.log", "the profiler's own\n")
    write(tmp_path / "actor_update" / "note.bin", b"\0")
    found = search(tmp_path)
    assert [(path.name, owner.format) for path, owner in found.sources] == [
        ("host_0_ascend_pt", "mstx"),
        ("host_1_ascend_pt", "mstx"),
    ]
    # A file beside the profiles belongs to none of them.
    assert [path.name for path in found.unknown] == ["note.bin"]
    assert (found.empty, found.unreadable, found.cut) == ([], [], None)
    spans = read(found.sources[1][0]).spans
    assert spans is not None
    assert [lane.name for lane in spans.lanes] == ["rank_1"]
