from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_runs import make_run
from support.made_series import autoregressive

from rlreport.comparators.results import RatioComparison, SteadyState, ThroughputComparison
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput, judge_ratio, measure_throughput
from rlreport.run.model import Run
from rlreport.stats.ratio import LogRatio


def window(run: Run, first: int = 1, steady_class: Any = "flat") -> SteadyState:
    """All steps from `first` on."""
    kept = tuple(int(step) for step in run.steps.index if step >= first)
    return SteadyState(steady_class, kept[0] if kept else None, kept[-1] if kept else None, kept, float(len(kept)), ())


def arm(n: int = 100, *, speed: float = 1.0, seed: int = 1, cv: float = 0.03, phi: float = 0.0, **more: Any) -> Run:
    """About 100 s, 10,000 tokens and 64 prompts a step, at a speed; tokens vary by 3 %."""
    rng = np.random.default_rng(seed)
    tokens = more.pop("tokens", 10_000 * np.exp(0.03 * rng.normal(size=n)))
    time_s = tokens / 100 * np.exp(cv * autoregressive(rng, n, phi)) / speed * more.pop("course", 1.0)
    columns = {"time.step_s": time_s, "work.tokens": tokens, "work.prompts": np.full(n, 64.0)}
    for name in more.pop("without", ()):
        del columns[name]
    return make_run({**columns, **more.pop("columns", {})}, **more)


def compare(baseline: Run, variant: Run, **options: Any) -> ThroughputComparison:
    return compare_throughput(baseline, variant, window(baseline), window(variant), **options)


def codes(compared: ThroughputComparison) -> list[str]:
    return [notice.code for notice in compared.notices]


def other(compared: ThroughputComparison, metric: str) -> RatioComparison:
    return next(one for one in compared.others if one.metric == metric)


def test_throughput_of_a_window_is_a_ratio_of_sums() -> None:
    run = make_run({"time.step_s": [500.0, 10.0, 30.0], "work.tokens": [1.0, 400.0, 800.0], "work.prompts": [1.0, 8.0, 8.0]})
    found = measure_throughput(run, window(run, first=2))
    assert found.tokens_per_s.estimate == 30.0
    assert found.tokens_per_s.unit == "tokens/s"
    assert found.tokens_per_s_per_device.estimate == pytest.approx(30 / 8)
    assert found.prompts_per_s.estimate == pytest.approx(16 / 40)
    assert found.steps_per_h.estimate == pytest.approx(3600 * 2 / 40)
    assert found.tokens_per_s.ci_low is None  # two steps have no interval


def test_intervals_need_eight_steps_and_hold_the_estimate() -> None:
    run = arm(8)
    found = measure_throughput(run, window(run))
    for estimate in (found.tokens_per_s, found.tokens_per_s_per_device, found.prompts_per_s, found.steps_per_h):
        assert estimate.ci_low is not None
        assert estimate.ci_high is not None
        assert estimate.estimate is not None
        assert 0 < estimate.ci_low < estimate.estimate < estimate.ci_high
    assert measure_throughput(run, window(run, first=2)).tokens_per_s.ci_low is None


def test_what_is_not_known_is_unknown() -> None:
    run = arm(20, without=["work.tokens", "work.prompts"], trainer=None, rollout=None)
    found = measure_throughput(run, window(run))
    assert found.tokens_per_s.estimate is found.prompts_per_s.estimate is None
    assert found.steps_per_h.estimate is not None
    assert measure_throughput(arm(20, trainer=None), window(run)).tokens_per_s_per_device.estimate is None
    empty = measure_throughput(run, window(make_run({})))
    assert empty.steps_per_h.estimate is None


