from __future__ import annotations

from typing import Any

import pytest
from support.made_runs import make_run
from support.timelines import lane, table

from rlreport.comparators.lanes import Lanes, find_lanes
from rlreport.run.model import Mode, Run
from rlreport.run.spans import Lane, SpanTable

RANKS = [lane(f"rank_{number}", devices=1) for number in range(4)]
#: The Trainer trains from 10 to 20 and from 30 to 40; an engine on its devices can only generate between.
TRAINING = [(rank, "update_actor", start, start + 10.0) for rank in RANKS for start in (10.0, 30.0)]


def replicas(*numbers: int, devices: int | None = 2) -> list[Lane]:
    return [lane(f"replica_{number}", devices=devices) for number in numbers]


def traced(generation: list[Any], **more: Any) -> SpanTable:
    return table([*TRAINING, *generation], **more)


def a_run(mode: Mode = "separate_async", *, trainer: int | None = 4, rollout: int | None = 4, **more: Any) -> Run:
    return make_run({"time.step_s": [1.0]}, mode=mode, trainer=trainer, rollout=rollout, **more)


def sides(found: Lanes) -> dict[str, str]:
    return {use.name: use.side for use in found.uses if use.name.startswith("replica")}


def between(lanes: list[Lane]) -> list[Any]:
    return [(w, "generate", 20.0, 30.0) for w in lanes]


def during(lanes: list[Lane]) -> list[Any]:
    return [(w, "generate", 12.0, 38.0) for w in lanes]


def test_the_manifest_decides_which_replicas_are_hybrid() -> None:
    generation = [*between(replicas(0, 1)), *during(replicas(2, 3))]
    found = find_lanes(a_run(hybrid_replicas=frozenset({0, 1})), traced(generation))
    assert sides(found) == {"replica_0": "hybrid", "replica_1": "hybrid", "replica_2": "rollout", "replica_3": "rollout"}
    assert found.hybrid_exist is True


def test_a_replica_that_generates_while_all_ranks_train_is_standalone() -> None:
    assert set(sides(find_lanes(a_run(trainer=None, rollout=None), traced(during(replicas(0, 1))))).values()) == {"rollout"}


def test_a_replica_that_never_does_is_possibly_hybrid_and_in_no_account() -> None:
    found = find_lanes(a_run(), traced(between(replicas(0, 1))))
    assert set(sides(found).values()) == {"unknown"}
    assert [seat.side for seat in found.seats] == ["trainer"] * 4
    assert [notice.code for notice in found.notices] == ["RR480"]
    assert "hybrid_replicas" in found.notices[0].message


def test_numbers_beyond_the_rollouters_own_tell_the_engines_on_the_trainer() -> None:
    # 4 + 4 devices, 2 a replica: the Rollouters need the numbers 0 and 1; number 3 means that the first two are hybrid.
    found = find_lanes(a_run(), traced([*between(replicas(0, 1)), *between(replicas(3))]))
    assert sides(found) == {"replica_0": "hybrid", "replica_1": "hybrid", "replica_3": "rollout"}
    assert found.hybrid_exist is True


def test_standalone_numbers_that_begin_after_the_trainers_share_tell_that_hybrid_engines_exist() -> None:
    found = find_lanes(a_run(), traced(during(replicas(2, 3))))
    assert set(sides(found).values()) == {"rollout"}
    assert found.hybrid_exist is True


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
def test_in_shared_modes_every_engine_is_hybrid(mode: Mode) -> None:
    found = find_lanes(a_run(mode, rollout=0), traced(between(replicas(0, 1))))
    assert set(sides(found).values()) == {"hybrid"}


def test_modes_without_hybrid_engines_need_no_overlap() -> None:
    assert set(sides(find_lanes(a_run("one_step_off"), traced(between(replicas(0, 1))))).values()) == {"rollout"}
    told = a_run("fully_async", config={"async_training.use_trainer_do_validate": True})
    assert set(sides(find_lanes(told, traced(between(replicas(0, 1))))).values()) == {"unknown"}


def test_hybrid_engines_sit_on_the_trainers_devices() -> None:
    """Engine i of two devices sits on the ranks 2 i and 2 i + 1: four seats, each of one rank and one engine."""
    found = find_lanes(a_run(hybrid_replicas=frozenset({0, 1})), traced([*between(replicas(0, 1)), *during(replicas(2, 3))]))
    names = [
        (seat.weight, sorted(found.uses[code].name for code in seat.lanes)) for seat in found.seats if seat.side == "trainer"
    ]
    assert names == [(1.0, [f"rank_{n}", f"replica_{n // 2}"]) for n in range(4)]
    assert (found.trainer_devices, found.rollout_devices) == (4.0, 4.0)


def test_traced_ranks_stand_for_all_of_a_trainer() -> None:
    found = find_lanes(a_run(trainer=16), traced(during(replicas(2, 3))))
    assert [seat.weight for seat in found.seats if seat.side == "trainer"] == [4.0] * 4
    assert "RR481" in [notice.code for notice in found.notices]


def test_replicas_that_are_not_in_the_trace_are_untraced_and_not_guessed() -> None:
    found = find_lanes(a_run(rollout=10), traced(during(replicas(2, 3))))
    assert found.untraced == 6.0
    assert found.rollout_devices == 10.0
    assert "RR482" in [notice.code for notice in found.notices]


def test_without_device_counts_lanes_are_counted() -> None:
    found = find_lanes(a_run(trainer=None, rollout=None), traced(during(replicas(2, 3, devices=None))))
    assert [seat.weight for seat in found.seats if seat.side == "rollout"] == [1.0, 1.0]
    assert found.rollout_devices is None


def test_lanes_without_a_count_share_the_devices_of_their_side() -> None:
    found = find_lanes(a_run(rollout=12), traced(during(replicas(2, 3, devices=None))))
    assert [seat.weight for seat in found.seats if seat.side == "rollout"] == [6.0, 6.0]


def test_a_lane_of_the_whole_trainer_beside_its_ranks_counts_no_device_twice() -> None:
    """One source traces four ranks, another one the Trainer of four devices: what that shows is shown of each rank."""
    whole = lane("trainer", "trainer", devices=4)
    found = find_lanes(a_run(trainer=None), traced([*during(replicas(4, 5)), (whole, "advantage", 22.0, 24.0)]))
    assert found.trainer_devices == 4
    mine = [seat for seat in found.seats if seat.side == "trainer"]
    names = {use.code: use.name for use in found.uses}
    assert [(seat.weight, [names[code] for code in seat.lanes]) for seat in mine] == [
        (1.0, [f"rank_{number}", "trainer"]) for number in range(4)
    ]


def test_a_lane_of_more_devices_than_there_are_ranks_is_no_summary_of_them() -> None:
    whole = lane("trainer", "trainer", devices=8)
    found = find_lanes(a_run(trainer=None), traced([(whole, "update_actor", 10.0, 20.0)]))
    assert found.trainer_devices == 12
