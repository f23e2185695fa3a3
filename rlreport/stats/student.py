"""Student's t distribution at real-valued degrees of freedom, and chi-square. `scipy.special` is loaded when first used."""

from __future__ import annotations

#: Fewer degrees of freedom than this are not used: the interval at one is already 12.7 standard errors wide each way.
FEWEST_DEGREES = 1.0


def t_quantile(probability: float, degrees: float) -> float:
    """The value below which t lies with the given probability; degrees of freedom are raised to at least one."""
    from scipy.special import stdtrit

    return float(stdtrit(max(degrees, FEWEST_DEGREES), probability))


def t_probability(value: float, degrees: float) -> float:
    """The probability that t lies below `value`; degrees of freedom are raised to at least one."""
    from scipy.special import stdtr

    return float(stdtr(max(degrees, FEWEST_DEGREES), value))


def two_sided_p(statistic: float, degrees: float) -> float:
    """The probability of a t at least as far from 0 as `statistic`, in either direction."""
    return 2 * t_probability(-abs(statistic), degrees)


def half_width(confidence: float, degrees: float) -> float:
    """How many standard errors a two-sided interval of the given confidence reaches each way."""
    return t_quantile(0.5 + confidence / 2, degrees)


def chi_square_quantile(probability: float, degrees: float) -> float:
    """The value below which a chi-square variable lies with the given probability."""
    from scipy.special import chdtri

    return float(chdtri(degrees, 1 - probability))