def test_a_clear_gain_is_improved_and_its_inverse_regressed() -> None:
    slow, fast = arm(), arm(speed=1.25, seed=2)
    gain, loss = compare(slow, fast).headline, compare(fast, slow).headline
    assert gain.metric == "tokens_per_s_per_device"
    assert gain.verdict == "improved"
    assert loss.verdict == "regressed"
    assert gain.ci_low is not None
    assert gain.ci_high is not None
    assert gain.ci_low < 1.25 < gain.ci_high
    assert loss.ratio == pytest.approx(1 / gain.ratio)
    assert (loss.ci_low, loss.ci_high) == pytest.approx((1 / gain.ci_high, 1 / gain.ci_low))
    assert (gain.n_baseline, gain.n_variant, gain.confidence, gain.margin) == (100, 100, 0.95, 0.05)
    assert gain.minimum_detectable_ratio is not None
    assert 1.005 < gain.minimum_detectable_ratio < 1.03  # sqrt(2) x 3 % / sqrt(100) x (1.97 + 0.84) = 1.2 %


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (1.00, 0.010, "equivalent"),
        (1.03, 0.008, "within-noise"),
        (1.03, 0.013, "inconclusive"),  # faster for sure, but not known whether by as much as matters
        (1.10, 0.020, "improved"),
        (1.10, 0.060, "inconclusive"),
        (1 / 1.10, 0.020, "regressed"),
        (1 / 1.03, 0.008, "within-noise"),
        (1.00, 0.050, "inconclusive"),
    ],
)
def test_the_verdict_follows_from_interval_and_margin(value: float, error: float, verdict: str) -> None:
    """95 % is 1.96 errors each way, 90 % is 1.645; the margins are 1/1.05 and 1.05."""
    assert judge_ratio(LogRatio(value, error, 1e6), 0.05) == verdict


def test_a_larger_margin_asks_for_a_larger_effect() -> None:
    assert judge_ratio(LogRatio(1.10, 0.02, 1e6), 0.15) == "within-noise"
    assert judge_ratio(LogRatio(1.10, 0.02, 1e6), 0.02) == "improved"


def test_other_device_counts_make_per_device_the_headline_beside_the_total() -> None:
    """16 + 48 devices against 16 + 32 at the same total speed: 64 / 48 per device."""
    more, fewer = arm(trainer=16, rollout=48), arm(seed=2, trainer=16, rollout=32)
    compared = compare(more, fewer)
    total = other(compared, "tokens_per_s")
    assert compared.headline.verdict == "improved"
    assert compared.headline.ratio == pytest.approx(total.ratio * 64 / 48)
    assert total.verdict == "equivalent"
    assert "RR456" in codes(compared)
    adjusted = other(compared, "length_adjusted_per_device")
    assert adjusted.ratio == pytest.approx(64 / 48, rel=0.03)
    assert adjusted.baseline.estimate == pytest.approx(100 / 64, rel=0.03)


def test_unknown_devices_leave_the_total_as_headline_and_say_so() -> None:
    compared = compare(arm(label="one"), arm(seed=2, trainer=None, label="two"))
    assert compared.headline.metric == "tokens_per_s"
    assert [one.metric for one in compared.others] == ["prompts_per_s", "steps_per_h", "length_adjusted"]
    assert next(notice.message for notice in compared.notices if notice.code == "RR455").startswith(
        "the number of devices of two is not known"
    )


@pytest.mark.parametrize(
    ("without", "headline"),
    [(["work.tokens"], "prompts_per_s_per_device"), (["work.tokens", "work.prompts"], "steps_per_h")],
)
def test_without_tokens_the_next_known_metric_is_the_headline(without: list[str], headline: str) -> None:
    compared = compare(arm(), arm(seed=2, without=without))
    assert compared.headline.metric == headline
    assert "RR455" in codes(compared)
    assert not any("adjusted" in one.metric for one in compared.others)


def test_a_smoke_test_is_insufficient_and_never_a_percentage() -> None:
    compared = compare(arm(), arm(1, seed=2))
    for one in (compared.headline, *compared.others):
        assert one.verdict == "insufficient-data"
        assert one.ratio is one.ci_low is one.ci_high is one.minimum_detectable_ratio is None
    assert compared.headline.variant.estimate is not None
    message = compared.notices[-1].message
    assert "baseline: 100 steps worth " in message
    assert "variant: 1 step)" in message
    assert "%" not in " ".join(notice.message for notice in compared.notices)


def test_an_arm_without_steps_keeps_its_metric() -> None:
    run, empty = arm(), arm(3, seed=2)
    nothing = SteadyState("none", None, None, (), None, ())
    compared = compare_throughput(run, empty, window(run), nothing)
    assert compared.headline.metric == "tokens_per_s_per_device"
    assert compared.headline.verdict == "insufficient-data"
    assert compared.headline.variant.estimate is None
    bare = make_run({})
    assert compare_throughput(run, bare, window(run), nothing).headline.metric == "steps_per_h"


