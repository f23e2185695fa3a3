"""Damage that real console logs have, each switched on by name; applied to the finished text of a log.

docs/simulator.md describes them. Every defect draws from the generator that it is given, so the same seed damages the same
places. `resumed` is none of the text: the run itself is stopped and launched again (`restart`); and a run that is `killed`
leaves its other files incomplete too (`output`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

DefectName = Literal["glued", "split", "cut", "np-scalars", "killed", "resumed"]

#: W&B's output.log cuts lines here.
CUT_BYTES = 4096

_STEP = re.compile(r"(?<![\w/])step:(\d+) - ")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"^(?:\x1b\[36m)?\(\w+ pid=\d+\)(?:\x1b\[0m)? ")
_FOREIGN = "(WorkerDict pid=50321) UserWarning: an unrelated library is deprecated"

#: Values that numpy computes and verl prints as numpy scalars since numpy 2.
_NUMPY = re.compile(r"((?:training/(?:num_turns|off_policy)|val-(?:core|aux))/[^ ]*:)(-?\d[-+.\de]*)(?= - |$)", re.MULTILINE)


def apply_defects(log: str, names: Sequence[DefectName], generator: np.random.Generator) -> str:
    """Damage a log, one defect after the other."""
    for name in names:
        if name in DEFECTS:
            log = DEFECTS[name](log, generator)
    return log


def _glue(log: str, generator: np.random.Generator) -> str:
    """One metric line in three loses its newline: the next line, with its prefix, follows the last value."""
    lines = log.split("\n")
    for index in range(len(lines) - 2, -1, -1):
        if _STEP.search(lines[index]) and generator.random() < 1 / 3:
            lines[index : index + 2] = [lines[index] + lines[index + 1]]
    return "\n".join(lines)


def _split(log: str, generator: np.random.Generator) -> str:
    """Lines of the configuration dump break in two, each half with its prefix, and foreign lines stand between them."""
    lines = log.split("\n")
    result = []
    inside = False
    for line in lines:
        prefix = _PREFIX.match(line)
        body = line[prefix.end() :] if prefix else line
        inside = (inside and prefix is not None) or body.startswith("{'actor_rollout_ref': {")
        colon = body.find("': ")
        if inside and prefix and colon > 0 and not body.startswith("{") and generator.random() < 0.1:
            result += [line[: prefix.end() + colon + 1], _FOREIGN, prefix.group() + body[colon + 1 :]]
        else:
            result.append(line)
        inside = inside and not _STEP.search(body)
    return "\n".join(result)


def _cut(log: str, _: np.random.Generator) -> str:
    """W&B's output.log: no prefixes, no colours, and no line is longer than 4,096 bytes."""
    bare = (_PREFIX.sub("", line) for line in log.split("\n"))
    return "\n".join(_ANSI.sub("", line).encode()[:CUT_BYTES].decode(errors="ignore") for line in bare)


def _use_numpy_scalars(log: str, _: np.random.Generator) -> str:
    """Since numpy 2, scalars print with their type: `np.float64(0.5)`, `np.int64(2)`."""

    def typed(match: re.Match[str]) -> str:
        kind = "int64" if re.fullmatch(r"-?\d+", match[2]) else "float64"
        return f"{match[1]}np.{kind}({match[2]})"

    return _NUMPY.sub(typed, log)


def _kill(log: str, generator: np.random.Generator) -> str:
    """The process dies while it prints a metric line, between half and four fifths of the run, before the line's times."""
    steps = [match.start() for match in _STEP.finditer(log)]
    victim = steps[int(len(steps) * (0.5 + 0.3 * generator.random()))]
    length = log.index("\n", victim) - victim
    return log[: victim + int(length * (0.3 + 0.3 * generator.random()))]


DEFECTS: dict[DefectName, Callable[[str, np.random.Generator], str]] = {
    "glued": _glue,
    "split": _split,
    "cut": _cut,
    "np-scalars": _use_numpy_scalars,
    "killed": _kill,
}
