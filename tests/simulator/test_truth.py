from __future__ import annotations

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import noisy, tiny, tiny_sync

from rlreport.run.spans import BUSY, IDLE_CAUSES
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.steady import steady_steps
from rlreport.simulator.truth import describe


def test_the_truth_of_the_tiny_run() -> None:
    # Steps of 37, 27 and 27 s with 220 tokens each, on two devices; step 1 is warm-up (it trains the warm-up batch).
    truth = describe(run_pipeline(tiny(sync__warmup_batches=1)), None)
    assert truth["steps"] == {"count": 3, "warmup": [1], "rounds_per_step": 2}
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
    assert truth["lead_mini_batches"]["mean"] == 2.5
    assert truth["seconds_per_step"]["update_actor"] == 24.0
    assert truth["memory"] == {"device_gb": 64.0, "largest_allocated_gb": pytest.approx(30 + 1.2 * 0.110)}
    assert truth["quality"] == {"reward_sd": 0.015}
    assert truth["quota"] is None
    assert truth["parameters"]["sync.warmup_batches"] == 1
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


@pytest.mark.parametrize("mode", MODES)
def test_work_and_causes_have_the_names_of_the_reports_timeline(mode: str) -> None:
    for side in describe(run_pipeline(mode_scenario(mode)), None)["device_time"]["run"].values():
        assert set(side["busy_device_s"]) <= BUSY
        assert set(side["idle_device_s"]) <= set(IDLE_CAUSES)


@pytest.mark.parametrize("mode", MODES)
def test_busy_and_idle_add_up_in_the_truth_of_every_mode(mode: str) -> None:
    truth = describe(run_pipeline(mode_scenario(mode)), None)
    for side, found in truth["device_time"]["run"].items():
        total = sum(found["busy_device_s"].values()) + sum(found["idle_device_s"].values())
        assert total == pytest.approx(truth["devices"][side] * truth["wall_s"], rel=1e-8)  # nine digits are written


@pytest.mark.parametrize(
    ("rate", "owner"),
    [(1.0, "trainer"), (30.0, "rollout")],
)
@pytest.mark.parametrize("mode", ["separate_async", "one_step_off", "fully_async"])
def test_the_slower_side_does_not_own_the_bubble(mode: str, rate: float, owner: str) -> None:
    # 24 s of training a step. At 1 token/s the responses of a step take 100 s, at 30 tokens/s 3.3 s.
    knobs = {"fully_async__trigger_parameter_sync_step": 2, "fully_async__staleness_threshold": 1.0}
    scenario = tiny(mode=mode, steps=8, sync__warmup_batches=1, rollout__decode_tokens_per_s=rate, **knobs)
    assert describe(run_pipeline(scenario), None)["bubble_owner"] == owner


def test_the_truth_of_fully_async_counts_versions() -> None:
    truth = describe(run_pipeline(mode_scenario("fully_async")), None)
    assert truth["steps"] == {"count": 12, "warmup": [1, 2], "rounds_per_step": 4}
    assert truth["throughput"]["all"]["steps"] == 12
    assert truth["quota"] == {
        "required_samples": 4,
        "max_required_samples": 24,  # int(4 x 1.5 x 4)
        "max_queue_size": 24,
        "max_concurrent_samples": 8,  # four replicas of two
        "total_train_steps": 12,
    }


def test_staleness_makes_the_reward_scatter_more() -> None:
    quality = {"reward_noise": 0.01, "noise_per_version": 2.0}
    fresh, stale = (
        describe(run_pipeline(tiny(steps=8, sync__warmup_batches=batches, quality=quality)), None)["quality"]["reward_sd"]
        for batches in (0, 2)
    )
    assert (fresh, stale) == (0.01, pytest.approx(0.01 * (1 + 2 * 2)))