def test_few_effective_steps_have_an_interval_but_no_verdict() -> None:
    slow = 0.05 * np.sin(np.linspace(0, 3 * np.pi, 30))
    compared = compare(arm(30, cv=0.001, course=np.exp(slow)), arm(30, speed=2.0, seed=2))
    assert compared.headline.verdict == "insufficient-data"
    assert compared.headline.ci_low is not None
    assert compared.headline.n_effective_baseline is not None
    assert compared.headline.n_effective_baseline < 4


def test_runs_that_may_not_be_compared_keep_their_numbers() -> None:
    compared = compare(arm(), arm(speed=1.25, seed=2), comparable=False, reasons=["the datasets differ"])
    assert {one.verdict for one in (compared.headline, *compared.others)} == {"not-comparable"}
    assert compared.headline.ratio == pytest.approx(1.25, rel=0.02)
    assert compared.headline.ci_low is not None
    assert compared.notices[0].code == "RR453"
    assert "the datasets differ" in compared.notices[0].message


def test_no_steady_state_is_told_before_too_little_data() -> None:
    run, variant = arm(), arm(speed=1.5, seed=2)
    compared = compare_throughput(run, variant, window(run, steady_class="none"), window(variant))
    assert compared.headline.verdict == "no-steady-state"
    assert compared.headline.ratio is not None
    few = arm(5)
    assert compare_throughput(few, variant, window(few, steady_class="none"), window(variant)).headline.verdict == (
        "insufficient-data"
    )


def test_one_run_an_arm_is_always_said() -> None:
    assert "RR454" in codes(compare(arm(), arm(seed=2)))


def test_longer_responses_are_told_and_adjusted_for() -> None:
    """With a fixed cost of 60 s a step, 40 % longer responses raise tokens/s and lower prompts/s; at equal length none."""
    rng = np.random.default_rng(3)

    def run(length: float, seed: int) -> Run:
        tokens = 10_000 * length * np.exp(0.2 * np.random.default_rng(seed).normal(size=200))
        time_s = (60 + tokens / 250) * np.exp(0.02 * rng.normal(size=200))
        columns = {
            "time.step_s": time_s,
            "work.tokens": tokens,
            "work.prompts": np.full(200, 64.0),
            "length.response_mean": tokens / 64,
        }
        return make_run(columns)

    compared = compare(run(1.0, 1), run(1.4, 2))
    adjusted = other(compared, "length_adjusted_per_device")
    assert compared.headline.ratio is not None
    assert compared.headline.ratio > 1.1
    assert other(compared, "prompts_per_s").ratio < 0.95
    assert adjusted.ratio == pytest.approx(1.0, abs=0.02)
    assert adjusted.verdict == "equivalent"
    assert {"RR460", "RR461"} <= set(codes(compared))
    assert "longer" in next(n.message for n in compared.notices if n.code == "RR460")


def test_batches_of_other_size_are_adjusted_by_prompt() -> None:
    """Steps of twice the prompts take twice as long: no difference at equal length a prompt."""
    one, two = arm(), arm(seed=2)
    double = two.steps.assign(**{name: 2 * two.steps[name] for name in two.steps.columns})
    adjusted = other(compare(one, replace(two, steps=double)), "length_adjusted_per_device")
    assert adjusted.ratio == pytest.approx(1.0, abs=0.02)


def test_constant_tokens_leave_nothing_to_adjust() -> None:
    constant = [arm(tokens=np.full(100, 10_000.0), seed=seed) for seed in (1, 2)]
    assert not any("adjusted" in one.metric for one in compare(*constant).others)


def test_arms_that_drift_alike_are_compared_step_by_step() -> None:
    course = np.linspace(1.0, 2.0, 150)
    slow, fast = arm(150, course=course), arm(150, course=course, speed=1.2, seed=2)
    windows = window(slow, steady_class="drifting"), window(fast, steady_class="drifting")
    compared = compare_throughput(slow, fast, *windows)
    assert compared.headline.verdict == "improved"
    assert compared.headline.ratio == pytest.approx(1.2, rel=0.02)
    assert compared.headline.ci_high / compared.headline.ci_low < 1.04
    assert codes(compared).count("RR458") == 1
    assert "RR459" not in codes(compared)
    apart = compare_throughput(slow, fast, window(slow), window(fast)).headline
    assert apart.ci_low is None or apart.ci_high / apart.ci_low > 1.5  # without matching the common course counts as noise


