"""A folder of rollout dumps (format "verl-rollouts"): `<step>.jsonl`, one line a trained sample, with its lengths.

Source: verl/trainer/ppo/ray_trainer.py, `_dump_generations` (`trainer.rollout_data_dir`): input, output, gts, score, step,
uid, and whatever the reward function adds. Texts say nothing of tokens, so only dumps whose lines carry lengths are of use.
`left-over.jsonl` holds samples that were generated and never trained; verl writes none, a run's own code may.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.files import ChunkReader, iter_lines, read_head
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.raw import SourceTable
from rlreport.run.samples import SampleKind, SampleTable

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = re.compile(r"(?:\d{1,9}|left[-_]over)\.jsonl(?:\.gz)?")
_MARK = re.compile(rb'\A\s*\{[^\n]{0,65000}?"(?:output|response)"\s*:')
#: Keys of a line that hold the tokens of a response or of a prompt, and the versions of its first and last token.
RESPONSE_KEYS = ("response_length", "response_lengths", "response_tokens", "output_tokens")
PROMPT_KEYS = ("prompt_length", "prompt_lengths", "prompt_tokens", "input_tokens")
FIRST_KEYS = ("min_global_steps",)
LAST_KEYS = ("max_global_steps",)
STEP_KEYS = ("step",)
_MOST = 2**62


class RolloutDumpCollector:
    """Reads a folder of rollout dumps; its files are found with it."""

    format = "verl-rollouts"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a folder's first dump, or a file with a dump's name, begins like one."""
        if path.is_dir():
            first = next(iter(dump_files(path)), None)
            return first is not None and _MARK.match(read_head(first)) is not None
        return _NAME.fullmatch(path.name) is not None and (not head or _MARK.match(head) is not None)

    def read(self, path: Path, options: SourceOptions) -> SourceTable:
        """Read every dump of the folder (or the one file).

        Lines without lengths and lines that are no objects are counted in notices RR231.

        Raises:
            RlreportError: RR209 when no line tells the length of a response.
        """
        files = dump_files(path) if path.is_dir() else [path]
        digest, size = hashlib.sha256(), 0
        columns: dict[SampleKind, list[list[int]]] = {"trained": [], "left over": []}
        without = 0
        for file in files:
            reader = ChunkReader(file)
            kind: SampleKind = "left over" if file.name.startswith("left") else "trained"
            for _, line, _ in iter_lines(reader):
                row = _row(line)
                if row is None:
                    without += bool(line.strip())
                else:
                    columns[kind].append(row)
            digest.update(f"{file.name} {reader.sha256}\n".encode())
            size += reader.size_bytes
        samples = [_table(kind, rows) for kind, rows in columns.items() if rows]
        if not samples:
            message = "no sample of the rollout dumps tells the length of its response"
            hint = f"lines need one of {', '.join(RESPONSE_KEYS)}"
            raise RlreportError.of(Diagnostic("RR209", message, Location(options.display), hint), EXIT_UNREADABLE)
        notices = []
        if without:
            message = f"{plural(without, 'line')} of rollout dumps without a response length left out"
            notices.append(Notice("RR231", message, options.display))
        return SourceTable(
            path=options.display,
            format=self.format,
            notices=notices,
            size_bytes=size,
            sha256=digest.hexdigest(),
            samples=samples,
        )


def dump_files(folder: Path) -> list[Path]:
    """The dumps of a folder: by step, then those of left-over samples."""
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name) and path.is_file()]
    return sorted(found, key=lambda path: (not path.name[0].isdigit(), len(path.name), path.name))


def _row(line: bytes) -> list[int] | None:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(record, dict):
        return None
    response = _number(record, RESPONSE_KEYS)
    if response is None:
        return None
    others = (_number(record, keys) for keys in (STEP_KEYS, PROMPT_KEYS, FIRST_KEYS, LAST_KEYS))
    step, prompt, first, last = (-1 if value is None else value for value in others)
    return [step, response, prompt, first, last]


def _number(record: dict[str, Any], keys: Sequence[str]) -> int | None:
    """The first of some keys that holds a whole number from 0 on."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST:
            return int(value)
    return None


def _table(kind: SampleKind, rows: list[list[int]]) -> SampleTable:
    import numpy as np

    step, response, prompt, first, last = np.array(rows, np.int64).T
    return SampleTable(kind, step, response, prompt, first, last)
