"""The JSONL file of verl's FileLogger (format "verl-jsonl"): one `{"step": N, "data": {...}}` a line, plain or gzipped.

Source: verl/utils/tracking.py, FileLogger. There is no clock in it, and a resumed run overwrites the file; users add fields
of their own beside `step` and `data` (as `elapsed_seconds`), which are kept under `file/`.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec

from rlreport.collectors.attempts import AttemptCounter
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, iter_lines, new_table, unreadable
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable, StepRow

_MARK = re.compile(rb'\A\s*\{\s*"(?:step"\s*:\s*\d+\s*,\s*"data"\s*:\s*\{|data"\s*:\s*\{[^\n]*\}\s*,\s*"step"\s*:\s*\d)')

#: Fields beside `step` and `data` that are a Unix time when their value looks like one.
_CLOCKS = ("timestamp", "_timestamp", "time", "wall_time")
_UNIX_TIMES = (1e9, 4e9)


class JsonlCollector:
    """Reads the JSONL file of verl's FileLogger."""

    format = "verl-jsonl"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first line is an object of `step` and `data`."""
        return _MARK.match(head) is not None

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read the file whole; lines that are not of the format are counted.

        Raises:
            RlreportError: RR203 when the file is empty, RR209 when no line is of the format.
        """
        reader = ChunkReader(path)
        attempts = AttemptCounter()
        rows: list[StepRow] = []
        foreign: list[int] = []
        others = nulls = 0
        partial: int | None = None
        for number, raw, ended in iter_lines(reader):
            if not raw.strip():
                continue
            record = decode_json(raw)
            step = whole_step(record.get("step")) if isinstance(record, dict) else None
            data = record.get("data") if isinstance(record, dict) else None
            if step is None or not isinstance(data, dict) or not isinstance(record, dict):
                if ended:
                    foreign.append(number)
                else:
                    partial = number
                continue
            values, no_numbers, empty = numbers_of(data)
            extra, _, _ = numbers_of({key: value for key, value in record.items() if key not in ("step", "data")})
            values |= {f"file/{key}": value for key, value in extra.items()}
            others, nulls = others + no_numbers, nulls + empty
            wall_s = next((extra[key] for key in _CLOCKS if _UNIX_TIMES[0] < extra.get(key, 0.0) < _UNIX_TIMES[1]), None)
            rows.append(StepRow(step, values, number, attempts.count(step, data), False, wall_s))
        if reader.empty:
            raise unreadable("RR203", "the file is empty", options.display)
        if not rows:
            raise unreadable("RR209", 'no line is an object with "step" and "data"', options.display)
        table = new_table(reader, self.format, options)
        table.rows = rows
        _tell(table, foreign, partial, others, nulls, attempts.attempt)
        return table


def decode_json(raw: bytes) -> Any:
    """A JSON value; NaN and Infinity are accepted as Python writes them. None when the text is not JSON."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def whole_step(value: Any) -> int | None:
    """A step number from JSON or a table: a whole number, also as 3.0 or "3"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text) if text else None
        except ValueError:
            return None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else None
    return value if isinstance(value, int) else None


def numbers_of(data: dict[str, Any]) -> tuple[dict[str, float], int, int]:
    """(the numbers of an object as floats, how many values are no numbers, how many are null). True is 1, False is 0."""
    values: dict[str, float] = {}
    others = nulls = 0
    for key, value in data.items():
        if isinstance(value, (float, int)):
            values[key] = to_float(value)
        elif value is None:
            nulls += 1
        else:
            others += 1
    return values, others, nulls


def to_float(value: float) -> float:
    """A number as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _tell(table: SourceTable, foreign: list[int], partial: int | None, others: int, nulls: int, restarts: int) -> None:
    def tell(code: str, message: str, line: int | None = None) -> None:
        table.notices.append(Notice(code, message, table.path if line is None else f"{table.path}:{line}"))

    if foreign:
        tell("RR231", f"{plural(len(foreign), 'line')} not of the format and left out", foreign[0])
    if partial is not None:
        tell("RR233", "the last line is incomplete and left out", partial)
    if others:
        tell("RR232", f"{plural(others, 'value')} not a number and left out")
    if nulls:
        tell("RR245", f"{plural(nulls, 'value')} null: not finite when they were logged")
    if restarts:
        tell("RR225", f"the file holds {plural(restarts, 'restart')}")
