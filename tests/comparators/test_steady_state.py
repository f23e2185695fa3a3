from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_runs import SEMANTICS, make_run
from support.made_series import autoregressive

from rlreport.comparators.results import SteadyState
from rlreport.comparators.steady_state import common_window, common_windows, find_steady_state
from rlreport.run.model import Run

NAN = float("nan")
WITH_VALIDATION = replace(SEMANTICS, contains=("time.validate_s", "time.checkpoint_s"), excludes=())


def noisy_run(n: int = 60, *, seed: int = 1, cv: float = 0.02, course: Any = 1.0, **more: Any) -> Run:
    """About 100 s and 1,000 tokens a step; `course` multiplies the step times."""
    rng = np.random.default_rng(seed)
    time_s = 100 * np.exp(cv * rng.normal(size=n)) * course
    columns = {"time.step_s": time_s, "work.tokens": np.full(n, 1000.0), **more.pop("columns", {})}
    return make_run(columns, **more)


def reasons(state: SteadyState) -> dict[int, str]:
    return {exclusion.step: exclusion.reason for exclusion in state.excluded}


def codes(state: SteadyState) -> list[str]:
    return [notice.code for notice in state.notices]


def at(n: int, values: dict[int, float], other: float = NAN, first: int = 1) -> np.ndarray:
    """A column of n steps with the given values by step number."""
    return np.array([values.get(step, other) for step in range(first, first + n)])


def test_a_quiet_run_keeps_all_but_its_first_step() -> None:
    state = find_steady_state(noisy_run())
    assert state.steady_class == "flat"
    assert (state.first_step, state.last_step, state.n) == (2, 60, 59)
    assert reasons(state) == {1: "warm-up"}
    assert state.excluded[0].detail.startswith("the first step of the run: ")
    assert state.n_effective is not None
    assert state.n_effective > 30
    assert state.drift is not None
    assert state.drift.ci_low < 0 < state.drift.ci_high
    assert not state.declared
    assert state.notices == ()


def test_the_first_step_of_a_log_that_starts_later_is_judged_by_what_it_took() -> None:
    assert reasons(find_steady_state(noisy_run(first_step=200))) == {}
    slow = noisy_run(first_step=200, course=at(60, {200: 1.6}, 1.0, first=200))
    assert reasons(find_steady_state(slow)) == {200: "warm-up"}


def test_a_step_without_time_is_no_training_step() -> None:
    run = noisy_run(40, first_step=0, course=at(40, {0: NAN}, 1.0, first=0))
    assert reasons(find_steady_state(run)) == {0: "no step time", 1: "warm-up"}


def test_a_cut_line_and_a_missing_token_count_are_partial() -> None:
    run = noisy_run(columns={"work.tokens": at(60, {20: NAN}, 1000.0)}, partial_steps={30: "the line ends within a number"})
    state = find_steady_state(run)
    assert reasons(state) == {1: "warm-up", 20: "partial", 30: "partial"}
    assert [e.detail for e in state.excluded if e.reason == "partial"] == ["no token count", "the line ends within a number"]


def test_without_tokens_the_steps_are_judged_by_their_time() -> None:
    run = make_run({"time.step_s": 100 * np.exp(0.02 * np.random.default_rng(1).normal(size=40))})
    state = find_steady_state(run)
    assert state.steady_class == "flat"
    assert state.n == 39


@pytest.mark.parametrize(("contained", "expected"), [(True, {10: "validation", 20: "validation"}), (False, {})])
def test_validation_is_a_cause_only_where_the_step_contains_it(contained: bool, expected: dict[int, str]) -> None:
    """Outside of the step's time it does not slow the step (verl before and after its change of 2025-08-19)."""
    spikes = at(60, {10: 1.5, 20: 1.5}, 1.0) if contained else 1.0
    run = noisy_run(
        course=spikes,
        columns={"time.validate_s": at(60, {10: 50.0, 20: 50.0, 30: 0.0})},
        semantics=WITH_VALIDATION if contained else SEMANTICS,
    )
    assert reasons(find_steady_state(run)) == {1: "warm-up", **expected}


