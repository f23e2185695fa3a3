from __future__ import annotations

import pytest
from support.mode_scenarios import mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.spans import device_seconds

#: Two devices that train and generate; each decodes one response at a time. A warm-up batch of two prompts is ahead.
AHEAD = {
    "mode": "colocate_async",
    "cluster__trainer_nodes": 2,
    "cluster__rollout_nodes": 0,
    "sync__warmup_batches": 1,
    "rollout__max_sequences": 1,
}


def test_a_step_generates_a_batch_and_trains_on_the_same_devices() -> None:
    # 10 s for two responses, 2 x 7 s of training (110 tokens over two devices), 3 s of sync; two prompts are always ahead.
    simulation = run_pipeline(tiny(**AHEAD))
    assert [record.step_s for record in simulation.steps] == pytest.approx([27.0] * 3)
    steps = [(record.begin_s, record.end_s) for record in simulation.steps]
    found = device_seconds(simulation.lanes, "trainer", steps)
    assert found.devices == 2
    assert found.busy == pytest.approx({"generate": 60.0, "update_actor": 84.0})
    assert found.idle == pytest.approx({"weight_sync": 18.0})


def test_the_oldest_prompts_are_trained_first() -> None:
    simulation = run_pipeline(tiny(**AHEAD, steps=4))
    versions = [
        (int(batch.first_version[0]), int(batch.last_version[0])) for record in simulation.steps for batch in record.batches
    ]
    # What is ahead begins as soon as the slots of the batch before are free, and ends with the weights of its own step.
    assert versions == [(0, 0), (0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]
    assert len(simulation.unfinished) == 2


def test_putting_the_engines_to_sleep_is_part_of_gen() -> None:
    simulation = run_pipeline(tiny(**AHEAD, hybrid__to_trainer_s=2))
    assert simulation.steps[1].seconds["gen"] == pytest.approx(12.0)
    assert simulation.steps[1].batches[0].wait_s == pytest.approx(6.0)  # half of it
    found = device_seconds(simulation.lanes, "trainer", [(0.0, simulation.end_s)])
    assert found.idle["switching"] == pytest.approx(2 * 2 * 3)


def test_interrupted_responses_go_on_with_the_new_weights() -> None:
    simulation = run_pipeline(mode_scenario("colocate_async"))
    batches = [batch for record in simulation.steps for batch in record.batches]
    assert sum(int((batch.last_version > batch.first_version).sum()) for batch in batches) > 0


def test_sync_mode_leaves_nothing_over_and_nothing_stale() -> None:
    simulation = run_pipeline(mode_scenario("sync"))
    for record in simulation.steps:
        for batch in record.batches:
            assert (batch.first_version == record.step - 1).all()
            assert (batch.last_version == record.step - 1).all()
    assert not simulation.unfinished
    assert not simulation.left_over
