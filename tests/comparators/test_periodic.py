from __future__ import annotations

import math

import numpy as np
import pytest
from support.made_runs import make_run

from rlreport.comparators.periodic import best_period, find_periodic


def every(n: int, period: int, value: float, first: int | None = None) -> list[float]:
    start = first or period
    return [value if step >= start and (step - start) % period == 0 else math.nan for step in range(1, n + 1)]


def test_validation_every_five_steps_is_found_and_tied_to_its_knob() -> None:
    run = make_run({"time.step_s": [100.0] * 20, "time.validate_s": every(20, 5, 50.0)}, config={"trainer.test_freq": 5})
    (found,) = find_periodic(run)
    assert (found.period, found.first_step, found.times, found.cause) == (5, 5, 4, "validation")
    assert found.seconds == 50 and found.share == pytest.approx(200 / 2200)
    assert found.tied_to == "trainer.test_freq = 5"


def test_a_last_step_out_of_turn_does_not_hide_a_period() -> None:
    checkpoints = every(22, 10, 30.0)
    checkpoints[-1] = 30.0
    run = make_run({"time.step_s": [100.0] * 22, "time.checkpoint_s": checkpoints})
    assert find_periodic(run) == ()  # two times are no period
    checkpoints = every(32, 10, 30.0)
    checkpoints[-1] = 30.0
    (found,) = find_periodic(make_run({"time.step_s": [100.0] * 32, "time.checkpoint_s": checkpoints}))
    assert (found.period, found.times, found.tied_to) == (10, 4, "")


def test_a_stall_that_no_timer_names_is_found_by_folding() -> None:
    noise = np.random.Generator(np.random.PCG64(3)).normal(0, 1, 60)
    step_s = [100 + noise[step - 1] + (40 if step % 6 == 4 else 0) for step in range(1, 61)]
    (found,) = find_periodic(make_run({"time.step_s": step_s}, config={"trainer.profile_steps": 6}))
    assert (found.period, found.first_step, found.times, found.cause) == (6, 4, 10, "unknown")
    assert found.seconds == pytest.approx(40, abs=1.5)
    assert found.tied_to == "trainer.profile_steps = 6"


def test_checkpoints_within_the_step_are_no_second_period() -> None:
    step_s = [100.0 + step % 3 + (30 if step % 10 == 0 else 0) for step in range(1, 61)]
    run = make_run({"time.step_s": step_s, "time.checkpoint_s": every(60, 10, 30.0)})
    assert [found.cause for found in find_periodic(run)] == ["checkpoint"]


@pytest.mark.parametrize("seed", range(20))
def test_noise_and_drift_have_no_period(seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    noise = np.zeros(80)
    for step in range(1, 80):
        noise[step] = 0.6 * noise[step - 1] + draw.normal()
    assert best_period(np.arange(80), 100 + 0.3 * np.arange(80) + noise) is None


def test_too_few_steps_tell_no_period() -> None:
    assert find_periodic(make_run({"time.step_s": [10, 50, 10, 50]})) == ()
    assert find_periodic(make_run({})) == ()
