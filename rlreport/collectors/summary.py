"""Tables of results (format "summary-csv"): one published number a row, for runs whose logs are not at hand.

Columns, in any order: `run` (the row's run; a manifest's run of this id takes its rows), `quantity` (a name of
`run.summary.QUANTITIES`), `value`, `unit`, `from_step` and `to_step` (the steps that the number is about; empty where the
author does not say), `source` (where it was published). Other columns are left out.

Units are converted to the quantity's own: `ms`, `s`, `min`, `h` and `d` for times, `dhm` for a duration written as
`1d 3h 43m`, `%` for a fraction, and for `claim.speedup` either `x` or `%` (`23 %` more is 1.23 times).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, iter_lines, new_table, unreadable
from rlreport.collectors.text import decode, plural, shorten
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.metrics import Metric
from rlreport.run.raw import RawRun, SourceTable
from rlreport.run.summary import CLAIM, QUANTITIES, Summary

REQUIRED = ("run", "quantity", "value", "unit", "source")

#: Seconds of the units of time.
_SECONDS: Mapping[str, float] = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?:in)?)?\s*(?:(\d+)\s*s)?")
_DURATION_UNITS = (86_400.0, 3600.0, 60.0, 1.0)
#: Longest texts that are taken for numbers and steps.
_LONGEST_NUMBER = 40
_LONGEST_STEP = 12
_LONGEST_HEADER = 4096


#: What is said of rows that give no result, by the code of the notice.
_SAID: Mapping[str, str] = {
    "RR250": "not understood and left out",
    "RR232": "not a number in a unit of its quantity, left out",
    "RR251": "given again with another value, the first is used",
}


@dataclass(slots=True)
class _Reading:
    """What is gathered while the rows pass by: the results, and for each kind of problem its lines with what was seen."""

    display: str
    found: dict[tuple[object, ...], Summary] = field(default_factory=dict)
    problems: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, line: int, cells: Mapping[str, str]) -> None:
        """Take one row: column name -> text."""
        quantity = QUANTITIES.get(cells["quantity"])
        steps = _steps(cells)
        if not cells["run"]:
            self._refuse("RR250", line, "it names no run")
        elif quantity is None:
            self._refuse("RR250", line, f"'{shorten(cells['quantity'], 40)}' is no quantity")
        elif steps is None:
            self._refuse("RR250", line, f"steps '{cells.get('from_step', '')}' to '{cells.get('to_step', '')}'")
        elif (amount := to_unit(cells["value"], cells["unit"], quantity)) is None:
            self._refuse(
                "RR232", line, f"{quantity.name} is '{shorten(cells['value'], 40)}' in '{shorten(cells['unit'], 20)}'"
            )
        else:
            where = f"{self.display}:{line}"
            value, resolution = amount
            self._keep(
                line,
                Summary(cells["run"], quantity.name, value, quantity.unit, *steps, cells["source"], where, resolution),
            )

    def _keep(self, line: int, result: Summary) -> None:
        kept = self.found.setdefault((result.run, result.quantity, result.from_step, result.to_step), result)
        if kept.value != result.value:
            self._refuse("RR251", line, f"{result.quantity} of {result.run} is {kept.value:g} and {result.value:g}")

    def _refuse(self, code: str, line: int, seen: str) -> None:
        self.problems.setdefault(code, []).append((line, seen))

    def notices(self) -> list[Notice]:
        """What was left out, counted, each kind with its first case and its place; and results without a source."""
        notices = [
            Notice(code, f"{plural(len(cases), 'result')} {_SAID[code]}: {cases[0][1]}", f"{self.display}:{cases[0][0]}")
            for code, cases in self.problems.items()
        ]
        uncited = [result for result in self.found.values() if not result.source]
        if uncited:
            notices.append(Notice("RR252", f"{plural(len(uncited), 'result')} without a source", uncited[0].where))
        return notices


class SummaryCollector:
    """Reads a table of results."""

    format = "summary-csv"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a .csv file has the columns of a table of results."""
        if not path.name.lower().removesuffix(".gz").endswith(".csv") or not head:
            return False
        first = decode(head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0])[:_LONGEST_HEADER]
        names = next(csv.reader([first], delimiter=_delimiter(first)), [])
        return {"run", "quantity", "value"} <= {name.strip() for name in names}

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the table whole: the results of all its runs.

        Raises:
            RlreportError: RR203 or RR209 when it is empty, lacks a column or has no result that can be read.
        """
        reader = ChunkReader(path)
        text = "".join(
            decode(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).replace("\0", "") + "\n"
            for number, raw, _ in iter_lines(reader)
        )
        rows = csv.reader(io.StringIO(text), delimiter=_delimiter(text.partition("\n")[0]))
        reading = _Reading(options.display)
        try:
            header = [name.strip() for name in next(rows, [])]
            if not header:
                raise unreadable("RR203", "the table is empty", options.display)
            missing = [name for name in REQUIRED if name not in header]
            if missing:
                hint = f"a table of results has the columns {', '.join(REQUIRED)}, from_step and to_step"
                raise unreadable("RR209", f"the table has no column '{missing[0]}'", options.display, hint, line=1)
            for cells in rows:
                if any(cell.strip() for cell in cells):
                    blank = dict.fromkeys(header, "")
                    reading.add(
                        rows.line_num, blank | {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
                    )
        except csv.Error as error:
            raise unreadable("RR209", f"the table cannot be read: {error}", options.display, line=rows.line_num) from error
        notices = reading.notices()
        if not reading.found:
            hint = notices[0].message if notices else "it has a header and no rows"
            raise unreadable("RR209", "no row of the table is a result", options.display, hint)
        table = new_table(reader, self.format, options)
        table.summaries = list(reading.found.values())
        table.notices += notices
        return table


def _delimiter(header: str) -> str:
    """The sign that parts the columns: a comma, a semicolon or a tab."""
    return max(",;\t", key=header.count)


def to_unit(text: str, unit: str, quantity: Metric) -> tuple[float, float] | None:
    """A number and the worth of its last digit in the quantity's unit; None when it is no such number."""
    if unit == "dhm" and quantity.unit == "s":
        return _duration(text)
    number = _number(text)
    if number is None:
        return None
    value, digit = number
    if unit == quantity.unit:
        return value, digit
    if quantity.unit == "s" and unit in _SECONDS:
        return value * _SECONDS[unit], digit * _SECONDS[unit]
    if quantity.name == CLAIM and unit in ("x", "%"):
        return (value, digit) if unit == "x" else (1 + value / 100, digit / 100)
    return (value / 100, digit / 100) if unit == "%" and not quantity.unit else None


