from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.comparators.judge import WEAKER, Claim, PairResults, adjust_claims, judge_report
from rlreport.comparators.results import (
    Change,
    ChangeVerdict,
    QualityComparison,
    QualityVerdict,
    RatioComparison,
    SteadyState,
    ThroughputComparison,
    ThroughputVerdict,
)
from rlreport.run.estimate import Estimate

UNKNOWN = Estimate.unknown("tokens/s")
WINDOW = SteadyState("flat", 1, 30, tuple(range(1, 31)), 20.0, ())


def _claims(*p_values: float | None, metric: str = "throughput", verdict: str = "improved") -> list[Claim]:
    return [Claim(f"v{place}", metric, verdict, p) for place, p in enumerate(p_values)]


def _pair(
    variant: str = "v",
    verdict: ThroughputVerdict = "improved",
    p_value: float | None = 0.01,
    *,
    change: ChangeVerdict = "single",
    blocking: tuple[str, ...] = (),
    quality: Sequence[tuple[str, QualityVerdict, float | None]] = (),
) -> PairResults:
    headline = RatioComparison(
        "tokens_per_s", UNKNOWN, UNKNOWN, 1.1, 1.05, 1.15, 0.95, 0.05, verdict, 1.05, 30, 30, 20.0, 20.0, p_value
    )
    qualities = tuple(
        QualityComparison(metric, UNKNOWN, UNKNOWN, 0.1, 0.0, 0.2, None, found, None, p_value=p)
        for metric, found, p in quality
    )
    found = Change(change, (), (), (), (), (), 0, 0, blocking=blocking)
    return PairResults(variant, found, ThroughputComparison(headline, (), WINDOW, WINDOW), qualities)


def test_one_primary_claim_is_not_adjusted() -> None:
    (judged,) = adjust_claims(_claims(0.04), ["throughput"])
    assert (judged.p_adjusted, judged.verdict, judged.primary, judged.weakened) == (0.04, "improved", True, False)


def test_several_primary_claims_are_adjusted_step_by_step() -> None:
    # Holm by hand: 0.01 x 3, then 0.03 x 2, then 0.04 raised to the one before.
    judged = adjust_claims(_claims(0.04, 0.01, 0.03), ["throughput"])
    assert [claim.p_adjusted for claim in judged] == pytest.approx([0.06, 0.03, 0.06])
    assert [claim.verdict for claim in judged] == ["inconclusive", "improved", "inconclusive"]


def test_exploratory_claims_neither_count_nor_change() -> None:
    claims = [*_claims(0.04), *_claims(0.04, 0.04, metric="reward", verdict="better")]
    speed, *rewards = adjust_claims(claims, ["throughput"])
    assert (speed.verdict, speed.p_adjusted) == ("improved", 0.04)
    assert [(claim.primary, claim.p_adjusted, claim.verdict) for claim in rewards] == [(False, None, "better")] * 2
    both = adjust_claims(claims, ["throughput", "reward"])
    assert [claim.p_adjusted for claim in both] == pytest.approx([0.12, 0.12, 0.12])


@pytest.mark.parametrize("verdict", ["insufficient-data", "no-steady-state", "not-comparable"])
def test_what_could_not_be_tested_is_no_member_of_the_family(verdict: str) -> None:
    claims = [*_claims(0.04), *_claims(0.01, verdict=verdict), *_claims(None)]
    judged = adjust_claims(claims, ["throughput"])
    assert [claim.p_adjusted for claim in judged] == [0.04, None, None]
    assert judged[0].verdict == "improved"


@pytest.mark.parametrize(("verdict", "left"), sorted(WEAKER.items()))
def test_every_claim_of_a_difference_can_fall(verdict: str, left: str) -> None:
    judged = adjust_claims(_claims(0.04, 0.04, verdict=verdict), ["throughput"])
    assert [claim.verdict for claim in judged] == [left, left]
    stands = adjust_claims(_claims(0.001, 0.001, verdict=verdict), ["throughput"])
    assert [claim.verdict for claim in stands] == [verdict, verdict]
    assert adjust_claims(_claims(0.5, 0.5, verdict="equivalent"), ["throughput"])[0].verdict == "equivalent"


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=8))
def test_adjustment_only_ever_weakens_and_keeps_the_order(p_values: list[float]) -> None:
    judged = adjust_claims(_claims(*p_values), ["throughput"])
    adjusted = [claim.p_adjusted for claim in judged]
    for one, p in zip(adjusted, p_values, strict=True):
        assert one is not None
        assert p <= one <= 1
    ranked = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in ranked] == sorted(adjusted)  # type: ignore[type-var]
    if len(p_values) > 1:  # the smallest claim stands exactly when Bonferroni's does
        first = ranked[0]
        assert (judged[first].verdict == "improved") == (p_values[first] * len(p_values) < 0.05)


