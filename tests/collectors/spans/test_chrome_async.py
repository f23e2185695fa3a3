from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, UNIX_S, event, json_lines, named, rows, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.spans import chrome_async, open_spans
from rlreport.collectors.spans.chrome import ChromeTraceCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

US = 1000


def read(path: Path) -> SourceTable:
    return ChromeTraceCollector().read(path, SourceOptions("t.json"))


def of(tmp_path: Path, *events: Any) -> SourceTable:
    return read(
        write_json(tmp_path / "a.json", [one for some in events for one in (some if isinstance(some, list) else [some])])
    )


def start(name: Any, at: Any, id_: Any = 1, pid: Any = 1, tid: Any = 1, ph: str = "b", **more: Any) -> dict[str, Any]:
    return {"ph": ph, "cat": "c", "name": name, "id": id_, "pid": pid, "tid": tid, "ts": at, **more}


def end(name: Any, at: Any, id_: Any = 1, pid: Any = 1, tid: Any = 1, ph: str = "e", **more: Any) -> dict[str, Any]:
    return start(name, at, id_, pid, tid, ph, **more)


def both(name: Any, begin: Any, until: Any, id_: Any = 1, **more: Any) -> list[dict[str, Any]]:
    return [start(name, begin, id_, **more), end(name, until, id_, **more)]


def gauges(table: SourceTable) -> list[tuple[str, str, list[tuple[int, float]]]]:
    return [(g.name, g.lane, list(zip(g.time_ns, g.values, strict=True))) for g in table.gauges]


def notices(table: SourceTable) -> list[tuple[str, str]]:
    return [(notice.code, notice.message) for notice in table.notices]


UNPAIRED = "without a beginning or without an end left out"


def test_spans_one_after_another_are_spans_of_their_thread(tmp_path: Path) -> None:
    table = of(
        tmp_path, named("process", "rollout"), named("thread", "replica_2"), both("gen", 0, 10), both("gen", 20, 25, 2)
    )
    assert rows(table.spans) == [
        ("rollout/replica_2", "gen", 0, 10 * US),
        ("rollout/replica_2", "gen", 20 * US, 25 * US),
    ]
    assert (table.gauges, table.notices) == ([], [])


def test_requests_in_flight_are_one_span_and_a_count(tmp_path: Path) -> None:
    events = [
        *(start("request", 0, 1), start("request", 10, 2), end("request", 30, 1), start("request", 40, 3)),
        *(end("request", 45, 3), end("request", 50, 2), start("request", 60, 4), end("request", 70, 4)),
    ]
    table = of(tmp_path, events)
    assert rows(table.spans) == [("1/1", "request", 0, 50 * US), ("1/1", "request", 60 * US, 70 * US)]
    counts = [(0, 1), (10, 2), (30, 1), (40, 2), (45, 1), (50, 0), (60, 1), (70, 0)]
    assert gauges(table) == [("open:request", "1/1", [(at * US, count) for at, count in counts])]
    assert table.notices == []


def test_the_time_in_flight_is_the_sum_of_all_requests(tmp_path: Path) -> None:
    """A thousand requests side by side: one lane, and no request is lost from the count."""
    spans = [(7 * n % 1000, 7 * n % 1000 + 50 + n % 13, n) for n in range(1000)]
    events = sorted(
        [one for begin, until, n in spans for one in both("request", begin, until, n, tid=n % 4)], key=lambda one: one["ts"]
    )
    table = of(tmp_path, events)
    assert table.spans is not None
    assert [lane.name for lane in table.spans.lanes] == ["1/0", "1/1", "1/2", "1/3"]
    total = 0.0
    for gauge in table.gauges:
        times, values = gauge.time_ns, gauge.values
        total += sum(value * (after - at) for at, after, value in zip(times, times[1:], values, strict=False))
    assert total == sum(until - begin for begin, until, _ in spans) * US
    assert table.notices == []


def test_the_spans_of_one_id_are_nested(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        *(start("request", 0), start("prefill", 1), end("prefill", 4), start("decode", 4), {"ph": "n", "id": 1, "ts": 5}),
        *(end("decode", 9), end("request", 10)),
    )
    assert rows(table.spans) == [
        ("1/1", "request", 0, 10 * US),
        ("1/1", "prefill", 1 * US, 4 * US),
        ("1/1", "decode", 4 * US, 9 * US),
    ]
    assert (table.gauges, table.notices) == ([], [])


def test_an_end_closes_the_innermost_span_of_its_name(tmp_path: Path) -> None:
    table = of(tmp_path, start("a", 0), start("b", 1), start("a", 2), end("a", 3), end("a", 4), end("b", 5))
    assert rows(table.spans) == [("1/1", "a", 0, 4 * US), ("1/1", "b", 1 * US, 5 * US)]
    assert gauges(table) == [("open:a", "1/1", [(0, 1), (2 * US, 2), (3 * US, 1), (4 * US, 0)])]


