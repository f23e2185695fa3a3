from __future__ import annotations

import time

import pytest

from rlreport.dialects.span_names import (
    GAUGE_NAMES,
    LANE_ROWS,
    NAME_ROWS,
    activity_of,
    gauge_name,
    known_activity,
    lane_row,
)
from rlreport.run.spans import ACTIVITIES, Activity, LaneSide


@pytest.mark.parametrize(
    ("name", "activity"),
    [
        # RL-Insight's states and the roles of its profiles.
        ("vllm_generate", "generate"),
        ("agent_loop_rollout_replica_0", "generate"),
        ("agent_loop_rollout_replica_12", "generate"),
        ("actor_compute_log_prob", "old_log_prob"),
        ("actor_update", "update_actor"),
        ("ref_compute_log_prob", "ref"),
        ("train_batch", "train"),
        # verl's workers, fused and through Ray.
        ("actor_rollout_compute_log_prob", "old_log_prob"),
        ("actor_rollout_ref_update_actor", "update_actor"),
        ("ray::WorkerDict.actor_rollout_generate_sequences()", "generate"),
        ("task::WorkerDict.ref_compute_ref_log_prob", "ref"),
        ("critic_compute_values", "values"),
        ("update_critic", "update_critic"),
        ("rm_compute_rm_score", "reward"),
        # verl's timers.
        ("adv", "advantage"),
        ("testing", "validate"),
        ("save_checkpoint", "checkpoint"),
        ("update_weights", "weight_sync"),
        ("switch_to_trainer", "switch"),
        # AReaL.
        ("train.rollout", "wait"),
        ("train.recompute_logp", "old_log_prob"),
        ("train.ppo_update", "update_actor"),
        ("train.update_weights", "weight_sync"),
        ("train.save", "checkpoint"),
        # ROLL, slime, NeMo-RL, SkyRL, OpenRLHF, prime-rl, open-instruct.
        ("model_update", "weight_sync"),
        ("train_wait", "wait"),
        ("actor_train", "update_actor"),
        ("timing/train/exposed_generation", "wait"),
        ("policy_training", "update_actor"),
        ("wait_for_generation_buffer", "wait"),
        ("ppo_train", "update_actor"),
        ("broadcast", "weight_sync"),
        ("forward_backward", "train"),
        ("time/trainer_waiting_for_data", "wait"),
        # Numbers at the end, and letters of any size.
        ("Update_Actor #12", "update_actor"),
        ("generate [3]", "generate"),
        ("gen_5", "generate"),
    ],
)
def test_names_of_all_frameworks(name: str, activity: Activity) -> None:
    assert activity_of(name) == activity


@pytest.mark.parametrize(
    "name", ["", "aten::mm", "ProfilerStep", "generation_of_something", "3", "()", "::", "no such thing"]
)
def test_other_names_are_other(name: str) -> None:
    assert known_activity(name) is None
    assert activity_of(name) == "other"


def test_the_timer_of_generation_is_a_wait_where_the_trainer_does_not_generate() -> None:
    assert activity_of("gen", "sync") == "generate"
    assert activity_of("timing_s/gen", "colocate_async") == "generate"
    assert activity_of("timing_s/gen", "separate_async") == "wait"
    assert activity_of("gen", "fully_async") == "wait"
    assert activity_of("vllm_generate", "fully_async") == "generate"


def test_every_activity_has_names_and_no_name_has_two() -> None:
    assert {row.activity for row in NAME_ROWS} == set(ACTIVITIES)
    meanings: dict[str, set[Activity]] = {}
    for row in NAME_ROWS:
        assert row.source
        for name in row.names:
            assert name == name.lower()
            meanings.setdefault(name, set()).add(row.activity)
            assert activity_of(name) == row.activity
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("lane", "side"),
    [
        *(("replica_0", "rollout"), ("rollout/replica_3", "rollout"), ("rank_7", "trainer"), ("actor/rank_0", "trainer")),
        *(("trainer", "trainer"), ("trainer_1", "trainer"), ("trainer/replica_0", "hybrid"), ("hybrid_replica_1", "hybrid")),
        *(("rollout/rank_0", "rollout"), ("actor_infer/rank_0", "rollout"), ("vLLMHttpServer@10.0.0.1/worker:a", "rollout")),
        *(("WorkerDict@10.0.0.1/worker:b", "trainer"), ("FullyAsyncRollouter@h/w", "rollout"), ("SGLangEngine", "rollout")),
        *(("FullyAsyncTrainer@h/w", "trainer"), ("inference", "rollout"), ("learner 3", "trainer")),
        *(("roll", "unknown"), ("driver", "unknown"), ("TaskRunner@h/w", "unknown")),
    ],
)
def test_sides_of_lanes(lane: str, side: LaneSide) -> None:
    row = lane_row(lane)
    assert row is not None
    assert row.side == side


@pytest.mark.parametrize("lane", ["1/1", "worker_process_3", "gpu 0", "", "rankings", "my replica", "mainframe"])
def test_other_lanes_have_no_row(lane: str) -> None:
    assert lane_row(lane) is None


def test_quantities() -> None:
    assert gauge_name("vllm:num_requests_running") == gauge_name("sglang:num_running_reqs") == "rollout.active_requests"
    assert gauge_name("tq_depth") == "tq_depth"
    assert all(gauge_name(name) == canonical for name, canonical in GAUGE_NAMES.items())
    assert gauge_name("open:vllm_generate") == "rollout.active_requests"
    assert gauge_name("open:actor_update") == "open:actor_update"


@pytest.mark.parametrize("name", ["1" * 200 + "x", "_" * 200 + "x", "(" * 200, "a." * 100, " 1" * 99 + "x", "replica_" * 25])
def test_hostile_names_take_no_time(name: str) -> None:
    known_activity.cache_clear()
    before = time.process_time()
    known_activity(name)
    lane_row(name)
    assert time.process_time() - before < 0.2


def test_every_lane_row_says_what_it_is() -> None:
    assert all(row.what for row in LANE_ROWS)