def test_a_checkpoint_counts_from_a_share_of_the_step_on() -> None:
    run = noisy_run(columns={"time.checkpoint_s": at(60, {20: 0.5, 40: 30.0})})
    assert reasons(find_steady_state(run)) == {1: "warm-up", 40: "checkpoint"}
    assert reasons(find_steady_state(run, checkpoint_max_share=0.001)) == {1: "warm-up", 20: "checkpoint", 40: "checkpoint"}
    assert 40 in find_steady_state(run, checkpoint_max_share=0.9).kept


def test_the_larger_cause_names_the_reason_and_both_are_told() -> None:
    run = noisy_run(
        course=at(60, {40: 90.0}, 1.0),
        columns={"time.validate_s": at(60, {40: 170.0}), "time.checkpoint_s": at(60, {40: 8600.0})},
        semantics=WITH_VALIDATION,
    )
    state = find_steady_state(run)
    excluded = next(e for e in state.excluded if e.step == 40)
    assert excluded.reason == "checkpoint"
    assert excluded.detail.startswith("170 s of validation and 8,600 s of checkpoint in a step of ")


def test_a_cause_that_most_steps_have_excludes_none() -> None:
    run = noisy_run(columns={"time.validate_s": np.full(60, 20.0)}, semantics=WITH_VALIDATION)
    state = find_steady_state(run)
    assert reasons(state) == {1: "warm-up"}
    assert codes(state) == ["RR447"]
    assert "60 steps of 60 contain a validation" in state.notices[0].message


def test_a_one_off_stall_is_left_out_and_told_with_its_share_of_time() -> None:
    state = find_steady_state(noisy_run(course=at(60, {30: 40.0}, 1.0)))
    assert reasons(state) == {1: "warm-up", 30: "stall"}
    assert codes(state) == ["RR449"]
    assert "40" in state.notices[0].message  # 40 of 99 parts of all time: 40.4 %


def test_stalls_that_recur_belong_to_the_run() -> None:
    state = find_steady_state(noisy_run(course=at(60, dict.fromkeys(range(4, 60, 8), 5.0), 1.0)))
    assert "stall" not in reasons(state).values()
    assert codes(state)[0] == "RR448"


def test_a_restart_and_the_unusual_steps_after_it_are_left_out() -> None:
    run = noisy_run(course=at(60, {30: 1.7, 31: 1.6, 32: 1.4}, 1.0), restarts=(30,))
    state = find_steady_state(run)
    assert reasons(state) == {1: "warm-up", 30: "restart", 31: "restart", 32: "restart"}
    details = {e.step: e.detail for e in state.excluded}
    assert details[30] == "first step after the run was resumed"
    assert details[31].startswith("warm-up after a restart: ")


def test_a_longer_transient_after_a_restart_is_left_out_up_to_the_next_one() -> None:
    course = np.ones(200)
    course[99:179] = 1 + 0.3 * np.exp(-np.arange(80) / 8)  # faster again over some 20 steps after the restart at 100
    run = noisy_run(200, course=course, restarts=(100, 180))
    state = find_steady_state(run)
    left_out = [step for step, reason in reasons(state).items() if reason == "restart"]
    assert left_out[0] == 100
    assert left_out[-1] == 180
    assert 110 <= left_out[-2] <= 140
    assert left_out[:-1] == list(range(100, left_out[-2] + 1))
    details = {e.step: e.detail for e in state.excluded}
    assert details[108].startswith("warm-up after a restart: −")
    assert state.steady_class == "flat"


def test_a_slow_start_of_a_few_steps_is_warm_up() -> None:
    state = find_steady_state(noisy_run(course=at(60, {1: 1.7, 2: 1.4, 3: 1.4, 4: 1.3}, 1.0)))
    assert state.steady_class == "warm-up"
    assert reasons(state) == dict.fromkeys((1, 2, 3, 4), "warm-up")
    assert state.excluded[1].detail.startswith("slow start: ")