def test_a_report_with_one_pair_is_what_its_interval_says() -> None:
    (judged,) = judge_report([_pair(quality=[("quality.reward_mean", "better", 0.2)])])
    assert judged.throughput == _pair().throughput
    assert judged.quality[0].verdict == "better"
    judgement = judged.judgement
    assert judgement is not None
    assert (judgement.verdict, judgement.decided_by, judgement.attributable) == ("improved", "interval", True)
    assert (judgement.p_adjusted, judgement.family, judgement.exploratory) == (0.01, 1, ("reward",))


def test_several_variants_share_one_family() -> None:
    pairs = [_pair("a", p_value=0.03), _pair("b", p_value=0.001), _pair("c", "regressed", p_value=0.04)]
    judged = judge_report(pairs)
    assert [pair.throughput.headline.verdict for pair in judged] == ["inconclusive", "improved", "inconclusive"]
    fallen = judged[0]
    assert fallen.judgement is not None
    assert fallen.judgement.decided_by == "several comparisons"
    assert fallen.judgement.reasons == ("adjusted for 3 primary comparisons, its p-value is 0.060",)
    (notice,) = fallen.throughput.notices
    assert notice.code == "RR419"
    assert notice.message == (
        "throughput of a would be improved by itself (p 0.030); among 3 primary comparisons it is inconclusive "
        "(p 0.060 after Holm's adjustment)"
    )
    assert judged[1].throughput.notices == ()
    assert fallen.throughput.headline.ratio == 1.1  # the estimate stays beside the verdict


def test_a_primary_quality_metric_is_weakened_in_its_own_words() -> None:
    pair = _pair(
        p_value=0.001, quality=[("quality.reward_mean", "worse", 0.05), ("length.response_mean", "equivalent", 0.5)]
    )
    (judged,) = judge_report([pair], ["throughput", "reward"])
    assert judged.throughput.headline.verdict == "improved"
    assert [quality.verdict for quality in judged.quality] == ["inconclusive", "equivalent"]
    assert judged.judgement is not None
    assert (judged.judgement.family, judged.judgement.exploratory) == (2, ("response_length",))


def test_what_blocks_goes_before_everything_but_too_little_data() -> None:
    blocked = _pair(blocking=("the dataset changed",), quality=[("quality.reward_mean", "better", 0.001)])
    other = _pair("w", p_value=0.04)
    judged = judge_report([blocked, other])
    first, second = judged
    assert first.judgement is not None
    assert (first.judgement.verdict, first.judgement.decided_by) == ("not-comparable", "comparability")
    assert first.judgement.reasons == ("the dataset changed",)
    assert not first.judgement.attributable
    assert first.throughput.headline.verdict == "not-comparable"
    assert first.quality[0].verdict == "not-comparable"
    assert second.throughput.headline.verdict == "improved"  # a pair that may not be compared makes no claim
    (little,) = judge_report([replace(blocked, throughput=_pair(verdict="insufficient-data").throughput)])
    assert little.throughput.headline.verdict == "insufficient-data"
    (unsteady,) = judge_report([_pair(verdict="no-steady-state", p_value=None)])
    assert unsteady.judgement is not None
    assert unsteady.judgement.decided_by == "data"


@pytest.mark.parametrize("change", ["undeclared", "confounded", "unknown", "identical"])
def test_a_difference_without_one_cause_is_not_laid_to_the_change(change: ChangeVerdict) -> None:
    (judged,) = judge_report([_pair(change=change)])
    assert judged.judgement is not None
    assert judged.judgement.verdict == "improved"
    assert not judged.judgement.attributable


def test_nothing_to_judge() -> None:
    assert judge_report([]) == ()
    assert adjust_claims([], ["throughput"]) == ()
