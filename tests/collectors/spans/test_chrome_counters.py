from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.traces import UNIX_NS, UNIX_S, event, named, rows, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans.chrome_counters import OWN_NAMES, quantity_of
from rlreport.dialects.span_names import GAUGE_NAMES
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

US = 1000
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "chrome-trace"
    return found.read(path, SourceOptions("t.json"))


def of(tmp_path: Path, *events: Any) -> SourceTable:
    return read(write_json(tmp_path / "a.json", list(events)))


def counter(name: Any, at: Any, pid: Any = 1, id_: Any = None, **series: Any) -> dict[str, Any]:
    found = {"ph": "C", "name": name, "pid": pid, "ts": at, "args": series}
    return found if id_ is None else {**found, "id": id_}


def gauges(table: SourceTable) -> dict[tuple[str, str], list[tuple[int, float]]]:
    found = {(g.name, g.lane): list(zip(g.time_ns, g.values, strict=True)) for g in table.gauges}
    assert len(found) == len(table.gauges)
    return found


def test_a_trace_of_counters_alone_is_a_source(tmp_path: Path) -> None:
    table = of(tmp_path, counter(RUNNING, 10, value=3), counter(RUNNING, 20.5, value="4.5"), counter(RUNNING, 5, value=1))
    assert table.spans is None
    assert table.format == "chrome-trace"
    assert gauges(table) == {(RUNNING, "1"): [(5 * US, 1), (10 * US, 3), (20_500, 4.5)]}
    assert table.gauges[0].zero_unix_ns is None
    assert table.notices == []


def test_counters_stand_beside_spans_on_their_clock(tmp_path: Path) -> None:
    at = UNIX_S * 10**6
    table = of(tmp_path, event("step", at, 10), counter("queue.samples", at + 5, value=7))
    assert rows(table.spans) == [("1/1", "step", 0, 10 * US)]
    (gauge,) = table.gauges
    assert (gauge.name, gauge.lane, gauge.values) == ("queue.samples", "", [7])
    assert (gauge.zero_unix_ns, gauge.time_ns) == (0, [UNIX_NS + 5 * US])


@pytest.mark.parametrize(
    ("base", "at", "zero"), [(UNIX_NS, 5, UNIX_NS), (None, UNIX_S * 10**6, 0), (None, 5, None), (0, 5, None)]
)
def test_the_clock_of_counters_alone(tmp_path: Path, base: int | None, at: int, zero: int | None) -> None:
    trace = {"traceEvents": [counter(RUNNING, at, value=1)]}
    table = read(write_json(tmp_path / "a.json", trace if base is None else {**trace, "baseTimeNanoseconds": base}))
    assert [(gauge.zero_unix_ns, gauge.time_ns) for gauge in table.gauges] == [(zero, [at * US])]


def test_engines_are_lanes_by_process_id_and_series(tmp_path: Path) -> None:
    one = of(tmp_path, named("process", "engine", 7), counter(RUNNING, 0, 7, value=1), counter(RUNNING, 1, 8, value=2))
    assert set(gauges(one)) == {(RUNNING, "engine"), (RUNNING, "8")}
    same = of(
        tmp_path,
        *(named("process", "VLLM::EngineCore", pid) for pid in (7, 8)),
        *(counter(RUNNING, pid, pid, value=pid) for pid in (7, 8)),
    )
    assert set(gauges(same)) == {(RUNNING, "VLLM::EngineCore/7"), (RUNNING, "VLLM::EngineCore/8")}
    ids = of(tmp_path, counter(RUNNING, 0, id_="a", value=1), counter(RUNNING, 0, id_="b", value=2))
    assert gauges(ids) == {(RUNNING, "1/a"): [(0, 1)], (RUNNING, "1/b"): [(0, 2)]}
    series = of(tmp_path, counter(RUNNING, 0, replica_0=1, replica_1=2), counter(RUNNING, 9, replica_1=0))
    assert gauges(series) == {(RUNNING, "1/replica_0"): [(0, 1)], (RUNNING, "1/replica_1"): [(0, 2), (9 * US, 0)]}


def test_what_is_counted_once_counts_for_the_whole_run(tmp_path: Path) -> None:
    table = of(tmp_path, counter("replay", 0, 3, pending=1, running=2, finished=3, failed=0), counter("tq_size", 0, 3, x=5))
    assert gauges(table) == {
        ("replay.failed", ""): [(0, 0)],
        ("replay.finished", ""): [(0, 3)],
        ("replay.pending", ""): [(0, 1)],
        ("replay.running", ""): [(0, 2)],
        ("tq_size", ""): [(0, 5)],
    }


