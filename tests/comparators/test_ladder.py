"""Ladders: the chain of rungs, the measured total, and what can be laid to which change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_chains import BUDGET, DATA, NODES, WARM_UP, analysed, made, omni_ladder

from rlreport.comparators.ladder import Ladder, measure_ladder
from rlreport.run.model import Run


def climb(runs: list[Run], *changes: str, **request: Any) -> Ladder:
    return measure_ladder(analysed(runs, "ladder", changes or ("resources", "work"), **request))


def test_each_rung_stands_against_the_one_before_and_the_first() -> None:
    ladder = climb(omni_ladder())
    assert [(rung.number, rung.run_id, rung.previous_id) for rung in ladder.rungs] == [
        (1, "a", None),
        (2, "b", "a"),
        (3, "c", "b"),
    ]
    # Per device: 2,000 / 16 = 125, 2,880 / 24 = 120, 3,168 / 24 = 132 tokens/s.
    assert ladder.metric == "tokens_per_s_per_device"
    assert [rung.ratio.ratio for rung in ladder.changes if rung.ratio] == pytest.approx([0.96, 1.1])
    assert [rung.cumulative.ratio for rung in ladder.changes if rung.cumulative] == pytest.approx([0.96, 1.056])
    assert ladder.total is ladder.rungs[2].cumulative
    assert [rung.window for rung in ladder.changes] == [(2, 121), (2, 121)]


def test_the_total_is_measured_with_an_interval_of_its_own() -> None:
    runs = omni_ladder()
    total = climb(runs).total
    assert total is not None
    errors = [float(run.steps["time.step_s"].std(ddof=1) / run.steps["time.step_s"].mean()) for run in (runs[0], runs[2])]
    # Equal tokens in every step: the ratio of sums is a ratio of mean times, with 120 independent steps an arm.
    error = math.sqrt(sum(e**2 for e in errors) / 120)
    degrees = (errors[0] ** 2 + errors[1] ** 2) ** 2 / ((errors[0] ** 4 + errors[1] ** 4) / 119)
    reach = math.exp(stats.t.ppf(0.975, degrees) * error)
    assert (total.ci_low, total.ci_high) == pytest.approx((1.056 / reach, 1.056 * reach), rel=1e-6)
    assert total.verdict == "improved"


def test_a_rung_of_two_classes_names_the_missing_run() -> None:
    ladder = climb(omni_ladder())
    second, third = ladder.changes
    assert (second.attribution, second.classes, second.attributable) == ("several-classes", ("resources", "work"), False)
    (missing,) = second.missing
    assert missing.like == "a"
    assert [(setting.key, setting.before, setting.after) for setting in missing.settings] == [(NODES, 1, 2)]
    assert (third.attribution, third.classes, third.attributable, third.missing) == ("one-class", ("work",), True, ())


def test_two_knobs_of_one_class_are_one_change() -> None:
    ladder = climb([made("a"), made("b", seed=2, config={WARM_UP: 2, BUDGET: 20_480})], "work")
    assert ladder.rungs[1].attribution == "one-class"
    assert ladder.rungs[1].missing == ()


def test_the_order_of_the_manifest_is_the_order_of_the_rungs() -> None:
    first, second, third = omni_ladder()
    ladder = climb([first, third, second])
    assert [rung.run_id for rung in ladder.rungs] == ["a", "c", "b"]
    assert [rung.ratio.ratio for rung in ladder.changes if rung.ratio] == pytest.approx([1.056, 1 / 1.1])
    assert ladder.total is not None
    assert ladder.total.ratio == pytest.approx(0.96)
    # From c back to b only the budget moves, although b was two classes away from a.
    assert [rung.attribution for rung in ladder.changes] == ["several-classes", "one-class"]


@pytest.mark.parametrize(
    ("config", "changes", "attribution"),
    [
        ({}, ("work",), "no-change"),
        ({WARM_UP: 2}, ("resources",), "undeclared"),
        ({DATA: "b.parquet"}, ("work",), "not-comparable"),
        ({"trainer.experiment_name": "other"}, ("work",), "no-change"),
    ],
)
def test_attribution_follows_the_change(config: dict[str, Any], changes: tuple[str, ...], attribution: str) -> None:
    ladder = climb([made("a"), made("b", seed=2, config=config)], *changes)
    assert ladder.rungs[1].attribution == attribution


def test_an_unknown_configuration_leaves_the_rung_unattributed() -> None:
    blank = made("b", seed=2)
    object.__setattr__(blank, "config", {})
    ladder = climb([made("a"), blank])
    assert (ladder.rungs[1].attribution, ladder.rungs[1].attributable) == ("unknown", False)
    assert ladder.total is not None
    assert ladder.total.ratio == pytest.approx(1.0)


def test_a_rung_that_cannot_be_compared_breaks_the_chain() -> None:
    runs = [
        made("a"),
        made("b", seed=2, config={WARM_UP: 2}),
        made("c", seed=3, config={WARM_UP: 2, DATA: "b.parquet"}),
        made("d", seed=4, rate=1500, config={WARM_UP: 3, DATA: "b.parquet"}),
    ]
    ladder = climb(runs)
    assert [rung.attribution for rung in ladder.changes] == ["one-class", "not-comparable", "one-class"]
    totals = [rung.cumulative for rung in ladder.changes]
    assert [total.verdict for total in totals if total] == ["equivalent", "not-comparable", "not-comparable"]
    # The estimate stands beside the verdict.
    assert totals[2] is not None
    assert totals[2].ratio == pytest.approx(1.5)
    assert ladder.changes[2].ratio is not None
    assert ladder.changes[2].ratio.verdict == "improved"


def test_lead_and_memory_by_rung() -> None:
    ladder = climb(omni_ladder())
    assert [rung.lead.mini_batches for rung in ladder.rungs] == [5.0, 3.0, 1.5]
    assert [rung.headroom.reserved_gb for rung in ladder.rungs] == [40.0, 40.0, 50.0]
    assert ladder.budget.tokens == 46_080  # by the line through rungs 2 and 3, which differ in the budget alone


def test_without_queue_and_memory_both_are_unknown() -> None:
    ladder = climb([made("a"), made("b", seed=2, config={NODES: 2})])
    assert {rung.lead.basis for rung in ladder.rungs} == {"unknown"}
    assert ladder.budget.tokens is None


def test_leads_known_in_different_ways_are_told() -> None:
    queue = {"columns": {"queue.samples": np.full(120, 32.0)}}
    staleness = {"columns": {"staleness.mean": np.ones(120)}}
    ladder = climb([made("a", **queue), made("b", seed=2, config={NODES: 2}, **staleness)])
    assert [notice.code for notice in ladder.notices] == ["RR497"]


def test_the_metric_is_the_first_that_all_rungs_have() -> None:
    without_tokens = made("b", seed=2, config={WARM_UP: 2}, columns={"work.tokens": np.full(120, np.nan)})
    ladder = climb([made("a"), without_tokens, made("c", seed=3, config={WARM_UP: 3})])
    assert ladder.metric == "prompts_per_s_per_device"
    assert {rung.ratio.metric for rung in ladder.changes if rung.ratio} == {"prompts_per_s_per_device"}
    assert ladder.total is not None
    assert ladder.total.ratio == pytest.approx(1.0)


def test_rungs_without_a_common_metric_are_told() -> None:
    timeless = made("b", seed=2, config={WARM_UP: 2}, columns={"time.step_s": np.full(120, np.nan)})
    without_tokens = made("c", seed=3, config={WARM_UP: 3}, columns={"work.tokens": np.full(120, np.nan)})
    ladder = climb([made("a"), timeless, without_tokens])
    assert ladder.metric is None
    assert [notice.code for notice in ladder.notices] == ["RR495"]
    assert [rung.ratio.ratio for rung in ladder.changes if rung.ratio] == [None, None]
    assert ladder.total is not None
    assert (ladder.total.metric, ladder.total.ratio) == ("prompts_per_s_per_device", pytest.approx(1.0))


def test_a_product_that_contradicts_the_total_is_told() -> None:
    # b has only the first 12 steps, in which a is 5 % faster than later: the rungs multiply to c over a fast a, while the
    # total holds all 120 steps.
    base = made("x").steps["time.step_s"].to_numpy()
    early = np.where(np.arange(120) < 12, base / 1.05, base)
    runs = [
        made("a", columns={"time.step_s": early}),
        made("b", steps=12, seed=2, config={WARM_UP: 2}),
        made("c", seed=3, rate=1100, config={WARM_UP: 2, BUDGET: 20_480}),
    ]
    ladder = climb(runs, from_step=2, to_step=121)
    assert [notice.code for notice in ladder.notices] == ["RR496"]
    assert "the total counts" in ladder.notices[0].message
    assert ladder.total is not None
    assert ladder.total.ratio == pytest.approx(1.1 * early.sum() / base.sum(), rel=1e-6)
