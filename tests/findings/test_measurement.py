from __future__ import annotations

import numpy as np
import pytest
from support.made_chains import analysed, made
from support.made_findings import context_of, steady_run, traced
from support.sample_runs import sample_run

from rlreport.comparators.bubble_reported import ReportedIdle
from rlreport.findings.measurement import length_drift, reported_idle, untimed_remainder, wait_moved
from rlreport.findings.polling import find_polling


def test_an_untimed_remainder_is_told() -> None:
    found = untimed_remainder(context_of(steady_run({"time.update_actor_s": 80.0})))
    assert found is not None
    assert found.title == "20.0 % of a step is covered by no timer"
    assert untimed_remainder(context_of(steady_run({"time.update_actor_s": 95.0}))) is None


@pytest.mark.parametrize(("logged", "told"), [(0.02, True), (0.25, False)])
def test_a_logged_idle_ratio_that_the_timeline_contradicts(logged: float, told: bool) -> None:
    reported = ReportedIdle("rollout", logged, 0.3, "what it counts", (("weight sync", 0.05),))
    timeline = traced({"samples": 0.05}, {"quota": 0.3}, reported=(reported,))
    found = reported_idle(context_of(steady_run({"time.wait_s": 5.0}), timeline))
    assert (found is not None) is told
    if found is not None:
        assert found.title == "Rollouters: idle 2.0 % as logged, 30.0 % by the timeline"


@pytest.mark.parametrize(("end", "told"), [(1300.0, True), (1100.0, False)])
def test_responses_that_get_longer(end: float, told: bool) -> None:
    lengths = np.linspace(1000, end, 80) + 5 * np.random.default_rng(1).standard_normal(80)
    found = length_drift(context_of(steady_run({"length.response_mean": list(lengths)}, steps=80)))
    assert (found is not None) is told


def pair(after: dict[str, float], rate: float) -> object:
    columns = {name: [value] * 120 for name, value in after.items()}
    first = {name: [value] * 120 for name, value in {"time.wait_s": 20.0, "time.weight_sync_s": 10.0}.items()}
    return wait_moved(analysed([made("a", columns=first), made("b", rate=rate, seed=2, columns=columns)], "ab"))


def test_a_wait_that_moved_is_no_gain() -> None:
    found = pair({"time.wait_s": 10.0, "time.weight_sync_s": 19.0}, 1000)
    assert found is not None
    assert "weight sync takes 9.00 s more" in found.title  # type: ignore[attr-defined]


def test_a_wait_that_went_away_has_not_moved() -> None:
    assert pair({"time.wait_s": 10.0, "time.weight_sync_s": 10.0}, 1000) is None
    assert pair({"time.wait_s": 10.0, "time.weight_sync_s": 19.0}, 1200) is None


def waits(values: list[float]) -> object:
    run = steady_run({"time.wait_s": values})
    return find_polling(run, context_of(run).result.steady_state)


def test_waits_at_multiples_of_an_interval_are_polled() -> None:
    generator = np.random.default_rng(5)
    levels = generator.integers(24, 32, 40)
    found = waits([2.0 * level + 0.2 + 0.01 * noise for level, noise in zip(levels, generator.random(40), strict=True)])
    assert found is not None
    assert found.period_s == 2.0  # type: ignore[attr-defined]


def test_equal_and_scattered_waits_are_not_polled() -> None:
    assert waits([56.0 + 0.01 * step for step in range(40)]) is None
    assert waits(list(50 + 10 * np.random.default_rng(6).random(40))) is None


def test_the_real_run_is_polled_every_two_seconds(samples: object) -> None:
    run = sample_run(samples, "verl-separate-async-npu")  # type: ignore[arg-type]
    found = find_polling(run, context_of(run).result.steady_state)
    assert found is not None and found.period_s == 2.0
