"""Throughput of a window, and of two runs against each other: a headline ratio, the others beside it, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlreport.comparators.arm import BY_NAME, CONFIDENCE, METRICS, Arm, Metric, matched_arrays, tells_nothing
from rlreport.comparators.results import (
    RatioComparison,
    SteadyState,
    Throughput,
    ThroughputComparison,
    ThroughputVerdict,
)
from rlreport.comparators.throughput_notices import (
    course_notices,
    headline_notices,
    length_notices,
    precision_notices,
    why_not_comparable,
)
from rlreport.comparators.window import FEWEST_STEPS, mean_over
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.format import ratio, ratio_interval
from rlreport.run.model import Run
from rlreport.stats.adjusted import AdjustedRatio, compare_at_equal_load
from rlreport.stats.decisions import excludes, within
from rlreport.stats.ratio import LogRatio, compare_matched, compare_ratios, ratio_of_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A two-sided 90 % interval within the margins is the test of equivalence at the 5 % level.
_EQUIVALENCE_CONFIDENCE = 0.90
#: Fewer effective steps than this carry no verdict: at three degrees of freedom t is 3.2, and the correlation is a guess.
FEWEST_EFFECTIVE = 4.0
#: Share of each arm's steps that must have a partner before steps are matched.
_MATCHED_SHARE = 0.8
#: Each half of the baseline needs the fewest steps for an interval.
_FEWEST_FOR_HALVES = 2 * FEWEST_STEPS


def measure_throughput(run: Run, window: SteadyState) -> Throughput:
    """Throughput over the window: sum of work over sum of time, with 95 % intervals by effective sample size.

    Below eight steps the estimate stands without an interval. What is not logged, or per device without a known number of
    devices, is unknown.
    """
    arm = Arm.of(run, window)
    return Throughput(
        tokens_per_s=arm.estimate(BY_NAME["tokens_per_s"]),
        tokens_per_s_per_device=arm.estimate(BY_NAME["tokens_per_s_per_device"]),
        prompts_per_s=arm.estimate(BY_NAME["prompts_per_s"]),
        steps_per_h=arm.estimate(BY_NAME["steps_per_h"]),
    )


def compare_throughput(
    baseline: Run,
    variant: Run,
    window_b: SteadyState,
    window_v: SteadyState,
    *,
    margin: float = 0.05,
    comparable: bool = True,
    reasons: Sequence[str] = (),
) -> ThroughputComparison:
    """Compare the throughput of two runs over their windows (usually the common one), variant over baseline.

    The headline is tokens per second and device where both runs' devices and tokens are known, else the first known of
    tokens/s, prompts/s/device, prompts/s and steps/h; the others follow, and last the ratio at equal response length.

    The interval adds the errors of both arms on the log scale. Where both arms drift and their steps correspond, it comes
    from step-by-step differences instead, in which a common course cancels. There is no ratio when an arm has fewer than
    eight steps, and none has an interval when the level of an arm wanders and steps do not correspond.

    Verdict of each ratio, first that applies, with margins 1/(1 + margin) to 1 + margin:

    * "insufficient-data": an arm has fewer than eight steps at all, so that no number can be given, comparable or not;
    * "not-comparable": `comparable` is False (`reasons` say why); "no-steady-state": an arm has none in spite of eight steps
      or more; "insufficient-data": an arm has fewer than eight steps, or fewer than four effective ones;
    * the 90 % interval lies within the margins: "within-noise" when the 95 % interval excludes 1 (a difference, but smaller
      than matters), else "equivalent";
    * the 95 % interval excludes 1 and the estimate lies at or beyond a margin: "improved" or "regressed", unless the
      baseline's own two halves differ by half as much (then "inconclusive");
    * else "inconclusive".
    """
    arms = (Arm.of(baseline, window_b), Arm.of(variant, window_v))
    known = [metric for metric in METRICS if arms[0].knows(metric) and arms[1].knows(metric)]
    headline_metric = known[0] if known else _fallback(arms)
    matched = _matching_steps(arms)
    ratios = [
        _compare(arms, metric, matched, margin, comparable=comparable)
        for metric in (headline_metric, *(metric for metric in known if metric is not headline_metric))
    ]
    adjusted = _compare_adjusted(arms, headline_metric, margin, comparable=comparable)
    headline, others = ratios[0], [*ratios[1:], *([adjusted] if adjusted else [])]
    guard: list[Notice] = []
    if headline.verdict in {"improved", "regressed"} and not matched:
        headline, guard = _guard(arms[0], headline_metric, headline)
    notices = [
        *why_not_comparable(reasons, comparable=comparable),
        *headline_notices(arms, headline_metric),
        *guard,
        *course_notices(arms, headline_metric, matched),
        *length_notices(arms, ratios, adjusted),
        *precision_notices(arms, headline),
    ]
    return ThroughputComparison(headline, tuple(others), window_b, window_v, tuple(notices))


def judge_ratio(found: LogRatio, margin: float) -> ThroughputVerdict:
    """The verdict that an interval alone allows; see `compare_throughput`."""
    low, high = 1 / (1 + margin), 1 + margin
    different = excludes(found.interval(CONFIDENCE), 1.0)
    if within(found.interval(_EQUIVALENCE_CONFIDENCE), low, high):
        return "within-noise" if different else "equivalent"
    if different and found.value >= high:
        return "improved"
    if different and found.value <= low:
        return "regressed"
    return "inconclusive"


def _fallback(arms: tuple[Arm, Arm]) -> Metric:
    """The headline of a pair in which an arm has no steps: by what the runs log at all."""
    per_device = all(arm.devices is not None for arm in arms)
    for metric in METRICS:
        logged = all(metric.work == "steps" or arm.run.metric(f"work.{metric.work}") is not None for arm in arms)
        if logged and (per_device or not metric.per_device):
            return metric
    return METRICS[-1]


def _matching_steps(arms: tuple[Arm, Arm]) -> tuple[int, ...]:
    """The steps at which both arms can be compared one by one; empty unless both drift and most steps correspond."""
    if any(arm.window.steady_class != "drifting" for arm in arms):
        return ()
    prompts = [mean_over(arm.run, "work.prompts", arm.window.kept) for arm in arms]
    if prompts[0] is not None and prompts[1] is not None and not math.isclose(prompts[0], prompts[1], rel_tol=0.02):
        return ()
    steps = tuple(sorted(set(arms[0].window.kept) & set(arms[1].window.kept)))
    fewest = max(FEWEST_STEPS, _MATCHED_SHARE * max(arm.window.n for arm in arms))
    return steps if len(steps) >= fewest else ()


def _compare(
    arms: tuple[Arm, Arm], metric: Metric, matched: tuple[int, ...], margin: float, *, comparable: bool
) -> RatioComparison:
    """One ratio with its interval; from matched steps where `matched` is not empty."""
    first, second = (arm.ratio_of_sums(metric) for arm in arms)
    sizes = (first.n_effective if first else None, second.n_effective if second else None)
    estimates = (arms[0].estimate(metric), arms[1].estimate(metric))
    result = _without_ratio(arms, metric.name, estimates, sizes, margin, comparable=comparable)
    if first is None or second is None:
        return result
    factor = arms[1].factor(metric) / arms[0].factor(metric)
    n_effective = min(first.n_effective, second.n_effective)
    found = compare_ratios(first, second)
    if matched:
        found, n_effective = compare_matched(*matched_arrays(arms, metric, matched))
    found = replace(found, value=found.value * factor)
    if not matched and tells_nothing(found.interval(CONFIDENCE), [(arm.n, arm.n_effective) for arm in (first, second)]):
        return replace(result, ratio=found.value)
    return _with_ratio(result, found, _standing(arms, n_effective, comparable=comparable))


def _without_ratio(
    arms: tuple[Arm, Arm],
    metric: str,
    estimates: tuple[Estimate, Estimate],
    sizes: tuple[float | None, float | None],
    margin: float,
    *,
    comparable: bool,
) -> RatioComparison:
    return RatioComparison(
        metric=metric,
        baseline=estimates[0],
        variant=estimates[1],
        ratio=None,
        ci_low=None,
        ci_high=None,
        confidence=CONFIDENCE,
        margin=margin,
        verdict=_standing(arms, comparable=comparable) or "insufficient-data",
        minimum_detectable_ratio=None,
        n_baseline=arms[0].window.n,
        n_variant=arms[1].window.n,
        n_effective_baseline=sizes[0],
        n_effective_variant=sizes[1],
    )


def _with_ratio(result: RatioComparison, found: LogRatio, standing: ThroughputVerdict | None) -> RatioComparison:
    low, high = found.interval(CONFIDENCE)
    return replace(
        result,
        ratio=found.value,
        ci_low=low,
        ci_high=high,
        verdict=standing or judge_ratio(found, result.margin),
        minimum_detectable_ratio=found.minimum_detectable(),
        p_value=found.p_value,
    )


def _standing(arms: tuple[Arm, Arm], n_effective: float = math.inf, *, comparable: bool) -> ThroughputVerdict | None:
    """The verdict that stands whatever the interval says, or None."""
    if any(len(arm.run.trained_steps) < FEWEST_STEPS for arm in arms):
        return "insufficient-data"
    if not comparable:
        return "not-comparable"
    if any(arm.window.steady_class == "none" and arm.window.n >= FEWEST_STEPS for arm in arms):
        return "no-steady-state"
    if any(arm.window.n < FEWEST_STEPS for arm in arms) or n_effective < FEWEST_EFFECTIVE:
        return "insufficient-data"
    return None


def _compare_adjusted(arms: tuple[Arm, Arm], headline: Metric, margin: float, *, comparable: bool) -> RatioComparison | None:
    """The ratio at equal load a step, on the headline's footing (per device or not).

    Load is tokens a prompt and time is time a prompt where prompts are known, so that batches of different size compare;
    else tokens and time a step. None where tokens are not known or too few.
    """
    per_prompt = all(arm.arrays.prompts is not None for arm in arms)
    columns: list[NDArray[Any]] = []
    for arm in arms:
        tokens, prompts = arm.arrays.tokens, arm.arrays.prompts
        if tokens is None or len(arm.arrays) < FEWEST_STEPS:
            return None
        by = prompts if per_prompt and prompts is not None else 1.0
        columns.extend([arm.arrays.time_s / by, tokens / by])
    if not any(float(load.max()) > float(load.min()) * (1 + 1e-9) for load in columns[1::2]):
        return None
    found = compare_at_equal_load(*columns)
    factors = [1 / (arm.devices or 1) if headline.per_device else 1.0 for arm in arms]
    estimates = (
        _estimate_at_load(found, found.baseline_log, factors[0], headline),
        _estimate_at_load(found, found.variant_log, factors[1], headline),
    )
    name = "length_adjusted_per_device" if headline.per_device else "length_adjusted"
    result = _without_ratio(arms, name, estimates, found.n_effective, margin, comparable=comparable)
    adjusted = replace(found.ratio, value=found.ratio.value * factors[1] / factors[0])
    sizes = [(arm.window.n, size) for arm, size in zip(arms, found.n_effective, strict=True)]
    if tells_nothing(adjusted.interval(CONFIDENCE), sizes):
        return replace(result, ratio=adjusted.value)
    return _with_ratio(result, adjusted, _standing(arms, min(found.n_effective), comparable=comparable))


def _estimate_at_load(found: AdjustedRatio, time_log: float, factor: float, headline: Metric) -> Estimate:
    """Tokens a second at the mean load of both arms; the interval stands with the ratio."""
    unit = "tokens/s/device" if headline.per_device else "tokens/s"
    return Estimate(math.exp(found.load_log - time_log) * factor, None, None, unit)


def _guard(baseline: Arm, metric: Metric, headline: RatioComparison) -> tuple[RatioComparison, list[Notice]]:
    """Compare the baseline's first half with its second: a difference there is one that the change did not make."""
    work = baseline.work(metric)
    n = len(baseline.arrays)
    if work is None or headline.ratio is None or n < _FEWEST_FOR_HALVES:
        return headline, []
    half = n // 2
    time_s = baseline.arrays.time_s
    within_arm = compare_ratios(ratio_of_sums(work[:half], time_s[:half]), ratio_of_sums(work[half:], time_s[half:]))
    effect, own = abs(math.log(headline.ratio)), abs(math.log(within_arm.value))
    if not excludes(within_arm.interval(CONFIDENCE), 1.0) or own < effect / 2:
        return headline, []
    message = (
        f"the baseline's second half against its first is {ratio(within_arm.value)} "
        f"({ratio_interval(*within_arm.interval(CONFIDENCE))}) without any change, at least half of the effect: the "
        f"comparison says {headline.verdict} and is downgraded to inconclusive"
    )
    return replace(headline, verdict="inconclusive"), [Notice("RR457", message)]
