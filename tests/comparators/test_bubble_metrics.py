from __future__ import annotations

import math
from typing import Any

import pytest
from support.made_runs import make_run
from support.timelines import S

from rlreport.comparators.bubble_metrics import account_metrics
from rlreport.comparators.results import SteadyState
from rlreport.run.model import Run
from rlreport.run.spans import Gauge

WINDOW = SteadyState("flat", 1, 3, (1, 3), None, ())
COLUMNS: dict[str, Any] = {
    "time.step_s": [20, 30, 25, 99],
    "time.wait_s": [5, 6, 7, 90],
    "time.old_log_prob_s": [1, 1, 1, 1],
    "time.update_actor_s": [10, 10, 10, 1],
    "time.weight_sync_s": [3, 3, 3, 1],
    "time.checkpoint_s": [math.nan, 9, math.nan, 1],
    "time.validate_s": [math.nan, 8, math.nan, 1],
}


def run(**more: Any) -> Run:
    return make_run(COLUMNS, **{"mode": "one_step_off", "trainer": 2, **more})


def test_timers_account_for_all_time_from_the_first_to_the_last_step() -> None:
    found = account_metrics(run(), WINDOW)
    assert found is not None and found.trainer is not None
    side = found.trainer
    # Steps 1 to 3 with the excluded step 2 and the validation between steps: 20 + 30 + 25 + 8 seconds on two devices.
    assert side.wall_s == 83
    assert dict(side.busy) == {"old_log_prob": 6, "update_actor": 60}
    assert dict(side.idle) == {"samples": 36, "weight_sync": 18, "checkpoint": 18, "validation": 16}
    assert side.untold_s == pytest.approx(166 - 66 - 88)
    assert side.residual == pytest.approx(0)
    assert (side.at_least, side.at_most) == (pytest.approx(88 / 166), pytest.approx(100 / 166))
    assert side.idle_fraction is None  # bounds seven points apart are no number


def test_small_remainders_leave_a_number_within_a_point() -> None:
    columns = {"time.step_s": [100.0] * 3, "time.wait_s": [40.0] * 3, "time.update_actor_s": [59.0] * 3}
    found = account_metrics(make_run(columns, mode="one_step_off"), WINDOW)
    assert found is not None and found.trainer is not None
    assert found.trainer.idle_fraction == pytest.approx(0.405)


def test_the_clock_tells_of_time_that_no_timer_covers() -> None:
    found = account_metrics(run(), WINDOW)
    clocked = account_metrics(make_run({**COLUMNS, "clock.wall_s": [20, 70, 105, 300]}, mode="one_step_off"), WINDOW)
    assert found is not None and clocked is not None
    assert clocked.trainer is not None and clocked.trainer.wall_s == 105


def test_whether_the_trainer_validates_is_not_guessed() -> None:
    """In separate_async engines on the Trainer's devices take part where they exist, which a log does not tell."""
    told = account_metrics(run(mode="fully_async", config={"async_training.use_trainer_do_validate": True}), WINDOW)
    unknown = account_metrics(run(mode="separate_async"), WINDOW)
    assert told is not None and told.trainer is not None and unknown is not None and unknown.trainer is not None
    # A line of fully_async begins with the last round of the version before, so version 2 is validated in line 3's time.
    assert told.trainer.busy["validate"] == 16
    assert "validation" not in unknown.trainer.idle and "validate" not in unknown.trainer.busy
    assert unknown.trainer.untold_s == pytest.approx(12 + 16)


def test_generation_on_shared_devices_is_untold() -> None:
    columns = {"time.step_s": [20.0] * 3, "time.generate_s": [12.0] * 3, "time.update_actor_s": [8.0] * 3}
    found = account_metrics(make_run(columns, mode="sync", trainer=4, rollout=0), WINDOW)
    assert found is not None and found.trainer is not None
    assert found.trainer.untold_s == 12 * 3 * 4
    assert found.rollout is None and "no Rollouters" in found.missing["rollout"]


def test_the_rollouters_are_unknown_without_gauges() -> None:
    found = account_metrics(run(), WINDOW)
    assert found is not None and found.rollout is None
    assert "a trace of them, or a gauge of their requests, would tell it" in found.missing["rollout"]


def gauge(lane: str, *samples: tuple[float, float]) -> Gauge:
    times = [round(at * S) for at, _ in samples]
    return Gauge("rollout.active_requests", lane, times, [value for _, value in samples], zero_unix_ns=0)


def test_gauges_of_replicas_bound_their_idle_time() -> None:
    """Between two samples of 0 a replica is idle, between 0 and more nobody knows."""
    first = gauge("replica_0", (0, 4), (10, 2), (20, 0), (30, 0), (40, 6))
    second = gauge("replica_1", (0, 1), (10, 1), (20, 1), (30, 1), (40, 1))
    found = account_metrics(run(gauges=(first, second), rollout=8), WINDOW)
    assert found is not None and found.rollout is not None
    side = found.rollout
    assert (side.at_least, side.at_most) == (pytest.approx(10 / 80), pytest.approx(30 / 80))
    assert side.idle_fraction is None
    assert side.devices == 8 and side.residual == pytest.approx(0)


def test_what_is_in_generation_in_all_bounds_from_below() -> None:
    whole = gauge("", (0, 5), (10, 0), (14, 0), (15, 2), (20, 1))
    found = account_metrics(run(gauges=(whole,)), WINDOW)
    assert found is not None and found.rollout is not None
    assert (found.rollout.at_least, found.rollout.at_most) == (pytest.approx(4 / 20), 1.0)


def test_a_window_without_steps_has_no_account() -> None:
    assert account_metrics(run(), SteadyState("none", None, None, (), None, ())) is None
