"""TensorBoard event files (format "tensorboard"): a file, or a folder whose files are the parts of one run.

Tag is the raw key, `simple_value` (or a scalar tensor) the value, `wall_time` an absolute clock in Unix seconds. A resumed
run writes a second file into the folder whose steps overlap the first one's.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlreport.collectors.attempts import is_training, is_validation_only
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import unreadable
from rlreport.collectors.text import plural
from rlreport.collectors.tfrecord import find_records
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable, StepRow

EVENT_FILE = re.compile(r".*\btfevents\.\d+.*")

#: Tensor types of a scalar: its field in TensorProto, and its format as raw content (source: tensorflow types.proto).
_SCALAR_TYPES: dict[int, tuple[str, str]] = {
    1: ("float_val", "<f"),
    2: ("double_val", "<d"),
    3: ("int_val", "<i"),
    9: ("int64_val", "<q"),
    10: ("bool_val", "<?"),
}


#: Some versions of the writer replace the "@" of a name (source: torch/utils/tensorboard/summary.py, _clean_tag).
_CLEANED = re.compile(r"(?<=/)(mean|std|maj|best|worst)_(\d+)(?=/|$)")


@dataclass(slots=True)
class _EventFile:
    """One file: its scalars (step, tag, value, wall time) in file order, the time range of its events, what was damaged."""

    path: Path
    size_bytes: int
    digest: bytes
    scalars: list[tuple[int, str, float, float]] = field(default_factory=list)
    first_s: float = math.inf
    last_s: float = -math.inf
    damaged: int = 0
    incomplete: bool = False
    cut: _CutStep | None = None


@dataclass(frozen=True, slots=True)
class _CutStep:
    """The last step of a file that holds a part of it: how many of the `usual` tags of a step are there."""

    step: int
    present: int
    usual: int


class TensorboardCollector:
    """Reads TensorBoard event files."""

    format = "tensorboard"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file's name and first record are an event file's, or the folder holds one."""
        if path.is_dir():
            return any(EVENT_FILE.match(entry.name) and entry.is_file() for entry in path.iterdir())
        return EVENT_FILE.match(path.name) is not None or b"brain.Event:" in head[:64]

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read a file or all event files of a folder.

        Raises:
            RlreportError: RR203 when every file is empty, RR209 when no record can be read.
        """
        paths = (
            sorted(entry for entry in path.iterdir() if EVENT_FILE.match(entry.name) and entry.is_file())
            if path.is_dir()
            else [path]
        )
        files = [_read_file(entry) for entry in paths]
        if not any(file.size_bytes for file in files):
            raise unreadable("RR203", "the event file is empty", options.display, "the run died before it logged anything")
        if all(file.first_s == math.inf for file in files):
            raise unreadable("RR209", "no record of the event file can be read", options.display)
        files.sort(key=lambda file: (file.first_s, file.path.name))
        digest = hashlib.sha256(b"".join(file.digest for file in files))
        table = SourceTable(
            path=options.display,
            format=self.format,
            size_bytes=sum(file.size_bytes for file in files),
            sha256=files[0].digest.hex() if len(files) == 1 else digest.hexdigest(),
        )
        attempt = -1
        last_s = -math.inf
        for file in files:
            if not file.scalars:
                continue
            if file.first_s > last_s or attempt < 0:
                attempt += 1
            last_s = max(last_s, file.last_s)
            rows = _rows(file, attempt)
            file.cut = _cut_step(rows, file.scalars[-1][0], file.incomplete)
            if file.cut is not None:
                next(row for row in reversed(rows) if row.step == file.cut.step).truncated = True
            table.rows += rows
        _tell(table, files, attempt)
        return table


def _read_file(path: Path) -> _EventFile:
    size = path.stat().st_size
    if size == 0:
        return _EventFile(path, 0, hashlib.sha256().digest())
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
        file = _EventFile(path, size, hashlib.sha256(buffer).digest())
        records = find_records(buffer)
        file.damaged, file.incomplete = records.damaged, records.incomplete_at is not None
        _read_events(file, buffer, records.spans)
    return file


def _read_events(file: _EventFile, buffer: mmap.mmap, spans: list[tuple[int, int]]) -> None:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from tensorboardX.proto.event_pb2 import Event

    for start, length in spans:
        try:
            event = Event.FromString(buffer[start : start + length])
        except DecodeError:
            file.damaged += 1
            continue
        if not 0.0 <= event.wall_time < 1e11:
            file.damaged += 1
            continue
        file.first_s, file.last_s = min(file.first_s, event.wall_time), max(file.last_s, event.wall_time)
        for value in event.summary.value:
            number = _number(value)
            if number is not None:
                file.scalars.append((event.step, raw_key(value.tag), number, event.wall_time))


def raw_key(tag: str) -> str:
    """The framework's own name of a tag: `val-core/a/acc/mean_4` was logged as `val-core/a/acc/mean@4`."""
    return _CLEANED.sub(r"\1@\2", tag) if tag.startswith("val-") else tag


