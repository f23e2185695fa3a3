from __future__ import annotations

from pathlib import Path

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import tiny
from support.traces import S, rows, write

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans import merge_spans
from rlreport.dialects.spans import SpanMeaning, interpret_spans, replica_numbers
from rlreport.run.model import Mode
from rlreport.run.spans import ACTIVITIES, Gauge, Lane, LaneSide, SpanTable, span_table
from rlreport.simulator.chrome_trace import chrome_text
from rlreport.simulator.log_call import unix_s
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import launches_of
from rlreport.simulator.spans import device_seconds
from rlreport.simulator.summary_events import summary_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("0-3", {0, 1, 2, 3}), ("0,2, 4", {0, 2, 4}), ("0-1,7", {0, 1, 7}), ("5", {5}), ("", set()), ("  ", set())),
        *(("3-1", None), ("a", None), ("1,,2", None), ("-1", None), ("1-", None), ("9999999", None)),
    ],
)
def test_lists_of_replicas(text: str, expected: set[int] | None) -> None:
    assert replica_numbers(text) == expected


def raw(*spans: tuple[str, str, int, int], markers: dict[str, int] | None = None) -> SpanTable:
    """A table as a collector gives it: lanes of unknown side, activities that are not told."""
    numbers = {name: int(name.rsplit("_", 1)[-1]) if name[-1].isdigit() else None for name, *_ in spans}
    return span_table(
        [(Lane(lane, "unknown", numbers[lane]), "other", name, start, end, -1) for lane, name, start, end in spans],
        markers_ns=markers,
    )


REPLICAS = raw(("replica_0", "vllm_generate", 0, 5), ("replica_1", "vllm_generate", 0, 5), ("rank_0", "actor_update", 5, 9))


def sides(meaning: SpanMeaning) -> dict[str, LaneSide]:
    return {lane.name: lane.side for table in meaning.spans for lane in table.lanes}


@pytest.mark.parametrize(
    ("mode", "hybrid", "expected"),
    [
        ("fully_async", None, ("rollout", "rollout")),
        ("unknown", None, ("rollout", "rollout")),
        ("sync", None, ("hybrid", "hybrid")),
        ("colocate_async", None, ("hybrid", "hybrid")),
        ("separate_async", "0", ("hybrid", "rollout")),
        ("separate_async", "0-1", ("hybrid", "hybrid")),
        ("separate_async", "", ("rollout", "rollout")),
        ("sync", "1", ("rollout", "hybrid")),
        ("separate_async", "nonsense", ("rollout", "rollout")),
    ],
)
def test_replicas_are_hybrid_where_the_manifest_or_the_mode_says_so(
    mode: Mode, hybrid: str | None, expected: tuple[LaneSide, LaneSide]
) -> None:
    found = interpret_spans([REPLICAS], mode=mode, hybrid_replicas=hybrid)
    assert sides(found) == {"replica_0": expected[0], "replica_1": expected[1], "rank_0": "trainer"}
    assert found.hybrid_replicas == (None if hybrid in (None, "nonsense") else replica_numbers(str(hybrid)))


def test_lanes_are_in_order_of_sides_and_activities_are_named() -> None:
    (table,) = interpret_spans([REPLICAS], hybrid_replicas="1").spans
    assert [lane.name for lane in table.lanes] == ["rank_0", "replica_1", "replica_0"]
    assert [(table.lanes[lane].name, ACTIVITIES[code]) for lane, code in zip(table.lane, table.activity, strict=True)] == [
        ("rank_0", "update_actor"),
        ("replica_1", "generate"),
        ("replica_0", "generate"),
    ]


def test_doubtful_replicas_are_told_only_where_the_configuration_lets_the_trainer_generate() -> None:
    def codes(**how: object) -> list[str]:
        return [notice.code for notice in interpret_spans([REPLICAS], mode="separate_async", **how).notices]  # type: ignore[arg-type]

    assert codes() == []
    assert codes(may_switch=True) == ["RR333"]
    assert codes(may_switch=True, hybrid_replicas="0") == []


def test_a_rank_that_generates_too_is_a_hybrid_engine() -> None:
    table = raw(("rank_0", "generate_sequences", 0, 5), ("rank_0", "update_actor", 5, 9), ("rank_1", "update_actor", 5, 9))
    assert sides(interpret_spans([table])) == {"rank_0": "hybrid", "rank_1": "trainer"}


def test_traces_that_name_a_replica_by_its_side_mean_the_same_lane() -> None:
    table = raw(
        ("trainer/replica_0", "generate", 0, 5),
        ("rollout/replica_1", "generate", 0, 5),
        ("replica_1", "vllm_generate", 1, 6),
        ("teacher/replica_1", "generate", 0, 5),
    )
    found = interpret_spans([table])
    assert sides(found) == {"replica_0": "hybrid", "replica_1": "rollout", "teacher/replica_1": "rollout"}
    assert sides(interpret_spans([table], hybrid_replicas="1"))["replica_0"] == "rollout"
    (spans,) = found.spans
    assert [(lane, start, end) for lane, _, start, end in rows(spans) if lane == "replica_1"] == [
        ("replica_1", 0, 1),
        ("replica_1", 1, 6),
    ]


