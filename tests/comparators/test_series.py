from __future__ import annotations

import math

import pytest
from support.made_runs import make_run

from rlreport.comparators.series import metric_series, progress, smooth, throughput_series


def test_throughput_by_step_per_device_and_in_total() -> None:
    run = make_run({"time.step_s": [10.0, math.nan, 5.0], "work.tokens": [800.0, 800.0, 800.0]}, trainer=4, rollout=4)
    per_device, total = throughput_series(run, per_device=True), throughput_series(run, per_device=False)
    assert per_device is not None and total is not None
    assert per_device.steps == total.steps == (1, 3)
    assert per_device.values == (10.0, 20.0)
    assert total.values == (80.0, 160.0)


def test_throughput_per_device_needs_the_devices() -> None:
    run = make_run({"time.step_s": [10.0], "work.tokens": [800.0]}, trainer=None, rollout=None)
    assert throughput_series(run, per_device=True) is None
    assert throughput_series(make_run({"time.step_s": [10.0]}), per_device=False) is None


def test_a_metric_that_is_never_logged_has_no_series() -> None:
    run = make_run(
        {"time.step_s": [1.0, 1.0], "quality.accuracy": [math.nan, math.nan], "quality.reward_mean": [0.5, math.nan]}
    )
    assert metric_series(run, "quality.accuracy", "") is None
    assert metric_series(run, "quality.kl", "nats") is None
    found = metric_series(run, "quality.reward_mean", "")
    assert found is not None and found.values == (0.5, None)


def test_progress_without_a_clock_sums_step_times() -> None:
    run = make_run({"time.step_s": [3600.0, 1800.0], "work.prompts": [512.0, 512.0]}, trainer=2, rollout=6)
    found = progress(run)
    assert found is not None
    assert found.clock == "sum of step times"
    assert found.hours == (1.0, 1.5)
    assert found.prompts == (512.0, 1024.0)
    assert found.device_hours == (8.0, 12.0)


def test_progress_with_a_clock_holds_what_lies_between_steps() -> None:
    run = make_run({"time.step_s": [3600.0, 1800.0], "clock.wall_s": [10_000.0, 15_400.0]})
    found = progress(run)
    assert found is not None
    assert found.clock == "wall clock"
    assert found.hours == pytest.approx((1.0, 2.5))
    assert found.prompts is None


def test_a_clock_that_goes_backwards_is_not_used() -> None:
    found = progress(make_run({"time.step_s": [60.0, 60.0], "clock.wall_s": [500.0, 60.0]}))
    assert found is not None and found.clock == "sum of step times"


def test_smoothing_is_a_centred_mean_of_what_is_there() -> None:
    assert smooth((1.0, None, 5.0, 7.0), 3) == (1.0, 3.0, 6.0, 6.0)
    assert smooth((None, None), 3) == (None, None)
