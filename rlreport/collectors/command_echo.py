"""The command that started a run, when the log shows it: `set -x` echoes `+ python3 -m verl.trainer.main_ppo key=value ...`.

What is on the command line is what the user set; the configuration dump has everything and comes first. A value that a shell
or Hydra would still replace (`$HOME`, `${now:...}`) is not taken.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

from rlreport.collectors.flatten import dotted, flatten
from rlreport.collectors.scalars import read_scalar
from rlreport.collectors.text import take_apart
from rlreport.run.raw import ConfigValue

#: Words of which every launch holds one.
_WORDS: tuple[bytes, ...] = (b"-m verl.", b"-m recipe.", b"/main_", b"fully_async_main.py")
_MODULE = re.compile(r"(?:verl|recipe)\.[\w.]+")
_SCRIPT = re.compile(r"(?:.*/)?((?:verl|recipe)/[\w/]+)\.py|(?:.*/)?((?:main_\w+|fully_async_main))\.py")
#: An override: `key=value`, `+key=value`, `++key=value`. `~key` deletes a key, so there is nothing to keep.
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.@/-]*)=(.*)", re.DOTALL)
_TIGHT_COLON = re.compile(r"(?<=\w):(?=[^\s/])")

_MAX_COMMAND_LINES = 400
_MAX_CANDIDATES = 1000


@dataclass(frozen=True, slots=True)
class CommandEcho:
    """One command: the module it started, and its overrides flattened to dotted keys with origins."""

    main: str
    config: dict[str, ConfigValue]


def read_commands(text: bytes, display: str) -> list[CommandEcho]:
    """Every launch of the framework that is echoed in `text`, which begins with the source's first line."""
    commands: list[CommandEcho] = []
    end = 0
    for position in sorted(position for word in _WORDS for position in _positions(text, word)):
        if position < end:
            continue
        start = text.rfind(b"\n", 0, position) + 1
        number = text.count(b"\n", 0, start) + 1
        command, end = _whole_command(text, start)
        if (echo := _read_command(command, f"{display}:{number}")) is not None:
            commands.append(echo)
    return commands


def read_overrides(words: list[str], origin: str) -> dict[str, ConfigValue]:
    """Overrides as Hydra takes them, flattened. Words that are not overrides and values that are not final are left out."""
    config: dict[str, ConfigValue] = {}
    for word in words:
        match = _OVERRIDE.fullmatch(word)
        if match is None or "$" in match[2] or match[1].startswith("hydra."):
            continue
        for path, value in flatten(_value(match[2]), (match[1],)):
            config[dotted(path)] = ConfigValue(value, origin)
    return config


def _positions(text: bytes, word: bytes) -> list[int]:
    found: list[int] = []
    position = text.find(word)
    while position >= 0 and len(found) < _MAX_CANDIDATES:
        found.append(position)
        position = text.find(word, position + 1)
    return found


def _value(text: str) -> Any:
    if text.startswith("{") and "'" not in text and '"' not in text:
        text = _TIGHT_COLON.sub(": ", text)
    return read_scalar(text)


def _whole_command(text: bytes, start: int) -> tuple[str, int]:
    """The command that begins on a line, with the lines that a backslash joins to it."""
    parts: list[str] = []
    for _ in range(_MAX_COMMAND_LINES):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        body = take_apart(text[start:end]).body.rstrip()
        start = end + 1
        if not body.endswith("\\"):
            parts.append(body)
            break
        parts.append(body[:-1])
    return " ".join(parts), start


def _read_command(command: str, origin: str) -> CommandEcho | None:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for index, word in enumerate(words):
        if word == "-m" and index + 1 < len(words) and _MODULE.fullmatch(words[index + 1]):
            main, rest = words[index + 1], words[index + 2 :]
        elif script := _SCRIPT.fullmatch(word):
            main, rest = (script[1] or script[2]).replace("/", "."), words[index + 1 :]
        else:
            continue
        damaged = any(ord(letter) < 32 and letter != "\t" for letter in command)
        return CommandEcho(main, {} if damaged else read_overrides(rest, origin))
    return None