@pytest.mark.parametrize(("mode", "words"), [("fully_async", "samples generated in advance"), ("sync", "fast start: ")])
def test_a_fast_start_is_told_as_such(mode: Any, words: str) -> None:
    """Prefetched samples make the first async steps fast: 0.2 of an ordinary step."""
    state = find_steady_state(noisy_run(course=at(60, {1: 1.0, 2: 0.2, 3: 0.4}, 1.0), mode=mode))
    assert state.steady_class == "slowdown"
    assert reasons(state) == dict.fromkeys((1, 2, 3), "warm-up")
    assert words in state.excluded[1].detail
    assert "fast start" in state.excluded[1].detail


def test_a_long_transient_is_truncated() -> None:
    course = 1 + 0.6 * np.exp(-np.arange(300) / 20)
    state = find_steady_state(noisy_run(300, course=course, cv=0.05))
    assert state.steady_class == "warm-up"
    assert state.first_step is not None
    assert 30 <= state.first_step <= 110
    assert set(reasons(state)) == set(range(1, state.first_step))


@pytest.mark.parametrize("change", [-0.15, 0.15])
def test_a_drift_is_named_with_its_size_and_nothing_is_cut(change: float) -> None:
    state = find_steady_state(noisy_run(200, course=1 / np.linspace(1, 1 + change, 200), cv=0.05))
    assert state.steady_class == "drifting"
    assert state.n == 199
    assert state.drift is not None
    assert state.drift.ci_low < change / (1 + change / 2) < state.drift.ci_high
    assert codes(state) == ["RR441"]


def test_a_drift_too_small_to_matter_leaves_the_run_flat() -> None:
    state = find_steady_state(noisy_run(200, course=np.linspace(1, 1.01, 200), cv=0.001))
    assert state.drift is not None
    assert state.drift.ci_high < 0
    assert state.steady_class == "flat"


def test_a_level_that_wanders_is_drifting_though_no_line_fits() -> None:
    course = 1 + 0.2 * np.cos(np.linspace(0, 2 * np.pi, 170))
    state = find_steady_state(noisy_run(170, course=course, cv=0.01))
    assert state.steady_class == "drifting"
    assert state.drift is None
    assert "wander" in state.notices[-1].message


@pytest.mark.parametrize("last", [51, 60, 85])
def test_a_level_that_changes_once_late_in_the_run_is_drifting(last: int) -> None:
    state = find_steady_state(noisy_run(100, course=np.where(np.arange(1, 101) <= last, 1.25, 1.0)))
    assert state.steady_class == "drifting"
    assert state.n == 99
    assert codes(state) == ["RR441"]


def test_a_change_of_level_is_told_with_its_step() -> None:
    state = find_steady_state(noisy_run(100, course=np.where(np.arange(1, 101) <= 85, 1.25, 1.0)))
    assert state.drift is None
    assert "per second change by +24.9 %" in state.notices[0].message
    assert "about step 86 of 2 to 100" in state.notices[0].message


def test_a_slow_half_that_noise_hides_from_the_drift_test_is_no_steady_state() -> None:
    rng = np.random.default_rng(11)
    classes = set()
    for _ in range(60):
        time_s = 100 * np.exp(0.05 * autoregressive(rng, 30, 0.5)) * np.where(np.arange(30) < 9, 1.25, 1.0)
        state = find_steady_state(make_run({"time.step_s": time_s, "work.tokens": np.full(30, 1000.0)}))
        classes.add(state.steady_class)
        if state.steady_class == "none":
            assert codes(state) == ["RR443"]
            assert state.n >= 8
    assert "none" in classes


@pytest.mark.parametrize("n", [1, 7])
def test_a_few_steps_are_kept_for_what_they_are_but_are_no_steady_state(n: int) -> None:
    state = find_steady_state(noisy_run(n))
    assert state.steady_class == "none"
    assert state.n == n
    assert state.n_effective is None
    assert codes(state) == ["RR442"]


