from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_runs import make_run
from support.made_series import autoregressive

from rlreport.comparators.replicated import (
    ReplicatedComparison,
    compare_replicates,
    replicates_by_run,
    spread_of_group,
    with_runs_as_unit,
)
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.model import Run

METRIC = "tokens_per_s_per_device"


def run(speed: float, seed: int, *, name: str = "r", cv: float = 0.01, n: int = 60) -> Run:
    rng = np.random.default_rng(seed)
    time_s = 100 * np.exp(cv * autoregressive(rng, n, 0.0)) / speed
    return make_run(
        {"time.step_s": time_s, "work.tokens": np.full(n, 10_000.0), "work.prompts": np.full(n, 64.0)},
        run_id=f"{name}{seed}",
        label=f"{name} {seed}",
    )


def group(*speeds: float, name: str = "b", first_seed: int = 1, **more: Any) -> list[Run]:
    return [run(speed, first_seed + place, name=name, **more) for place, speed in enumerate(speeds)]


def compare(baseline: list[Run], variant: list[Run], **options: Any) -> ReplicatedComparison | None:
    windows = [[find_steady_state(one) for one in arm] for arm in (baseline, variant)]
    return compare_replicates(baseline, variant, *windows, metric=METRIC, **options)


def codes(found: ReplicatedComparison) -> list[str]:
    return [notice.code for notice in found.notices]


def test_runs_are_the_observations() -> None:
    baseline, variant = group(1.0, 1.03, 0.98), group(1.2, 1.26, 1.23, name="v", first_seed=10)
    found = compare(baseline, variant)
    assert found is not None
    assert (found.basis, found.verdict) == ("both arms", "improved")
    rates = [[mean.rate.estimate for mean in arm] for arm in (found.baseline, found.variant)]
    welch = stats.ttest_ind(np.log(rates[1]), np.log(rates[0]), equal_var=False)
    assert found.p_value == pytest.approx(welch.pvalue)
    assert (np.log(found.ci_low), np.log(found.ci_high)) == pytest.approx(tuple(welch.confidence_interval()))
    assert found.ratio == pytest.approx(stats.gmean(rates[1]) / stats.gmean(rates[0]))
    assert found.floor.degrees == 4
    assert found.rank_p == found.smallest_rank_p == pytest.approx(0.1)
    assert codes(found) == ["RR484", "RR486"]
    assert "cannot give less than p = 0.10" in found.notices[1].message


def test_the_interval_between_runs_is_wider_than_within_when_runs_differ() -> None:
    baseline, variant = group(1.0, 1.1), group(1.07, 1.16, name="v", first_seed=10)
    found = compare(baseline, variant)
    assert found is not None
    alone = compare_throughput(
        baseline[0],
        variant[0],
        *common_window(baseline[0], find_steady_state(baseline[0]), variant[0], find_steady_state(variant[0])),
    ).headline
    assert alone.verdict == "improved"
    assert found.verdict == "inconclusive"
    assert found.ci_low < 0.9
    assert found.ci_high > 1.2
    assert found.within_share is not None
    assert found.within_share < 0.01
    assert "more runs would narrow the interval" in found.notices[-1].message
    assert found.runs_needed is not None
    assert f"({found.runs_needed} an arm for the ratio found)" in found.notices[-1].message


def test_noise_within_runs_is_told_from_that_between_them() -> None:
    found = compare(group(1.0, 1.0, 1.0, cv=0.3), group(1.02, 1.02, 1.02, name="v", first_seed=10, cv=0.3))
    assert found is not None
    assert found.verdict == "inconclusive"
    assert found.within_share is not None
    assert found.within_share > 0.4
    if found.within_share >= 0.5:
        assert "longer windows would narrow it too" in found.notices[-1].message


def test_replicates_of_the_baseline_alone_judge_the_claimed_effect() -> None:
    small = compare(group(1.0, 1.06, 0.96), [run(1.05, 20, name="v")])
    assert small is not None
    assert (small.basis, small.verdict) == ("baseline", "inconclusive")
    assert codes(small)[0] == "RR485"
    assert "may be no more than the difference between two runs of one configuration" in small.notices[0].message
    large = compare(group(1.0, 1.01, 0.99), [run(1.5, 20, name="v")])
    assert large is not None
    assert large.verdict == "improved"
    assert "more than runs of one configuration differ" in large.notices[0].message
    other = compare([run(1.0, 20)], group(1.5, 1.51, name="v"))
    assert other is not None
    assert other.basis == "variant"