def test_an_end_without_a_name_closes_the_innermost_span(tmp_path: Path) -> None:
    nameless = {key: value for key, value in end("", 6).items() if key != "name"}
    table = of(tmp_path, start("a", 0), start("b", 1), end("", 5), nameless)
    assert rows(table.spans) == [("1/1", "a", 0, 6 * US), ("1/1", "b", 1 * US, 5 * US)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"id": 1}, {"id": 2}),
        ({"id": 1, "cat": "x"}, {"id": 1, "cat": "y"}),
        ({"id": 1, "scope": "x"}, {"id": 1, "scope": "y"}),
        ({"id2": {"local": "0x1"}, "pid": 1}, {"id2": {"local": "0x1"}, "pid": 2}),
        ({"id2": {"global": "0x1"}}, {"id2": {"local": "0x1"}}),
        ({"pid": 1}, {"pid": 2}),
    ],
)
def test_what_tells_spans_apart(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    """The first span's end comes last; were both one stack of one name, the ends would be exchanged, so names differ."""

    def one(name: str, ph: str, at: int, keys: dict[str, Any]) -> dict[str, Any]:
        return {"ph": ph, "cat": "c", "pid": 1, "tid": 1, "ts": at, "name": name, **keys}

    # Ends without names: in one stack the end at 20 would close "second".
    events = [one("first", "b", 0, first), one("second", "b", 10, second), one("", "e", 20, first), one("", "e", 30, second)]
    table = of(tmp_path, events)
    found = {(name, begin, until) for _, name, begin, until in rows(table.spans)}
    assert found == {("first", 0, 20 * US), ("second", 10 * US, 30 * US)}
    assert table.notices == []


@pytest.mark.parametrize("keys", [{"id": 7}, {"id": "0x7"}, {"id2": {"global": 7}}])
def test_an_id_counts_for_all_processes_and_threads(tmp_path: Path, keys: dict[str, Any]) -> None:
    first = {"ph": "b", "cat": "c", "name": "send", "pid": 1, "tid": 5, "ts": 0, **keys}
    table = of(tmp_path, first, {**first, "ph": "e", "pid": 2, "tid": 6, "ts": 9})
    assert rows(table.spans) == [("1/5", "send", 0, 9 * US)]


def test_the_older_events_are_paired_by_name_too(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        *(start("a", 0, ph="S"), start("b", 1, ph="S"), start("a", 2, ph="T"), start("a", 3, ph="p")),
        *(end("a", 4, ph="F"), end("b", 6, ph="F")),
    )
    assert rows(table.spans) == [("1/1", "a", 0, 4 * US), ("1/1", "b", 1 * US, 6 * US)]
    assert table.notices == []


def test_the_two_kinds_of_events_do_not_meet(tmp_path: Path) -> None:
    with pytest.raises(RlreportError) as raised:
        of(tmp_path, start("a", 0), end("a", 4, ph="F"))
    assert "RR253" in str(raised.value)
    assert f"it holds 2 asynchronous events; 2 spans {UNPAIRED}" in str(raised.value)


def test_ends_and_beginnings_without_a_partner_are_counted(tmp_path: Path) -> None:
    table = of(tmp_path, end("a", 1), both("b", 2, 3), start("c", 4), end("c", 5, 2), start("d", 5, 3), end("x", 6, 3))
    assert [name for _, name, _, _ in rows(table.spans)] == ["b"]
    # The end of a; c begun as 1 and ended as 2; d and the end of another name.
    assert notices(table) == [("RR264", f"5 spans {UNPAIRED}")]


def test_impossible_times_cost_their_own_span(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        *(both("good", 1, 2, 1), both("negative", 5, 4, 2), both("empty", 6, 6, 3), both("none", None, 7, 4)),
        *(both("text", "x", 7, 5), both("a year", 8, 3.2e13, 6)),
    )
    assert rows(table.spans) == [("1/1", "good", US, 2 * US)]
    assert notices(table) == [
        (
            "RR262",
            "4 spans left out: 1 with a negative duration, 1 with times that no clock shows, 2 with no time or no duration",
        )
    ]


def test_spans_of_both_sorts_share_a_lane_and_cut_nothing(tmp_path: Path) -> None:
    """A request reaches into the next step of its thread: that is no wrong duration."""
    table = of(tmp_path, event("step", 0, 10), both("request", 5, 15), event("step", 12, 10))
    assert rows(table.spans) == [
        ("1/1", "step", 0, 10 * US),
        ("1/1", "request", 5 * US, 15 * US),
        ("1/1", "step", 12 * US, 22 * US),
    ]
    assert table.notices == []


def side_by_side(*times: Any) -> list[dict[str, Any]]:
    """Two spans that overlap: begin, begin, end, end."""
    return [
        *(start("r", times[0], 1), start("r", times[1], 2)),
        *(end("r", times[2], 1), end("r", times[3], 2)),
    ]


def test_unix_times_keep_their_nanoseconds_as_text_and_as_numbers(tmp_path: Path) -> None:
    text = json.dumps(side_by_side(*(f"{UNIX_S}0000{n}0.125" for n in range(4))))
    for name, value in (("a.json", text), ("b.json", text.replace('.125"', ".125").replace(f'"{UNIX_S}', str(UNIX_S)))):
        table = read(write(tmp_path / name, value))
        assert table.spans is not None
        assert table.spans.zero_unix_ns == UNIX_NS + 125
        assert rows(table.spans) == [("1/1", "r", 0, 30 * US)]
        (gauge,) = table.gauges
        assert gauge.zero_unix_ns == 0
        assert [at - UNIX_NS for at in gauge.time_ns] == [125, 10_125, 20_125, 30_125]


@pytest.mark.parametrize(("base", "zero"), [(UNIX_NS, UNIX_NS), (None, None)])
def test_the_clock_of_the_counts_is_that_of_the_spans(tmp_path: Path, base: int | None, zero: int | None) -> None:
    trace = {"traceEvents": side_by_side(0, 1, 2, 3), **({} if base is None else {"baseTimeNanoseconds": base})}
    table = read(write_json(tmp_path / "a.json", trace))
    assert table.spans is not None
    assert (table.spans.zero_unix_ns, rows(table.spans)) == (zero, [("1/1", "r", 0, 3 * US)])
    (gauge,) = table.gauges
    assert (gauge.zero_unix_ns, gauge.time_ns) == (zero, [0, US, 2 * US, 3 * US])


def test_arguments_tell_rank_version_and_step(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        both("generate", 0, 50, 1, args={"rank": 3, "role": "rollout", "version": 2, "global_step": 7}),
        both("generate", 20, 90, 2, args={"rank": 3, "version": 1}),
    )
    assert table.spans is not None
    assert rows(table.spans) == [("rollout/rank_3", "generate", 0, 90 * US)]
    # Spans of several requests belong to no single version; when each began to serve is known.
    assert table.spans.version.tolist() == [-1]
    assert table.spans.boundaries_ns == {1: 20 * US, 2: 0}
    assert table.spans.markers_ns == {"generate@7": 50 * US}


def test_names_beyond_the_limit_share_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests with a name of their own each: the lane stays one, and the rest is counted together."""
    monkeypatch.setattr(chrome_async, "_MAX_NAMES", 2)
    table = of(tmp_path, [one for n in range(6) for one in both(f"request {n}", 10 * n, 10 * n + 15, n)])
    assert table.spans is not None
    assert len(table.spans.lanes) == 1
    assert [(name, begin // US, until // US) for _, name, begin, until in rows(table.spans)] == [
        ("request 0", 0, 15),
        ("request 1", 10, 25),
        ("(other names)", 20, 65),
    ]
    assert [(gauge.name, max(gauge.values)) for gauge in table.gauges] == [("open:(other names)", 2)]


def test_beginnings_beyond_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_async, "MAX_OPEN", 3)
    table = of(tmp_path, [start("a", n, n) for n in range(5)], [end("a", 10 + n, n) for n in range(5)])
    assert rows(table.spans) == [("1/1", "a", 0, 12 * US)]
    # Two beginnings that were one too many, and their ends.
    assert notices(table) == [("RR264", f"4 spans {UNPAIRED}")]


def test_many_spans_are_counted_in_steps_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in test_open_spans: a thousand spans, of which all but the last 49 run into one another at steps of 4,096 ns."""
    monkeypatch.setattr(open_spans, "MAX_EDGES", 100)
    events = [one for n in range(1000) for one in both("r", 4.096 * n + 1.024, 4.096 * n + 3.072, n)]
    table = read(write(tmp_path / "a.jsonl", json_lines(events)))
    assert rows(table.spans) == [
        ("1/1", "r", 0, 951 * 4096),
        *(("1/1", "r", 4096 * n + 1024, 4096 * n + 3072) for n in range(951, 1000)),
    ]
    assert notices(table) == [("RR265", "1,000 asynchronous spans counted in steps of 0.0041 ms to bound memory")]


def test_ids_that_are_no_ids(tmp_path: Path) -> None:
    """Whatever stands there, spans of a process are paired, or counted."""
    table = of(tmp_path, both("a", 0, 5, {"x": 1}), both("b", 10, 15, None), both("c", 20, 25, [1], args=[2]))
    assert [name for _, name, _, _ in rows(table.spans)] == ["a", "b", "c"]
    assert table.notices == []
