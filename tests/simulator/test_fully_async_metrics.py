from __future__ import annotations

from dataclasses import replace

import pytest
from support.mode_scenarios import mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.async_events import VersionFacts
from rlreport.simulator.fully_async_metrics import (
    aggregate,
    aggregation_of,
    async_facts,
    fully_async_calls,
    occupancy,
    rollouter_metrics,
)
from rlreport.simulator.log_call import LogCall
from rlreport.simulator.log_calls import run_log
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.records import Simulation

FULLY_ASYNC = run_pipeline(mode_scenario("fully_async"))


def aggregates(simulation: Simulation) -> list[LogCall]:
    return [call for call in run_log(simulation).calls if "timing_s/step" in call.values]


@pytest.mark.parametrize(
    ("key", "how"),
    [
        ("timing_s/gen", "sum"),
        ("timing_s/timing_s/param_sync", "sum"),
        ("timing_s/agent_loop/slowest/response_length", "sum"),  # whatever is below timing_s/, lengths too
        ("timing_s/agent_loop/tool_calls/max", "max"),
        ("timing_per_token_ms/gen", "min"),  # "timing" contains "min"
        ("perf/total_num_tokens", "sum"),
        ("perf/time_per_step", "sum"),
        ("fully_async/total_wait_time", "sum"),
        ("fully_async/count/total_generated_samples", "last"),
        ("fully_async/count/staleness_samples", "mean"),
        ("fully_async/partial/total_partial_num", "sum"),
        ("fully_async/partial/partial_ratio", "mean"),
        ("fully_async/partial/max_partial_span", "max"),
        ("fully_async/processing_time/avg", "mean"),
        ("training/global_step", "last"),
        ("training/epoch", "mean"),
        ("dynamic_resource/mq_size", "last"),
        ("response_length/max", "max"),
        ("response_length/min", "min"),
        ("response_length/mean", "mean"),
        ("response_length/clip_ratio", "mean"),
        ("rollout_corr/rollout_is_mean", "mean"),
        ("actor/perf/max_memory_allocated_gb", "max"),
        ("actor/lr", "mean"),
        ("critic/score/mean", "mean"),
    ],
)
def test_how_a_key_is_aggregated(key: str, how: str) -> None:
    assert aggregation_of(key) == how


def test_two_rounds_by_hand() -> None:
    def round_of(gen_s: float, step_s: float, tokens: int, low: float, high: float, score: float) -> dict[str, float]:
        return {
            "global_seqlen/min": low,
            "global_seqlen/max": high,
            "global_seqlen/minmax_diff": high - low,
            "critic/score/mean": score,
            "timing_s/gen": gen_s,
            "timing_s/step": step_s,
            "perf/total_num_tokens": tokens,
            "perf/time_per_step": step_s,
            "perf/throughput": tokens / step_s,
            "dynamic_resource/train_compute_time_s": step_s - gen_s,
            "dynamic_resource/train_allocated_time_s": step_s,
        }

    rounds = [round_of(10.0, 40.0, 1000, 5.0, 9.0, 0.2), round_of(30.0, 60.0, 5000, 4.0, 7.0, 0.6)]
    scenario = mode_scenario("fully_async")  # 2 Trainer and 4 Rollout devices
    line = aggregate(scenario, rounds, {"dynamic_resource/rollout_resource_utilization": 0.9})
    assert line == {
        "global_seqlen/min": 4.0,
        "global_seqlen/max": 9.0,
        "global_seqlen/minmax_diff": 5.0,
        "critic/score/mean": 0.4,
        "timing_s/gen": 40.0,
        "timing_s/step": 100.0,
        "perf/total_num_tokens": 6000.0,
        "perf/time_per_step": 100.0,
        "perf/throughput": 10.0,  # 6,000 tokens / (100 s x 6 devices)
        "dynamic_resource/train_compute_time_s": 60.0,
        "dynamic_resource/train_allocated_time_s": 100.0,
        "fully_async/trainer/idle_ratio": 0.4,
        "dynamic_resource/train_resource_utilization": 0.6,
        "dynamic_resource/rollout_resource_utilization": 0.9,
        "dynamic_resource/resource_utilization": 0.8,  # (2 x 0.6 + 4 x 0.9) / 6
    }


def test_occupancy_is_weighted_by_time_and_capped_by_what_is_possible() -> None:
    assert occupancy([(0.0, 2, 4), (10.0, 4, 4), (20.0, 8, 4), (30.0, 0, 4)]) == pytest.approx((20 + 40 + 40) / 120)
    assert occupancy([(0.0, 3, 0), (10.0, 1, 4), (20.0, 1, 4)]) == 0.25  # without capacity nothing counts
    assert occupancy([(5.0, 3, 4)]) == 0.0


