"""The numbers of a run's configuration by name, for expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlreport.comparators.change_entries import names_key, plain_config
from rlreport.comparators.change_values import same_value
from rlreport.run.expression import Lookup
from rlreport.run.model import Run


def lookup_of(run: Run) -> Lookup:
    """Look a name up in a run: "devices.trainer" or "devices.rollout", a whole key, or the end of exactly one value's keys.

    What is no number, is not known, or is meant by several keys with different values, is None.
    """
    values = plain_config(run)
    sides = {"devices.trainer": run.devices.trainer, "devices.rollout": run.devices.rollout}

    def look_up(name: str) -> float | None:
        return sides[name] if name in sides else number(value_of(values, name))

    return look_up


def value_of(values: Mapping[str, Any], name: str) -> Any:
    """The value of a key, or of the keys that end in a name where they all have the same; else None."""
    if name in values:
        return values[name]
    found = [values[key] for key in sorted(values) if names_key(name, key)]
    return found[0] if found and all(same_value(found[0], other) for other in found[1:]) else None


def number(value: Any) -> float | None:
    """A configuration value as a number; None for what is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) else None
