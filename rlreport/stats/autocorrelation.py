"""Autocorrelation, and how many independent values a correlated series is worth.

Steps of one training run are not independent: a slow step is followed by slow ones. The effective sample size says how many
independent steps would fix the mean as well. Everything here takes a series in time order, equally spaced.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Correlations are kept this far from one, where the effective sample size would vanish.
_LARGEST_CORRELATION = 0.9999
#: The bias correction of Geyer's sum divides by no less than this.
_LEAST_KEPT = 0.5


def autocorrelation(values: Array, max_lag: int | None = None) -> Array:
    """Sample autocorrelation of the series about its mean at lags 0..max_lag (default: all, n - 1).

    The covariance at every lag is divided by n, not by the number of products, which keeps the sequence positive
    semi-definite (Priestley 1981, Spectral Analysis and Time Series, 5.3). Computed by FFT. A constant series has
    correlation 1 at lag 0 and 0 elsewhere.
    """
    n = len(values)
    lags = n if max_lag is None else min(max_lag + 1, n)
    centred = values - values.mean()
    if n == 0 or not bool(np.any(np.abs(centred) > _rounding(values))):
        return np.concatenate([np.ones(min(1, lags)), np.zeros(max(lags - 1, 0))])
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), size)[:lags]
    return np.asarray(covariance / covariance[0], dtype=np.float64)


def lag_one(values: Array, fitted: int = 1) -> float:
    """Correlation of neighbouring values, corrected for the bias that estimating the mean brings.

    With a fitted mean the sample correlation r is too low by about (1 + 4r)/n: (1 + 3r)/n for the mean (Marriott and Pope
    1954; Kendall 1954, both Biometrika 41), and r/n more because n - 1 products stand over n squares. For the residuals of
    a fitted line it is (2 + 5r)/n (Shaman and Stine 1988, JASA 83, with the same addition). `fitted` counts the fitted
    coefficients: 1 for the mean, 2 for a line, whose residuals must then be given. 0 for a constant series.
    """
    n = len(values)
    centred = values - values.mean()
    total = float(centred @ centred)
    if n < 2 or total <= _rounding(values) ** 2 * n:
        return 0.0
    r = float(centred[:-1] @ centred[1:]) / total
    return r + (fitted + (fitted + 3) * r) / n


def effective_size_lag_one(values: Array, fitted: int = 1) -> float:
    """Effective sample size n(1 - r)/(1 + r) of a first-order autoregressive series (Bayley and Hammersley 1946, JRSS
    Supplement 8). Above n for anti-correlated series, whose mean is known better than that of independent values.
    """
    r = float(np.clip(lag_one(values, fitted), -_LARGEST_CORRELATION, _LARGEST_CORRELATION))
    return len(values) * (1 - r) / (1 + r)


def effective_size_geyer(values: Array) -> float:
    """Effective sample size by Geyer's initial monotone sequence (Geyer 1992, Statistical Science 7, section 3.3).

    Sums of neighbouring pairs of autocorrelations, P_k = rho_2k + rho_2k+1, are taken while they are positive and made
    non-increasing; tau = -1 + 2 sum P_k; the effective size is n / tau. It needs no model of the dependence. At most n.

    About a fitted mean each sample correlation is too low by about tau/n (Anderson 1971, The Statistical Analysis of Time
    Series, 8.2); m pairs are a sum over 4m - 1 lags, both signs counted, so tau is divided by 1 - (4m - 1)/n, but never
    more than doubled: beyond that the bias is no longer a small one.
    """
    n = len(values)
    if n < 4:
        return float(n)
    rho = autocorrelation(values)
    if not bool(rho[1:].any()):
        return float(n)
    pairs = rho[0 : 2 * (n // 2) : 2] + rho[1 : 2 * (n // 2) : 2]
    ended = np.flatnonzero(pairs <= 0)
    positive = pairs[: int(ended[0])] if ended.size else pairs
    if not positive.size:
        return float(n)
    tau = -1 + 2 * float(np.minimum.accumulate(positive).sum())
    kept = max(1 - (4 * len(positive) - 1) / n, _LEAST_KEPT)
    return n / max(tau / kept, 1.0)


def effective_sample_size(values: Array, fitted: int = 1) -> float:
    """How many independent values the series is worth: the smaller of both methods, between `fitted` + 1 and n.

    The lag-one form is nearly unbiased in short series but blind to slow components; Geyer's form sees those but is biased
    in short series. The smaller keeps intervals honest in both (calibration table in the project's documentation). The
    bound at n refuses the extra precision that anti-correlation would promise.
    """
    n = float(len(values))
    found = min(effective_size_lag_one(values, fitted), effective_size_geyer(values), n)
    return min(max(found, fitted + 1.0), n)


def variance_of_mean(values: Array, n_effective: float | None = None) -> float:
    """Variance of the mean of a correlated series, in squared units of the values.

    The sample variance of a dependent series is too small: its expectation is sigma^2 (1 - (n/n_eff - 1)/(n - 1)) (Law and
    Kelton, Simulation Modeling and Analysis, 4.4). Undoing that and dividing by n_eff gives SS / (n (n_eff - 1)), where SS
    is the sum of squared deviations. Needs two values at least.

    Raises:
        ValueError: the series has fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError("the variance of a mean needs two values at least")
    size = effective_sample_size(values) if n_effective is None else n_effective
    centred = values - values.mean()
    return float(centred @ centred) / (n * (size - 1))


def _rounding(values: Array) -> float:
    """Deviations below this are rounding of a constant series, not variation."""
    return 4 * float(np.finfo(np.float64).eps) * float(np.abs(values).max(initial=0.0))
