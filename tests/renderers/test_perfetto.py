from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from support.made_runs import make_run
from support.timelines import S, three_steps

from rlreport.collectors.spans.merging import shift
from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import measure_timeline
from rlreport.renderers.perfetto import render_perfetto
from rlreport.run.spans import Gauge

WINDOW = SteadyState("flat", 1, 3, (1, 2, 3), None, ())


def opened(data: bytes) -> list[dict[str, Any]]:
    trace = json.loads(gzip.decompress(data))
    assert set(trace) == {"displayTimeUnit", "otherData", "traceEvents"}
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def seconds(events: Iterable[dict[str, Any]]) -> float:
    return sum(event["dur"] for event in events) / 1e6


def names(events: list[dict[str, Any]], what: str) -> dict[Any, str]:
    key = "pid" if what == "process_name" else "tid"
    return {(e["pid"], e[key]) if what == "thread_name" else e[key]: e["args"]["name"] for e in events if e["name"] == what}


def test_lanes_are_threads_and_spans_keep_their_times() -> None:
    events = opened(render_perfetto(three_steps()))
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 19
    assert seconds(e for e in spans if e["cat"] == "generate") == 108
    assert set(names(events, "thread_name").values()) == {"rank_0", "rank_1", "replica_0", "replica_1"}
    assert all(event["ts"] >= 0 and event["dur"] >= 0 and "tid" in event and "pid" in event for event in spans)


def test_with_a_timeline_idle_time_stands_beside_work() -> None:
    run = three_steps()
    events = opened(render_perfetto(run, measure_timeline(run, WINDOW)))
    assert names(events, "process_name") == {
        1: "Trainer",
        3: "Rollouters",
        5: "Idle, by cause",
        6: "Whole run",
    }
    idle = [event for event in events if event.get("cat") == "idle"]
    # Both ranks do the same, so they share a row that stands for two devices.
    trainer = [event for event in idle if event["args"]["side"] == "trainer"]
    assert {event["args"]["devices"] for event in trainer} == {2}
    assert seconds(event for event in trainer if event["args"]["cause"] == "samples") == pytest.approx(24)
    assert seconds(e for e in idle if e["args"]["cause"] == "quota") == pytest.approx(26)
    assert {event["name"] for event in trainer} >= {"waiting for samples", "weight sync", "validation", "checkpoint"}
    assert "rank_0 and 1 more" in names(events, "thread_name").values()
    # The trace begins at 10 and ends at 90.
    assert [event["ts"] / 1e6 for event in events if event["ph"] == "i"] == [35, 51, 73]
    served = [event for event in events if event["ph"] == "X" and event["cat"] == "version"]
    assert [(event["ts"] / 1e6, event["dur"] / 1e6) for event in served] == [(35, 16), (51, 22), (73, 7)]
    assert names(events, "thread_name")[6, served[0]["tid"]] == "parameter versions"


def test_gauges_are_counters_on_the_same_clock_within_the_trace() -> None:
    times, values = [20, 12, 5, 8, 95], [7.0, 3.0, 1.0, 2.0, 9.0]
    gauge = Gauge("queue.samples", "", [at * S for at in times], values, zero_unix_ns=0)
    other = replace(gauge, name="elsewhere", zero_unix_ns=None)
    events = opened(render_perfetto(three_steps(gauges=(gauge, other))))
    counters = [(event["name"], event["ts"], event["args"]["value"]) for event in events if event["ph"] == "C"]
    # It stood at 2 when the trace began; what comes 5 s after its end is no part of it.
    assert counters == [("queue.samples", 0, 2.0), ("queue.samples", 2e6, 3.0), ("queue.samples", 10e6, 7.0)]


def test_perfetto_drops_nothing_since_no_event_lies_before_zero() -> None:
    run = three_steps(gauges=(Gauge("queue.samples", "", [0, 200 * S], [1.0, 2.0], zero_unix_ns=0),))
    early = replace(shift(run.spans[0], -50 * S), zero_unix_ns=50 * S)  # spans from -40 to 40 s
    moved = replace(run, spans=(replace(early, boundaries_ns={1: -45 * S, 2: -10 * S}),))
    for made in (render_perfetto(moved), render_perfetto(moved, measure_timeline(moved, WINDOW))):
        events = [event for event in opened(made) if event["ph"] != "M"]
        assert min(event["ts"] for event in events) == 0
        assert max(event["ts"] + event.get("dur", 0) for event in events) == 80e6
    assert [event["name"] for event in events if event["ph"] == "i"] == ["parameter version 2"]


def test_lanes_keep_their_order_in_perfetto() -> None:
    """It shows a thread first whose number is that of its process, then the others by number."""
    run = three_steps(gauges=(Gauge("queue.samples", "", [20 * S], [7.0], zero_unix_ns=0),))
    events = opened(render_perfetto(run, measure_timeline(run, WINDOW)))
    assert {event["tid"] for event in events}.isdisjoint({event["pid"] for event in events})
    order = {event["pid"]: event["args"]["sort_index"] for event in events if event["name"] == "process_sort_index"}
    called = names(events, "process_name")
    assert [called[pid] for pid in sorted(order, key=lambda pid: order[pid])] == [
        "Trainer",
        "Rollouters",
        "Idle, by cause",
        "Whole run",
    ]
    threads = {key: name for key, name in names(events, "thread_name").items() if key[0] in (1, 3)}
    assert [threads[key] for key in sorted(threads)] == ["rank_0", "rank_1", "replica_0", "replica_1"]


def test_traces_without_a_common_clock_have_rows_of_their_own() -> None:
    """Spans of one thread must not overlap: Perfetto drops those that do."""
    table = replace(three_steps().spans[0], zero_unix_ns=None)
    events = opened(render_perfetto(three_steps(spans=(table, shift(table, 3 * S)))))
    threads = names(events, "thread_name")
    assert sorted(threads.values()) == sorted(
        name + more for name in ("rank_0", "rank_1", "replica_0", "replica_1") for more in ("", ", trace 2")
    )
    for key in threads:
        mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == key)
        assert mine[0][0] in (0, 20e6)  # generation begins with the trace, the Trainer's work 20 s later
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(mine))


def test_the_same_run_gives_the_same_bytes() -> None:
    run = three_steps()
    first = render_perfetto(run, measure_timeline(run, WINDOW))
    assert first == render_perfetto(run, measure_timeline(run, WINDOW))
    assert first[4:8] == b"\0\0\0\0"  # gzip's time


def test_a_run_without_spans_gives_an_empty_trace() -> None:
    assert opened(render_perfetto(make_run({}))) == []
