from __future__ import annotations

from dataclasses import replace

import pytest
from support.made_findings import (
    CONFIG,
    ROLLOUT_DEVICES,
    ROLLOUT_NODES,
    WARM_UP,
    context_of,
    example_run,
    profile,
    steady_run,
    traced,
)

from rlreport.findings.resources import balanced_rollout_devices, excess_rollouters, trainer_bound, trainer_waits
from rlreport.findings.work import short_lead

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
    assert (found.owner, found.severity, found.action.direction) == ("unknown", "low", "decrease")
    assert (found.action.gain_bound, found.action.gain_expected) == (None, None)
    assert "may be" in found.title
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
    # 48 devices idle 40 %: 28.8 would do, 32 in whole nodes: 80 / (32 + 32) = 1.25 times as much per device.
    run = steady_run(BUSY, NODES, trainer=32, rollout=48)
    context = context_of(run, traced({"samples": 0.01}, {"quota": 0.3, "queue_full": 0.1}, devices=(32, 48)))
    found = excess_rollouters(context)
    assert found is not None and found.action is not None
    assert found.severity == "high"
    assert "32 instead of 48" in found.action.text
    assert found.action.gain_expected == pytest.approx(80 / 64)
    assert found.action.gain_bound is None  # fewer replicas batch more densely: how far that goes is not in the account
    assert f"{ROLLOUT_NODES}=4" in found.fragment


def test_a_balance_is_a_whole_replica_and_smaller_than_now() -> None:
    run = steady_run(BUSY, {**NODES, ROLLOUT_NODES: 1}, trainer=8, rollout=8)
    context = context_of(run)
    assert balanced_rollout_devices(context, 0.45) is None  # 4.4 devices are two replicas of 4: all that there are
    assert balanced_rollout_devices(context, 0.55) == 4


def test_where_no_whole_node_can_go_a_replica_may() -> None:
    # 32 devices on 4 nodes of 8 idle 13 %: 27.8 would do. Whole nodes are all four; whole replicas are 28 devices.
    run = steady_run(BUSY, {**NODES, ROLLOUT_NODES: 4}, trainer=16, rollout=32)
    assert balanced_rollout_devices(context_of(run), 0.13) == 28


@pytest.mark.parametrize("wait", [6.0, 35.0])
def test_where_the_trainer_waits_as_well_rollouters_are_not_taken_away(wait: float) -> None:
    """Both sides wait in turns: with fewer Rollouters the Trainer would wait longer. The lead is too short."""
    columns = {"time.wait_s": wait, "time.update_actor_s": 60.0}
    context = context_of(steady_run(columns, NODES, trainer=16, rollout=48), traced({"samples": wait / 100}, {"quota": 0.5}))
    assert context.owner() == "rollout"
    assert excess_rollouters(context) is None
    assert short_lead(context) is not None


def test_pauses_while_the_trainer_saves_are_no_excess() -> None:
    timeline = traced({"samples": 0.01}, {"quota": 0.3}, devices=(32, 48))
    run = steady_run(BUSY, NODES, trainer=32, rollout=48)
    found = excess_rollouters(context_of(run, replace(timeline, paused_by_checkpoints=0.1)))
    assert found is not None and found.action is not None
    assert found.action.gain_expected == pytest.approx(80 / (32 + 40))  # 38.4 devices, 40 in whole nodes
    assert excess_rollouters(context_of(run, replace(timeline, paused_by_checkpoints=0.25))) is None


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


def test_devices_are_moved_at_the_same_total_to_where_both_sides_do_as_much() -> None:
    """Nodes of 8: 6 train, 6 generate, and the Trainer waits 60 %: per device, generation does 0.4 of training.

    With 4 Trainer nodes the Trainer could do 4 and the Rollouters 8 x 0.4 = 3.2; with 3, 3 and 3.6. Now it is 2.4.
    """
    config = {**NODES, "trainer.nnodes": 6, "trainer.n_gpus_per_node": 8}
    run = steady_run({"time.wait_s": 60.0, "time.update_actor_s": 40.0}, config, trainer=48, rollout=48)
    found = trainer_waits(context_of(run))
    assert found is not None and found.action is not None
    assert "32 + 64" in found.action.text
    assert found.action.gain_expected == pytest.approx(3.2 / 2.4)
    assert f"{ROLLOUT_NODES}=8 trainer.nnodes=4" in found.fragment


def test_where_the_quota_may_pause_the_rollouters_a_log_alone_does_not_tell_what_to_do() -> None:
    config = {"async_training.staleness_threshold": 0.3, "async_training.trigger_parameter_sync_step": 8}
    columns = {"time.wait_s": 15.0, "time.update_actor_s": 80.0, "idle.rollout_reported": 0.01}
    found = trainer_waits(context_of(steady_run(columns, config, mode="fully_async")))
    assert found is not None and found.action is not None
    assert found.action.direction == "check"
    assert "or they are paused" in found.body
    assert found.fragment == ""


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


def test_a_logged_pause_shows_too_many_rollouters_as_a_lower_bound() -> None:
    """The Trainer waits 1 %; the log's idle ratio is 0.3, of which weight syncs of 5 s in 100 s are 0.05."""
    config = {"async_training.staleness_threshold": 1.0, "async_training.trigger_parameter_sync_step": 4}
    columns = {**BUSY, "time.weight_sync_s": 5.0, "idle.rollout_reported": 0.3}
    run = steady_run(columns, config, mode="fully_async", trainer=16, rollout=32)
    context = context_of(run, profile(run).runs[run.run_id].timeline)
    found = excess_rollouters(context)
    assert found is not None and found.action is not None
    assert context.rollout_waits_at_least == pytest.approx(0.25, abs=0.005)
    assert "at least 25" in found.title
    assert found.action.gain_expected is None


def test_a_count_that_no_number_of_nodes_gives_is_probed_with_fewer_nodes() -> None:
    """32 devices on 4 nodes of 8 idle 13 %: 28 would do, which is no whole node; 24 are three."""
    run = steady_run(BUSY, {**NODES, ROLLOUT_NODES: 4}, trainer=16, rollout=32)
    found = excess_rollouters(context_of(run, traced({"samples": 0.01}, {"quota": 0.13}, devices=(16, 32))))
    assert found is not None and found.action is not None
    assert "28 instead of 32" in found.action.text
    assert f"{ROLLOUT_NODES}=3" in found.fragment


def test_without_a_lead_of_a_version_a_log_does_not_tell_slow_rollouters_from_paused_ones() -> None:
    found = trainer_waits(context_of(steady_run({"time.wait_s": 30.0, "time.update_actor_s": 60.0}, {**NODES, WARM_UP: 0})))
    assert found is not None and found.action is not None
    assert (found.action.direction, found.fragment) == ("check", "")
