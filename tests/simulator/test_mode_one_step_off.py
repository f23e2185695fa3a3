from __future__ import annotations

import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.spans import device_seconds


def test_generation_of_the_next_batch_hides_behind_training() -> None:
    # Step 1 waits 10 s for the first batch. Then: 3 s of weight sync, 24 s of training, while the next batch takes 10 s.
    simulation = run_pipeline(tiny(mode="one_step_off"))
    assert [record.step_s for record in simulation.steps] == pytest.approx([37.0, 27.0, 27.0])
    assert [record.seconds["gen"] for record in simulation.steps] == pytest.approx([10.0, 0.0, 0.0])
    assert simulation.steps[1].seconds == pytest.approx(
        {"gen": 0.0, "sync_rollout_weights": 3.0, "old_log_prob": 0.0, "adv": 0.0, "update_actor": 24.0}
    )
    assert simulation.steps[1].nested == pytest.approx({"generate_async": 10.0, "update_weights": 3.0})


def test_a_slow_rollout_sets_the_pace() -> None:
    # 100 tokens at 1 token/s: the next batch begins after the sync and takes 100 s; the Trainer waits for 100 - 24 of them.
    simulation = run_pipeline(tiny(mode="one_step_off", steps=4, rollout__decode_tokens_per_s=1))
    assert [record.step_s for record in simulation.steps][1:] == pytest.approx([103.0] * 3)
    assert [record.seconds["gen"] for record in simulation.steps][1:] == pytest.approx([76.0] * 3)


def test_samples_are_one_step_stale_but_for_the_first() -> None:
    simulation = run_pipeline(tiny(mode="one_step_off", steps=5))
    behind = [record.step - 1 - int(batch.last_version[0]) for record in simulation.steps for batch in record.batches]
    assert behind == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert [sync.version for sync in simulation.syncs] == [0, 1, 2, 3, 4]


def test_a_replica_that_is_done_waits_for_the_longest_and_then_for_the_next_batch() -> None:
    # Three responses on two replicas, one at a time: 20 s and 10 s. A step is 3 s of sync and 3 x 12 s of training, in which
    # the second replica waits 10 s for the first, and both wait 16 s for the Trainer. The last step generates nothing.
    scenario = tiny(mode="one_step_off", cluster__rollout_nodes=2, workload__prompts_per_step=3, rollout__max_sequences=1)
    simulation = run_pipeline(scenario)
    steady = [(record.begin_s, record.end_s) for record in simulation.steps[1:-1]]
    found = device_seconds(simulation.lanes, "rollout", steady)
    assert found.busy == pytest.approx({"generate": 30.0})
    assert found.idle == pytest.approx({"long_tail": 10.0, "quota": 32.0, "weight_sync": 6.0})


def test_validation_and_checkpoint_follow_the_step() -> None:
    schedule = {"validate_every_steps": 2, "validation_s": 7, "checkpoint_every_steps": 2, "checkpoint_s": 4}
    simulation = run_pipeline(tiny(mode="one_step_off", schedule={"startup_s": 5, **schedule}))
    assert [record.step_s for record in simulation.steps] == pytest.approx([37.0, 27.0, 27.0])
    assert [record.testing_s for record in simulation.steps] == [None, pytest.approx(7.0), pytest.approx(7.0)]
    assert [record.seconds.get("save_checkpoint") for record in simulation.steps] == [None, 4.0, 4.0]
    assert simulation.end_s == pytest.approx(5 + 37 + 27 + 11 + 27 + 11)