def test_a_ratio_that_changes_along_the_window_is_told() -> None:
    course = np.linspace(1.0, 2.0, 150)
    slow, fast = arm(150, course=course), arm(150, course=course / np.linspace(1.0, 1.5, 150), seed=2)
    windows = window(slow, steady_class="drifting"), window(fast, steady_class="drifting")
    compared = compare_throughput(slow, fast, *windows)
    assert "RR459" in codes(compared)


def test_steps_of_other_batches_are_never_matched() -> None:
    course = np.linspace(1.0, 2.0, 60)
    slow = arm(60, course=course)
    fast = arm(60, course=course, seed=2, columns={"work.prompts": np.full(60, 128.0)})
    windows = window(slow, steady_class="drifting"), window(fast, steady_class="drifting")
    compared = compare_throughput(slow, fast, *windows)
    assert "corresponding steps" not in next(n.message for n in compared.notices if n.code == "RR458")


def test_a_level_that_wanders_has_no_interval() -> None:
    wandering = arm(170, cv=0.001, course=1 + 0.2 * np.cos(np.linspace(0, 2 * np.pi, 170)))
    state = find_steady_state(wandering)
    found = measure_throughput(wandering, state)
    assert found.tokens_per_s.estimate is not None
    assert found.tokens_per_s.ci_low is None
    flat = arm(170, seed=2)
    headline = compare_throughput(wandering, flat, state, window(flat)).headline
    assert headline.verdict == "insufficient-data"
    assert headline.ratio is not None
    assert headline.ci_low is None


def test_a_baseline_that_differs_from_itself_downgrades_the_claim() -> None:
    halves = np.where(np.arange(100) < 50, 1.0, 1.06)
    compared = compare(arm(course=halves, cv=0.05), arm(speed=1.1, seed=2, course=1.03))
    assert compared.headline.verdict == "inconclusive"
    assert compared.headline.ratio == pytest.approx(1.1, rel=0.02)
    message = next(n.message for n in compared.notices if n.code == "RR457")
    assert "downgraded" in message
    assert "RR457" not in codes(compare(arm(), arm(speed=1.1, seed=2)))


def test_an_undecided_comparison_says_what_it_could_have_shown() -> None:
    compared = compare(arm(30, phi=0.3, cv=0.1), arm(30, phi=0.3, cv=0.1, seed=5))
    assert compared.headline.verdict == "inconclusive"
    smallest = compared.headline.minimum_detectable_ratio
    assert smallest is not None
    assert f"{100 * (smallest - 1):.1f} %" in next(n.message for n in compared.notices if n.code == "RR462")


def test_estimates_agree_with_the_ratio() -> None:
    headline = compare(arm(), arm(speed=1.3, seed=2)).headline
    assert headline.variant.estimate / headline.baseline.estimate == pytest.approx(headline.ratio)
    assert headline.baseline.unit == "tokens/s/device"
    assert math.isclose(headline.baseline.estimate, 100 / 8, rel_tol=0.02)


def test_the_npu_sample_has_its_known_throughput(samples: Path) -> None:
    """448.6 tokens/s over both devices within 1 % (steps 11 to 124)."""
    from support.sample_logs import read_sample

    run = read_sample(samples / "verl-separate-async-npu")
    found = measure_throughput(run, find_steady_state(run)).tokens_per_s
    assert found.estimate == pytest.approx(448.6, rel=0.01)
    assert found.ci_low < 448.6 < found.ci_high


def test_the_h800_samples_are_not_moved_by_the_stalled_checkpoint(samples: Path) -> None:
    from support.sample_logs import read_sample

    fsdp = read_sample(samples / "verl-grpo-fsdp-h800", contains_validation=True)
    megatron = read_sample(samples / "verl-grpo-megatron-h800", contains_validation=True)
    own = find_steady_state(fsdp)
    median = float((fsdp.steps["work.tokens"] / fsdp.steps["time.step_s"]).loc[list(own.kept)].median())
    assert measure_throughput(fsdp, own).tokens_per_s.estimate == pytest.approx(median, rel=0.1)
    windows = common_window(fsdp, own, megatron, find_steady_state(megatron))
    compared = compare_throughput(fsdp, megatron, *windows, comparable=False)
    assert compared.headline.verdict == "not-comparable"
    assert windows[0].last_step == windows[1].last_step == 104
    assert {"RR453", "RR458", "RR460"} <= set(codes(compared))
