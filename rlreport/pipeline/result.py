"""What a build says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build says: a few lines a report, and why a strict build fails."""

    lines: tuple[str, ...]
    gate_failures: tuple[str, ...]