def _number(value: Any) -> float | None:
    """The scalar of a summary value, None for images, texts and histograms."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or value.tensor.dtype not in _SCALAR_TYPES:
        return None
    if any(dim.size != 1 for dim in value.tensor.tensor_shape.dim):
        return None
    name, layout = _SCALAR_TYPES[value.tensor.dtype]
    content = value.tensor.tensor_content
    if content:
        return float(struct.unpack(layout, content)[0]) if len(content) == struct.calcsize(layout) else None
    numbers = getattr(value.tensor, name)
    return float(numbers[0]) if len(numbers) == 1 else None


def _rows(file: _EventFile, attempt: int) -> list[StepRow]:
    """One row a step; a tag that comes twice for a step begins a second row."""
    rows: list[StepRow] = []
    open_rows: dict[int, StepRow] = {}
    for step, tag, number, wall_s in file.scalars:
        row = open_rows.get(step)
        if row is None or tag in row.values:
            row = open_rows[step] = StepRow(step, {}, None, attempt)
            rows.append(row)
        row.values[tag] = number
        row.wall_s = wall_s if row.wall_s is None else max(row.wall_s, wall_s)
    return rows


def _cut_step(rows: list[StepRow], last: int, incomplete: bool) -> _CutStep | None:
    """The step of a file's last value, if the file holds only a part of it; None when nothing says so.

    A writer that is killed loses what it had not written yet, so its file may end within a record (`incomplete`) or, by
    chance, between two. A step that lacks tags which all training steps before it have is a part; at the end of a whole
    record only if those it lacks are the last ones in the order in which a step is written.
    """
    tags: dict[int, dict[str, None]] = {}
    for row in rows:
        tags.setdefault(row.step, {}).update(dict.fromkeys(row.values))
    present = tags.pop(last)
    framework = any(is_training(names) for names in tags.values())
    before = [names for names in tags.values() if (is_training(names) if framework else not is_validation_only(names))]
    if len(before) < (1 if incomplete else 2):
        return None
    common = set.intersection(*(set(names) for names in before))
    usual = [name for name in before[-1] if name in common]
    missing = [name for name in usual if name not in present]
    at_the_end = 0 < len(missing) < len(usual) and missing == usual[-len(missing) :]
    if not missing or not (incomplete or at_the_end):
        return None
    return _CutStep(last, len(usual) - len(missing), len(usual))


def _tell(table: SourceTable, files: list[_EventFile], attempt: int) -> None:
    incomplete = [file.path.name for file in files if file.incomplete]
    if incomplete:
        message = f"the last record of {', '.join(incomplete[:3])} is incomplete: the run was killed or is still writing"
        table.notices.append(Notice("RR233", message, table.path))
    for cut in (file.cut for file in files if file.cut is not None):
        message = f"the file ends within step {cut.step}: {cut.present} of the {plural(cut.usual, 'usual value')} are there"
        table.notices.append(Notice("RR221", message, table.path))
    if damaged := sum(file.damaged for file in files):
        table.notices.append(Notice("RR234", f"{plural(damaged, 'damaged record')} left out", table.path))
    if attempt > 0:
        table.notices.append(Notice("RR225", f"the folder holds the files of {attempt + 1} attempts", table.path))
