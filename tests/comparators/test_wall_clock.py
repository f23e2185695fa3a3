from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.made_runs import SEMANTICS, make_run

from rlreport.comparators.results import Exclusion, SteadyState, ThroughputComparison
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.comparators.wall_clock import WallClockComparison, account_time, compare_wall_clock
from rlreport.run.model import Run

NAN = float("nan")


def clocked(times: Any, *, gaps: Any = 0.0, zero: float = 0.0, columns: dict[str, Any] | None = None, **more: Any) -> Run:
    """Steps of 1,000 tokens whose lines come `gaps` seconds after the step; the first step begins at `zero` by the clock."""
    time_s = np.asarray(times, float)
    wall = zero + np.cumsum(time_s + np.broadcast_to(gaps, time_s.shape))
    base = {"time.step_s": time_s, "work.tokens": np.full(len(time_s), 1000.0), "clock.wall_s": wall}
    return make_run({**base, **(columns or {})}, **more)


def window(run: Run, excluded: dict[int, str] | None = None) -> SteadyState:
    left_out = tuple(Exclusion(step, reason) for step, reason in (excluded or {}).items())
    kept = tuple(int(step) for step in run.steps.index if step not in (excluded or {}))
    return SteadyState("flat", kept[0], kept[-1], kept, float(len(kept)), left_out)


def test_a_run_of_equal_steps_loses_nothing() -> None:
    found = account_time(run := clocked([10.0] * 12), window(run))
    assert found is not None
    assert (found.wall_s, found.steps_s, found.lost_s) == (120.0, 120.0, pytest.approx(0.0))
    assert found.wall == found.steady == pytest.approx(1000 / 10 / 8)
    assert (found.first_step, found.last_step, found.unit) == (1, 12, "tokens/s/device")


def test_every_second_has_a_cause_and_the_causes_add_up() -> None:
    # ten steps of 10 s; the first takes 40 s, the 6th holds 20 s of checkpoint, after the 4th follow 30 s of validation,
    # and 2 s lie between any two lines; the loop begins 100 s after the clock
    times = np.array([40.0, 10, 10, 10, 10, 30, 10, 10, 10, 10])
    validate = np.where(np.arange(10) == 3, 30.0, NAN)
    saved = np.where(np.arange(10) == 5, 20.0, NAN)
    gaps = np.full(10, 2.0) + np.nan_to_num(validate)
    gaps[0] = 0.0
    run = clocked(times, gaps=gaps, zero=100.0, columns={"time.validate_s": validate, "time.checkpoint_s": saved})
    found = account_time(run, window(run, {1: "warm-up", 6: "checkpoint"}))
    assert found is not None
    expected = {"validation": 30.0, "checkpoint": 20.0, "start-up": 100.0, "warm-up": 30.0, "unexplained": 18.0}
    assert {cause: value for cause, value in found.losses.items() if abs(value) > 1e-9} == pytest.approx(expected)
    assert found.wall_s == pytest.approx(100 + times.sum() + 30 + 18)
    assert found.wall / found.steady == pytest.approx(1 - found.lost_s / found.wall_s)
    assert found.wall * 8 == pytest.approx(10_000 / found.wall_s)
    assert found.start_up_known
    assert found.share("start-up") == pytest.approx(100 / found.wall_s)


def test_fast_first_steps_are_a_gain() -> None:
    run = clocked([1.0, 1.0, *[10.0] * 10])
    found = account_time(run, window(run, {1: "warm-up", 2: "warm-up"}))
    assert found is not None
    assert found.losses["warm-up"] == pytest.approx(-18.0)
    assert found.wall > found.steady


def test_a_stop_is_laid_to_the_restart() -> None:
    gaps = np.zeros(12)
    gaps[6] = 500.0
    times = np.full(12, 10.0)
    times[6] = 25.0
    run = clocked(times, gaps=gaps, restarts=(7,))
    found = account_time(run, window(run, {7: "restart"}))
    assert found is not None
    assert found.losses["restart"] == pytest.approx(500 + 15)


