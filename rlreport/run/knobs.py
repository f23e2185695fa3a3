"""Knob classes with their tiers (design section 4), and the rules by which a dialect classifies configuration keys.

The rules are data: rows that a dialect fills in and that travel with a `Run`, so that a comparison needs to know no
framework. Keys are dotted; in a pattern `*` stands for text within one part of a key and `**` for any number of parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_args

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

_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "none": None}

#: How a value is compared: as it is, as a model (its name), as files (their last two path parts), as one path.
ValueKind = Literal["plain", "model", "files", "path"]


@dataclass(frozen=True, slots=True)
class Knob:
    """A configuration value that can be tuned: its dotted key, class, human label and unit."""

    key: str
    knob_class: KnobClass
    label: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class KnobRow:
    """One row of a knob table: which keys it covers and what they mean.

    `defaults` are the values that the framework uses when the key is not given (several where versions or modes differ);
    empty when that is not known. `same` are values that mean the same as each other (as -1 and null for "not set").
    """

    pattern: str
    knob_class: KnobClass
    label: str
    unit: str = ""
    defaults: tuple[Any, ...] = ()
    same: tuple[Any, ...] = ()
    kind: ValueKind = "plain"


@dataclass(frozen=True, slots=True)
class Condition:
    """That a key has one of some values (`negated`: none of them). A key that is absent counts as None."""

    key: str
    values: tuple[Any, ...]
    negated: bool = False

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the condition holds for plain configuration values by dotted key."""
        return (values.get(self.key) in self.values) != self.negated


