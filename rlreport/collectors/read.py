"""Reading the sources of one run: paths in, raw tables out; everything that cannot be read is told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rlreport.collectors.base import Collector, SourceOptions
from rlreport.collectors.detect import Found, detect, search
from rlreport.collectors.registry import BUILTIN, collector_of, list_formats
from rlreport.collectors.table import is_table, table_format
from rlreport.collectors.text import plural
from rlreport.collectors.unread import UNKNOWN_SHORT, why_unread
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.raw import SourceTable

#: A source as the manifest or the command line gives it: path, forced format (None: detect), column mapping.
SourceRequest = tuple[Path, str | None, Mapping[str, str]]


def read_sources(paths: Sequence[SourceRequest], root: Path | None = None) -> list[SourceTable]:
    """Read files and folders.

    A folder is searched for sources of every format (or of the forced one). Paths are shown relative to `root` where they
    lie below it. A file that is reached twice is read once. What cannot be read within a folder is a notice as
    long as something else in it can be.

    Raises:
        RlreportError: exit code 3, with one diagnostic for every source that cannot be read.
    """
    reading = _Reading(root)
    for path, source_format, columns in paths:
        reading.take(path, source_format, columns)
    if reading.problems:
        raise RlreportError(tuple(reading.problems), EXIT_UNREADABLE)
    return reading.tables


#: Names that a format also goes by, by whether columns are mapped.
_SHORT_NAMES: dict[tuple[str | None, bool], str] = {
    ("tsv", True): "csv",
    ("tsv", False): "csv",
    ("jsonl", True): "jsonl-table",
    ("jsonl", False): "verl-jsonl",
    ("console", False): "verl-console",
}


_UNREADABLE = "not readable"


@dataclass(slots=True)
class _Reading:
    root: Path | None
    tables: list[SourceTable] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def take(self, path: Path, source_format: str | None, columns: Mapping[str, str]) -> None:
        """Read one request; problems are gathered."""
        source_format = _SHORT_NAMES.get((source_format, bool(columns)), source_format)
        if source_format is not None and collector_of(source_format) is None:
            hint = f"known formats are {', '.join(list_formats())}"
            self._refuse("RR206", f"there is no format {source_format!r}", path, hint)
            return
        try:
            exists, folder = path.exists(), path.is_dir()
        except OSError as error:
            self._refuse("RR202", f"the source cannot be read: {error.strerror}", path)
            return
        if not exists:
            self._refuse("RR201", "the source does not exist", path, _near(path))
        elif folder:
            self._take_folder(path, source_format, columns)
        else:
            self._take_file(path, source_format, columns)

    def _take_file(self, path: Path, source_format: str | None, columns: Mapping[str, str]) -> None:
        try:
            if source_format is None and columns and is_table(path):
                source_format = table_format(path)
            collector = collector_of(source_format) if source_format else detect(path)
            built_in = collector is None or (source_format is not None and collector in BUILTIN)
            if built_in and (unread := why_unread(path)):
                self._refuse(unread.code, unread.message, path, unread.hint)
                return
            if collector is None:
                hint = f"known formats are {', '.join(list_formats())}; 'format:' in the manifest forces one"
                self._refuse("RR204", f"the source is {UNKNOWN_SHORT}", path, hint)
                return
            table = self._read(path, collector, columns)
        except OSError as error:
            self._refuse("RR202", f"the source cannot be read: {error.strerror}", path)
        except RlreportError as error:
            self.problems += error.diagnostics
        else:
            if table is not None:
                self.tables.append(table)

    def _take_folder(self, path: Path, source_format: str | None, columns: Mapping[str, str]) -> None:
        found = search(path)
        sources = found.sources
        if source_format is not None:
            sources = [(source, owner) for source, owner in sources if owner.format == source_format]
        elif columns:
            for file in [file for file in found.unknown if is_table(file)]:
                collector = collector_of(table_format(file))
                if collector is not None:
                    found.unknown.remove(file)
                    sources.append((file, collector))
            sources.sort(key=lambda source: source[0])
        tables: list[SourceTable] = []
        failures: list[Diagnostic] = []
        known = 0
        for source, owner in sources:
            try:
                table = self._read(source, owner, columns)
            except OSError as error:
                failures.append(self._diagnostic("RR202", f"the source cannot be read: {error.strerror}", source))
            except RlreportError as error:
                failures += error.diagnostics
            else:
                known += 1
                if table is not None:
                    tables.append(table)
        if not known:
            self._refuse_folder(path, source_format, found, failures)
            return
        if tables:
            tables[0].notices += self._notices(path, found, failures)
        self.tables += tables

    def _refuse_folder(self, path: Path, source_format: str | None, found: Found, failures: list[Diagnostic]) -> None:
        if failures:
            self.problems += failures
            return
        what = f"a source of the format {source_format!r}" if source_format else "a source of a known format"
        seen = [f"{plural(len(files), 'file')} {why}" for why, files in _left_out(found).items()]
        hint = f"it holds {', '.join(seen)}" if seen else "it holds no files"
        self._refuse(
            "RR205", f"the folder does not hold {what}", path, f"{hint}; known formats are {', '.join(list_formats())}"
        )

    def _read(self, path: Path, collector: Collector, columns: Mapping[str, str]) -> SourceTable | None:
        """The table of a source, None when it was read before."""
        real = path.resolve()
        if real in self._seen:
            return None
        table = collector.read(path, SourceOptions(self._display(path), columns))
        self._seen.add(real)
        return table

    def _notices(self, folder: Path, found: Found, failures: list[Diagnostic]) -> list[Notice]:
        where = self._display(folder)
        notices = [Notice(failure.code, failure.message, str(failure.location)) for failure in failures]
        for why, files in _left_out(found).items():
            examples = ", ".join(self._display(file) for file in files[:3])
            code = "RR202" if why == _UNREADABLE else "RR237"
            notices.append(Notice(code, f"{plural(len(files), 'file')} left out, {why}: {examples}", where))
        if found.cut:
            notices.append(Notice("RR238", f"the folder was not searched completely: it holds {found.cut}", where))
        return notices

    def _display(self, path: Path) -> str:
        if self.root is not None and path.absolute().is_relative_to(self.root.absolute()):
            return path.absolute().relative_to(self.root.absolute()).as_posix()
        return path.as_posix()

    def _diagnostic(self, code: str, message: str, path: Path, hint: str | None = None) -> Diagnostic:
        return Diagnostic(code, message, Location(self._display(path)), hint)

    def _refuse(self, code: str, message: str, path: Path, hint: str | None = None) -> None:
        self.problems.append(self._diagnostic(code, message, path, hint))


def _left_out(found: Found) -> dict[str, list[Path]]:
    """The files of a folder that are not read, by the reason; files of no known format first, unreadable ones last."""
    reasons: dict[str, list[Path]] = {UNKNOWN_SHORT: []}
    unreadable = list(found.unreadable)
    for file in found.unknown:
        try:
            unread = why_unread(file)
        except OSError:
            unreadable.append(file)
            continue
        reasons.setdefault(UNKNOWN_SHORT if unread is None else unread.short, []).append(file)
    reasons["empty"] = [*reasons.pop("empty", []), *found.empty]
    reasons[_UNREADABLE] = unreadable
    return {why: files for why, files in reasons.items() if files}


def _near(path: Path) -> str | None:
    """What lies in the folder of a missing path, as a hint."""
    parent = path.parent
    if not parent.is_dir():
        return f"the folder {parent.as_posix()!r} does not exist"
    try:
        names = sorted(entry.name for entry in parent.iterdir())[:5]
    except OSError:
        return None
    return f"its folder holds {', '.join(names)}" if names else "its folder is empty"