def test_steps_without_a_line_count_as_typical_work() -> None:
    run = clocked([10.0] * 12, gaps=1.0)
    run = replace(run, steps=run.steps.drop(index=[5, 6]))
    found = account_time(run, window(run))
    assert found is not None
    assert found.losses["not logged"] == pytest.approx(3.0)  # two steps and three gaps of a second
    assert found.losses["unexplained"] == pytest.approx(8.0)
    assert found.wall * 8 == pytest.approx(12_000 / found.wall_s)


def test_the_time_of_a_step_without_its_work_is_lost() -> None:
    tokens = np.full(12, 1000.0)
    tokens[4] = NAN
    run = clocked([10.0] * 12, columns={"work.tokens": tokens})
    found = account_time(run, window(run, {5: "partial"}))
    assert found is not None
    assert found.losses["partial"] == pytest.approx(10.0)


def test_validation_in_ordinary_steps_is_part_of_the_pace() -> None:
    inside = replace(SEMANTICS, contains=(*SEMANTICS.contains, "time.validate_s"), excludes=())
    run = clocked([10.0] * 12, columns={"time.validate_s": np.full(12, 3.0)}, semantics=inside)
    found = account_time(run, window(run))
    assert found is not None
    assert found.lost_s == pytest.approx(0.0)


def test_a_clock_that_starts_with_the_first_line_does_not_know_the_start() -> None:
    run = clocked([10.0] * 12, zero=-10.0)
    found = account_time(run, window(run))
    assert found is not None
    assert not found.start_up_known
    assert found.wall_s == 120.0
    assert [notice.code for notice in found.notices] == ["RR467"]


def test_much_unexplained_time_is_told() -> None:
    run = clocked([10.0] * 12, gaps=5.0, zero=60.0)
    found = account_time(run, window(run))
    assert found is not None
    assert [notice.code for notice in found.notices] == ["RR468"]
    assert "55 s between steps, 22.9 % of the wall clock" in found.notices[0].message  # 11 gaps of 5 s in 240 s


def test_without_a_clock_there_is_no_account() -> None:
    run = make_run({"time.step_s": [10.0] * 12})
    assert account_time(run, window(run)) is None
    backwards = clocked([10.0] * 12, columns={"clock.wall_s": np.arange(12.0)[::-1]})
    assert account_time(backwards, window(backwards)) is None
    nothing = SteadyState("none", None, None, (), None, ())
    assert account_time(clocked([10.0] * 12), nothing) is None


def compared(baseline: Run, variant: Run) -> tuple[WallClockComparison | None, ThroughputComparison]:
    windows = common_window(baseline, find_steady_state(baseline), variant, find_steady_state(variant))
    throughput = compare_throughput(baseline, variant, *windows)
    return compare_wall_clock(baseline, variant, throughput), throughput


def test_a_pair_is_compared_over_the_same_training() -> None:
    rng = np.random.default_rng(1)
    prompts = {"work.prompts": np.full(60, 64.0)}
    baseline = clocked(100 * np.exp(0.01 * rng.normal(size=60)), gaps=100.0, columns=prompts)
    variant = clocked(
        50 * np.exp(0.01 * rng.normal(size=80)), gaps=0.0, columns={"work.prompts": np.full(80, 64.0)}, run_id="v", label="v"
    )
    found, throughput = compared(baseline, variant)
    assert found is not None
    assert throughput.headline.ratio == pytest.approx(found.steady_ratio)
    assert (found.baseline.last_step, found.variant.last_step) == (60, 60)
    assert found.steady_ratio == pytest.approx(2.0, rel=0.02)
    assert found.wall_ratio == pytest.approx(4.0, rel=0.02)
    assert found.time_ratio == pytest.approx(4.0, rel=0.02)
    assert found.notices[0].code == "RR466"
    assert "time that no timer covers takes 49." in found.notices[0].message
    unclocked = make_run({"time.step_s": np.full(60, 50.0), "work.tokens": np.full(60, 1000.0)})
    assert compared(baseline, unclocked)[0] is None