def test_lanes_without_a_telling_name_are_judged_by_all_they_do() -> None:
    table = raw(
        ("pool x", "vllm_generate", 0, 5),
        ("pool y", "update_actor", 0, 5),
        ("pool z", "generate", 0, 5),
        ("pool z", "train", 5, 9),
        ("pool w", "aten::mm", 0, 5),
        ("roll", "update_actor", 0, 5),
    )
    found = interpret_spans([table])
    assert sides(found) == {
        "pool x": "rollout",
        "pool y": "trainer",
        "pool z": "unknown",
        "pool w": "unknown",
        "roll": "unknown",
    }
    assert [(n.code, n.message) for n in found.notices] == [
        ("RR330", "spans whose name is no known activity count as other work: 1 (aten::mm)"),
        ("RR332", "lanes that belong to no known side and count for neither: 3 (pool w, pool z, roll)"),
    ]
    assert sides(interpret_spans([table], mode="sync"))["pool x"] == "hybrid"


def test_steps_around_phases_are_told() -> None:
    table = raw(("rank_0", "step 1", 0, 9), ("rank_0", "update_actor", 1, 5))
    found = interpret_spans([table])
    assert len(found.spans[0]) == 1
    assert "RR331" in [notice.code for notice in found.notices]


def test_areal_tells_versions_by_its_weight_syncs() -> None:
    table = raw(("actor/rank_0", "train.update_weights", 0, 5), markers={"train.update_weights@3": 5, "train.rollout@4": 9})
    assert interpret_spans([table]).spans[0].boundaries_ns == {4: 5}


def test_gauges_get_canonical_names() -> None:
    gauges = [Gauge("vllm:num_requests_running", "replica_0", [1], [2.0], 0), Gauge("tq_depth", "", [1], [2.0], 0)]
    found = interpret_spans([], gauges).gauges
    assert [(gauge.name, gauge.lane) for gauge in found] == [("rollout.active_requests", "replica_0"), ("tq_depth", "")]


def collected(text: str, path: Path, mode: Mode, hybrid: str | None = None) -> SpanTable:
    found = detect(write(path, text))
    assert found is not None
    merged = merge_spans([found.read(path, SourceOptions("t"))])
    assert merged.notices == ()
    (table,) = interpret_spans(merged.tables, mode=mode, hybrid_replicas=hybrid).spans
    return table


def seconds(table: SpanTable, *which: LaneSide) -> dict[str, float]:
    """Device-seconds by activity of the lanes of some sides, with spans of a lane checked not to overlap."""
    sums: dict[str, float] = {}
    for number, lane in enumerate(table.lanes):
        mine = table.lane == number
        assert bool((table.start_ns[mine][1:] >= table.end_ns[mine][:-1]).all())
        if lane.side in which:
            for code, start, end in zip(table.activity[mine], table.start_ns[mine], table.end_ns[mine], strict=True):
                assert lane.devices
                name = ACTIVITIES[code]
                sums[name] = sums.get(name, 0.0) + lane.devices * float(end - start) / S
    return sums


def simulated(name: str) -> tuple[Simulation, str, str]:
    launches = launches_of(tiny() if name == "tiny" else mode_scenario(name))
    return launches[0].simulation, chrome_text(launches), summary_text(launches)


@pytest.mark.parametrize("name", ["tiny", *sorted(MODES)])
def test_a_timeline_of_the_simulator_adds_up_to_its_truth(tmp_path: Path, name: str) -> None:
    simulation, text, _ = simulated(name)
    table = collected(text, tmp_path / "timeline.json.gz", simulation.scenario.mode)
    for side, which in (("trainer", ("trainer", "hybrid")), ("rollout", ("rollout",))):
        truth = device_seconds(simulation.lanes, side, [(0.0, 1e12)])  # type: ignore[arg-type]
        found = seconds(table, *which)  # type: ignore[arg-type]
        idle = sum(found.pop(activity, 0.0) for activity in ("wait", "weight_sync", "switch", "checkpoint"))
        assert found == pytest.approx(truth.busy, abs=1e-4)
        assert idle == pytest.approx(sum(truth.idle.values()), abs=1e-4)
    assert table.zero_unix_ns == round(unix_s(simulation.scenario, 0.0) * S)
    begins: dict[int, float] = {}
    for span in (span for lane in simulation.lanes for span in lane.spans):
        begins[span.version] = min(span.start_s, begins.get(span.version, span.start_s))
    assert {version: at / S for version, at in table.boundaries_ns.items()} == pytest.approx(begins, abs=1e-5)


@pytest.mark.parametrize("name", ["tiny", *sorted(MODES)])
def test_summary_events_of_the_simulator_tell_all_work_that_is_traced(tmp_path: Path, name: str) -> None:
    simulation, _, text = simulated(name)
    table = collected(text, tmp_path / "summary_event.json", simulation.scenario.mode)
    truth = [device_seconds(simulation.lanes, side, [(0.0, 1e12)]).busy for side in ("trainer", "rollout")]  # type: ignore[arg-type]
    traced = ("generate", "old_log_prob", "update_actor")
    expected = {activity: sum(busy.get(activity, 0.0) for busy in truth) for activity in traced}
    assert seconds(table, "trainer", "hybrid", "rollout") == pytest.approx(
        {activity: total for activity, total in expected.items() if total}, rel=1e-4
    )
    shared = simulation.scenario.mode in ("sync", "colocate_async")
    assert {lane.side for lane in table.lanes} == ({"trainer", "hybrid"} if shared else {"trainer", "rollout"})
