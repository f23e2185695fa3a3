"""Interpolations of OmegaConf: `${a.b}`, `${.sibling}`, `${..uncle}`, `${oc.select:a.b,default}`, nested and within text.

Only what depends on nothing but the configuration is resolved. A value that depends on the environment, on the clock or on a
resolver that is not known here (`${oc.env:HOME}`, `${now:%Y}`) stays unresolved; so does a cycle.
"""

from __future__ import annotations

import re
from typing import Any

from rlreport.collectors.flatten import Path
from rlreport.collectors.scalars import read_scalar

#: Stands for a value that cannot be resolved.
UNRESOLVED = object()
_MISSING = object()

_MAX_DEPTH = 30
_NAME = re.compile(r"[A-Za-z_][\w.]*(?=:)")


class Resolver:
    """Resolves the interpolations of one configuration tree (nested dicts and lists)."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    def resolve(self, value: Any, path: Path, depth: int = 0) -> Any:
        """The value at `path` with every interpolation replaced; UNRESOLVED where that is not possible.

        An interpolation that is the whole text takes the type of what it names, also a mapping or a list.
        """
        if isinstance(value, dict):
            return {key: self.resolve(item, (*path, key), depth) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item, (*path, index), depth) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        if value == "???":
            return UNRESOLVED
        if "${" not in value:
            return value
        if depth > _MAX_DEPTH:
            return UNRESOLVED
        parts: list[Any] = []
        position = 0
        while position < len(value):
            start = value.find("${", position)
            if start < 0:
                parts.append(value[position:])
                break
            end = _closing(value, start)
            if end is None:
                return UNRESOLVED
            if start > position:
                parts.append(value[position:start])
            parts.append(self._interpolate(value[start + 2 : end], path, depth + 1))
            position = end + 1
        if any(part is UNRESOLVED for part in parts):
            return UNRESOLVED
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(part, (dict, list)) for part in parts):
            return UNRESOLVED
        return "".join("null" if part is None else str(part) for part in parts)

    def _interpolate(self, inside: str, path: Path, depth: int) -> Any:
        """What stands between `${` and `}`."""
        name = _NAME.match(inside)
        if name is None:
            key = inside.strip()
            if "${" in key:
                key = self.resolve(key, path, depth)
            found = self._select(key, path, depth) if isinstance(key, str) else _MISSING
            return UNRESOLVED if found is _MISSING else found
        if name[0] != "oc.select":
            return UNRESOLVED
        key, *default = _split_arguments(inside[name.end() + 1 :])
        found = self._select(key.strip().strip("'\""), path, depth)
        if found is not _MISSING:
            return found
        if not default:
            return None
        text = default[0].strip()
        return self.resolve(text, path, depth) if "${" in text else read_scalar(text)

    def _select(self, key: str, path: Path, depth: int) -> Any:
        """The resolved value that a key names: from the root, or with leading dots from the mapping that holds `path`."""
        names = key.lstrip(".")
        dots = len(key) - len(names)
        if dots > len(path):
            return _MISSING
        target: Path = path[: len(path) - dots] if dots else ()
        for name in names.replace("[", ".").replace("]", "").split("."):
            target = (*target, name)
        value: Any = self._tree
        where: Path = ()
        for part in target:
            value, where = self._step_into(value, part, where, depth)
            if value is _MISSING or value is UNRESOLVED:
                return value
        if value == "???":
            return _MISSING
        return self.resolve(value, where, depth)

    def _step_into(self, value: Any, part: str | int, where: Path, depth: int) -> tuple[Any, Path]:
        """One step down the tree; a value that is itself an interpolation is resolved before."""
        if isinstance(value, str) and "${" in value:
            value = self.resolve(value, where, depth)
            if value is UNRESOLVED:
                return UNRESOLVED, where
        if isinstance(value, list):
            index = int(part) if str(part).isdigit() else len(value)
            return (value[index], (*where, index)) if index < len(value) else (_MISSING, where)
        if isinstance(value, dict) and part in value:
            return value[part], (*where, part)
        return _MISSING, where


def has_interpolation(value: Any) -> bool:
    """Whether a text is not final: an interpolation, or a mandatory value that is missing."""
    return isinstance(value, str) and ("${" in value or value == "???")


def _closing(text: str, start: int) -> int | None:
    """The position of the brace that closes the one of `${` at `start`."""
    depth = 0
    for position in range(start + 1, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return None


def _split_arguments(text: str) -> list[str]:
    """Arguments of a resolver, parted at commas that are not within brackets or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return parts