def test_the_quantity_may_stand_in_the_series(tmp_path: Path) -> None:
    table = of(tmp_path, counter("metrics", 0, **{RUNNING: 3, WAITING: 4, "fan": 1}))
    assert gauges(table) == {(RUNNING, "1"): [(0, 3)], (WAITING, "1"): [(0, 4)]}
    assert [(n.code, n.message) for n in table.notices] == [
        ("RR269", "1 sample left out: 1 of 1 counter of no known quantity (metrics)")
    ]


def test_lanes_as_this_project_writes_them(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        *(counter(f"rollout.active_requests (replica_{n})", 0, 6, value=n) for n in range(2)),
        counter("rollout.active_requests", 0, 6, value=9),
    )
    assert gauges(table) == {
        ("rollout.active_requests", ""): [(0, 9)],
        ("rollout.active_requests", "replica_0"): [(0, 0)],
        ("rollout.active_requests", "replica_1"): [(0, 1)],
    }


@pytest.mark.parametrize(
    ("name", "series", "expected"),
    [
        (RUNNING, "value", (RUNNING, "", "")),
        (RUNNING, RUNNING, (RUNNING, "", "")),
        (RUNNING, "engine_3", (RUNNING, "", "engine_3")),
        ("engine_3", RUNNING, (RUNNING, "", "engine_3")),
        ("queue", "samples", ("queue.samples", "", "")),
        ("queue.samples (train)", "value", ("queue.samples", "train", "")),
        ("vllm:request_success_total", "value", None),
        ("GPU 0 power", "watts", None),
        ("queue", "value", None),
    ],
)
def test_the_quantity_of_a_series(name: str, series: str, expected: tuple[str, str, str] | None) -> None:
    assert quantity_of(name, series) == expected


def test_every_quantity_that_dialects_know_is_kept() -> None:
    for raw, canonical in GAUGE_NAMES.items():
        assert quantity_of(raw, "value") == (raw, "", "")
        assert canonical in OWN_NAMES


def test_other_counters_are_counted_and_named(tmp_path: Path) -> None:
    table = of(
        tmp_path,
        event("a", 0, 5),
        *(counter(f"memory {n}", n, used=1, free=2) for n in range(6)),
        counter(RUNNING, 0, value="x"),
        counter(RUNNING, None, value=1),
        {"ph": "C", "name": RUNNING, "ts": 1},
        {"ph": "C", "name": RUNNING, "ts": 1, "args": {"value": {"deep": 1}}},
        {"ph": "C", "name": RUNNING, "ts": 1, "args": [1]},
        counter(RUNNING, 7, value=5),
    )
    assert gauges(table) == {(RUNNING, "1"): [(7 * US, 5)]}
    assert [(n.code, n.message) for n in table.notices] == [
        (
            "RR269",
            "17 samples left out: 12 of 6 counters of no known quantity (memory 0, memory 1, memory 2, memory 3, …), "
            "5 not finite or without a time",
        )
    ]


def test_counters_of_no_known_quantity_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RlreportError) as raised:
        of(tmp_path, counter("power", 0, value=1), counter("power", 1, value=2))
    text = str(raised.value)
    assert "error[RR253]: the trace holds no span" in text
    assert "it holds 2 counter events; 2 samples left out: 2 of 1 counter of no known quantity (power)" in text


def test_exact_times_of_counters(tmp_path: Path) -> None:
    """Unix microseconds with a fraction, as digits: nanoseconds are kept."""
    path = tmp_path / "a.json"
    path.write_text(f'[{{"name":"{RUNNING}","ph":"C","pid":1,"ts":{UNIX_S}000123.457,"args":{{"value":2}}}}]')
    (gauge,) = read(path).gauges
    assert gauge.time_ns == [UNIX_NS + 123_457]


def test_too_many_samples_are_thinned_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlreport.collectors.spans.samples.MAX_SAMPLES", 20)
    table = of(tmp_path, *(counter(RUNNING, n, value=n) for n in range(50)))
    (samples,) = gauges(table).values()
    assert 10 <= len(samples) <= 20
    assert all(at == value * US for at, value in samples)
    left_out = 50 - len(samples)
    assert [n.message for n in table.notices] == [
        f"{left_out} samples left out: {left_out} to bound memory, every second one of a series"
    ]
