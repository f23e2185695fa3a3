"""The configuration that a verl run prints at its start, recovered from between the output of other processes.

The framework prints `pprint(OmegaConf.to_container(config, resolve=True))` from its task runner (source:
verl/trainer/main_ppo.py): up to 900 lines, each with the actor's prefix, cut up by Ray and mixed with warnings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlreport.collectors.flatten import Path, dotted, flatten, origin_of
from rlreport.collectors.pprinted import DesyncError, PprintReader
from rlreport.collectors.text import ACTOR_PREFIX, Line, strip_prefixes, take_apart
from rlreport.run.raw import ConfigValue

#: How the dump begins: the keys are sorted, and this one is in every configuration of a policy trainer.
DUMP_START = b"{'actor_rollout_ref': "

MAX_BYTES = 2 << 20

_STEP_LINE = re.compile(r"step:\d+ - ")


@dataclass(frozen=True, slots=True)
class ConfigDump:
    """A recovered dump.

    `config` has dotted keys with "path:line" origins; `complete` says that its end was found; `lost` are keys whose value
    was cut; `unplaced` counts lines that look like the dump's and have no place in it; `foreign_lines` the lines of others
    within it; `line_count` spans from its first line to its last.
    """

    config: dict[str, ConfigValue]
    complete: bool
    lost: tuple[str, ...]
    unplaced: int
    foreign_lines: int
    line_count: int
    actor: str | None


def read_dump(buffer: bytes, position: int, line_start: int, line_number: int, display: str) -> ConfigDump | None:
    """Recover the dump that begins at `position`; None when what stands before it says that it is another dict.

    `buffer` should hold `MAX_BYTES` from `line_start` on, or end with the source; `display` is the source's name in origins.
    """
    head = take_apart(buffer[line_start:position])
    if strip_prefixes(head.body).strip() and not head.body.rstrip().endswith("]"):
        return None
    reader = PprintReader()
    foreign = 0
    last = line_number
    start, number = position, line_number
    limit = min(len(buffer), line_start + MAX_BYTES)
    try:
        while start < limit and not reader.finished:
            end = buffer.find(b"\n", start)
            end = len(buffer) if end < 0 else end
            line = take_apart(buffer[start:end])
            if start == position:
                line = Line(head.actor, head.pid, line.body)
            if _belongs(line, head, reader) and reader.feed(_own_text(line.body), number):
                last = number
            elif line.pid == head.pid and _STEP_LINE.match(line.body):
                break
            else:
                foreign += 1
                if line.pid in (head.pid, None):
                    reader.refuse(line.body)
            start, number = end + 1, number + 1
    except DesyncError:
        pass
    tree = reader.result()
    config: dict[str, ConfigValue] = {}
    for path, value in flatten(tree):
        found = origin_of(path, reader.lines.get)
        config[dotted(path)] = ConfigValue(value, f"{display}:{line_number if found is None else found}")
    lost = tuple(dict.fromkeys(dotted(_mapping_key(path)) for path in reader.lost))
    skipped = foreign if reader.finished else 0
    return ConfigDump(config, reader.finished, lost, reader.unplaced, skipped, last - line_number + 1, head.actor)


def _belongs(line: Line, head: Line, reader: PprintReader) -> bool:
    """Whether a line may be part of the dump: of the same process, or without a prefix within a wrapped line."""
    return line.pid == head.pid or (line.pid is None and reader.in_line)


def _mapping_key(path: Path) -> Path:
    """The path without the positions within a list that it ends with."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _own_text(body: str) -> str:
    """The text up to where another actor's output is glued to it."""
    match = ACTOR_PREFIX.search(body)
    return body[: match.start()] if match else body
