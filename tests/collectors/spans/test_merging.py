from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.traces import UNIX_NS, S, event, json_lines, rows, write

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.spans.chrome import ChromeTraceCollector
from rlreport.collectors.spans.columns import SpanColumns
from rlreport.collectors.spans.merging import find_offset, join_tables, merge_spans, rezero
from rlreport.collectors.spans.tables import build_table
from rlreport.run.raw import SourceTable
from rlreport.run.spans import Gauge, Lane, SpanTable

MS = 10**6


def made(
    *spans: tuple[str, str, int, int],
    markers: Mapping[str, int] | None = None,
    boundaries: Mapping[int, int] | None = None,
    devices: int | None = None,
    unix: int | None = None,
) -> SpanTable:
    names = list(dict.fromkeys(span[0] for span in spans))
    columns = SpanColumns()
    for lane, name, start, end in spans:
        columns.add(names.index(lane), name, start, end - start)
    lanes = [Lane(name, "unknown", None, devices) for name in names]
    table, _ = build_table(columns, lanes, "t", unix_offset_ns=unix, markers_ns=markers, boundaries_ns=boundaries)
    assert table is not None
    return table


def sources(*tables: SpanTable | None) -> list[SourceTable]:
    return [SourceTable(path=f"s{number}", format="x", spans=table) for number, table in enumerate(tables)]


def test_absolute_clocks_are_one_table() -> None:
    first = made(("rank_0", "a", UNIX_NS + 50, UNIX_NS + 60), boundaries={1: UNIX_NS + 50}, devices=1)
    second = made(("rank_1", "b", UNIX_NS + 10, UNIX_NS + 20), ("rank_0", "b", UNIX_NS + 70, UNIX_NS + 75), devices=2)
    second = SpanTable(**{**{f: getattr(second, f) for f in second.__dataclass_fields__}, "boundaries_ns": {1: 30, 2: 60}})
    merged = merge_spans(sources(first, None, second))
    (table,) = merged.tables
    assert table.zero_unix_ns == UNIX_NS + 50
    assert rows(table) == [("rank_0", "a", 0, 10), ("rank_0", "b", 20, 25), ("rank_1", "b", -40, -30)]
    assert {lane.name: lane.devices for lane in table.lanes} == {"rank_0": 2, "rank_1": 2}
    assert table.boundaries_ns == {1: -10, 2: 20}
    assert merged.notices == ()


def test_nothing_gives_nothing() -> None:
    assert merge_spans([]).tables == merge_spans(sources(None)).tables == ()


def ends(name: str, times: Sequence[int]) -> dict[str, int]:
    return {f"{name}@{step}": at for step, at in enumerate(times)}


def test_processes_with_clocks_of_their_own_are_aligned_on_what_they_leave_together() -> None:
    """Rank 1 started 3 s later, so that its clock is 3 s behind; syncs end together to 2 ms, updates do not."""
    syncs = [10 * S, 20 * S, 30 * S]
    first = made(("r0", "u", 0, S), markers={**ends("sync", syncs), **ends("update", [9 * S, 19 * S, 29 * S])})
    second = made(
        ("r1", "u", 0, S),
        markers={
            **ends("sync", [at - 3 * S + jitter for at, jitter in zip(syncs, (0, 2 * MS, -MS), strict=True)]),
            **ends("update", [9 * S - 3 * S, 18 * S - 3 * S, 29 * S - 3 * S]),
        },
    )
    merged = merge_spans(sources(first, second))
    (table,) = merged.tables
    assert rows(table) == [("r0", "u", 0, S), ("r1", "u", 3 * S, 4 * S)]
    assert table.zero_unix_ns is None
    assert [(n.code, n.message, n.where) for n in merged.notices] == [
        (
            "RR270",
            "the clock of its own is aligned by +3 s on shared markers (3 of sync); the largest residual is 2 ms",
            "s1",
        )
    ]


def test_perf_traces_of_areal_ranks_come_together(tmp_path: Path) -> None:
    """Each process counts from its own start: rank 1 began 7 s later; both leave a weight sync at the same moment."""
    traces = []
    for rank, began_s in ((0, 0), (1, 7)):
        events = []
        for step in range(4):
            sync_s = 20 * step + 15 - began_s
            args = {"rank": rank, "role": "actor", "global_step": step}
            events.append(event("train.ppo_update", (sync_s - 10) * 10**6, (8 - rank) * 10**6, **args))
            events.append(event("train.update_weights", (sync_s - 2 + rank) * 10**6, (2 - rank) * 10**6, **args))
        path = write(tmp_path / f"traces-r{rank}.jsonl", json_lines(events))
        traces.append(ChromeTraceCollector().read(path, SourceOptions(path.name)))
    merged = merge_spans(traces)
    (table,) = merged.tables
    found = {(lane, name): start for lane, name, start, _ in reversed(rows(table))}
    assert found == {
        ("actor/rank_0", "train.ppo_update"): 5 * S,
        ("actor/rank_0", "train.update_weights"): 13 * S,
        ("actor/rank_1", "train.ppo_update"): 5 * S,
        ("actor/rank_1", "train.update_weights"): 14 * S,
    }
    assert [(n.code, n.where) for n in merged.notices] == [("RR270", "traces-r1.jsonl")]
    assert (
        "aligned by +7 s on shared markers (4 of train.update_weights); the largest residual is 0 ms"
        in merged.notices[0].message
    )


