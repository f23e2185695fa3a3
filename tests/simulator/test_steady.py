from __future__ import annotations

import pytest
from support.mode_scenarios import mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.steady import seconds_by_timer, split_steps, throughput, warmup_steps


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"sync__warmup_batches": 0}, 1),
        ({"sync__warmup_batches": 2.5}, 3),
        ({"mode": "one_step_off", "sync__warmup_batches": 3}, 1),
        ({"mode": "colocate_async", "cluster__rollout_nodes": 0, "sync__warmup_batches": 2}, 2),
        ({"mode": "fully_async", "fully_async__trigger_parameter_sync_step": 2}, 2),
        (
            {
                "mode": "fully_async",
                "fully_async__trigger_parameter_sync_step": 2,
                "fully_async__staleness_threshold": 0,
            },
            1,
        ),
    ],
)
def test_the_warm_up(changes: dict[str, object], steps: int) -> None:
    assert warmup_steps(tiny(**changes)) == steps


def test_a_version_of_fully_async_is_all_of_its_rounds() -> None:
    simulation = run_pipeline(mode_scenario("fully_async"))  # four rounds a version, two versions of warm-up
    warmup, steady = split_steps(simulation)
    assert (len(warmup), len(steady)) == (8, 40)
    found = throughput(simulation.scenario, steady)
    assert found is not None
    assert found["steps"] == 10
    assert found["step_s_mean"] == pytest.approx(sum(record.step_s for record in steady) / 10)
    assert found["prompts_per_s"] == pytest.approx(160 / found["step_s"])


def test_the_timers_of_a_step_add_up_to_the_step() -> None:
    # One of three steps saves (4 s), and the first has 6 s of extra work that is in no timer.
    scenario = tiny(trainer__first_step_extra_s=6, schedule__checkpoint_every_steps=3, schedule__checkpoint_s=4)
    simulation = run_pipeline(scenario)
    found = seconds_by_timer(scenario, simulation.steps)
    assert found == pytest.approx(
        {
            "gen": 10.0,
            "old_log_prob": 0.0,
            "adv": 0.0,
            "update_actor": 24.0,
            "save_checkpoint": 4 / 3,
            "update_weights": 3.0,
            "other": 2.0,
            "step": 37 + 10 / 3,
        }
    )


@pytest.mark.parametrize("mode", ["one_step_off", "fully_async"])
def test_a_checkpoint_outside_of_the_step_is_left_out(mode: str) -> None:
    simulation = run_pipeline(mode_scenario(mode))
    found = seconds_by_timer(simulation.scenario, simulation.steps)
    assert "save_checkpoint" not in found
    assert sum(value for timer, value in found.items() if timer != "step") == pytest.approx(found["step"])


def test_without_steps_there_is_no_throughput() -> None:
    assert throughput(tiny(), []) is None
    assert seconds_by_timer(tiny(), []) == {}
