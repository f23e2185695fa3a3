from __future__ import annotations

import pytest
from support.made_findings import (
    CONFIG,
    ROLLOUT_DEVICES,
    ROLLOUT_NODES,
    WARM_UP,
    context_of,
    example_run,
    steady_run,
    traced,
)

from rlreport.findings.resources import balanced_rollout_devices, excess_rollouters, trainer_bound, trainer_waits

BUSY = {"time.wait_s": 1.0, "time.update_actor_s": 90.0}
#: Nodes of 8 devices, engines of 4.
NODES = {
    **CONFIG,
    ROLLOUT_NODES: 6,
    ROLLOUT_DEVICES: 8,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": 4,
}


def test_a_full_queue_shows_too_many_rollouters_without_a_number() -> None:
    # 64 prompts wait, 4 mini-batches of 16: all that one batch of 4 mini-batches allows.
    found = excess_rollouters(context_of(steady_run({**BUSY, "queue.samples": 64.0})))
    assert found is not None and found.action is not None
    assert (found.owner, found.severity, found.action.direction) == ("rollout", "medium", "decrease")
    assert found.action.gain_bound is None
    assert "unknown" in found.body


@pytest.mark.parametrize("queue", [16.0, 48.0])
def test_a_queue_that_is_not_full_is_no_excess(queue: float) -> None:
    context = context_of(steady_run({**BUSY, "queue.samples": queue}))
    assert excess_rollouters(context) is None
    assert trainer_bound(context) is None


@pytest.mark.parametrize(("staleness", "told"), [(1.995, True), (1.9, False)])
def test_without_a_queue_staleness_shows_whether_the_quota_is_used_up(staleness: float, told: bool) -> None:
    # Two batches ahead: a response that is always ready in time is two versions old.
    context = context_of(steady_run({**BUSY, "staleness.mean": staleness}, {**CONFIG, WARM_UP: 2}))
    assert context.queue_fill == pytest.approx(staleness / 2)
    assert (excess_rollouters(context) is not None) is told


def test_the_account_gives_the_balance_and_the_bound() -> None:
    # 48 devices idle 40 %: 28.8 would do, 32 in whole nodes. 80 / (32 + 28.8) = 1.316 times as much per device.
    run = steady_run(BUSY, NODES, trainer=32, rollout=48)
    context = context_of(run, traced({"samples": 0.01}, {"quota": 0.3, "queue_full": 0.1}, devices=(32, 48)))
    found = excess_rollouters(context)
    assert found is not None and found.action is not None
    assert found.severity == "high"
    assert "32 instead of 48" in found.action.text
    assert found.action.gain_bound == pytest.approx(80 / 60.8)
    assert f"{ROLLOUT_NODES}=4" in found.fragment


def test_a_balance_is_a_whole_replica_and_smaller_than_now() -> None:
    run = steady_run(BUSY, {**NODES, ROLLOUT_NODES: 1}, trainer=8, rollout=8)
    context = context_of(run)
    assert balanced_rollout_devices(context, 0.45) is None  # 4.4 devices are two replicas of 4: all that there are
    assert balanced_rollout_devices(context, 0.55) == 4


def test_one_replica_cannot_be_taken_away() -> None:
    run = steady_run({**BUSY, "queue.samples": 64.0}, rollout=1, trainer=1)
    assert excess_rollouters(context_of(run)) is None


def test_a_balanced_account_is_no_excess_although_the_queue_is_full() -> None:
    context = context_of(steady_run({**BUSY, "queue.samples": 64.0}), traced({"samples": 0.01}, {"quota": 0.03}))
    assert excess_rollouters(context) is None
    assert trainer_bound(context) is None


def test_a_waiting_trainer_asks_for_rollouters() -> None:
    found = trainer_waits(context_of(steady_run({"time.wait_s": 20.0, "time.update_actor_s": 80.0}, NODES, rollout=48)))
    assert found is not None and found.action is not None
    assert (found.owner, found.severity) == ("trainer", "medium")
    assert (found.action.tier, found.action.direction) == (1, "increase")
    assert found.action.gain_bound == pytest.approx(1.25)
    assert f"{ROLLOUT_NODES}=7" in found.fragment


def test_one_trainer_device_cannot_be_moved() -> None:
    found = trainer_waits(context_of(steady_run({"time.wait_s": 30.0}, trainer=1, rollout=1)))
    assert found is not None and found.action is not None
    assert found.action.knob == "engine"
    assert "none can be moved" in found.action.text
    assert found.fragment == ""


def test_between_the_two_and_in_sync_mode_nothing_is_said() -> None:
    for rule in (excess_rollouters, trainer_waits, trainer_bound):
        assert rule(context_of(steady_run({"time.wait_s": 5.0, "time.update_actor_s": 95.0}))) is None
        assert rule(context_of(steady_run({"time.generate_s": 50.0}, mode="sync"))) is None


def test_a_bottleneck_whose_other_side_is_not_seen_asks_for_a_trace() -> None:
    found = trainer_bound(context_of(steady_run(BUSY)))
    assert found is not None and found.action is not None
    assert (found.severity, found.action.direction, found.action.gain_bound) == ("low", "check", None)


@pytest.mark.parametrize(("name", "nodes"), [("r48", 32), ("r32", 22)])
def test_the_case_study_begins_with_fewer_rollouters(name: str, nodes: int) -> None:
    found = excess_rollouters(context_of(example_run(f"qwen3-30b/{name}")))
    assert found is not None
    assert f"{ROLLOUT_NODES}={nodes}\n" in found.fragment


def test_a_balanced_ladder_rung_has_no_excess() -> None:
    assert excess_rollouters(context_of(example_run("qwen3-omni/r8t16-wu2-tok30k"))) is None
