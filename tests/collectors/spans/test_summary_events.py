from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.traces import UNIX_NS, UNIX_S, rows, summary_event, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

MS = 1_000_000


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "rl-insight"
    return found.read(path, SourceOptions("events.json"))


def at(offset_ms: float) -> float:
    return UNIX_S * 1000 + offset_ms


EVENTS = [
    summary_event("agent_loop_rollout_replica_0", 1, at(0.5), at(2000)),
    summary_event("agent_loop_rollout_replica_0", 0, at(0), at(1990)),
    summary_event("actor_compute_log_prob", 3, at(3000), at(4000)),
    summary_event("actor_update", 3, at(4000), at(9000)),
]


def test_replicas_and_ranks_are_lanes(tmp_path: Path) -> None:
    table = read(write_json(tmp_path / "a.json", EVENTS, indent=2))
    spans = table.spans
    assert spans is not None
    assert [(lane.name, lane.index, lane.devices) for lane in spans.lanes] == [("replica_0", 0, 2), ("rank_3", 3, 1)]
    assert rows(spans) == [
        ("replica_0", "agent_loop_rollout_replica_0", 0, 1990 * MS),
        ("replica_0", "agent_loop_rollout_replica_0", 500_000, 2000 * MS),
        ("rank_3", "actor_compute_log_prob", 3000 * MS, 4000 * MS),
        ("rank_3", "actor_update", 4000 * MS, 9000 * MS),
    ]
    assert spans.zero_unix_ns == UNIX_NS
    assert table.notices == []


def test_trailing_commas_are_read_as_the_documentation_writes_them(tmp_path: Path) -> None:
    text = json.dumps(EVENTS, indent=2).replace("\n  }", ",\n  }").replace("\n]", ",\n]")
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    table = read(write(tmp_path / "a.json", text))
    assert len(rows(table.spans)) == 4
    assert table.notices == []


def test_digits_are_not_lost(tmp_path: Path) -> None:
    times = '"start_time_ms": 1773285888698.726318, "end_time_ms": "1773285888698.726320"'
    text = '[{"role": "actor_update", "rank_id": "2", ' + times + "}]"
    spans = read(write(tmp_path / "a.json", text)).spans
    assert spans is not None
    assert spans.zero_unix_ns == 1_773_285_888_698_726_318
    assert rows(spans) == [("rank_2", "actor_update", 0, 2)]


def test_a_missing_end_is_taken_from_the_duration_and_other_clocks_stay(tmp_path: Path) -> None:
    event = {"role": "actor_update", "rank_id": 0, "start_time_ms": 100, "duration_ms": 2.5}
    spans = read(write_json(tmp_path / "a.json", [event])).spans
    assert spans is not None
    assert (spans.zero_unix_ns, rows(spans)) == (None, [("rank_0", "actor_update", 100 * MS, 102_500_000)])


def test_what_is_broken_is_left_out_and_told(tmp_path: Path) -> None:
    broken = [
        summary_event("actor_update", -1, at(0), at(1)),
        {"rank_id": 0, "start_time_ms": at(0), "end_time_ms": at(1)},
        summary_event("actor_update", 0, at(5), at(4)),
        summary_event("actor_update", 0, None, at(4)),
        summary_event("actor_update", [0], at(0), at(4)),
    ]
    table = read(write_json(tmp_path / "a.json", [*EVENTS, *broken]))
    assert len(rows(table.spans)) == 4
    assert [(n.code, n.message.split(",")[0]) for n in table.notices] == [
        ("RR261", "1 event not readable and left out"),
        ("RR262", "2 spans left out: 1 with a negative duration"),
        ("RR261", "2 events without a role or a rank left out"),
    ]


@pytest.mark.parametrize("value", [[], [summary_event("actor_update", 0, "x", "y")]])
def test_nothing_usable_is_refused(tmp_path: Path, value: list[object]) -> None:
    from rlreport.collectors.spans.summary_events import SummaryEventCollector

    with pytest.raises(RlreportError, match="RR253"):
        SummaryEventCollector().read(write_json(tmp_path / "a.json", value), SourceOptions("events.json"))
