from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces import UNIX_NS, UNIX_S, S, json_lines, rows, session, write

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans.areal_sessions import active, subtract, union
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "areal-sessions"
    return found.read(path, SourceOptions("sessions-r0.jsonl"))


def phase(start: float, end: float) -> tuple[float, float]:
    return UNIX_S + start, UNIX_S + end


def test_a_lane_generates_while_any_session_does(tmp_path: Path) -> None:
    lines = [
        session(generate=[phase(0, 10), phase(12, 14)], reward=[phase(10, 13)]),
        session(generate=[phase(5, 11)], reward=[phase(11, 12.5)], toolcall=[phase(12.5, 20)]),
        session(1, generate=[phase(3, 4)]),
    ]
    table = read(write(tmp_path / "a.jsonl", json_lines(lines)))
    spans = table.spans
    assert spans is not None
    assert rows(spans) == [
        ("rollout/rank_0", "generate", 0, 11 * S),
        ("rollout/rank_0", "reward", 11 * S, 12 * S),
        ("rollout/rank_0", "generate", 12 * S, 14 * S),
        ("rollout/rank_0", "toolcall", 14 * S, 20 * S),
        ("rollout/rank_1", "generate", 3 * S, 4 * S),
    ]
    assert spans.zero_unix_ns == UNIX_NS
    assert {lane.devices for lane in spans.lanes} == {None}
    first, second = table.gauges
    assert (first.name, first.lane, first.zero_unix_ns) == ("rollout.active_requests", "rollout/rank_0", 0)
    assert [(at - UNIX_NS) / S for at in first.time_ns] == [0, 5, 10, 11, 12, 14]
    assert list(first.values) == [1, 2, 1, 0, 1, 0]
    assert (second.lane, list(second.values)) == ("rollout/rank_1", [1, 0])


def test_phases_without_an_end_are_counted(tmp_path: Path) -> None:
    line = session(role=None, generate=[phase(0, 1), (UNIX_S, None), ("x", UNIX_S), phase(2, 1), phase(0, 31 * 86_400)])
    table = read(write(tmp_path / "a.jsonl", json_lines([line])))
    assert rows(table.spans) == [("rollout/rank_0", "generate", 0, S)]
    assert [(n.code, n.message) for n in table.notices] == [("RR262", "4 phases without usable times left out")]


def test_sessions_without_phases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RlreportError, match=r"RR253.*\n.*it holds 2 sessions without phases"):
        read(write(tmp_path / "a.jsonl", json_lines([session(), session()])))


INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda x: (x[0], x[0] + x[1])), max_size=8)


def cells(intervals: list[tuple[int, int]]) -> set[int]:
    return {cell for start, end in intervals for cell in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_interval_algebra_against_sets_of_cells(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    a, b = (union(np.array(intervals, np.int64).reshape(-1, 2)) for intervals in (first, second))
    assert cells([tuple(row) for row in a.tolist()]) == cells(first)
    assert all(before[1] < after[0] for before, after in zip(a.tolist(), a.tolist()[1:], strict=False))
    assert cells([tuple(row) for row in subtract(a, b).tolist()]) == cells(first) - cells(second)


@given(INTERVALS.filter(bool))
def test_the_gauge_counts_what_runs(intervals: list[tuple[int, int]]) -> None:
    gauge = active(intervals, "x")
    edges = [*gauge.time_ns]
    for at, value in zip(edges, gauge.values, strict=True):
        assert value == sum(start <= at < end for start, end in intervals)
