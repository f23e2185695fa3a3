"""What a dialect is: one framework's names given their meaning, by mode and version."""

from __future__ import annotations

from typing import Protocol

from rlreport.run.model import Run, RunDeclaration
from rlreport.run.raw import RawRun


class Dialect(Protocol):
    """Turns a merged raw run into a Run. Implementations are stateless; register them in `dialects.registry`."""

    #: The framework's name as a manifest gives it ("verl").
    name: str

    def recognises(self, raw: RawRun) -> bool:
        """Whether the raw keys, the configuration or the facts are this framework's."""

    def interpret(self, raw: RawRun, declared: RunDeclaration) -> Run:
        """Give the raw keys their canonical meaning. Never raises for missing data: what is unknown stays unknown."""
