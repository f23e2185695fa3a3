"""Runs as observations: what the spread between runs of one configuration says of a difference between configurations.

Every run gives one number, its mean. All numbers are positive and compared as ratios, on the log scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array
from rlreport.stats.ratio import LogRatio
from rlreport.stats.student import chi_square_quantile, t_quantile


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The standard deviation between runs of one configuration, as a fraction of their mean (on the log scale).

    `degrees` are those of the estimate: one less than the number of runs, over all configurations. `low` and `high` hold
    the true value with 95 % confidence.
    """

    sigma: float
    degrees: int
    low: float
    high: float

    def smallest_visible(self, runs_baseline: int, runs_variant: int, power: float = 0.8, level: float = 0.05) -> float:
        """The smallest true ratio above 1 that this many runs an arm would tell from 1 with the given power.

        exp((t(1 - level/2) + t(power)) sigma sqrt(1/k + 1/m)), as in `LogRatio.minimum_detectable`, with the degrees of
        k + m runs; at least those of this estimate when that is larger, since the spread is known from it.
        """
        freedom = float(max(runs_baseline + runs_variant - 2, self.degrees))
        error = self.sigma * math.sqrt(1 / runs_baseline + 1 / runs_variant)
        return math.exp((t_quantile(1 - level / 2, freedom) + t_quantile(power, freedom)) * error)

    def runs_needed(self, ratio: float, most: int = 100) -> int | None:
        """The smallest equal number of runs an arm that would show a true ratio with 80 % power; None when over `most`."""
        target = math.exp(abs(math.log(ratio)))
        return next((k for k in range(2, most + 1) if self.smallest_visible(k, k) <= target), None)


def noise_floor(groups: Sequence[Array]) -> NoiseFloor | None:
    """The spread between runs of one configuration, pooled over configurations; None without any replicates.

    Pooled variance of the logarithms, sum over groups of squared deviations from the group's mean over the sum of
    (runs - 1); chi-square interval. It takes the spread to be the same in all configurations.
    """
    logs = [np.log(values) for values in groups if len(values) > 1]
    degrees = sum(len(values) - 1 for values in logs)
    if not degrees:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in logs)
    low, high = (math.sqrt(squares / chi_square_quantile(p, degrees)) for p in (0.975, 0.025))
    return NoiseFloor(math.sqrt(squares / degrees), degrees, low, high)


def compare_groups(baseline: Array, variant: Array) -> LogRatio:
    """Geometric mean of the variant's runs over that of the baseline's, with an interval between runs (Welch 1947).

    Two runs an arm at least: then each arm's own spread counts. An arm of one run has no spread of its own: it is taken to
    have that of the other arm, so that the interval says which ratios another run of the same configuration could give.

    Raises:
        ValueError: neither arm has two runs.
    """
    logs = [np.log(values) for values in (baseline, variant)]
    k, m = (len(values) for values in logs)
    value = math.exp(float(logs[1].mean() - logs[0].mean()))
    if k < 2 and m < 2:
        raise ValueError("a spread between runs needs two runs in one arm at least")
    if k < 2 or m < 2:
        many = logs[0] if k > 1 else logs[1]
        return LogRatio(value, float(many.std(ddof=1)) * math.sqrt(1 / k + 1 / m), float(len(many) - 1))
    parts = [float(values.var(ddof=1)) / len(values) for values in logs]
    total = sum(parts)
    spent = sum(part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True))
    return LogRatio(value, math.sqrt(total), total**2 / spent if spent > 0 else float(k + m - 2))


def rank_p(baseline: Array, variant: Array) -> float:
    """Exact two-sided p-value of the Mann-Whitney test, equal values sharing their ranks (Mann and Whitney 1947, Annals of
    Mathematical Statistics 18).

    The share of all choices of k of the k + m ranks whose sum is at least as far from the middle, counted one rank after
    the other. It asks nothing of the distribution; for few runs it can never be small: see `smallest_rank_p`.
    """
    values = np.concatenate([baseline, variant])
    k, n = len(baseline), len(values)
    doubled = [2 * int((values < value).sum()) + int((values == value).sum()) + 1 for value in values]
    # ways[j][total]: choices of j ranks with this sum of doubled ranks
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(k))]
    for rank in doubled:
        for chosen in range(k, 0, -1):
            for total, count in ways[chosen - 1].items():
                ways[chosen][total + rank] = ways[chosen].get(total + rank, 0) + count
    middle = k * (n + 1)
    seen = abs(sum(doubled[:k]) - middle)
    return sum(count for total, count in ways[k].items() if abs(total - middle) >= seen) / math.comb(n, k)


def smallest_rank_p(runs_baseline: int, runs_variant: int) -> float:
    """The smallest two-sided p-value that a rank test of this many runs can give: 2 / C(k + m, k), at most 1.

    Three against three runs give 0.1 when all of one arm are above all of the other.
    """
    return min(1.0, 2 / math.comb(runs_baseline + runs_variant, runs_baseline))


def hodges_lehmann_ratio(baseline: Array, variant: Array) -> float:
    """The median of all ratios of a variant's to a baseline's run: no wild run owns it (Hodges and Lehmann 1963)."""
    return float(np.exp(np.median(np.subtract.outer(np.log(variant), np.log(baseline)))))
