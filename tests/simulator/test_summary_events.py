from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator import Scenario
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.restart import Launch, launches_of
from rlreport.simulator.summary_events import summary_events, summary_text

EPOCH_MS = 1_788_249_600_000  # 2026-09-01T08:00:00 UTC
FIELDS = ["name", "role", "domain", "start_time_ms", "end_time_ms", "duration_ms", "rank_id", "tid"]


def events_of(scenario: Scenario) -> list[dict[str, Any]]:
    return summary_events(launches_of(scenario))


def test_a_run_worked_out_by_hand() -> None:
    """Start-up 5 s; step 1 generates two responses for 10 s, then two updates of 12 s, then a weight sync of 3 s."""
    events = events_of(tiny(steps=1))
    assert [(e["role"], e["rank_id"], e["start_time_ms"] - EPOCH_MS, e["duration_ms"]) for e in events] == [
        ("agent_loop_rollout_replica_0", 0, 5_000.0, 10_000.0),
        ("actor_update", 0, 15_000.0, 12_000.0),
        ("actor_update", 0, 27_000.0, 12_000.0),
    ]


def test_the_file_is_a_json_array_with_the_fields_of_the_format() -> None:
    launches = launches_of(mode_scenario("separate_async"))
    events = json.loads(summary_text(launches))
    assert events == summary_events(launches)
    for event in events:
        assert list(event) == FIELDS
        assert event["name"] == event["role"]
        assert event["end_time_ms"] - event["start_time_ms"] == pytest.approx(event["duration_ms"], abs=2e-3)
        assert isinstance(event["rank_id"], int)
    assert [e["start_time_ms"] for e in events] == sorted(e["start_time_ms"] for e in events)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_lane_never_does_two_things_at_once_and_nothing_but_work_is_traced(mode: str) -> None:
    events = events_of(mode_scenario(mode))
    roles = {event["role"].rstrip("0123456789") for event in events}
    assert roles == {"actor_compute_log_prob", "actor_update", "agent_loop_rollout_replica_"}
    by_thread: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        by_thread.setdefault(event["tid"], []).append(event)
    for mine in by_thread.values():
        assert all(a["end_time_ms"] <= b["start_time_ms"] + 2e-3 for a, b in pairwise(mine))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_seconds_are_those_of_the_devices(mode: str) -> None:
    scenario = mode_scenario(mode)
    simulation = run_pipeline(scenario)
    events = summary_events([Launch(simulation, launches_of(scenario)[0].log)])
    work = {
        "generate": "agent_loop_rollout_replica",
        "update_actor": "actor_update",
        "old_log_prob": "actor_compute_log_prob",
    }
    for state, role in work.items():
        expected = sum(
            (span.end_s - span.start_s) * span.devices
            for lane in simulation.lanes
            for span in lane.spans
            if span.state == state
        )
        traced = sum(event["duration_ms"] for event in events if event["role"].startswith(role)) / 1000
        assert traced == pytest.approx(expected, rel=1e-5)
        assert traced > 0


def test_every_rank_and_every_device_of_a_replica_has_its_events() -> None:
    events = events_of(mode_scenario("separate_async", rollout__devices_per_replica=2))
    assert Counter(e["rank_id"] for e in events if e["role"] == "actor_update") == {0: 24, 1: 24}
    assert {e["role"] for e in events if "replica" in e["role"]} == {f"agent_loop_rollout_replica_{i}" for i in (0, 1)}
    assert {e["rank_id"] for e in events if "replica" in e["role"]} == {0, 1}


def test_replicas_on_the_trainers_devices_are_numbered_behind_the_others() -> None:
    roles = {e["role"] for e in events_of(mode_scenario("switch")) if "replica" in e["role"]}
    assert roles == {f"agent_loop_rollout_replica_{i}" for i in range(6)}  # four of the Rollouters, two of the Trainer


def test_only_the_traced_steps_are_written() -> None:
    whole, (launch,) = events_of(mode_scenario("separate_async")), launches_of(mode_scenario("separate_async"))
    third, fourth = launch.simulation.steps[2:4]
    part = events_of(mode_scenario("separate_async", traced_steps=(3, 4)))
    assert part == [
        e for e in whole if third.begin_s - 1e-3 <= (e["start_time_ms"] - EPOCH_MS) / 1000 < fourth.logged_s - 1e-3
    ]
    assert 0 < len(part) < len(whole) / 3
    assert events_of(mode_scenario("separate_async", traced_steps=(50, 60))) == []
    with pytest.raises(ValueError, match="traced_steps"):
        mode_scenario("separate_async", traced_steps=(4, 3))


def test_both_launches_of_a_resumed_run_are_traced() -> None:
    first, second = launches = launches_of(
        mode_scenario("separate_async", defects=("resumed",), schedule__validate_every_steps=5)
    )
    events = summary_events(launches)
    stopped_ms = EPOCH_MS + 1000 * first.stopped_s
    launched_ms = EPOCH_MS + 1000 * second.launched_s
    assert launched_ms - stopped_ms == pytest.approx(240_000, abs=1)
    assert any(event["start_time_ms"] < stopped_ms for event in events)
    assert any(event["start_time_ms"] > launched_ms for event in events)
    assert not any(stopped_ms <= event["start_time_ms"] < launched_ms for event in events)
