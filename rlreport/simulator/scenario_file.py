"""Reads a scenario file: YAML 1.2 scalars, `extends` for what scenarios share, every mistake with its place.

Codes: RR601 the file cannot be read, RR602 it is not YAML or not a mapping, RR603 a value is wrong or a key unknown,
RR604 `extends` goes in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rlreport.run.diagnostics import Diagnostic, Location, RlreportError
from rlreport.simulator.scenario import Scenario

_INTEGER = re.compile(r"[-+]?\d+\Z")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?\Z")
_NAMED: dict[str, Any] = {"": None, "null": None, "~": None, "true": True, "false": False}

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Document:
    """A file's values, and for every path in them the place where it was written."""

    values: dict[str, Any]
    places: dict[_Path, Location]


def load_scenario(path: Path) -> Scenario:
    """Read a scenario and everything that it extends. Raises RlreportError (RR60x, exit code 2) with every mistake found."""
    document = _load(path, ())
    try:
        return Scenario.model_validate(document.values)
    except ValidationError as error:
        found = [_diagnostic(item, document, path) for item in error.errors()]
        raise RlreportError.of(sorted(found, key=_place)) from error


def _load(path: Path, seen: tuple[Path, ...]) -> _Document:
    resolved = path.resolve()
    if resolved in seen:
        raise _error("RR604", "extends goes in a circle", Location(str(path)), "a scenario may extend another, not itself")
    document = _read(path)
    base_name = document.values.pop("extends", None)
    if base_name is None:
        return document
    base = _load(path.parent / str(base_name), (*seen, resolved))
    return _Document(_merged(base.values, document.values), {**base.places, **document.places})


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged key by key; anything else is replaced whole."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _read(path: Path) -> _Document:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error("RR601", f"cannot read the scenario: {error}", Location(str(path)), "check the path") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Location(str(path), mark.line + 1, mark.column + 1) if mark else Location(str(path))
        raise _error("RR602", f"not YAML: {error.problem}", place, "check indentation, colons and quotes") from error
    if not isinstance(root, yaml.MappingNode):
        raise _error("RR602", "a scenario is a mapping of keys to values", Location(str(path)), "see docs/simulator.md")
    places: dict[_Path, Location] = {}
    values = _value(root, (), str(path), places)
    assert isinstance(values, dict)
    return _Document(values, places)


def _value(node: yaml.Node, at: _Path, path: str, places: dict[_Path, Location]) -> Any:
    places[at] = Location(path, node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*at, str(index)), path, places) for index, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        if key in result:
            place = Location(path, key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            raise _error("RR603", f"key '{key}' is given twice", place, "keep one of them")
        result[key] = _value(value_node, (*at, key), path, places)
    return result


def _scalar(node: yaml.ScalarNode) -> Any:
    """YAML 1.2 core scalars: `1e-6` is a number, `16:16` and `on` are strings; quotes always give a string."""
    text: str = node.value
    if node.style is not None:
        return text
    if text in _NAMED:
        return _NAMED[text]
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _diagnostic(item: Any, document: _Document, path: Path) -> Diagnostic:
    at = tuple(str(part) for part in item["loc"])
    name = ".".join(at)
    place = next((document.places[at[:n]] for n in range(len(at), 0, -1) if at[:n] in document.places), Location(str(path)))
    if item["type"] == "extra_forbidden":
        return Diagnostic("RR603", f"unknown key '{name}'", place, "docs/simulator.md lists every parameter")
    if item["type"] == "missing":
        return Diagnostic("RR603", f"'{name}' is missing", place, "this parameter has no default")
    message = str(item["msg"]).removeprefix("Value error, ")
    text = f"'{name}': {message[0].lower()}{message[1:]}" if name else message
    return Diagnostic("RR603", text, place, "docs/simulator.md lists every parameter with its unit and bounds")


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    place = diagnostic.location
    return (place.path, place.line or 0, place.column or 0) if place else ("", 0, 0)


def _error(code: str, message: str, place: Location, hint: str) -> RlreportError:
    return RlreportError.of(Diagnostic(code, message, place, hint))
