"""Generic tables (formats "csv" and "jsonl-table"): one row a step, columns that the manifest maps to canonical metrics.

A column whose name is already a canonical metric, or `step`, needs no mapping. The raw key of a value is its canonical name.
"""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlreport.collectors.attempts import AttemptCounter
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, iter_lines, new_table, unreadable
from rlreport.collectors.jsonl import decode_json, numbers_of, whole_step
from rlreport.collectors.text import decode, plural
from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.raw import SourceTable, StepRow

STEP = "step"

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_EMPTY_CELLS = ("", "null", "none", "na", "n/a", "-")


@dataclass(slots=True)
class _Reading:
    """What is gathered while the rows of a table pass by."""

    columns: Mapping[str, str]
    rows: list[StepRow] = field(default_factory=list)
    attempts: AttemptCounter = field(default_factory=AttemptCounter)
    unknown: dict[str, None] = field(default_factory=dict)
    stepless: list[int] = field(default_factory=list)
    others: int = 0

    def add(self, number: int, cells: Mapping[str, object]) -> None:
        """Take one row: column name -> cell."""
        step: int | None = None
        values: dict[str, float] = {}
        for column, cell in cells.items():
            name = canonical(column, self.columns)
            if name is None:
                self.unknown[column] = None
            elif name == STEP:
                step = whole_step(cell)
            elif isinstance(cell, (int, float)):
                values[name] = float(cell)
            elif cell is not None:
                self.others += 1
        if step is None:
            self.stepless.append(number)
        else:
            self.rows.append(StepRow(step, values, number, self.attempts.count(step, values)))


class CsvCollector:
    """Reads a table with separators: commas, or tabs in a .tsv file and where the header has more of them."""

    format = "csv"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a .csv or .tsv file has a step column and a column of a canonical metric's name."""
        if not _name(path).endswith((".csv", ".tsv")) or not head:
            return False
        header = next(csv.reader(io.StringIO(decode(head.splitlines()[0])), delimiter=_delimiter(path, head)), [])
        return STEP in header and any(name.strip() in METRICS for name in header)

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the table whole.

        Raises:
            RlreportError: RR203, RR207, RR208 or RR209 when it is empty, has no step column, is mapped to unknown metrics,
                or has no row with a step.
        """
        check_columns(options)
        reader = ChunkReader(path)
        reading = _Reading(options.columns)
        unended: list[int] = []
        lines = _text_lines(reader, unended)
        first = next(lines, None)
        if first is None:
            raise unreadable("RR203", "the table is empty", options.display)
        delimiter = _delimiter(path, first.encode())
        header = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        _require_step(header, options)
        rows = csv.reader(lines, delimiter=delimiter)
        try:
            for cells in rows:
                if unended:
                    cells.pop()
                if any(cell.strip() for cell in cells):
                    reading.add(rows.line_num + 1, {name: _cell(cell) for name, cell in zip(header, cells, strict=False)})
        except csv.Error as error:
            raise unreadable(
                "RR209", f"the table cannot be read: {error}", options.display, line=rows.line_num + 1
            ) from error
        table = new_table(reader, self.format, options)
        if unended:
            message = "the last line has no end: its last value may be cut and is left out"
            table.notices.append(Notice("RR233", message, f"{options.display}:{unended[0]}"))
        return _finish(table, reading)


class JsonlTableCollector:
    """Reads a table of one flat JSON object a line."""

    format = "jsonl-table"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first line is an object with `step` and a canonical metric."""
        first = decode_json(head.split(b"\n", 1)[0])
        return isinstance(first, dict) and STEP in first and any(name in METRICS for name in first)

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the table whole. Raises RlreportError as `CsvCollector.read`."""
        check_columns(options)
        reader = ChunkReader(path)
        reading = _Reading(options.columns)
        foreign: list[int] = []
        seen: dict[str, None] = {}
        for number, raw, _ in iter_lines(reader):
            if not raw.strip():
                continue
            record = decode_json(raw)
            if not isinstance(record, dict):
                foreign.append(number)
                continue
            seen |= dict.fromkeys(record)
            numbers, _, _ = numbers_of(record)
            reading.add(number, {**record, **numbers})
        if reader.empty:
            raise unreadable("RR203", "the table is empty", options.display)
        if not seen:
            raise unreadable("RR209", "no line is a JSON object", options.display)
        _require_step(seen, options)
        table = new_table(reader, self.format, options)
        if foreign:
            message = f"{plural(len(foreign), 'line')} not a JSON object and left out"
            table.notices.append(Notice("RR231", message, f"{options.display}:{foreign[0]}"))
        return _finish(table, reading)


def canonical(column: str, columns: Mapping[str, str]) -> str | None:
    """The canonical name of a column: as mapped, or its own when it is one; None when it has none."""
    if column in columns:
        return columns[column]
    return column if column == STEP or column in METRICS else None


def is_table(path: Path) -> bool:
    """Whether a file's name is that of a table, so that a column mapping makes it one."""
    return _name(path).endswith(_SUFFIXES)


