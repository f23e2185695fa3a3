"""Do several estimates of the same quantity agree within their noise?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlreport.stats.autocorrelation import Array


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """A test that several estimates have the same true value.

    `common` is their mean weighted by precision; `statistic` is compared with F at `degrees`; `p_value` is the chance of
    estimates that differ at least as much when the true values are equal.
    """

    common: float
    statistic: float
    degrees: tuple[float, float]
    p_value: float


def compare_levels(values: Array, errors: Array, degrees: Array) -> Heterogeneity:
    """Welch's analysis of variance for estimates with standard errors of their own (Welch 1951, Biometrika 38).

    With w = 1/error^2, and the estimates' mean m weighted by w: F = sum w (value - m)^2 / (k - 1), divided by
    1 + 2 (k - 2)/(k^2 - 1) L with L = sum (1 - w/sum w)^2 / degrees; degrees of freedom k - 1 and (k^2 - 1)/(3 L). For two
    estimates it is the square of Welch's t. All errors and degrees are positive.

    Raises:
        ValueError: fewer than two estimates, or an error that is not positive.
    """
    from scipy.special import fdtrc

    k = len(values)
    if k < 2:
        raise ValueError("nothing to compare: two estimates are needed at least")
    if not bool((errors > 0).all()):
        raise ValueError("an estimate without noise cannot be weighed")
    weights = 1 / errors**2
    shares = weights / weights.sum()
    common = float(shares @ values)
    between = float(weights @ (values - common) ** 2) / (k - 1)
    spent = float(((1 - shares) ** 2 / np.maximum(degrees, 1.0)).sum())
    statistic = between / (1 + 2 * (k - 2) / (k**2 - 1) * spent)
    lower, upper = float(k - 1), (k**2 - 1) / (3 * spent)
    return Heterogeneity(common, statistic, (lower, upper), float(fdtrc(lower, upper, statistic)))
