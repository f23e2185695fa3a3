"""Values of quality metrics, their means, and what an interval of a difference says: shared by all quality comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.results import QualityVerdict
from rlreport.comparators.window import FEWEST_STEPS, mean_over
from rlreport.run.estimate import Estimate
from rlreport.run.model import Run
from rlreport.stats.decisions import excludes, within
from rlreport.stats.means import Mean, mean_of_independent, mean_of_series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Metrics that are logged by evaluations now and then, not by every step.
EVALUATED = frozenset({"quality.accuracy"})
#: Metrics in which more is neither better nor worse in itself.
NEUTRAL = frozenset({"length.response_mean", "length.response_max", "quality.entropy", "quality.kl", "length.clip_ratio"})
#: Evaluations at the end of the common training that are averaged; the best of them would grow with their number.
LAST_EVALUATIONS = 5
#: Fewer evaluations an arm than this have no interval.
FEWEST_EVALUATIONS = 3
#: Fewer effective steps than this carry no verdict, as for throughput.
FEWEST_EFFECTIVE = 4.0
#: Share of each arm's steps that must have a partner before steps are matched.
_MATCHED_SHARE = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class MetricValues:
    """Finite values of a metric with their steps, ascending."""

    steps: tuple[int, ...]
    values: Array

    def mean(self, *, independent: bool, fewest: int) -> Mean | None:
        """Their mean with its error, None below the fewest values. Evaluations count as independent, steps do not."""
        if len(self.steps) < fewest:
            return None
        return mean_of_independent(self.values) if independent else mean_of_series(self.values)

    def estimate(self, mean: Mean | None, unit: str) -> Estimate:
        """The mean with its interval, the plain mean where it has none, unknown without values."""
        if mean is not None:
            return Estimate(mean.value, *mean.interval(), unit)
        return Estimate(float(self.values.mean()), None, None, unit) if self.steps else Estimate.unknown(unit)


def judge_difference(metric: str, difference: Mean, margin: float | None) -> QualityVerdict:
    """The verdict that an interval alone allows; see `quality.compare_quality`."""
    different = excludes(difference.interval(), 0.0)
    if margin is not None and within(difference.interval(0.90), -margin, margin):
        return "equivalent"
    if metric in NEUTRAL or not different or abs(difference.value) < (margin or 0.0):
        return "inconclusive"
    return "better" if difference.value > 0 else "worse"


def is_non_inferior(metric: str, difference: Mean, margin: float | None) -> bool | None:
    """Whether the variant is shown to be not worse by more than the margin: the 95 % interval lies above -margin.

    A one-sided test at 2.5 %, the usual level of non-inferiority trials (ICH E9, 3.3.2). None without a margin, or where
    more is neither better nor worse.
    """
    if margin is None or metric in NEUTRAL:
        return None
    return difference.interval()[0] > -margin


def matched_difference(runs: tuple[Run, Run], arms: tuple[MetricValues, MetricValues]) -> Mean | None:
    """The mean of step-by-step differences, variant minus baseline, in which a course that both share cancels.

    None where equal steps are not equal training (prompts a step differ), or where most steps have no partner.
    """
    import numpy as np

    prompts = [mean_over(run, "work.prompts", arm.steps) for run, arm in zip(runs, arms, strict=True)]
    if prompts[0] is not None and prompts[1] is not None and not math.isclose(prompts[0], prompts[1], rel_tol=0.02):
        return None
    common = sorted(set(arms[0].steps) & set(arms[1].steps))
    if len(common) < max(FEWEST_STEPS, _MATCHED_SHARE * max(len(arm.steps) for arm in arms)):
        return None
    first, second = (arm.values[np.isin(arm.steps, common)] for arm in arms)
    return mean_of_series(second - first)