def table_format(path: Path) -> str:
    """The table format of a file by its name."""
    return CsvCollector.format if _name(path).endswith((".csv", ".tsv")) else JsonlTableCollector.format


def check_columns(options: SourceOptions) -> None:
    """Raise RR208 when a column is mapped to something that is not a canonical metric."""
    for column, name in options.columns.items():
        if name != STEP and name not in METRICS:
            near = difflib.get_close_matches(name, [*METRICS, STEP], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "the canonical metrics are listed in the documentation"
            raise unreadable("RR208", f"column {column!r} is mapped to {name!r}, which is no metric", options.display, hint)


def _require_step(header: Iterable[str], options: SourceOptions) -> None:
    names = list(header)
    if not any(canonical(name, options.columns) == STEP for name in names):
        shown = ", ".join(repr(name) for name in names[:8])
        hint = f"map one of its columns to 'step'; it has {shown}"
        raise unreadable("RR207", "the table has no step column", options.display, hint, line=1)
    missing = [name for name in options.columns if name not in names]
    if missing:
        near = difflib.get_close_matches(missing[0], names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(repr(name) for name in names[:8])}"
        message = f"the table has no column {missing[0]!r}, which is mapped to {options.columns[missing[0]]!r}"
        raise unreadable("RR215", message, options.display, hint, line=1)


def _finish(table: SourceTable, reading: _Reading) -> SourceTable:
    if not reading.rows:
        raise unreadable("RR209", "no row of the table has a step number", table.path)
    table.rows = reading.rows

    def tell(code: str, message: str, line: int | None = None) -> None:
        table.notices.append(Notice(code, message, table.path if line is None else f"{table.path}:{line}"))

    if reading.unknown:
        names = list(reading.unknown)
        tell("RR236", f"{plural(len(names), 'column')} not mapped to a metric and left out: {', '.join(names[:8])}")
    if reading.stepless:
        tell("RR231", f"{plural(len(reading.stepless), 'row')} without a step number left out", reading.stepless[0])
    if reading.others:
        tell("RR232", f"{plural(reading.others, 'value')} not a number and left out")
    if reading.attempts.attempt:
        tell("RR225", f"the table holds {plural(reading.attempts.attempt, 'restart')}")
    return table


def _text_lines(reader: ChunkReader, unended: list[int]) -> Iterator[str]:
    """The lines of a file as text; the number of a last line without a line end is put into `unended` before it comes."""
    for number, raw, ended in iter_lines(reader):
        if not ended:
            unended.append(number)
        yield decode(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).replace("\0", "") + "\n"


def _cell(text: str) -> object:
    """A cell's number, None when it is empty, or its text."""
    text = text.strip()
    if text.lower() in _EMPTY_CELLS:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _delimiter(path: Path, head: bytes) -> str:
    first = head.split(b"\n", 1)[0]
    if _name(path).endswith(".tsv"):
        return "\t"
    return max(",\t;", key=lambda sign: first.count(sign.encode()))


def _name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz")
