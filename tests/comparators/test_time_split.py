from __future__ import annotations

import math

import pytest
from support.made_runs import make_run

from rlreport.comparators.results import SteadyState
from rlreport.comparators.time_split import largest_phase, split_time


def window(*steps: int) -> SteadyState:
    return SteadyState("flat", steps[0] if steps else None, steps[-1] if steps else None, steps, None, ())


def test_a_split_is_a_ratio_of_sums_with_the_remainder() -> None:
    run = make_run(
        {
            "time.step_s": [100.0, 10.0, 30.0],
            "time.wait_s": [50.0, 2.0, 6.0],
            "time.update_actor_s": [40.0, 4.0, 16.0],
        }
    )
    split = split_time(run, window(2, 3))
    assert split.step_s == 20.0
    assert split.fractions == pytest.approx({"time.wait_s": 8 / 40, "time.update_actor_s": 20 / 40, "time.other_s": 12 / 40})
    assert split.seconds == pytest.approx({"time.wait_s": 4.0, "time.update_actor_s": 10.0, "time.other_s": 6.0})
    assert [notice.code for notice in split.notices] == ["RR424"]
    assert "30.0 %" in split.notices[0].message


def test_a_phase_logged_in_some_steps_counts_as_none_in_the_others() -> None:
    run = make_run({"time.step_s": [10.0, 10.0], "time.update_actor_s": [9.0, 9.0], "time.checkpoint_s": [math.nan, 1.0]})
    assert split_time(run, window(1, 2)).fractions["time.checkpoint_s"] == pytest.approx(0.05)


def test_a_phase_outside_of_the_step_is_no_part_of_it() -> None:
    run = make_run({"time.step_s": [10.0], "time.update_actor_s": [10.0], "time.validate_s": [100.0]})
    assert set(split_time(run, window(1)).fractions) == {"time.update_actor_s", "time.other_s"}


def test_timers_that_overlap_are_told_and_never_negative() -> None:
    run = make_run({"time.step_s": [10.0], "time.update_actor_s": [8.0], "time.wait_s": [4.0]})
    split = split_time(run, window(1))
    assert split.fractions["time.other_s"] == 0.0
    assert [notice.code for notice in split.notices] == ["RR423"]
    assert "20.0 %" in split.notices[0].message


def test_nothing_is_claimed_without_steps_or_timers() -> None:
    run = make_run({"time.step_s": [10.0]})
    assert split_time(run, window()).step_s is None
    assert split_time(run, window(1)).fractions == {}
    assert largest_phase(split_time(run, window(1))) is None


def test_the_largest_phase() -> None:
    run = make_run({"time.step_s": [10.0], "time.update_actor_s": [3.0], "time.weight_sync_s": [6.5]})
    assert largest_phase(split_time(run, window(1))) == ("time.weight_sync_s", pytest.approx(0.65))
