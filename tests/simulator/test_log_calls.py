from __future__ import annotations

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.log_call import LogCall, local_time, metric_line, unix_s
from rlreport.simulator.log_calls import run_log
from rlreport.simulator.pipeline import run_pipeline


def test_a_call_a_step_and_one_before_training() -> None:
    simulation = run_pipeline(mode_scenario("separate_async"))
    log = run_log(simulation)
    assert [call.step for call in log.calls] == list(range(13))
    assert [call.at_s for call in log.calls[1:]] == [record.logged_s for record in simulation.steps]
    assert log.calls[0].at_s == simulation.initial_validation_s
    assert log.calls[0].values == log.initial_validation
    assert log.final_validation == {key: v for key, v in log.calls[-1].values.items() if key.startswith("val-")}


def test_without_validations_there_are_none() -> None:
    log = run_log(run_pipeline(tiny()))
    assert [call.step for call in log.calls] == [1, 2, 3]
    assert log.initial_validation is None
    assert log.final_validation is None


@pytest.mark.parametrize("mode", sorted(MODES))
def test_calls_are_in_order_of_time_and_hold_numbers_only(mode: str) -> None:
    calls = run_log(run_pipeline(mode_scenario(mode))).calls
    assert [call.at_s for call in calls] == sorted(call.at_s for call in calls)
    assert all(type(value) in (int, float) for call in calls for value in call.values.values())
    assert all(" - " not in key and ":" not in key for call in calls for key in call.values)


@pytest.mark.parametrize(
    ("mode", "present", "absent"),
    [
        ("sync", ["timing_s/update_weights", "training/off_policy/trajectory_staleness/mean"], ["separate_async/"]),
        ("colocate_async", ["timing_s/update_weights", "training/off_policy/trajectory_spans/max"], ["separate_async/"]),
        ("separate_async", ["timing_s/update_weights", "training/num_turns/mean"], ["separate_async/", "timing_s/switch"]),
        (
            "switch",
            [
                "timing_s/switch_wait",
                "separate_async/switch/threshold_ratio",
                "separate_async/switch/wait_samples",
                "separate_async/switch/idle",
                "separate_async/decision/sampleable_count",
                "separate_async/decision/remaining",
                "separate_async/decision/should_switch_to_rollout",
            ],
            ["separate_async/switch/sample_wait_seconds", "separate_async/decision/benefit_seconds"],
        ),
        (
            "one_step_off",
            ["timing_s/gen", "timing_s/sync_rollout_weights", "timing_s/update_weights", "timing_s/generate_async"],
            ["training/off_policy/", "training/num_turns", "separate_async/"],
        ),
        (
            "fully_async",
            [
                "timing_s/timing_s/param_sync",
                "fully_async/trainer/idle_ratio",
                "fully_async/count/staleness_samples",
                "fully_async/partial/partial_ratio",
                "fully_async/monitor/queue/mq_queue_size",
                "fully_async/static/max_required_samples",
                "fully_async/processing_time/tp95",
                "dynamic_resource/train_resource_utilization",
            ],
            ["training/off_policy/", "timing_s/param_sync", "timing_s/testing", "timing_s/update_weights"],
        ),
    ],
)
def test_the_keys_of_a_mode(mode: str, present: list[str], absent: list[str]) -> None:
    calls = run_log(run_pipeline(mode_scenario(mode))).calls
    last = next(call for call in reversed(calls) if "timing_s/step" in call.values)
    for key in present:
        assert key in last.values
    for key in absent:
        assert not any(name.startswith(key) for call in calls for name in call.values)


def test_generation_overlaps_the_step_before_in_one_step_off() -> None:
    simulation = run_pipeline(mode_scenario("one_step_off"))
    before, after = simulation.steps[3:5]
    begun_s = before.begin_s + before.seconds["gen"] + before.seconds["sync_rollout_weights"]
    got_s = after.begin_s + after.seconds["gen"]
    values = run_log(simulation).calls[5].values
    assert values["timing_s/generate_async"] == pytest.approx(got_s - begun_s, rel=1e-6)
    assert values["timing_s/update_weights"] == values["timing_s/sync_rollout_weights"]
    timers = ("gen", "sync_rollout_weights", "old_log_prob", "adv", "update_actor")
    assert values["timing_s/step"] == pytest.approx(sum(values[f"timing_s/{name}"] for name in timers), rel=1e-8)


def test_a_line_and_two_clocks() -> None:
    assert metric_line(LogCall(1.0, 7, {"a/b": 0.5, "c@1": 2})) == "step:7 - a/b:0.5 - c@1:2"
    scenario = tiny(framework__started_at="2026-09-01T23:59:58.500")
    assert local_time(scenario, 2.25).isoformat() == "2026-09-02T00:00:00.750000"
    assert unix_s(scenario, 2.25) == 1_788_307_200.75
