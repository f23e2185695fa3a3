"""The last word on a report's comparisons: what keeps runs from being compared, then what several tests together allow.

Throughput and quality are judged one by one where they are measured (`throughput`, `quality`), from their intervals alone.
Here the judgements meet, in this order, and the first that applies decides:

1. the runs may not be compared (`Change.blocking`): "not-comparable";
2. an arm has too few steps, or none in steady state: "insufficient-data", "no-steady-state";
3. several primary claims are made, and this one does not stand after Holm's adjustment: it is weakened;
4. else what the interval says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from rlreport.comparators.results import (
    Change,
    QualityComparison,
    QualityVerdict,
    ThroughputComparison,
    ThroughputVerdict,
)
from rlreport.run.diagnostics import Notice
from rlreport.run.format import number
from rlreport.stats.decisions import holm

#: Chance of any false claim among the primary ones of a report.
LEVEL = 0.05
#: The short names by which a manifest calls what is tested.
THROUGHPUT = "throughput"
METRIC_NAMES: Mapping[str, str] = {
    "quality.reward_mean": "reward",
    "quality.accuracy": "accuracy",
    "length.response_mean": "response_length",
}
#: What is left of a claim that does not stand after adjustment. "within-noise" claims a difference too, if a small one.
WEAKER: Mapping[str, str] = {
    "improved": "inconclusive",
    "regressed": "inconclusive",
    "better": "inconclusive",
    "worse": "inconclusive",
    "within-noise": "equivalent",
}

#: Verdicts that say that nothing could be tested.
UNTESTED = frozenset({"insufficient-data", "no-steady-state", "not-comparable"})

DecidedBy = Literal["comparability", "data", "several comparisons", "interval"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One tested difference: of one metric, by its short name, in one pair. `p_value` is None where it was not tested."""

    variant_id: str
    metric: str
    verdict: str
    p_value: float | None


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim among the others: the adjusted p-value of a primary one, and the verdict that is left."""

    claim: Claim
    primary: bool
    p_adjusted: float | None
    verdict: str

    @property
    def weakened(self) -> bool:
        """Whether the claim stood alone and does not stand among the others."""
        return self.verdict != self.claim.verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """The final verdict on the throughput of one pair.

    `attributable` says that a difference can be laid to the declared change. `p_adjusted` is that of throughput where it is
    primary; `family` the number of primary claims that were tested together; `exploratory` the short names of the metrics
    whose verdicts are not adjusted for that.
    """

    verdict: ThroughputVerdict
    decided_by: DecidedBy
    reasons: tuple[str, ...]
    attributable: bool
    p_adjusted: float | None
    family: int
    exploratory: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairResults:
    """What was measured of one pair, before or after it was judged."""

    variant_id: str
    change: Change
    throughput: ThroughputComparison
    quality: tuple[QualityComparison, ...]
    judgement: Judgement | None = None


def adjust_claims(claims: Sequence[Claim], primary: Sequence[str], level: float = LEVEL) -> tuple[JudgedClaim, ...]:
    """Adjust the primary claims of a report for each other by Holm's method; the others, exploratory, stay as they are.

    The family holds every primary claim that could be tested: metrics times variants. A claim of a difference whose adjusted
    p-value is not below `level` is weakened (`WEAKER`). Claims of equivalence are made at their own level, pair by pair.
    """
    tested = [place for place, claim in enumerate(claims) if claim.metric in primary and _is_tested(claim)]
    adjusted = dict(zip(tested, holm([cast("float", claims[place].p_value) for place in tested]), strict=True))
    judged = []
    for place, claim in enumerate(claims):
        p_adjusted = adjusted.get(place)
        falls = len(tested) > 1 and p_adjusted is not None and p_adjusted >= level
        verdict = WEAKER.get(claim.verdict, claim.verdict) if falls else claim.verdict
        judged.append(JudgedClaim(claim, claim.metric in primary, p_adjusted, verdict))
    return tuple(judged)


def _is_tested(claim: Claim) -> bool:
    return claim.p_value is not None and claim.verdict not in UNTESTED


def judge_report(pairs: Sequence[PairResults], primary: Sequence[str] = (THROUGHPUT,)) -> tuple[PairResults, ...]:
    """Judge all pairs of a report together.

    Args:
        pairs: what was measured of each pair, in the order of the report.
        primary: short names of the metrics that the report's claim stands on.

    Returns:
        The pairs with final verdicts in their headline and quality comparisons, notices of what was weakened, and their
        judgements.
    """
    owned = [(place, claim) for place, pair in enumerate(pairs) for claim in _claims(pair)]
    judged = adjust_claims([claim for _, claim in owned], primary)
    by_pair: dict[int, list[JudgedClaim]] = {place: [] for place in range(len(pairs))}
    for (place, _), claim in zip(owned, judged, strict=True):
        by_pair[place].append(claim)
    family = sum(claim.p_adjusted is not None for claim in judged)
    exploratory = tuple(dict.fromkeys(claim.claim.metric for claim in judged if not claim.primary))
    return tuple(_judge_pair(pair, by_pair[place], family, exploratory) for place, pair in enumerate(pairs))


def _claims(pair: PairResults) -> list[Claim]:
    """The claims that one pair makes; a pair that may not be compared makes none."""
    if pair.change.blocking:
        return []
    headline = pair.throughput.headline
    claims = [Claim(pair.variant_id, THROUGHPUT, headline.verdict, headline.p_value)]
    for quality in pair.quality:
        name = METRIC_NAMES.get(quality.metric, quality.metric)
        claims.append(Claim(pair.variant_id, name, quality.verdict, quality.p_value))
    return claims


def _judge_pair(pair: PairResults, claims: Sequence[JudgedClaim], family: int, exploratory: tuple[str, ...]) -> PairResults:
    by_metric = {claim.claim.metric: claim for claim in claims}
    speed = by_metric.get(THROUGHPUT)
    headline = pair.throughput.headline
    verdict, decided_by, reasons = _decide(pair, speed, family)
    attributable = pair.change.verdict in ("single", "coupled") and not pair.change.blocking
    judgement = Judgement(
        verdict, decided_by, reasons, attributable, speed.p_adjusted if speed else None, family, exploratory
    )
    weakened = [_weakened_notice(claim, family) for claim in claims if claim.weakened]
    throughput = replace(
        pair.throughput,
        headline=replace(headline, verdict=verdict),
        notices=(*pair.throughput.notices, *weakened),
    )
    quality = tuple(_judged_quality(pair, one, by_metric) for one in pair.quality)
    return replace(pair, throughput=throughput, quality=quality, judgement=judgement)


def _judged_quality(pair: PairResults, one: QualityComparison, by_metric: Mapping[str, JudgedClaim]) -> QualityComparison:
    if pair.change.blocking:
        return one if one.verdict == "insufficient-data" else replace(one, verdict="not-comparable")
    found = by_metric[METRIC_NAMES.get(one.metric, one.metric)]
    return replace(one, verdict=cast("QualityVerdict", found.verdict))


def _decide(
    pair: PairResults, speed: JudgedClaim | None, family: int
) -> tuple[ThroughputVerdict, DecidedBy, tuple[str, ...]]:
    measured = pair.throughput.headline.verdict
    if measured == "insufficient-data":
        return measured, "data", ()
    if pair.change.blocking or measured == "not-comparable":
        return "not-comparable", "comparability", pair.change.blocking
    if measured == "no-steady-state":
        return measured, "data", ()
    if speed is not None and speed.weakened:
        reason = f"adjusted for {family} primary comparisons, its p-value is {number(speed.p_adjusted, 2)}"
        return cast("ThroughputVerdict", speed.verdict), "several comparisons", (reason,)
    return measured, "interval", ()


def _weakened_notice(judged: JudgedClaim, family: int) -> Notice:
    claim = judged.claim
    message = (
        f"{claim.metric} of {claim.variant_id} would be {claim.verdict} by itself (p {number(claim.p_value, 2)}); among "
        f"{family} primary comparisons it is {judged.verdict} (p {number(judged.p_adjusted, 2)} after Holm's adjustment)"
    )
    return Notice("RR419", message)
