from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, UNIX_S, S, event, json_lines, named, pair, rows, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans.chrome import ChromeTraceCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

US = 1000


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "chrome-trace"
    return found.read(path, SourceOptions("t.json"))


def refusal(path: Path) -> str:
    with pytest.raises(RlreportError) as raised:
        ChromeTraceCollector().read(path, SourceOptions("t.json"))
    assert raised.value.exit_code == 3
    return str(raised.value)


EVENTS = [named("process", "trainer"), named("thread", "trainer_0"), event("gen", 10, 5), event("update", "20.5", 1.5)]


def test_an_array_an_object_and_lines_are_the_same(tmp_path: Path) -> None:
    files = {
        "a.json": json.dumps(EVENTS),
        "b.json": json.dumps({"traceEvents": EVENTS, "displayTimeUnit": "ms"}, indent=2),
        "c.jsonl": json_lines(EVENTS),
        "d.json.gz": json.dumps(EVENTS),
        "e.json": json.dumps(EVENTS)[:-1] + ",",
    }
    for name, text in files.items():
        table = read(write(tmp_path / name, text))
        assert rows(table.spans) == [
            ("trainer_0", "gen", 10 * US, 15 * US),
            ("trainer_0", "update", 20_500, 22 * US),
        ], name
        assert table.notices == []
        assert table.size_bytes == (tmp_path / name).stat().st_size
        assert len(table.sha256) == 64


def test_pairs_are_spans_and_may_be_nested(tmp_path: Path) -> None:
    events = [*pair("outer", 0, 100)[:1], *pair("inner", 10, 20), *pair("outer", 0, 100)[1:], *pair("other", 5, 7, tid=2)]
    table = read(write_json(tmp_path / "a.json", events))
    assert rows(table.spans) == [
        ("1/1", "outer", 0, 100 * US),
        ("1/1", "inner", 10 * US, 20 * US),
        ("1/2", "other", 5 * US, 7 * US),
    ]


def test_pairs_without_a_partner_are_counted(tmp_path: Path) -> None:
    events = [pair("a", 0, 1)[1], *pair("b", 2, 3), pair("c", 4, 5)[0], pair("d", 5, 6, tid=9)[0]]
    table = read(write_json(tmp_path / "a.json", events))
    assert [name for _, name, _, _ in rows(table.spans)] == ["b"]
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR264", "3 spans without a beginning or without an end left out")
    ]


def test_unix_microseconds_keep_their_nanoseconds_as_text_and_as_numbers(tmp_path: Path) -> None:
    digits = f"{UNIX_S}000123.457"
    for name, told in (("a.json", f'"{digits}"'), ("b.json", digits)):
        text = f'[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{told},"dur":0.25}},{json.dumps(event("b", UNIX_S * 1e6, 1))}]'
        spans = read(write(tmp_path / name, text)).spans
        assert spans is not None
        assert spans.zero_unix_ns == UNIX_NS
        assert rows(spans) == [("1/1", "b", 0, 1000), ("1/1", "a", 123_457, 123_707)]


def test_a_base_time_makes_the_clock_absolute_wherever_it_stands(tmp_path: Path) -> None:
    for name, value in (
        ("a.json", {"baseTimeNanoseconds": UNIX_NS, "traceEvents": EVENTS}),
        ("b.json", {"traceEvents": EVENTS, "otherData": {"x": [{"y": 1}, {"z": 2}]}, "baseTimeNanoseconds": UNIX_NS}),
    ):
        spans = read(write_json(tmp_path / name, value)).spans
        assert spans is not None
        assert spans.zero_unix_ns == UNIX_NS + 10 * US
        assert rows(spans)[0][2:] == (0, 5 * US)


def test_ray_names_the_class_of_a_worker(tmp_path: Path) -> None:
    events = [
        {**event("forward", UNIX_S * 1e6, 100.0, "10.0.0.1", "worker:ab"), "cat": "task::WorkerDict.update_actor"},
        {**event("forward", UNIX_S * 1e6, 100.0, "10.0.0.2", "worker:cd"), "cat": "task::vLLMHttpServer.generate"},
    ]
    spans = read(write_json(tmp_path / "timeline.json", events)).spans
    assert spans is not None
    assert [lane.name for lane in spans.lanes] == ["WorkerDict@10.0.0.1/worker:ab", "vLLMHttpServer@10.0.0.2/worker:cd"]


def test_arguments_tell_rank_devices_version_and_step(tmp_path: Path) -> None:
    events = [
        event("train.update_weights", 0, 50, rank=3, role="actor", global_step=7, version=2),
        event("train.update_weights", 100, 50, rank=3, role="actor", global_step=8, version="3"),
        event("x", 0, 10, tid=2, devices=4, version=-1),
    ]
    spans = read(write_json(tmp_path / "a.json", events)).spans
    assert spans is not None
    assert [(lane.name, lane.index, lane.devices) for lane in spans.lanes] == [("actor/rank_3", 3, 1), ("1/2", None, 4)]
    assert spans.version.tolist() == [2, 3, -1]
    assert spans.boundaries_ns == {2: 0, 3: 100 * US}
    assert spans.markers_ns == {"train.update_weights@7": 50 * US, "train.update_weights@8": 150 * US}


