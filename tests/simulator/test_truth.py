from __future__ import annotations

import pytest
from support.tiny_scenarios import noisy, tiny, tiny_sync

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.truth import describe, steady_steps


def test_the_truth_of_the_tiny_run() -> None:
    # Steps of 37, 27 and 27 s with 220 tokens each, on two devices; step 1 is warm-up (it trains the warm-up batch).
    truth = describe(run_pipeline(tiny(sync__warmup_batches=1)), None)
    assert truth["steps"] == {"count": 3, "warmup": [1]}
    steady = truth["throughput"]["steady"]
    assert steady["tokens_per_s"] == pytest.approx(220 / 27, rel=1e-8)
    assert steady["tokens_per_s_per_device"] == pytest.approx(110 / 27, rel=1e-8)
    assert steady["prompts_per_s"] == pytest.approx(2 / 27, rel=1e-8)
    assert truth["throughput"]["warmup"]["step_s"] == 37.0
    assert truth["throughput"]["steady_noise_free"] is None
    rollout = truth["device_time"]["steady_steps"]["rollout"]
    assert rollout["idle_fraction_by_cause"] == pytest.approx({"quota": 14 / 27, "weight_sync": 3 / 27}, rel=1e-8)
    assert rollout["idle_fraction"] == pytest.approx(17 / 27, rel=1e-8)
    assert truth["bubble_owner"] == "rollout"
    assert truth["lead_mini_batches"] == {"mean": 2.5, "min": 2.0, "max": 3.0}
    # Submitted: 2 before training and 2 a step; the last 2 are finished but not trained.
    assert truth["tokens"] == {"submitted": 880, "trained": 660, "evicted": 0, "left_over": 220, "unfinished": 0}


def test_the_run_covers_everything_from_start_up_on() -> None:
    run = describe(run_pipeline(tiny()), None)["device_time"]["run"]
    assert run["trainer"]["idle_device_s"] == {"samples": 30.0, "startup": 5.0, "weight_sync": 9.0}
    assert run["trainer"]["busy_device_s"] == {"update_actor": 72.0}
    assert run["rollout"]["busy_device_s"] == {"generate": 30.0}


@pytest.mark.parametrize(("batches", "steps"), [(0, [1]), (1, [1]), (1.5, [1, 2]), (2, [1, 2])])
def test_the_warm_up_is_step_1_and_what_trains_earlier_prompts(batches: float, steps: list[int]) -> None:
    assert describe(run_pipeline(tiny(sync__warmup_batches=batches)), None)["steps"]["warmup"] == steps


def test_sync_mode_has_one_side_and_no_lead() -> None:
    truth = describe(run_pipeline(tiny_sync()), None)
    assert truth["device_time"]["run"].keys() == {"trainer"}
    assert truth["lead_mini_batches"] is None
    assert truth["bubble_owner"] == "neither"


def test_a_longer_warm_up_covers_the_steps_that_train_it() -> None:
    simulation = run_pipeline(noisy(sync__warmup_batches=2.5))
    assert [record.step for record in steady_steps(simulation)] == list(range(4, 13))


def test_the_noise_free_twin_does_the_same_work() -> None:
    scenario = noisy()
    twin = run_pipeline(noisy(noise={}))
    truth = describe(run_pipeline(scenario), twin)["throughput"]
    assert truth["steady_noise_free"]["tokens_per_s"] == pytest.approx(truth["steady"]["tokens_per_s"], rel=0.1)
    assert truth["steady_noise_free"]["step_s"] != truth["steady"]["step_s"]
