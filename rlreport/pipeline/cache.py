"""Nothing changed, nothing to do: a build whose inputs and outputs are as they were is told again, not made again.

The cache holds no results but the lines that a build printed; what it wrote lies in the output folder. It is kept outside of
that folder, so that the files of a build do not depend on it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rlreport import __version__
from rlreport.manifest.model import Manifest
from rlreport.pipeline.result import BuildResult

_PACKAGE = Path(__file__).resolve().parents[1]


class _Record(msgspec.Struct):
    inputs: str
    outputs: str
    lines: tuple[str, ...]
    gate_failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The record of one build: of this manifest, into this folder, with these options."""

    manifest: Manifest
    out: Path
    formats: Sequence[str]
    only: Sequence[str]

    @property
    def path(self) -> Path:
        """Where the record lies: in the user's cache folder, by manifest, output folder and options."""
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        key = repr((str(self.manifest.path.resolve()), str(self.out.resolve()), tuple(self.formats), sorted(self.only)))
        return Path(home) / "rlreport" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def find(self) -> BuildResult | None:
        """What the last build said, when its inputs and outputs are as they were; else None."""
        try:
            record = msgspec.json.decode(self.path.read_bytes(), type=_Record)
        except (OSError, msgspec.DecodeError):
            return None
        if record.inputs != self._inputs() or record.outputs != self._outputs():
            return None
        return BuildResult(record.lines, record.gate_failures)

    def store(self, result: BuildResult) -> None:
        """Remember a build that succeeded. A cache folder that cannot be written only means that nothing is remembered."""
        record = _Record(self._inputs(), self._outputs(), result.lines, result.gate_failures)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(msgspec.json.encode(record))
        except OSError:
            return

    def _inputs(self) -> str:
        sources = (source.path for run in self.manifest.runs.values() for source in run.sources)
        narratives = [report.narrative_text.encode() for report in self.manifest.reports]
        code = _digest([_PACKAGE, _PACKAGE.parent / "templates"], suffixes=(".py", ".css", ".j2"))
        return repr((__version__, code, self.manifest.sha256, _digest(narratives), _digest(sources)))

    def _outputs(self) -> str:
        return _digest([self.out])


def _digest(items: Iterable[Path | bytes], suffixes: tuple[str, ...] = ()) -> str:
    """A digest of bytes, and of files by path, size and time of change (folders with all that is in them)."""
    digest = hashlib.sha256()
    for item in items:
        if isinstance(item, bytes):
            digest.update(item)
            continue
        for path in _files(item):
            if suffixes and path.suffix not in suffixes:
                continue
            try:
                state = path.stat()
            except OSError:
                digest.update(f"{path}?".encode())
                continue
            digest.update(f"{path}:{state.st_size}:{state.st_mtime_ns};".encode())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield Path(folder) / name
