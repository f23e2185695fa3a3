from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from support.made_runs import make_run
from support.timelines import S, three_steps

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
    assert names(events, "process_name") == {1: "Trainer", 3: "Rollouters", 5: "Idle, by cause"}
    idle = [event for event in events if event.get("cat") == "idle"]
    # Both ranks do the same, so they share a row that stands for two devices.
    trainer = [event for event in idle if event["args"]["side"] == "trainer"]
    assert {event["args"]["devices"] for event in trainer} == {2}
    assert seconds(event for event in trainer if event["args"]["cause"] == "samples") == pytest.approx(24)
    assert seconds(e for e in idle if e["args"]["cause"] == "quota") == pytest.approx(26)
    assert {event["name"] for event in trainer} >= {"waiting for samples", "weight sync", "validation", "checkpoint"}
    assert "rank_0 and 1 more" in names(events, "thread_name").values()
    assert [event["ts"] / 1e6 for event in events if event["ph"] == "i"] == [45, 61, 83]


def test_gauges_are_counters_on_the_same_clock() -> None:
    gauge = Gauge("queue.samples", "", [20 * S, 12 * S], [7.0, 3.0], zero_unix_ns=0)
    other = replace(gauge, name="elsewhere", zero_unix_ns=None)
    events = opened(render_perfetto(three_steps(gauges=(gauge, other))))
    counters = [(event["name"], event["ts"], event["args"]["value"]) for event in events if event["ph"] == "C"]
    assert counters == [("queue.samples", 12e6, 3.0), ("queue.samples", 20e6, 7.0)]


def test_the_same_run_gives_the_same_bytes() -> None:
    run = three_steps()
    first = render_perfetto(run, measure_timeline(run, WINDOW))
    assert first == render_perfetto(run, measure_timeline(run, WINDOW))
    assert first[4:8] == b"\0\0\0\0"  # gzip's time


def test_a_run_without_spans_gives_an_empty_trace() -> None:
    assert opened(render_perfetto(make_run({}))) == []
