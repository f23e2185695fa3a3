from __future__ import annotations

import pytest

from rlreport.collectors.fully_async import KEYS, FullyAsyncLines


def test_numbers_are_counted_to_the_version_that_was_synced() -> None:
    lines = FullyAsyncLines()
    for text in (
        "[FullyAsyncRollouter][Public][reset_staleness] reset staleness_samples to: 96 idle_ratio: 0.1000 "
        "step_generated_samples(this_step): 512 rollout_resource_utilization: 0.8123 recent_history(last N steps): []",
        "[FullyAsyncTrainer] Loop collection completed: 128/128 samples, total wait time: 10.00 seconds. mq_len: 9",
        "[FullyAsyncTrainer] Loop collection completed: 128/128 samples, total wait time: 2.34 seconds. mq_len: 3",
        "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 7.3100 seconds self.current_param_version: 2",
        "[FullyAsyncRollouter][Public][reset_staleness] reset staleness_samples to: 64 idle_ratio: 0.2500 "
        "step_generated_samples(this_step): 480 rollout_resource_utilization: 0.7000 recent_history(last N steps): []",
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): "
        "[(100.0, 200, 256), (110.0, 100, 256), (140.0, 0, 256)]",
        "[FullyAsyncTrainer] Requesting 128 samples from queue",
        "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 6.0000 seconds self.current_param_version: 3",
    ):
        lines.read(text, 0)
    assert lines.values[(0, 2)] == {
        "console/param_sync_s": 7.31,
        "console/queue_wait_s": pytest.approx(12.34),
        "console/queue_samples": 3.0,
        "console/staleness_samples": 64.0,
        "console/rollout_idle_ratio": 0.25,
        "console/generated_samples": 480.0,
        "console/rollout_resource_utilization": 0.7,
        "console/rollout_occupancy": pytest.approx((200 * 10 + 100 * 30) / (256 * 40)),
    }
    assert lines.values[(0, 3)] == {"console/param_sync_s": 6.0}
    assert set(lines.values[(0, 2)]) == set(KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): []",
        "[RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): [(1.0, 2, 3)]",
        "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 7.31",
        "[FullyAsyncRollouter] reset staleness_samples to: 64 idle_ratio: 0.25 step_generated_samples(this_step): 48",
    ],
)
def test_lines_that_hold_no_number_or_are_cut(text: str) -> None:
    lines = FullyAsyncLines()
    lines.read("timing_s/param_sync: 1.0 seconds self.current_param_version: 1", 0)
    lines.read(text, 0)
    assert lines.values == {(0, 1): {"console/param_sync_s": 1.0}}