def _number(text: str) -> tuple[float, float] | None:
    """A finite number with the worth of its last digit; thousands may be set off by commas ("12,053")."""
    plain = text.replace(",", "") if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text) else text
    if len(plain) > _LONGEST_NUMBER:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    digits, _, exponent = plain.lower().partition("e")
    return value, float(f"1e{int(exponent or 0) - len(digits.partition('.')[2])}")


def _duration(text: str) -> tuple[float, float] | None:
    """Seconds of a duration such as "1d 3h 43m", and of one unit of its smallest part."""
    match = _DURATION.fullmatch(text)
    parts = (
        [] if match is None else [(part, unit) for part, unit in zip(match.groups(), _DURATION_UNITS, strict=True) if part]
    )
    return (sum(int(part) * unit for part, unit in parts), parts[-1][1]) if parts else None


def _steps(cells: Mapping[str, str]) -> tuple[int | None, int | None] | None:
    """First and last step of a row, None where the cell is empty; None as a whole when they are no steps."""
    texts = [cells.get(name, "") for name in ("from_step", "to_step")]
    if not all(text.isdecimal() and len(text) <= _LONGEST_STEP for text in texts if text):
        return None
    first, last = (int(text) if text else None for text in texts)
    return None if first is not None and last is not None and first > last else (first, last)


def summaries_of(raw: RawRun, run_id: str | None) -> tuple[Summary, ...]:
    """The results of one run: those under its id; where the tables hold one run only, that one's, whatever its name.

    Args:
        raw: the merged sources of the run.
        run_id: the run's id in the manifest; None takes the results of all runs of the tables.

    Raises:
        RlreportError: RR213 (exit code 3) when the tables hold several runs and none has this id.
    """
    tables = [source for source in raw.sources if source.summaries]
    everything = tuple(summary for table in tables for summary in table.summaries)
    names = list(dict.fromkeys(summary.run for summary in everything))
    if run_id is None or len(names) < 2:
        return everything
    if run_id not in names:
        import difflib

        near = difflib.get_close_matches(run_id, names, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        hint += "a run's id in the manifest says which rows are its own"
        message = f"the table holds the results of {', '.join(names)}, and none of '{run_id}'"
        raise RlreportError.of(Diagnostic("RR213", message, Location(tables[0].path), hint), EXIT_UNREADABLE)
    return tuple(summary for summary in everything if summary.run == run_id)
