from __future__ import annotations

import pytest
from support.tiny_scenarios import noisy, tiny, tiny_sync

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_metrics import Metrics, step_metrics, validation_metrics


def lines(scenario: Scenario) -> list[Metrics]:
    curves = LearningCurves(scenario)
    accuracy = [None if record.testing_s is None else 0.5 for record in run_pipeline(scenario).steps]
    records = run_pipeline(scenario).steps
    return [step_metrics(scenario, record, curves, value) for record, value in zip(records, accuracy, strict=True)]


def test_the_times_of_a_step_worked_out_by_hand() -> None:
    metrics = lines(tiny())[1]
    assert {key: value for key, value in metrics.items() if key.startswith("timing_s/")} == {
        "timing_s/gen": 10.0,
        "timing_s/old_log_prob": 0.0,
        "timing_s/adv": 0.0,
        "timing_s/update_actor": 24.0,
        "timing_s/update_weights": 3.0,
        "timing_s/step": 37.0,
    }
    assert metrics["perf/total_num_tokens"] == 220
    # Summed over the two mini-batches of 110 tokens; the first waited 10 s for 100 response tokens, the second not at all.
    assert metrics["timing_per_token_ms/update_actor"] == pytest.approx(2 * 12_000 / 110)
    assert metrics["timing_per_token_ms/gen"] == pytest.approx(10_000 / 100)


@pytest.mark.parametrize(
    ("scenario", "devices"),
    [
        (tiny(cluster__rollout_nodes=3), 4),  # Trainer and Rollouters
        (tiny(cluster__rollout_nodes=3, framework__version="2026-07-20"), 4),
        (tiny(cluster__rollout_nodes=3, framework__version="2026-07-19"), 1),  # before pull request 7049: the Trainer only
        (tiny_sync(), 2),
    ],
)
def test_the_denominator_of_throughput(scenario: Scenario, devices: int) -> None:
    for metrics in lines(scenario):
        implied = metrics["perf/total_num_tokens"] / (metrics["perf/time_per_step"] * metrics["perf/throughput"])
        assert implied == pytest.approx(devices, rel=1e-8)


def test_testing_is_outside_of_the_step_and_a_checkpoint_inside() -> None:
    metrics = lines(noisy(steps=5))
    for step in metrics:
        parts = sum(
            v for k, v in step.items() if k.startswith("timing_s/") and k not in ("timing_s/step", "timing_s/testing")
        )
        assert step["timing_s/step"] == pytest.approx(parts, rel=1e-8)
    assert ["timing_s/testing" in step for step in metrics] == [False, False, False, True, True]
    assert ["timing_s/save_checkpoint" in step for step in metrics] == [False, False, False, False, True]


def test_validation_keys_come_before_the_times() -> None:
    keys = list(lines(noisy(steps=4))[3])
    validation = [index for index, key in enumerate(keys) if key.startswith("val-")]
    assert validation
    assert max(validation) < keys.index("timing_s/gen")


def test_staleness_spans_and_versions() -> None:
    metrics = lines(tiny(steps=3, sync__warmup_batches=1))[2]  # sampled from version 1, trained by version 2
    assert metrics["training/off_policy/trajectory_staleness/mean"] == 1.0
    assert metrics["training/off_policy/trajectory_staleness_worst/max"] == 1
    assert metrics["training/off_policy/trajectory_spans/max"] == 1


def test_evicted_samples_are_logged_where_there_are_any() -> None:
    logged = [
        step.get("training/off_policy/evicted_samples")
        for step in lines(noisy(sync__warmup_batches=3, sync__max_off_policy_threshold=1, steps=8))
    ]
    assert any(logged)
    assert 0 not in logged


def test_lengths_of_a_step() -> None:
    metrics = lines(tiny(workload__max_response_tokens=100))[0]
    assert metrics["response_length/mean"] == metrics["response_length/max"] == 100.0
    assert metrics["response_length/clip_ratio"] == 1.0
    assert metrics["prompt_length/mean"] == 10.0
    assert metrics["prompt_length/clip_ratio"] == 0.0


def test_the_headline_of_a_validation_is_the_mean_over_the_most_samples() -> None:
    metrics = validation_metrics(tiny(), 0.5)
    assert metrics["val-core/simulated-math/acc/mean@16"] == 0.5
    core = {key for key in metrics if key.startswith("val-core/")}
    assert all("@16" in key for key in core)
    assert "val-aux/simulated-math/acc/best@2/mean" in metrics


def test_tokens_of_a_rank_before_and_after_balancing() -> None:
    # Two ranks and mini-batches of one sequence of 111 tokens: one rank has it all, or each has 55 or 56.
    metrics = lines(tiny(cluster__trainer_nodes=2, workload__response_tokens_mean=101))[0]
    assert {key.removeprefix("global_seqlen/"): value for key, value in metrics.items() if "seqlen" in key} == {
        "min": 0.0,
        "max": 111.0,
        "minmax_diff": 111.0,
        "balanced_min": 55.0,
        "balanced_max": 56.0,
        "mean": 55.5,
    }
