"""What a collector is: bytes of one source in, one raw table out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from rlreport.run.raw import SourceTable


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read a source: `display` is the path as messages show it, `columns` maps a generic table's column names to
    canonical metric names (plus "step").
    """

    display: str
    columns: Mapping[str, str] = field(default_factory=dict)


class Collector(Protocol):
    """Reads one source format. Implementations are stateless; register them in `collectors.registry`."""

    #: The format's name, as a manifest may force it and as reports show it ("verl-console", "tensorboard").
    format: str

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file (its first 64 KiB, decompressed) or folder (head is empty) is of this format."""

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the source whole. Raises RlreportError (RR2xx) when nothing can be read; what is damaged is a notice."""


@runtime_checkable
class FolderCollector(Collector, Protocol):
    """A collector whose source may be a whole folder, with everything below it."""

    def owns(self, folder: Path) -> bool:
        """Whether a folder that is of this format holds nothing but this source; it is then not searched for others."""
