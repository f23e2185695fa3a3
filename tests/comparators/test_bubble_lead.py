from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.made_runs import make_run
from support.timelines import S, scene_of, three_steps

from rlreport.comparators.bubble_lead import QuotaCover, known_lead, measure_lead_series, measure_quota
from rlreport.comparators.results import SteadyState
from rlreport.run.spans import Gauge


def gauge(name: str, *samples: tuple[float, float], **more: Any) -> Gauge:
    return Gauge(name, "", [round(at * S) for at, _ in samples], [value for _, value in samples], zero_unix_ns=0, **more)


def test_the_lead_when_the_trainer_asks_is_what_waits_after_sync_and_validation() -> None:
    waiting = gauge("queue.samples", (10, 0), (44, 25), (60, 40), (64, 15), capacity=80)
    run = three_steps(gauges=(waiting,))
    found = measure_lead_series(run, run.spans[0], scene_of(run).course)
    assert found is not None and not found.by_step and found.capacity == 8
    # A mini-batch has 10 prompts. The Trainer asks at 45 (after the sync) and at 65 (after sync and validation).
    assert found.asked == ((35, 2.5), (55, 1.5))
    assert (found.mean_when_asked, found.least_when_asked) == (2.0, 1.5)
    assert found.points[0] == (0, 0)


def test_a_queue_that_is_logged_by_step_tells_no_moments() -> None:
    run = three_steps()
    logged = replace(run, steps=run.steps.assign(**{"queue.samples": [5, 10, 20]}))
    found = measure_lead_series(logged, None, None)
    assert found is not None and found.by_step
    assert found.points == ((1, 0.5), (2, 1.0), (3, 2.0)) and found.mean_when_asked is None


def test_polls_while_waiting_say_nothing_of_moments_when_samples_are_ready() -> None:
    run = three_steps(gauges=(gauge("replay.finished", (12, 0), (28, 9)),))
    found = measure_lead_series(run, run.spans[0], scene_of(run).course)
    assert found is not None and found.asked == () and "only while the Trainer waits" in found.source


def test_the_lead_is_unknown_without_a_queue_or_a_mini_batch() -> None:
    run = three_steps()
    assert measure_lead_series(run, run.spans[0], None) is None
    logged = make_run({"time.step_s": [1.0], "queue.samples": [4.0]}, mode="fully_async")
    assert measure_lead_series(logged, None, None) is None


def test_the_lead_comes_from_a_gauge_when_asked_else_from_what_is_logged() -> None:
    waiting = gauge("queue.samples", (10, 0), (44, 25), (60, 40), (64, 15))
    run = three_steps(gauges=(waiting,))
    window = SteadyState("flat", 1, 3, (1, 2, 3), None, ())
    found = known_lead(run, window, measure_lead_series(run, run.spans[0], scene_of(run).course))
    assert found is not None and (found.mini_batches, found.basis) == (2.0, "gauge")
    assert found.source.endswith("whenever the Trainer asked")
    logged = replace(three_steps(), steps=run.steps.assign(**{"queue.samples": [5, 10, 21]}))
    by_step = known_lead(logged, window, measure_lead_series(logged, None, None))
    assert by_step is not None and (by_step.mini_batches, by_step.basis) == (1.2, "queue")
    assert known_lead(replace(run, mode="sync"), window, None) is None


def test_the_quota_covers_the_first_two_rounds_of_eight() -> None:
    config = {"async_training.staleness_threshold": 0.3, "async_training.trigger_parameter_sync_step": 8}
    found = measure_quota(make_run({"time.step_s": [1.0]}, mode="fully_async", config=config))
    assert found is not None and found.covered == pytest.approx(2.4) and found.whole == 2


def test_the_quota_of_separate_async_is_its_warm_up_batches() -> None:
    config = {
        "trainer.v1.separate_async.num_warmup_batches": 0.25,
        "trainer.v1.separate_async.parameter_sync_step": 4,
    }
    found = measure_quota(make_run({"time.step_s": [1.0]}, mode="separate_async", config=config))
    assert found is not None and (found.covered, found.whole) == (1.0, 1)


def test_no_quota_is_invented() -> None:
    assert measure_quota(make_run({"time.step_s": [1.0]}, mode="fully_async")) is None
    assert measure_quota(make_run({"time.step_s": [1.0]}, mode="one_step_off")) is None
    assert QuotaCover(2.0, 4, "a", "b").whole == 4  # never more than a version has
    assert QuotaCover(0.1, 3, "a", "b").whole == 0