def test_one_run_an_arm_says_nothing_of_runs() -> None:
    assert compare(group(1.0), group(1.2, name="v", first_seed=5)) is None
    bare = make_run({"time.step_s": np.full(60, 100.0), "work.tokens": np.full(60, 1.0)}, trainer=None, rollout=None)
    assert compare(group(1.0, 1.0), [bare]) is None  # no devices: no tokens per device


def test_a_run_that_crashed_early_is_no_observation() -> None:
    found = compare([*group(1.0, 1.02), run(1.0, 9, name="short", n=6)], group(1.5, 1.52, name="v", first_seed=5))
    assert found is not None
    assert len(found.baseline) == 2
    assert found.notices[-1].code == "RR488"
    assert found.notices[-1].message.startswith("short 9: fewer than 8 steps")
    assert compare([*group(1.0), run(1.0, 9, n=6)], group(1.5, name="v", first_seed=5)) is None


def test_runs_that_may_not_be_compared_keep_their_numbers() -> None:
    found = compare(group(1.0, 1.03), group(1.5, 1.52, name="v", first_seed=5), comparable=False)
    assert found is not None
    assert found.verdict == "not-comparable"
    assert found.ratio > 1.4


def test_the_runs_share_one_window() -> None:
    found = compare([*group(1.0, 1.0), run(1.0, 9, n=40)], group(1.2, name="v", first_seed=20))
    assert found is not None
    whole = compare(group(1.0, 1.0), group(1.2, name="v", first_seed=20))
    assert whole is not None
    assert found.baseline[0].rate != whole.baseline[0].rate  # 40 steps instead of 60


def test_the_headline_takes_its_interval_from_runs() -> None:
    baseline, variant = group(1.0, 1.05), group(1.2, 1.27, name="v", first_seed=10)
    windows = common_window(baseline[0], find_steady_state(baseline[0]), variant[0], find_steady_state(variant[0]))
    alone = compare_throughput(baseline[0], variant[0], *windows)
    found = compare(baseline, variant)
    assert found is not None
    joined = with_runs_as_unit(alone, found)
    headline = joined.headline
    assert (headline.ratio, headline.ci_low, headline.p_value) == (found.ratio, found.ci_low, found.p_value)
    assert headline.verdict == found.verdict
    assert headline.minimum_detectable_ratio == found.smallest_visible
    assert headline.variant.estimate / headline.baseline.estimate == pytest.approx(found.ratio)
    assert "RR454" in [notice.code for notice in alone.notices]
    assert "RR454" not in [notice.code for notice in joined.notices]
    assert with_runs_as_unit(alone, None) is alone


def test_with_one_replicated_arm_the_headline_stays_and_is_commented() -> None:
    baseline, variant = group(1.0, 1.05), run(1.2, 10, name="v")
    windows = common_window(baseline[0], find_steady_state(baseline[0]), variant, find_steady_state(variant))
    alone = compare_throughput(baseline[0], variant, *windows)
    joined = with_runs_as_unit(alone, compare(baseline, [variant]))
    assert joined.headline == alone.headline
    assert {"RR485", "RR454"} <= {notice.code for notice in joined.notices}


def test_a_verdict_that_stands_is_not_replaced() -> None:
    baseline, variant = group(1.0, 1.05), group(1.2, 1.27, name="v", first_seed=10)
    windows = common_window(baseline[0], find_steady_state(baseline[0]), variant[0], find_steady_state(variant[0]))
    alone = compare_throughput(baseline[0], variant[0], *windows, comparable=False)
    assert with_runs_as_unit(alone, compare(baseline, variant)).headline.verdict == "not-comparable"


def test_the_spread_of_a_group() -> None:
    runs = group(1.0, 1.1, 0.9)
    found = spread_of_group(runs, [find_steady_state(one) for one in runs], metric=METRIC)
    assert found is not None
    assert found.sigma == pytest.approx(np.log([1.0, 1.1, 0.9]).std(ddof=1), rel=0.05)
    assert spread_of_group(runs[:1], [find_steady_state(runs[0])], metric=METRIC) is None


def test_the_replicates_of_a_reports_runs() -> None:
    groups = {"a1": "a", "a2": "a", "b1": "b", "a3": "a", "c": None, "d": None}
    assert replicates_by_run(["a1", "b1", "c"], groups) == {"a1": ("a2", "a3")}
    assert replicates_by_run(["a1", "a2", "b1"], groups) == {}
    assert replicates_by_run(["c", "x"], groups) == {}