def test_a_run_without_step_times_has_no_window() -> None:
    state = find_steady_state(make_run({"quality.reward_mean": [0.1, 0.2]}))
    assert (state.steady_class, state.first_step, state.last_step, state.kept) == ("none", None, None, ())
    assert reasons(state) == {1: "no step time", 2: "no step time"}


def test_an_empty_run_has_no_window() -> None:
    assert find_steady_state(make_run({})).kept == ()


def test_a_declared_window_is_used_and_checked() -> None:
    course = at(60, {1: 1.8, 2: 1.5, 30: 20.0}, 1.0)
    state = find_steady_state(noisy_run(course=course), from_step=1, to_step=50)
    assert state.declared
    assert (state.first_step, state.last_step) == (1, 50)
    assert 2 in state.kept
    assert reasons(state) == {30: "stall", **dict.fromkeys(range(51, 61), "outside window")}
    assert codes(state)[:2] == ["RR449", "RR445"]
    assert "step 1, 2" in state.notices[1].message


def test_a_declared_window_that_drifts_is_told() -> None:
    state = find_steady_state(noisy_run(200, course=np.linspace(1, 1.3, 200)), from_step=50)
    assert state.first_step == 50
    assert state.steady_class == "drifting"
    assert state.notices[-1].message.startswith("the declared window is not steady: ")


def test_a_good_declared_window_needs_no_notice() -> None:
    state = find_steady_state(noisy_run(), from_step=11, to_step=50)
    assert state.kept == tuple(range(11, 51))
    assert state.notices == ()


def test_a_declared_end_leaves_the_start_to_be_found() -> None:
    state = find_steady_state(noisy_run(course=at(60, {1: 1.7, 2: 1.4}, 1.0)), to_step=40)
    assert (state.first_step, state.last_step) == (3, 40)


def pair_window(*runs: Run) -> tuple[SteadyState, SteadyState]:
    first, second = runs
    return common_window(first, find_steady_state(first), second, find_steady_state(second))


def prompts(n: int, each: float) -> dict[str, Sequence[float]]:
    return {"work.prompts": [each] * n}


def test_the_common_window_is_the_later_start_and_the_earlier_end() -> None:
    slow = noisy_run(80, course=at(80, {1: 1.7, 2: 1.5, 3: 1.4, 4: 1.4}, 1.0), columns=prompts(80, 64))
    plain = noisy_run(50, seed=2, columns=prompts(50, 64))
    first, second = pair_window(slow, plain)
    assert (first.first_step, first.last_step) == (second.first_step, second.last_step) == (5, 50)
    assert first.steady_class == "warm-up"
    assert reasons(first)[51] == "outside window"
    assert reasons(second)[2] == "outside window"
    assert first.notices == second.notices == ()
    assert first.n_effective is not None
    assert first.n_effective <= 46


def test_a_window_that_needs_no_restriction_stays_as_it_is() -> None:
    run, other = noisy_run(columns=prompts(60, 64)), noisy_run(seed=2, columns=prompts(60, 64))
    own = find_steady_state(run)
    assert common_window(run, own, other, find_steady_state(other))[0] == own


def test_arms_with_other_batches_are_aligned_by_prompts() -> None:
    """60 steps of 64 prompts and 30 of 128: the first step of the latter reaches to step 2 of the former."""
    many, few = noisy_run(60, columns=prompts(60, 64)), noisy_run(40, seed=2, columns=prompts(40, 128))
    first, second = pair_window(many, few)
    assert (first.first_step, first.last_step) == (3, 60)
    assert (second.first_step, second.last_step) == (2, 30)
    assert codes(first) == codes(second) == ["RR452"]


