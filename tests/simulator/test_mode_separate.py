"""separate_async with engines on the Trainer's devices; test_pipeline.py has the mode without them."""

from __future__ import annotations

import pytest
from support.mode_scenarios import mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.spans import device_seconds

#: One replica of the Rollouters and one on the Trainer's device: together they validate in half the time.
HELP = {
    "hybrid__validates": True,
    "hybrid__to_rollout_s": 1,
    "hybrid__to_trainer_s": 0.5,
    "schedule__validate_every_steps": 2,
    "schedule__validation_s": 8,
}
SWITCH = {"hybrid__enable_switch": True, "hybrid__to_rollout_s": 1, "hybrid__to_trainer_s": 0.5}


def test_the_trainers_devices_help_to_validate_and_are_taken_back_in_the_next_step() -> None:
    # After start-up and after a validation the devices are lent: the next step begins with taking them back, 0.5 s.
    simulation = run_pipeline(tiny(**HELP))
    assert [record.step_s for record in simulation.steps] == pytest.approx([37.5, 37.0, 37.5])
    assert [record.seconds.get("switch_to_trainer") for record in simulation.steps] == [0.5, None, 0.5]
    assert [record.testing_s for record in simulation.steps] == [None, pytest.approx(1 + 4), pytest.approx(1 + 4)]
    found = device_seconds(simulation.lanes, "trainer", [(0.0, simulation.end_s)])
    assert found.busy["validate"] == pytest.approx(8.0)
    assert found.idle["switching"] == pytest.approx(1 + 1 + 0.5 + 0.5)
    validation = simulation.validations[0]
    assert (validation.version, validation.on_trainer, validation.switch_s) == (2, True, 1.0)


def test_before_training_the_devices_are_lent_already() -> None:
    simulation = run_pipeline(tiny(**HELP, schedule__validate_before_training=True))
    assert simulation.initial_validation_s == pytest.approx(5 + 4)


def test_replicas_on_the_trainers_devices_are_numbered_first() -> None:
    assert [(lane.name, lane.replica) for lane in run_pipeline(tiny()).lanes] == [("trainer", None), ("replica_0", 0)]
    assert [(lane.name, lane.replica) for lane in run_pipeline(tiny(**HELP)).lanes] == [("trainer", None), ("replica_1", 1)]
    switched = run_pipeline(tiny(**SWITCH)).lanes
    assert [(lane.name, lane.replica, lane.first_device) for lane in switched] == [("trainer_0", 0, 0), ("replica_1", 1, 0)]


def test_with_step_switching_both_sides_generate_until_the_threshold() -> None:
    # The threshold is round(0.4 x 2) = 1 prompt. Both replicas generate one of the two prompts in 10 s (`switch_wait`), the
    # Trainer takes its device back in 0.5 s, trains 24 s, syncs 3 s and lends the device again in 1 s, but in the last step.
    simulation = run_pipeline(tiny(**SWITCH))
    assert [record.step_s for record in simulation.steps] == pytest.approx([38.5, 38.5, 37.5])
    assert simulation.steps[1].seconds == pytest.approx(
        {
            "switch_wait": 10.0,
            "switch_to_trainer": 0.5,
            "gen": 0.0,
            "old_log_prob": 0.0,
            "adv": 0.0,
            "update_actor": 24.0,
            "switch_to_rollout": 1.0,
            "update_weights": 3.0,
        }
    )
    decisions = [record.switch for record in simulation.steps]
    assert [decision.should_switch_to_rollout for decision in decisions if decision] == [True, True, False]
    steps = [(record.begin_s, record.end_s) for record in simulation.steps]
    assert device_seconds(simulation.lanes, "trainer", steps).busy["generate"] == pytest.approx(30.0)


def test_sequences_survive_the_return_of_the_trainers_devices() -> None:
    # Two slots and ten prompts of 100 tokens: the Trainer takes its device back while both of its sequences are half done.
    many = {"workload__prompts_per_step": 10, "trainer__mini_batch_prompts": 2, "rollout__max_sequences": 2}
    simulation = run_pipeline(tiny(**SWITCH, **many, steps=2))
    trained = sum(record.tokens for record in simulation.steps)
    kept = sum(group.tokens for group in (*simulation.left_over, *simulation.unfinished))
    assert simulation.submitted_tokens == trained + kept
    assert trained == 2 * 10 * 110


def test_lending_the_trainers_devices_shortens_the_steps_of_a_rollout_bound_run() -> None:
    slow = {"rollout__decode_tokens_per_s": 8, "schedule": {"startup_s": 5}, "noise": {}}
    without, helped = (run_pipeline(mode_scenario(name, **slow)) for name in ("separate_async", "switch"))
    assert helped.end_s < 0.95 * without.end_s


def test_validation_and_switching_go_together() -> None:
    scenario = mode_scenario("switch", hybrid__validates=True)
    simulation = run_pipeline(scenario)
    assert all(validation.on_trainer for validation in simulation.validations)
    assert all(sum(record.seconds.values()) == pytest.approx(record.step_s, rel=1e-9) for record in simulation.steps)
