from __future__ import annotations

import pytest

from rlreport.collectors.spans.lanes import device_lane, named_lane, rank_in, replica_of, share_lanes
from rlreport.run.spans import Lane


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("agent_loop_rollout_replica_0", 0), ("replica-12", 12), ("Replica_3/slot_1", 3), ("trainer/replica_4", 4)),
        *(("replicas_3", None), ("my_replica", None), ("replica_12345678", None), ("subreplica_1", None)),
    ],
)
def test_the_number_of_a_replica(name: str, expected: int | None) -> None:
    assert replica_of(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("prof_rank-0_031847.json.gz", 0), ("rank_12", 12), ("[Rank 3, Process] actor", 3), ("traces-r0.jsonl", None)),
        *(("frank_1", None), ("rankings", None)),
    ],
)
def test_the_number_of_a_rank(name: str, expected: int | None) -> None:
    assert rank_in(name) == expected


def test_lanes_of_devices() -> None:
    assert device_lane("actor_update", 3) == Lane("rank_3", "unknown", 3, 1)
    assert device_lane("agent_loop_rollout_replica_2", 1) == Lane("replica_2", "unknown", 2, 1)
    assert device_lane("actor", 3, "actor") == Lane("actor/rank_3", "unknown", 3, 1)
    assert device_lane("actor_update", None) == Lane("actor_update", "unknown", None, None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rank_7", Lane("rank_7", "unknown", 7, 1)),
        ("replica_0/slot_3", Lane("replica_0", "unknown", 0, None)),
        ("trainer_1", Lane("trainer_1", "unknown", 1, None)),
        ("vllm engine 4", Lane("vllm engine 4", "unknown", 4, None)),
        ("10.0.0.1/worker:00a7", Lane("10.0.0.1/worker:00a7", "unknown", None, None)),
        ("trainer", Lane("trainer", "unknown", None, None)),
        ("actor/rank_2", Lane("actor/rank_2", "unknown", 2, None)),
    ],
)
def test_lanes_by_name(name: str, expected: Lane) -> None:
    assert named_lane(name) == expected


def test_a_replica_stands_for_its_devices() -> None:
    lanes = [device_lane("replica_0", 0), device_lane("replica_0", 1), device_lane("replica_0", 1), device_lane("x", 0)]
    assert [lane.devices for lane in share_lanes(lanes, (0, 1, 1, 0))] == [2, 2, 2, 1]
    assert share_lanes([named_lane("replica_5")], (0,))[0].devices is None
