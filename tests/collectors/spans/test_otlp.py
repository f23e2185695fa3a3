from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, S, json_lines, otlp_span, resource_spans, rows, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans.otlp import OtlpCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable


def at(second: float) -> str:
    return str(UNIX_NS + round(second * S))


def state(lane: str, name: str, start: float, end: float, **more: Any) -> dict[str, Any]:
    attributes = {"state_lane_id": lane, "state_name": name, "monitor__trace_segment": "state_interval", **more}
    return otlp_span("a span", at(start), at(end), **attributes)


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "otlp"
    return found.read(path, SourceOptions("traces.json"))


STATES = [state("replica_0", "vllm_generate", 0, 2), state("rank_3", "actor_update", 2.5, 4), state("replica_0", "x", 5, 6)]
EXPECTED = [
    ("replica_0", "vllm_generate", 0, 2 * S),
    ("replica_0", "x", 5 * S, 6 * S),
    ("rank_3", "actor_update", 2_500_000_000, 4 * S),
]


@pytest.mark.parametrize("scopes", ["scopeSpans", "instrumentationLibrarySpans"])
def test_exporters_and_tempo_are_the_same(tmp_path: Path, scopes: str) -> None:
    first, second = resource_spans(STATES[:1], scopes=scopes), resource_spans(STATES[1:], scopes=scopes)
    files = {
        "otlp.json": {"resourceSpans": [first, second]},
        "tempo.json": {"batches": [first, second]},
        "answer.json": {"trace": {"resourceSpans": [first, second]}, "metrics": {}},
    }
    for name, value in files.items():
        table = read(write_json(tmp_path / name, value, indent=1))
        assert rows(table.spans) == EXPECTED, name
        assert table.spans is not None
        assert table.spans.zero_unix_ns == UNIX_NS
        assert table.notices == []
    lines = json_lines([{"resourceSpans": [first]}, {"batches": [second]}])
    assert rows(read(write(tmp_path / "lines.jsonl.gz", lines)).spans) == EXPECTED


def test_requests_of_one_replica_are_one_lane_and_may_overlap(tmp_path: Path) -> None:
    spans = [state(f"replica_1/slot_{slot}", "vllm_generate", slot, slot + 3) for slot in range(3)]
    table = read(write_json(tmp_path / "a.json", {"resourceSpans": [resource_spans(spans)]}))
    assert rows(table.spans) == [("replica_1", "vllm_generate", n * S, (n + 3) * S) for n in range(3)]


def test_trajectories_are_no_devices(tmp_path: Path) -> None:
    lane = "experiment=e/sample=3/session=0/traj=1"
    spans = [*STATES, state(lane, "assistant", 0, 1), state(lane, "tool", 1, 2)]
    table = read(write_json(tmp_path / "a.json", {"resourceSpans": [resource_spans(spans)]}))
    assert rows(table.spans) == EXPECTED
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR266", "2 spans of trajectories, which are no devices, left out")
    ]
    with pytest.raises(RlreportError, match=r"RR253.*\n.*2 spans of trajectories"):
        read(write_json(tmp_path / "b.json", {"resourceSpans": [resource_spans(spans[3:])]}))


def test_other_spans_belong_to_their_rank_or_their_service(tmp_path: Path) -> None:
    spans = [
        otlp_span("train", at(0), at(1), rank=2, role="actor_train", step=4),
        otlp_span("train", at(1), at(2), rank=2, role="actor_train", step=5, param_version=9),
    ]
    driver = [otlp_span("generate", at(0), at(1), step=4)]
    value = {"resourceSpans": [resource_spans(spans), resource_spans(driver, "roll")]}
    found = read(write_json(tmp_path / "a.json", value)).spans
    assert found is not None
    assert [(lane.name, lane.index, lane.devices) for lane in found.lanes] == [
        ("actor_train/rank_2", 2, 1),
        ("roll", None, None),
    ]
    assert found.version.tolist() == [-1, 9, -1]
    assert found.boundaries_ns == {9: S}
    assert found.markers_ns == {"generate@4": S, "train@4": S, "train@5": 2 * S}


def test_broken_spans_cost_themselves(tmp_path: Path) -> None:
    broken: list[Any] = [
        otlp_span("a", at(1), at(0)),
        otlp_span("b", "x", at(1)),
        otlp_span("c", at(1), None),
        {**otlp_span("d", at(1), at(2)), "attributes": "none"},
        {**otlp_span("e", at(1), at(2)), "name": {"x": 1}},
        otlp_span("f", "0", at(2)),
        "no span",
    ]
    table = read(write_json(tmp_path / "a.json", {"resourceSpans": [resource_spans([*STATES, *broken])]}))
    assert rows(table.spans) == EXPECTED
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR261", "2 spans not readable and left out, the first at byte 1,848"),
        ("RR262", "4 spans left out: 1 with a negative duration, 3 with no time or no duration"),
    ]


@pytest.mark.parametrize("indent", [None, 1])
def test_damage_in_one_span_or_the_end_of_the_file_leaves_the_others(tmp_path: Path, indent: int | None) -> None:
    spans = [state(f"rank_{n}", "actor_update", n, n + 1) for n in range(8)] + [otlp_span("plain", at(9), at(10))]
    whole = write_json(tmp_path / "a.json", {"batches": [resource_spans(spans, "my service")]}, indent=indent).read_text()
    lost_quote = whole.replace('"rank_3', "rank_3", 1)
    table = read(write(tmp_path / "b.json", lost_quote))
    assert [lane for lane, _, _, _ in rows(table.spans)] == [*(f"rank_{n}" for n in range(8) if n != 3), "my service"]
    assert [n.code for n in table.notices] == ["RR261"]
    table = read(write(tmp_path / "b.json", whole.replace('"state_name"', '"state_name":', 1)))
    assert [lane for lane, _, _, _ in rows(table.spans)] == [*(f"rank_{n}" for n in range(1, 8)), "my service"]
    assert [n.message.split(",")[0] for n in table.notices] == ["1 span not readable and left out"]
    table = read(write(tmp_path / "c.json", whole[: whole.index("rank_5")]))
    assert [lane for lane, _, _, _ in rows(table.spans)] == [f"rank_{n}" for n in range(5)]
    assert [n.code for n in table.notices] == ["RR260"]


def test_attributes_that_are_lists_do_not_matter(tmp_path: Path) -> None:
    span = otlp_span("a", at(0), at(1))
    span["attributes"] += [{"key": "k", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}, {"key": "n"}]
    assert rows(read(write_json(tmp_path / "a.json", {"resourceSpans": [resource_spans([span])]})).spans) == [
        ("trainer", "a", 0, S)
    ]


@pytest.mark.parametrize("value", [{"resourceSpans": []}, {"batches": []}, {"resourceSpans": [resource_spans([])]}])
def test_traces_without_spans_are_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(RlreportError, match="RR253"):
        read(write_json(tmp_path / "a.json", value))


@pytest.mark.parametrize("text", ['{"batches": [1, 2]}', '{"traces": [{"traceID": "a"}]}', "resourceSpans", ""])
def test_other_files_are_not_taken(tmp_path: Path, text: str) -> None:
    assert not OtlpCollector().sniff(tmp_path / "a.json", text.encode())
