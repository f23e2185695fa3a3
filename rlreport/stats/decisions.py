"""From intervals to decisions: equivalence, and several comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence


def within(interval: tuple[float, float], low: float, high: float) -> bool:
    """Whether the interval lies inside the open range (low, high).

    With a 90 % interval this is the test of equivalence at the 5 % level: two one-sided tests reject both "at or below
    low" and "at or above high" (Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15). True means shown to
    be equivalent; False means not shown, which is not the same as different.
    """
    return low < interval[0] and interval[1] < high


def excludes(interval: tuple[float, float], value: float) -> bool:
    """Whether the value lies outside the closed interval: a difference at the interval's level."""
    return not interval[0] <= value <= interval[1]


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P-values adjusted by Holm's step-down method, in the order given (Holm 1979, Scandinavian Journal of Statistics 6).

    The i-th smallest of m is multiplied by m - i (i from 0), made non-decreasing, and cut at 1. Comparing them with a level
    keeps the chance of any false finding among all m at that level, whatever the dependence between the tests.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    largest = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, p_values[index] * (m - rank)))
        adjusted[index] = largest
    return tuple(adjusted)
