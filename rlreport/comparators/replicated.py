"""Several runs of one configuration: runs as observations, the spread between them, and what that says of a difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.arm import BY_NAME, CONFIDENCE, Arm, Metric
from rlreport.comparators.results import SteadyState, ThroughputComparison, ThroughputVerdict
from rlreport.comparators.steady_state import common_windows
from rlreport.comparators.throughput import judge_ratio
from rlreport.comparators.window import FEWEST_STEPS
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.format import join_words, number, percent, plural, ratio, ratio_interval
from rlreport.run.model import Run
from rlreport.stats.means import mean_of_independent
from rlreport.stats.replicates import (
    NoiseFloor,
    compare_groups,
    hodges_lehmann_ratio,
    noise_floor,
    rank_p,
    smallest_rank_p,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Where the spread between runs comes from: from both arms, or from the one that has replicates.
Basis = Literal["both arms", "baseline", "variant"]
#: The level that a rank test is asked to reach.
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class RunMean:
    """One run as an observation: its throughput over the window that all runs share, with the interval within the run."""

    run_id: str
    label: str
    rate: Estimate


@dataclass(frozen=True, slots=True)
class ReplicatedComparison:
    """Variant over baseline with runs as observations.

    `ratio` is that of the geometric means of runs; its interval is between runs (Welch). With replicates in one arm only
    (`basis` names it), the other arm's single run is taken to have the same spread. `median_ratio` is the Hodges-Lehmann
    estimate. `rank_p` is the exact Mann-Whitney p-value and `smallest_rank_p` the smallest that this many runs allow.
    `floor` is the spread between runs of one configuration; `within_share` the part of its variance that the noise within a
    run explains (None where it is not known): longer windows can remove that part only. `smallest_visible` is the smallest
    ratio that this many runs show with 80 % power, `runs_needed` the runs an arm that would show the ratio found.
    """

    metric: str
    basis: Basis
    baseline: tuple[RunMean, ...]
    variant: tuple[RunMean, ...]
    ratio: float
    ci_low: float
    ci_high: float
    p_value: float
    median_ratio: float
    rank_p: float
    smallest_rank_p: float
    floor: NoiseFloor
    within_share: float | None
    smallest_visible: float
    runs_needed: int | None
    margin: float
    verdict: ThroughputVerdict
    notices: tuple[Notice, ...] = ()


def replicates_by_run(run_ids: Sequence[str], groups: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """The other runs of the group of each run of a report, in the order of `groups`; runs without any are left out.

    `groups` maps every run id to its group. Two runs of one group that a report compares with each other (an A/A report)
    have no replicates in it: the same runs would stand in both arms.
    """
    shown = [groups.get(run_id) for run_id in run_ids]
    found = {
        run_id: tuple(other for other, name in groups.items() if name == group and other != run_id)
        for run_id, group in zip(run_ids, shown, strict=True)
        if group and shown.count(group) == 1
    }
    return {run_id: others for run_id, others in found.items() if others}


def compare_replicates(
    baseline: Sequence[Run],
    variant: Sequence[Run],
    windows_b: Sequence[SteadyState],
    windows_v: Sequence[SteadyState],
    *,
    metric: str,
    margin: float = 0.05,
    comparable: bool = True,
) -> ReplicatedComparison | None:
    """Compare two groups of runs, each of one configuration, with runs as the unit.

    All runs are measured over the part of training that all of them have in steady state; `windows_*` are their own windows
    in the order of the runs. A run with fewer than eight steps in its window is no observation, which a notice says.
    `metric` is the headline's name. None with one run in each arm, where nothing can be said of the spread between runs,
    when a run does not tell the metric, or when the runs share fewer than eight steps.

    The verdict judges the interval between runs as `compare_throughput` judges its own; with replicates in one arm only it
    holds as far as the other configuration spreads alike.
    """
    pairs = [list(zip(runs, windows, strict=True)) for runs, windows in ((baseline, windows_b), (variant, windows_v))]
    short = [run.label for arm in pairs for run, window in arm if window.n < FEWEST_STEPS]
    pairs = [[(run, window) for run, window in arm if window.n >= FEWEST_STEPS] for arm in pairs]
    counts = (len(pairs[0]), len(pairs[1]))
    if max(counts) < 2 or min(counts) < 1:
        return None
    runs, windows = [run for arm in pairs for run, _ in arm], [window for arm in pairs for _, window in arm]
    chosen = BY_NAME[metric]
    arms = [Arm.of(run, w) for run, w in zip(runs, common_windows(runs, windows), strict=True)]
    if not all(arm.knows(chosen) and len(arm.arrays) >= FEWEST_STEPS for arm in arms):
        return None
    means = [RunMean(arm.run.run_id, arm.run.label, arm.estimate(chosen)) for arm in arms]
    sides = (tuple(means[: counts[0]]), tuple(means[counts[0] :]))
    values = [_rates(side) for side in sides]
    found = compare_groups(values[0], values[1])
    floor = noise_floor(values)
    assert floor is not None  # an arm has two runs
    low, high = found.interval(CONFIDENCE)
    needed = floor.runs_needed(found.value) if found.value != 1 else None
    result = ReplicatedComparison(
        metric=metric,
        basis="both arms" if min(counts) > 1 else "baseline" if counts[0] > 1 else "variant",
        baseline=sides[0],
        variant=sides[1],
        ratio=found.value,
        ci_low=low,
        ci_high=high,
        p_value=found.p_value,
        median_ratio=hodges_lehmann_ratio(values[0], values[1]),
        rank_p=rank_p(values[0], values[1]),
        smallest_rank_p=smallest_rank_p(*counts),
        floor=floor,
        within_share=_within_share(arms, chosen, floor),
        smallest_visible=floor.smallest_visible(*counts),
        runs_needed=needed,
        margin=margin,
        verdict=judge_ratio(found, margin) if comparable else "not-comparable",
    )
    left_out = Notice("RR488", f"{join_words(short)}: fewer than {FEWEST_STEPS} steps in the window, left out of the groups")
    return replace(result, notices=(*_notices(result), *((left_out,) if short else ())))


def with_runs_as_unit(throughput: ThroughputComparison, replicated: ReplicatedComparison | None) -> ThroughputComparison:
    """The throughput comparison with its headline's interval and verdict taken from runs, where both arms have replicates.

    The ratio becomes that of the means of runs and the notice that tells of one run an arm goes; the numbers of steps stay
    those of the pair that was compared. With replicates in one arm only the headline stays as it is, and the notices say how
    the spread between its runs compares.
    """
    if replicated is None:
        return throughput
    if replicated.basis != "both arms":
        return replace(throughput, notices=(*replicated.notices, *throughput.notices))
    kept = tuple(notice for notice in throughput.notices if notice.code != "RR454")
    unit = throughput.headline.baseline.unit
    standing = throughput.headline.verdict in {"not-comparable", "no-steady-state"}
    headline = replace(
        throughput.headline,
        baseline=_mean_of(replicated.baseline, unit),
        variant=_mean_of(replicated.variant, unit),
        ratio=replicated.ratio,
        ci_low=replicated.ci_low,
        ci_high=replicated.ci_high,
        verdict=throughput.headline.verdict if standing else replicated.verdict,
        minimum_detectable_ratio=replicated.smallest_visible,
        p_value=replicated.p_value,
    )
    return replace(throughput, headline=headline, notices=(*replicated.notices, *kept))


def spread_of_group(runs: Sequence[Run], windows: Sequence[SteadyState], *, metric: str) -> NoiseFloor | None:
    """The noise floor that the replicates of one configuration show, None with fewer than two that tell the metric."""
    chosen = BY_NAME[metric]
    arms = [Arm.of(run, w) for run, w in zip(runs, common_windows(runs, windows), strict=True)]
    known = [RunMean(arm.run.run_id, arm.run.label, arm.estimate(chosen)) for arm in arms if arm.knows(chosen)]
    return noise_floor([_rates(known)]) if len(known) > 1 else None


def _rates(means: Sequence[RunMean]) -> Array:
    import numpy as np

    return np.array([mean.rate.estimate for mean in means], dtype=np.float64)


def _mean_of(means: Sequence[RunMean], unit: str) -> Estimate:
    """The geometric mean of runs with its interval between runs."""
    import numpy as np

    found = mean_of_independent(np.log(_rates(means)))
    low, high = found.interval(CONFIDENCE)
    return Estimate(math.exp(found.value), math.exp(low), math.exp(high), unit)


def _within_share(arms: Sequence[Arm], metric: Metric, floor: NoiseFloor) -> float | None:
    """Mean variance of a run's own ratio of sums over the variance between runs, at most 1."""
    measured = [arm.ratio_of_sums(metric) for arm in arms]
    if any(one is None for one in measured) or floor.sigma == 0:
        return None
    inside = [one.relative_error**2 for one in measured if one is not None]
    return min(1.0, sum(inside) / len(inside) / floor.sigma**2)


