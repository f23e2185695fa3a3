"""A number with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval and unit; None where the data do not give it. Never 0 for unknown."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    unit: str

    @classmethod
    def unknown(cls, unit: str) -> Estimate:
        """What is not known."""
        return cls(None, None, None, unit)