@pytest.mark.parametrize(("drained_s", "active_s", "idle"), [(None, 50.0, 0.0), (140.0, 40.0, 0.2)])
def test_the_rollouter_counts_as_idle_from_when_it_had_drained(
    drained_s: float | None, active_s: float, idle: float
) -> None:
    version = VersionFacts(3, 150.0, 2.0, 5, 16, drained_s, ((100.0, 4, 8), (150.0, 0, 8)))
    assert rollouter_metrics(version, 100.0) == {
        "fully_async/rollouter/active_time": active_s,
        "fully_async/rollouter/version_time": 50.0,
        "fully_async/rollouter/idle_ratio": pytest.approx(idle),
        "fully_async/rollouter/step_generated_samples": 16,
        "dynamic_resource/rollout_resource_utilization": 0.5,
    }


def test_the_line_of_a_version_begins_with_the_last_round_of_the_one_before() -> None:
    lines = aggregates(FULLY_ASYNC)
    assert [call.step for call in lines] == list(range(1, 13))
    # global_step is that of the last round in the line: 3, 7, 11 with four rounds a version.
    assert [call.values["training/global_step"] for call in lines] == [4 * v - 1 for v in range(1, 13)]
    assert "timing_s/timing_s/param_sync" not in lines[0].values
    syncs = [r.seconds["param_sync"] for r in FULLY_ASYNC.steps if "param_sync" in r.seconds]
    logged = [call.values["timing_s/timing_s/param_sync"] for call in lines[1:]]
    assert logged == pytest.approx(syncs[:-1], rel=1e-9)


def test_with_one_round_a_version_the_first_version_has_no_line_of_its_own() -> None:
    scenario = mode_scenario(
        "fully_async", fully_async__trigger_parameter_sync_step=1, workload__prompts_per_step=4, steps=5
    )
    assert [call.step for call in aggregates(run_pipeline(scenario))] == [2, 3, 4, 5]


def test_a_version_has_a_call_for_the_rollouter_one_for_a_validation_and_one_for_training() -> None:
    calls = [call for call in run_log(FULLY_ASYNC).calls if call.step == 8]
    first_keys = [next(iter(call.values)) for call in calls]
    assert first_keys == ["fully_async/rollouter/active_time", "rollouter/validate_time", "training/global_step"]
    assert [call.at_s for call in calls] == sorted(call.at_s for call in calls)
    validation = next(v for v in async_facts(FULLY_ASYNC).validations if v.version == 8)
    assert calls[1].values["rollouter/validate_time"] == pytest.approx(validation.seconds, rel=1e-9)
    assert not any(key.startswith("val-") for call in calls for key in call.values if call is not calls[1])


def test_counts_of_stale_trajectories_grow_with_the_rounds() -> None:
    total = 0
    expected = []
    for record, seen in zip(FULLY_ASYNC.steps, async_facts(FULLY_ASYNC).rounds, strict=True):
        total += sum(int(seen.version - last >= 1) for batch in record.batches for last in batch.last_version.tolist())
        expected.append(total)
    logged = [call.values["fully_async/count/stale_trajectory_processed"] for call in aggregates(FULLY_ASYNC)]
    assert logged == expected[2::4]
    assert expected[-1] > 0


def test_a_sync_after_the_end_logs_the_last_round() -> None:
    facts = async_facts(FULLY_ASYNC)
    last = facts.versions[-1]
    again = replace(last, at_s=last.at_s + 30.0)
    closed = replace(FULLY_ASYNC, async_facts=replace(facts, versions=(*facts.versions, again)))
    *before, rollouter, line = fully_async_calls(closed, LearningCurves(closed.scenario), None)
    assert len(before) == len(list(fully_async_calls(FULLY_ASYNC, LearningCurves(closed.scenario), None)))
    assert (rollouter.step, line.step) == (12, 12)
    assert line.values["training/global_step"] == 48
    assert line.values["perf/total_num_tokens"] == FULLY_ASYNC.steps[-1].tokens


def test_bypass_mode_has_no_timer_of_old_log_probabilities_and_no_entropy() -> None:
    values = aggregates(run_pipeline(mode_scenario("fully_async", trainer__recompute_old_log_prob=False)))[0].values
    assert "timing_s/old_log_prob" not in values
    assert "actor/entropy" not in values
    assert "timing_s/update_actor" in values


def test_another_mode_has_no_such_facts() -> None:
    with pytest.raises(ValueError, match="tiny"):
        async_facts(run_pipeline(tiny()))
