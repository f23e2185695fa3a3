"""What a build says."""

from __future__ import annotations

from dataclasses import dataclass

from rlreport.run.diagnostics import RlreportError


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build says: a few lines a report, and why a strict build fails.

    `error` tells what kept reports from being built; the others are written all the same.
    """

    lines: tuple[str, ...]
    gate_failures: tuple[str, ...]
    error: RlreportError | None = None