def _notices(found: ReplicatedComparison) -> tuple[Notice, ...]:
    k, m = len(found.baseline), len(found.variant)
    spread = f"{percent(found.floor.sigma)} (95 % interval {percent(found.floor.low)} to {percent(found.floor.high)})"
    notices = []
    if found.basis == "both arms":
        message = (
            f"{plural(k, 'run')} against {plural(m, 'run')}: the interval holds the spread between runs of one "
            f"configuration, {spread}; so many runs show a difference of {percent(found.smallest_visible - 1)} or more with "
            "80 % power"
        )
        notices.append(Notice("RR484", message))
    else:
        notices.append(Notice("RR485", _one_sided(found, spread)))
    if found.smallest_rank_p > _LEVEL:
        message = (
            f"a rank test of {k} against {m} runs cannot give less than p = {number(found.smallest_rank_p, 2)}, whatever "
            "the data: it decides nothing at the 5 % level"
        )
        notices.append(Notice("RR486", message))
    if found.within_share is not None and found.verdict == "inconclusive":
        if found.within_share < 0.5:
            more = f" ({found.runs_needed} an arm for the ratio found)" if found.runs_needed else ""
            message = (
                f"{percent(1 - found.within_share, 0)} of the variance of a run's throughput lies between runs: more runs "
                f"would narrow the interval{more}, longer ones would not"
            )
        else:
            message = (
                "most of the variance of a run's throughput is noise within the run: longer windows would narrow it too"
            )
        notices.append(Notice("RR487", message))
    return tuple(notices)


def _one_sided(found: ReplicatedComparison, spread: str) -> str:
    """How the spread of the one arm that has replicates compares with the ratio found."""
    arm, other = ("baseline", "variant") if found.basis == "baseline" else ("variant", "baseline")
    many = found.baseline if found.basis == "baseline" else found.variant
    effect = abs(math.log(found.ratio))
    times = f"{number(effect / found.floor.sigma, 2)} times that" if found.floor.sigma > 0 else "more than that"
    inside = found.ci_low <= 1 <= found.ci_high
    verdict = (
        "so it may be no more than the difference between two runs of one configuration"
        if inside
        else "more than runs of one configuration differ"
    )
    return (
        f"{plural(len(many), 'run')} of the {arm}'s configuration have a standard deviation of {spread} between them; the "
        f"ratio of {ratio(found.ratio)} is {times} from 1, {verdict} (interval between runs "
        f"{ratio_interval(found.ci_low, found.ci_high)}, if the {other}'s configuration spreads alike)"
    )
