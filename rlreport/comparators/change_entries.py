"""The keys in which two runs differ, before anything is said about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rlreport.comparators.change_facts import DEVICE_KEYS, FRAMEWORK_KEY, MODE_KEY, VERSION_KEY, rules_of, untold
from rlreport.comparators.change_values import same_name_elsewhere, same_value
from rlreport.comparators.results import ABSENT
from rlreport.run.knobs import Knob, KnobRow, KnobRules, matches, plain_value
from rlreport.run.model import Run
from rlreport.run.raw import ConfigValue

#: Share of the core keys below which a configuration is partial.
CORE_SHARE = 0.5


@dataclass(slots=True)
class Entry:
    """One key that differs.

    `coupled_by` names the knob that it follows; `forced` says that a rule, not a repetition, ties it. `ruled` says that it
    breaks a rule of the author, which then decides whether it blocks.
    """

    key: str
    knob: Knob
    row: KnobRow | None
    baseline: ConfigValue | None
    variant: ConfigValue | None
    declared: bool = False
    coupled_by: str | None = None
    forced: bool = False
    waived: str | None = None
    ruled: bool = False

    @property
    def one_sided(self) -> bool:
        """Whether only one of the runs has the key."""
        return self.baseline is None or self.variant is None

    @property
    def values(self) -> tuple[Any, Any]:
        """The two values; a side without the key holds ABSENT."""
        return tuple(ABSENT if found is None else found.value for found in (self.baseline, self.variant))  # type: ignore[return-value]

    @property
    def known(self) -> Any:
        """The value of the side that has the key, the baseline's where both have it."""
        found = self.baseline or self.variant
        return None if found is None else found.value


@dataclass(slots=True)
class Comparison:
    """Two runs side by side with their rules, the differing entries by key, and the counts of equal keys."""

    baseline: Run
    variant: Run
    rules: KnobRules
    entries: dict[str, Entry] = field(default_factory=dict)
    n_equal: int = 0
    n_differing: int = 0
    equal_by_name: list[str] = field(default_factory=list)

    @property
    def runs(self) -> tuple[Run, Run]:
        """Baseline and variant."""
        return (self.baseline, self.variant)

    @property
    def mode_moved(self) -> bool:
        """Whether the execution mode differs."""
        return MODE_KEY in self.entries

    @property
    def total_kept(self) -> bool:
        """Whether both runs have the same known total of devices."""
        totals = [run.devices.total for run in self.runs]
        return totals[0] is not None and totals[0] == totals[1]


def plain_config(run: Run) -> dict[str, Any]:
    """Plain configuration values by dotted key."""
    return {key: plain_value(found.value) for key, found in run.config.items()}


def is_partial(run: Run, rules: KnobRules) -> bool:
    """Whether a configuration lacks most of the keys that every full one of its framework has."""
    if not rules.core:
        return False
    return sum(key in run.config for key in rules.core) < CORE_SHARE * len(rules.core)


def compare_keys(baseline: Run, variant: Run) -> Comparison:
    """Compare two configurations key by key, and the mode, framework and devices that stand beside them."""
    rules = rules_of(baseline)
    comparison = Comparison(baseline, variant, rules)
    for key in sorted({*baseline.config, *variant.config}):
        left, right = baseline.config.get(key), variant.config.get(key)
        row = rules.row(key) if left is None or right is None or left.value != right.value else None
        if left is not None and right is not None and same_value(left.value, right.value, row):
            comparison.n_equal += 1
            if row is not None and row.kind in ("model", "files") and same_name_elsewhere(left.value, right.value):
                comparison.equal_by_name.append(key)
            continue
        if (left is None or right is None) and untold(key, variant if right is None else baseline):
            continue
        comparison.n_differing += 1
        comparison.entries[key] = Entry(key, rules.knob(key), row, left, right)
    for key, values in _beside_config(comparison):
        sides = tuple(None if value is None else ConfigValue(value, "run") for value in values)
        comparison.entries[key] = Entry(key, rules.knob(key), rules.row(key), sides[0], sides[1])
    return comparison


def _beside_config(comparison: Comparison) -> list[tuple[str, tuple[Any, Any]]]:
    """What differs between the runs without being a key of the configuration; only where both sides are known."""
    baseline, variant = comparison.runs
    found: list[tuple[str, tuple[Any, Any]]] = []
    if baseline.framework != variant.framework:
        found.append((FRAMEWORK_KEY, (baseline.framework, variant.framework)))
    versions = (baseline.framework_version, variant.framework_version)
    if None not in versions and not same_value(*versions):
        found.append((VERSION_KEY, versions))
    if baseline.mode != variant.mode and "unknown" not in (baseline.mode, variant.mode):
        found.append((MODE_KEY, (baseline.mode, variant.mode)))
    for side, key in DEVICE_KEYS.items():
        counts = tuple(getattr(run.devices, side) for run in comparison.runs)
        by_manifest = any(run.devices.origin.get(side) == "manifest" for run in comparison.runs)
        if by_manifest and None not in counts and counts[0] != counts[1] and not _moved(comparison, key):
            found.append((key, counts))
    return found


def _moved(comparison: Comparison, variable: str) -> bool:
    return any(key in comparison.entries for key in comparison.rules.variables.get(variable, ()))


def names_key(name: str, key: str) -> bool:
    """Whether a name as people write it means a key: the key itself, its end (`rollout.nnodes`), or a pattern of either."""
    parts = key.split(" / ")
    if "*" in name:
        return any(matches(name, part) or matches(f"**.{name}", part) for part in parts)
    return any(name == part or part.endswith(f".{name}") for part in parts)
