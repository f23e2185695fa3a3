"""Resolving `${...}` in a configuration that was stored before its references were filled in (Hydra's config.yaml).

Handled: `${a.b}`, relative `${.b}` and `${..b}`, and `${oc.select:a.b,default}`, whole or within a text, and values that
refer on to others. What refers to a whole section, to the environment or to another resolver stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rlreport.run.raw import ConfigValue

_REFERENCE = re.compile(r"\$\{([^${}]+)\}")
_SELECT = re.compile(r"oc\.select:\s*(?P<key>[^,\s]+)\s*(?:,\s*(?P<default>.*?)\s*)?")
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "none": None}
#: How far a chain of references is followed; a longer one is a circle.
DEPTH = 16

_MISSING = object()


def resolve(config: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
    """Fill in the references between keys; origins are kept."""
    resolved = {}
    for key, found in config.items():
        value = _filled(found.value, key, config, 0)
        resolved[key] = found if value is found.value else replace(found, value=value)
    return resolved


def unresolved(config: Mapping[str, ConfigValue]) -> tuple[str, ...]:
    """The keys whose values still refer to something, in ascending order."""
    return tuple(sorted(key for key, found in config.items() if isinstance(found.value, str) and "${" in found.value))


def _filled(value: Any, key: str, config: Mapping[str, ConfigValue], depth: int) -> Any:
    if isinstance(value, list):
        items = [_filled(item, key, config, depth) for item in value]
        return items if items != value else value
    if not isinstance(value, str) or "${" not in value or depth > DEPTH:
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole is not None:
        target = _target(whole[1], key, config, depth)
        return value if target is _MISSING else target

    def fill(match: re.Match[str]) -> str:
        target = _target(match[1], key, config, depth)
        return match[0] if target is _MISSING else str(target)

    return _REFERENCE.sub(fill, value)


def _target(text: str, key: str, config: Mapping[str, ConfigValue], depth: int) -> Any:
    select = _SELECT.fullmatch(text.strip())
    if select is not None:
        found = _look_up(select["key"], key, config, depth)
        if found is not _MISSING:
            return found
        return _MISSING if select["default"] is None else _literal(select["default"])
    if ":" in text:
        return _MISSING
    return _look_up(text.strip(), key, config, depth)


def _look_up(reference: str, key: str, config: Mapping[str, ConfigValue], depth: int) -> Any:
    dots = len(reference) - len(reference.lstrip("."))
    base = key.split(".")[:-dots] if dots else []
    path = ".".join([*base, reference[dots:]])
    if path not in config or path == key:
        return _MISSING
    value = _filled(config[path].value, path, config, depth + 1)
    return _MISSING if isinstance(value, str) and "${" in value else value


def _literal(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text.strip("'\"")