def test_steps_missing_from_the_log_count_as_ordinary_ones_in_the_alignment() -> None:
    """The log of the second arm starts at step 11, so 10 x 128 prompts (20 steps of 64) lie before it."""
    many = noisy_run(60, columns=prompts(60, 64))
    few = noisy_run(20, seed=2, columns=prompts(20, 128), first_step=11)
    first, second = pair_window(many, few)
    assert first.first_step == 21
    assert (second.first_step, second.last_step) == (11, 30)


def test_several_runs_share_one_window() -> None:
    runs = [noisy_run(n, seed=n, columns=prompts(n, each)) for n, each in ((60, 64), (80, 64), (25, 128))]
    found = common_windows(runs, [find_steady_state(run) for run in runs])
    assert [(one.first_step, one.last_step) for one in found] == [(3, 50), (3, 50), (2, 25)]
    assert "equal step numbers are other samples and other parameter versions" in found[0].notices[-1].message
    alike = [noisy_run(n, seed=n, columns=prompts(n, 64)) for n in (60, 50, 40)]
    found = common_windows(alike, [find_steady_state(run) for run in alike])
    assert {(one.first_step, one.last_step) for one in found} == {(2, 40)}


def test_unknown_batches_are_aligned_by_step_and_told() -> None:
    first, second = pair_window(noisy_run(60), noisy_run(40, seed=2))
    assert (first.last_step, second.last_step) == (40, 40)
    assert "RR451" in codes(first)


def test_arms_without_common_training_have_no_common_window() -> None:
    early, late = noisy_run(20, columns=prompts(20, 64)), noisy_run(20, columns=prompts(20, 64), first_step=100)
    first, second = pair_window(early, late)
    assert first.kept == second.kept == ()
    assert first.steady_class == second.steady_class == "none"


def test_an_arm_without_steps_leaves_the_other_alone() -> None:
    run, empty = noisy_run(), make_run({})
    windows = find_steady_state(run), find_steady_state(empty)
    assert common_window(run, windows[0], empty, windows[1]) == windows


def test_the_class_is_judged_again_on_what_is_left() -> None:
    """Flat for 60 steps, then slower and slower: drifting as a whole, flat where the other arm still runs."""
    course = np.concatenate([np.ones(60), np.linspace(1, 1.5, 60)])
    long, short = noisy_run(120, course=course, columns=prompts(120, 64)), noisy_run(60, seed=2, columns=prompts(60, 64))
    assert find_steady_state(long).steady_class == "drifting"
    first, _ = pair_window(long, short)
    assert first.steady_class == "flat"
    assert "RR441" not in codes(first)


def test_the_class_of_correlated_flat_runs_is_flat() -> None:
    rng = np.random.default_rng(3)
    classes = []
    for _ in range(150):
        noise = 0.05 * autoregressive(rng, 100, 0.8)
        run = make_run({"time.step_s": 100 * np.exp(noise), "work.tokens": np.full(100, 1000.0)})
        classes.append(find_steady_state(run).steady_class)
    assert classes.count("flat") >= 0.85 * 150  # measured 93 %


def test_samples_have_the_windows_that_their_logs_show(samples: Path) -> None:
    from support.sample_logs import read_sample

    npu = find_steady_state(read_sample(samples / "verl-separate-async-npu"))
    assert (npu.first_step, npu.last_step, npu.n) == (2, 124, 123)
    assert "change by +6.2 % about step 103" in npu.notices[0].message  # weight sync falls from 66 s to 55 s there
    assert reasons(npu) == {1: "warm-up", 125: "checkpoint"}
    assert "191 s against a median of 149 s" in npu.excluded[0].detail
    fsdp = find_steady_state(read_sample(samples / "verl-grpo-fsdp-h800", contains_validation=True))
    why = reasons(fsdp)
    assert fsdp.steady_class == "drifting"
    assert why[0] == "no step time"
    assert why[160] == "checkpoint"
    assert all(why[step] in {"validation", "checkpoint"} for step in range(5, 211, 5))
    assert fsdp.n == 210 - 42 - 1
    smoke = find_steady_state(read_sample(samples / "verl-one-step-smoke"))
    assert smoke.steady_class == "none"