@dataclass(frozen=True, slots=True)
class InertPart:
    """Keys that change nothing in a run for which all conditions hold and whose mode is one of `modes` (empty: any)."""

    title: str
    patterns: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    modes: tuple[str, ...] = ()

    def sleeps(self, values: Mapping[str, Any], mode: str) -> bool:
        """Whether the part does not run under some plain configuration values and in a mode."""
        return (not self.modes or mode in self.modes) and all(condition.holds(values) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class ModePart:
    """Keys that follow from the execution mode: they mean something only in `modes`; where empty, a mode forces them."""

    title: str
    patterns: tuple[str, ...]
    modes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invariant:
    """An arithmetic relation between knobs.

    `expression` is arithmetic over variables (dotted keys, or names of `KnobRules.variables`). Kind "holds": two sides
    joined by `==` that must be equal within each run, so that a knob that moves forces another one. Kind "check": the same,
    but it ties nothing (divisibility). Kind "conserved": one side, whose value stays the same from one run to the other in a
    fair pair. The first variable that moved leads unless another one was declared. It speaks of runs in one of `modes` whose
    configuration meets all `conditions`; `otherwise` completes "where it does not hold, ...".
    """

    name: str
    kind: Literal["holds", "conserved", "check"]
    expression: str
    modes: tuple[str, ...]
    source: str
    conditions: tuple[Condition, ...] = ()
    otherwise: str = ""

    def speaks_of(self, values: Mapping[str, Any], mode: str) -> bool:
        """Whether the relation is about a run with these plain configuration values, in this mode."""
        return mode in self.modes and all(condition.holds(values) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What runs of different modes must have in common to be compared, computed for each mode by its own expression.

    `fair` completes "for a fair comparison, ...".
    """

    name: str
    unit: str
    by_mode: Mapping[str, str]
    fair: str
    source: str


@dataclass(frozen=True, slots=True)
class Backend:
    """The choice of an alternative that brings keys of its own, as a training backend does.

    `choice` is the key that chooses; `own` are patterns of keys that exist because of one alternative; `follows` are
    patterns of keys whose values go with the choice; `spellings` are keys that name the same knob in different alternatives;
    `alike` are alternatives that share their keys, so that nothing folds between them.
    """

    title: str
    choice: str
    own: tuple[str, ...]
    follows: tuple[str, ...] = ()
    spellings: tuple[tuple[str, ...], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class KnobRules:
    """What a dialect knows of its framework's configuration. An empty one knows nothing and classes by section words.

    `rows` stand in the order in which a reader wants to see differences. `sections` give unlisted keys a class by pattern,
    the first that matches. `derived` maps a pattern to the key whose value it repeats. `variables` are names for products of
    keys, used in invariants ("devices.rollout"). `core` are keys that every full configuration of the framework has: a
    configuration without most of them is partial. `quantities` must be equal between runs of different modes. `facts` are
    the keys that tell what a comparison must know ("model", "training data", "node count"), one of them being enough.
    `step_work` are the keys that decide how many samples or tokens a step trains on.
    """

    rows: tuple[KnobRow, ...] = ()
    sections: tuple[tuple[str, KnobClass], ...] = ()
    inert: tuple[InertPart, ...] = ()
    mode_parts: tuple[ModePart, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    backends: tuple[Backend, ...] = ()
    derived: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    core: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    step_work: tuple[str, ...] = ()

    def with_rows(self, added: Iterable[KnobRow]) -> KnobRules:
        """The rules with rows added before its own, so that they win where both are as specific.

        A row whose pattern stands in the table already replaces it there, and keeps the old row's label, unit, defaults,
        equal values and kind where it gives none.
        """
        rows = list(self.rows)
        places = {row.pattern: place for place, row in enumerate(rows)}
        new: list[KnobRow] = []
        for row in added:
            place = places.get(row.pattern)
            if place is None:
                new.append(row if row.label else replace(row, label=_short_name(row.pattern)))
                continue
            old = rows[place]
            rows[place] = replace(
                old,
                knob_class=row.knob_class,
                label=row.label or old.label,
                unit=row.unit or old.unit,
                defaults=row.defaults or old.defaults,
                same=row.same or old.same,
                kind=old.kind if row.kind == "plain" else row.kind,
            )
        return replace(self, rows=(*new, *rows))

    def row(self, key: str) -> KnobRow | None:
        """The most specific row that covers a key: most literal characters, the earlier row where they are as many."""
        return _most_specific(self.rows, key)

    def listed(self, keys: Iterable[str]) -> dict[str, Knob]:
        """The knobs among some keys: those that a row covers, by key in ascending order."""
        exact = {row.pattern: row for row in reversed(self.rows) if "*" not in row.pattern}
        wild = [row for row in self.rows if "*" in row.pattern]
        found = {key: exact.get(key) or _most_specific(wild, key) for key in sorted(keys)}
        return {key: Knob(key, row.knob_class, row.label, row.unit) for key, row in found.items() if row is not None}

    def knob(self, key: str) -> Knob:
        """The knob of any key: from its row, else with the class of its section, which is never identity."""
        row = self.row(key)
        if row is not None:
            return Knob(key, row.knob_class, row.label, row.unit)
        return Knob(key, self.section_class(key), _short_name(key))

    def inert_in(self, key: str, values: Mapping[str, Any], mode: str) -> str | None:
        """The title of the part to which a key belongs if that part does not run under these values and in this mode.

        `values` are plain configuration values by dotted key; the mode "unknown" leaves every mode's parts running.
        """
        for part in self.inert:
            if part.sleeps(values, mode) and _covered(part.patterns, key):
                return part.title
        for mode_part in self.mode_parts:
            if mode_part.modes and mode not in ("unknown", *mode_part.modes) and _covered(mode_part.patterns, key):
                return mode_part.title
        return None

    def tunable(self, values: Mapping[str, Any], mode: str) -> dict[str, Knob]:
        """The listed knobs that matter in one run: without identity, and without parts that do not run."""
        return {
            key: knob
            for key, knob in self.listed(values).items()
            if knob.knob_class != "identity" and self.inert_in(key, values, mode) is None
        }

    def section_class(self, key: str) -> KnobClass:
        """The class of an unlisted key by its section; "algorithm", the strictest reading, when no section matches."""
        for pattern, knob_class in self.sections:
            if matches(pattern, key):
                return knob_class
        return "algorithm"

    def rank(self, key: str) -> tuple[int, str]:
        """Where a key stands for a reader: by its row, unlisted keys last."""
        row = self.row(key)
        return (len(self.rows) if row is None else self.rows.index(row), key)


#: The rules of a framework of which nothing is known.
NO_RULES = KnobRules()


def matches(pattern: str, key: str) -> bool:
    """Whether a key pattern covers a dotted key."""
    return _compiled(pattern).fullmatch(key) is not None


def plain_value(value: Any) -> Any:
    """A value with words of logic read ("True" is True, "null" is None), as launch scripts and command lines give them."""
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    return value


def _short_name(key: str) -> str:
    return ".".join(key.split(".")[-2:])


def _covered(patterns: Iterable[str], key: str) -> bool:
    return any(matches(pattern, key) for pattern in patterns)


def _most_specific(rows: Iterable[KnobRow], key: str) -> KnobRow | None:
    best: KnobRow | None = None
    for row in rows:
        if (best is None or specificity(row.pattern) > specificity(best.pattern)) and matches(row.pattern, key):
            best = row
    return best


@cache
def specificity(pattern: str) -> int:
    """How much of a pattern is literal: its characters without wildcards; a pattern without any beats all others."""
    literal = len(pattern.replace("*", ""))
    return literal if "*" in pattern else literal + 10_000


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = []
    for token in re.split(r"(\*\*\.|\.\*\*|\*\*|\*)", pattern):
        if token == "**.":
            parts.append(r"(?:.*\.)?")
        elif token == ".**":
            parts.append(r"(?:\..*)?")
        elif token == "**":
            parts.append(".*")
        elif token == "*":
            parts.append(r"[^.]*")
        else:
            parts.append(re.escape(token))
    return re.compile("".join(parts))
