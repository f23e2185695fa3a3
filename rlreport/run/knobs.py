"""Knob classes and their tiers: the order in which the tuning guide moves things, cheapest first (design section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

KnobClass = Literal[
    "resources", "schedule", "work", "sync", "off-policy", "engine", "workload", "algorithm", "environment", "identity"
]

KNOB_CLASSES: tuple[KnobClass, ...] = get_args(KnobClass)

#: Tier of the guide by class; None for classes that must stay fixed or do not matter.
TIERS: dict[KnobClass, int | None] = {
    "resources": 1,
    "schedule": 2,
    "work": 3,
    "sync": 3,
    "off-policy": 4,
    "engine": None,
    "workload": None,
    "algorithm": None,
    "environment": None,
    "identity": None,
}


@dataclass(frozen=True, slots=True)
class Knob:
    """A configuration value that can be tuned: its dotted key, class, human label and unit."""

    key: str
    knob_class: KnobClass
    label: str
    unit: str = ""
