"""The one error type of rlreport, and the notices that results carry.

A `Diagnostic` is what a user must act on: it has a stable code, a place and a hint. A `Notice` is what a reader of a result
must know: it travels with the result into the report and never stops a build.

Codes: RR1xx manifest, RR2xx sources (files and their formats), RR3xx meaning (framework, mode, devices, metrics),
RR4xx comparison, RR5xx drawing and rendering, RR6xx simulation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning"]

EXIT_GATE_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREADABLE = 3


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line and column count from 1, None where they are not known."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem, told once: code, severity, message, place, hint."""

    code: str
    message: str
    location: Location | None = None
    hint: str | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        text = f"{place}{self.severity}[{self.code}]: {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that a result carries: what a reader must know before trusting it.

    `where` names the source as "file" or "file:line" when the notice is about one place.
    """

    code: str
    message: str
    where: str | None = None


@dataclass(eq=False)
class RlreportError(Exception):
    """Raised for everything a user can mend; holds every diagnostic that was collected before stopping.

    `exit_code` is the process exit code of design section 8: 2 for usage or manifest, 3 for a source that could not be read.
    """

    diagnostics: tuple[Diagnostic, ...]
    exit_code: int = EXIT_USAGE
    notices: tuple[Notice, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(str(diagnostic) for diagnostic in self.diagnostics)

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic] | Diagnostic, exit_code: int = EXIT_USAGE) -> RlreportError:
        """Build the error from one diagnostic or several."""
        many = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        return cls(many, exit_code)