def test_a_clock_of_its_own_is_put_on_unix_time() -> None:
    absolute = made(("a", "x", UNIX_NS, UNIX_NS + S), markers={"sync@4": UNIX_NS + 7 * S})
    relative = made(("b", "x", 100 * S, 101 * S), markers={"sync@4": 105 * S})
    for order in ((absolute, relative), (relative, absolute)):
        merged = merge_spans(sources(*order))
        (table,) = merged.tables
        assert table.zero_unix_ns == UNIX_NS
        assert rows(table) == [("a", "x", 0, S), ("b", "x", 2 * S, 3 * S)]
        assert "one marker alone cannot be checked" in merged.notices[0].message
        assert "1 shared marker of sync" in merged.notices[0].message


def test_clocks_without_a_shared_marker_stay_apart() -> None:
    tables = [made((f"r{n}", "x", 0, S), markers={f"sync@{n}": S}) for n in range(3)]
    merged = merge_spans(sources(*tables))
    assert [len(table.lanes) for table in merged.tables] == [1, 1, 1]
    assert [(n.code, n.where) for n in merged.notices] == [("RR271", "s1"), ("RR271", "s2")]


@pytest.mark.parametrize(
    ("ahead_ms", "jitter_ms", "count", "moved"),
    [(200, 1, 3, True), (200, 1, 2, False), (4, 0, 3, False), (200, 80, 3, False), (0, 0, 3, False)],
)
def test_unix_clocks_are_corrected_only_on_clear_evidence(ahead_ms: int, jitter_ms: int, count: int, moved: bool) -> None:
    times = [UNIX_NS + 10 * S * (step + 1) for step in range(count)]
    late = [at + (ahead_ms + jitter_ms * (-1) ** step) * MS for step, at in enumerate(times)]
    first = made(("a", "x", UNIX_NS, UNIX_NS + S), markers=ends("sync", times))
    second = made(("b", "x", UNIX_NS + S, UNIX_NS + 2 * S), markers=ends("sync", late))
    merged = merge_spans(sources(first, second))
    start = {row[0]: row[2] for row in rows(merged.tables[0])}["b"]
    if moved:
        assert abs(start - (S - ahead_ms * MS)) <= jitter_ms * MS
        assert merged.notices[0].code == "RR270"
    else:
        assert start == S
        assert merged.notices == ()


def test_the_offset_is_that_of_the_activity_that_agrees_best() -> None:
    reference = {"a@1": 0, "a@2": 100, "b@1": 0, "b@2": 100, "c@1": 0}
    other = {"a@1": 7, "a@2": 107, "b@1": 0, "b@2": 150, "c@1": 1000, "d@1": 5}
    found = find_offset(reference, other)
    assert found is not None
    assert (found.ahead_ns, found.residual_ns, found.count, found.by) == (7, 0, 2, "a")
    assert find_offset(reference, {"x@1": 5}) is None
    # Ranks leave a sync together, give or take 4 ms; that one is always a second later with its update tells nothing.
    steps = [0, 10 * S, 20 * S]
    both = {**ends("update", steps), **ends("weight_sync", steps)}
    late = {**ends("update", [at + S for at in steps]), **ends("weight_sync", [4 * MS, 10 * S, 20 * S - 4 * MS])}
    found = find_offset(both, late)
    assert found is not None
    assert (found.ahead_ns, found.residual_ns, found.by) == (0, 4 * MS, "weight_sync")
    found = find_offset(both, {**late, **ends("weight_sync", [0, 5 * S, 29 * S])})
    assert found is not None
    assert (found.ahead_ns, found.by) == (S, "update")
    single = find_offset({"a@1": 0, "b@1": 10, "c@1": 20}, {"a@1": 5, "b@1": 16, "c@1": 27})
    assert single is not None
    assert (single.ahead_ns, single.residual_ns, single.count, single.by) == (6, 1, 3, "all activities")


def test_gauges_move_with_the_spans_of_their_source() -> None:
    """A process whose clock began 1 s before the reference's zero; its gauge counts on the same clock."""
    shared = {f"weight_sync@{step}": step * S for step in range(1, 5)}
    reference = made(("rank_0", "a", UNIX_NS, UNIX_NS + 9 * S), markers=shared, unix=UNIX_NS)
    own = made(("replica_0", "b", S, 9 * S), markers={name: at + S for name, at in shared.items()})
    first, second = sources(reference, own)
    second.gauges = (Gauge("rollout.active_requests", "replica_0", [2 * S, 4 * S], [3.0, 0.0]),)
    merged = merge_spans([first, second])
    (gauge,) = merged.gauges
    (spans,) = merged.tables
    begun = rows(spans)[1]
    assert begun[:2] == ("replica_0", "b")
    assert gauge.zero_unix_ns == spans.zero_unix_ns
    # One and three seconds after the span of the same source began.
    assert [at - begun[2] for at in gauge.time_ns] == [S, 3 * S]


def test_gauges_of_a_source_without_spans_stay_as_they_are() -> None:
    (source,) = sources(None)
    source.gauges = (Gauge("queue.samples", "", [5], [1.0], 0),)
    assert merge_spans([source]).gauges == source.gauges


def test_joining_keeps_names_and_versions() -> None:
    first, second = made(("r", "a", 0, 5), ("r", "b", 5, 9)), made(("r", "c", 2, 3), ("r", "a", 9, 10))
    joined = join_tables(first, second)
    assert rows(joined) == [("r", "a", 0, 5), ("r", "c", 2, 3), ("r", "b", 5, 9), ("r", "a", 9, 10)]
    assert joined.names == ("a", "b", "c")


def test_a_relative_clock_has_no_other_zero() -> None:
    with pytest.raises(ValueError, match="no absolute clock"):
        rezero(made(("r", "a", 0, 5)), UNIX_NS)