def test_a_process_named_by_rank_is_the_lane_of_the_rank(tmp_path: Path) -> None:
    events = [named("process", "[Rank 5, Process] actor"), event("a", 0, 10)]
    spans = read(write_json(tmp_path / "a.json", events)).spans
    assert spans is not None
    assert [(lane.name, lane.index) for lane in spans.lanes] == [("actor/rank_5", 5)]


def test_names_may_come_after_the_spans(tmp_path: Path) -> None:
    events = [event("a", 0, 10), named("thread", "replica_2"), named("process", "rollout")]
    assert rows(read(write_json(tmp_path / "a.json", events)).spans) == [("rollout/replica_2", "a", 0, 10 * US)]


def test_broken_values_cost_their_own_span(tmp_path: Path) -> None:
    good = event("good", 1000, 10)
    broken: list[Any] = [
        event("negative", 1100, -5),
        event("no duration", 1200, None),
        event("no time", {}, 5),
        event("text", "x", 5),
        event("huge", 1e300, 5),
        event("empty", 1300, 0),
        event({"deep": 1}, 1400, 5),
        {"ph": 5},
        {"ph": None, "ts": 5},
        event("args are a list", 1500, 5) | {"args": [1, 2]},
    ]
    table = read(write_json(tmp_path / "a.json", [good, *broken]))
    assert [name for _, name, _, _ in rows(table.spans)] == ["good", "args are a list"]
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR261", f"3 events not readable and left out, the first at byte {len(json.dumps([good, *broken[:2]])) + 1}"),
        ("RR262", "4 spans left out: 1 with a negative duration, 3 with no time or no duration"),
    ]


def test_control_characters_in_names(tmp_path: Path) -> None:
    text = json.dumps([event("aQb", 0, 10), event("c", 20, 10)]).replace("Q", "\x01")
    assert [name for _, name, _, _ in rows(read(write(tmp_path / "a.json", text)).spans)] == ["a b", "c"]


def test_a_file_that_ends_early_keeps_what_came_before(tmp_path: Path) -> None:
    text = json.dumps([event(f"e{number}", number * 10, 5) for number in range(100)])
    table = read(write(tmp_path / "a.json", text[:3000]))
    whole = text[:3000].count("}, {")
    assert len(rows(table.spans)) == whole
    assert [(n.code, n.message) for n in table.notices] == [("RR260", "the trace ends early; events up to there are used")]


def test_a_gzip_that_ends_early_keeps_what_came_before(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [event(f"e{number}", number * 10, number % 7 + 1) for number in range(5000)])
    path.write_bytes(path.read_bytes()[:-2000])
    table = read(path)
    assert 0 < len(rows(table.spans)) < 5000
    assert [n.code for n in table.notices] == ["RR230", "RR260"]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ([named("process", "a"), named("thread", "b")], "it holds 2 metadata events"),
        ({"traceEvents": []}, "it holds no events"),
        (
            [{"ph": "C", "name": "c", "ts": 1}, {"ph": "i", "name": "i", "ts": 1}],
            "it holds 1 counter event, 1 instant event",
        ),
        ([event("a", 1, -1)], "it holds 1 span event; 1 span left out: 1 with a negative duration"),
    ],
)
def test_a_trace_without_spans_is_refused_with_the_reason(tmp_path: Path, value: Any, hint: str) -> None:
    text = refusal(write_json(tmp_path / "a.json", value))
    assert "error[RR253]: the trace holds no span" in text
    assert hint in text


def test_an_empty_file_and_no_json_are_refused(tmp_path: Path) -> None:
    assert "RR203" in refusal(write(tmp_path / "a.json", ""))
    assert "RR254" in refusal(write(tmp_path / "b.json", "hello"))


def test_many_spans_are_joined_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rlreport.collectors.spans import chrome_events, columns

    monkeypatch.setattr(
        chrome_events.ChromeEvents,
        "__init__",
        _with_limit(chrome_events.ChromeEvents.__init__, columns.SpanColumns(limit=50)),
    )
    table = read(write(tmp_path / "a.jsonl", json_lines(event("kernel", number * 2, 1.5) for number in range(500))))
    assert len(rows(table.spans)) <= 50
    assert rows(table.spans)[-1][3] == 999_500
    assert "RR265" in [n.code for n in table.notices]


def _with_limit(init: Any, limited: Any) -> Any:
    def made(self: Any, **how: Any) -> None:
        init(self, columns=limited, **how)

    return made


def test_threads_beyond_the_limit_share_a_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rlreport.collectors.spans import chrome_events

    monkeypatch.setattr(chrome_events, "MAX_TRACKS", 3)
    spans = read(write_json(tmp_path / "a.json", [event("a", 10 * tid, 5, tid=tid) for tid in range(9)])).spans
    assert spans is not None
    assert len(spans.lanes) == 3
    assert len(spans) == 9


@pytest.mark.parametrize("text", ['{"step": 1, "data": {"a": 1}}', '{"a": "b"}', "ph: X", "", '["ph", "X"]'])
def test_other_files_are_not_taken(tmp_path: Path, text: str) -> None:
    assert not ChromeTraceCollector().sniff(tmp_path / "a.json", text.encode())


def test_seconds_are_seconds(tmp_path: Path) -> None:
    spans = read(write_json(tmp_path / "a.json", [event("a", 0, 90 * 1e6)])).spans
    assert rows(spans)[0][3] == 90 * S
