"""Differing keys that change nothing, or that go with one choice, folded into one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlreport.comparators.change_entries import Comparison, Entry, is_partial, plain_config
from rlreport.comparators.change_values import is_default, is_off, same_value, written
from rlreport.comparators.results import FoldedKeys
from rlreport.run.knobs import Backend, KnobClass, matches
from rlreport.run.raw import ConfigValue

#: Classes whose one-sided values are shown even where a backend moved, when they are not the framework's default.
TELLING: frozenset[KnobClass] = frozenset({"resources", "schedule", "work", "sync", "off-policy", "workload", "algorithm"})


@dataclass(slots=True)
class Folds:
    """Lines in the making: title -> class, causes in order of appearance, keys."""

    lines: dict[str, tuple[KnobClass, list[str], list[str]]] = field(default_factory=dict)

    def add(self, comparison: Comparison, key: str, title: str, knob_class: KnobClass, cause: str) -> None:
        """Take a key out of the differences and into a line."""
        del comparison.entries[key]
        line = self.lines.setdefault(title, (knob_class, [], []))
        line[2].append(key)
        if cause not in line[1]:
            line[1].append(cause)

    def result(self) -> tuple[FoldedKeys, ...]:
        """The lines, those with most keys first."""
        ordered = sorted(self.lines.items(), key=lambda item: (-len(item[1][2]), item[0]))
        return tuple(
            FoldedKeys(title, knob_class, ", ".join(causes), tuple(sorted(keys)))
            for title, (knob_class, causes, keys) in ordered
        )


def fold(comparison: Comparison, protected: Sequence[str] = ()) -> tuple[FoldedKeys, ...]:
    """Fold what goes with a moved backend, parts that run in neither run, and defaults that one side only prints.

    `protected` keys (declared or waived by name) are never folded. Folded keys leave `comparison.entries`.
    """
    folds = Folds()
    keep = frozenset(protected)
    for backend in comparison.rules.backends:
        if backend.choice in comparison.entries:
            _fold_backend(comparison, backend, folds, keep)
    values = [plain_config(run) for run in comparison.runs]
    for key in [key for key in comparison.entries if key not in keep]:
        _fold_inert(comparison, key, values, folds)
    partial = [is_partial(run, comparison.rules) for run in comparison.runs]
    for key in [key for key in comparison.entries if key not in keep]:
        entry = comparison.entries[key]
        if entry.one_sided and entry.knob.knob_class != "identity":
            _fold_one_sided(comparison, entry, partial, folds)
    return folds.result()


def _fold_backend(comparison: Comparison, backend: Backend, folds: Folds, keep: frozenset[str]) -> None:
    choice = comparison.entries[backend.choice]
    names = [written(value) for value in choice.values]
    if any(set(names) <= set(group) for group in backend.alike):
        return
    title = f"keys of one {backend.title} only ({names[0]} in the baseline, {names[1]} in the variant)"
    for spellings in backend.spellings:
        _join_spellings(comparison, spellings, folds, title, choice)
    for key in [key for key in comparison.entries if key != backend.choice and key not in keep]:
        entry = comparison.entries[key]
        own = any(matches(pattern, key) for pattern in backend.own)
        if own or (entry.one_sided and not _tells(entry)):
            folds.add(comparison, key, title, choice.knob.knob_class, backend.choice)
        elif any(matches(pattern, key) for pattern in backend.follows):
            entry.coupled_by = backend.choice


def _join_spellings(comparison: Comparison, spellings: tuple[str, ...], folds: Folds, title: str, choice: Entry) -> None:
    """Compare one knob that two backends spell differently; where it is the same it folds, else it is one difference."""
    present = [key for key in spellings if key in comparison.entries and comparison.entries[key].one_sided]
    sides = [_first_value(run.config, spellings) for run in comparison.runs]
    if not present or None in sides:
        return
    (left_key, left), (right_key, right) = (side for side in sides if side is not None)
    if left_key == right_key:
        return
    entry = comparison.entries[present[0]]
    if same_value(left.value, right.value, entry.row):
        for key in present:
            folds.add(comparison, key, title, choice.knob.knob_class, choice.key)
        return
    for key in present:
        del comparison.entries[key]
    joined = Entry(f"{left_key} / {right_key}", entry.knob, entry.row, left, right)
    comparison.entries[joined.key] = joined


def _first_value(config: Mapping[str, ConfigValue], keys: Sequence[str]) -> tuple[str, ConfigValue] | None:
    for key in keys:
        if key in config and config[key].value is not None:
            return key, config[key]
    return None


def _tells(entry: Entry) -> bool:
    """Whether a one-sided key says something of its own: a listed key of a telling class with a value off its default."""
    row = entry.row
    if row is None or "*" in row.pattern or not row.defaults or entry.coupled_by is not None:
        return False
    return entry.knob.knob_class in TELLING and not is_default(entry.known, row)


def _fold_inert(comparison: Comparison, key: str, values: Sequence[Mapping[str, Any]], folds: Folds) -> None:
    titles = [comparison.rules.inert_in(key, config, run.mode) for config, run in zip(values, comparison.runs, strict=True)]
    if None not in titles:
        folds.add(comparison, key, "settings of parts that run in neither run", "identity", str(titles[0]))


def _fold_one_sided(comparison: Comparison, entry: Entry, partial: Sequence[bool], folds: Folds) -> None:
    missing = 0 if entry.baseline is None else 1
    if entry.row is not None and is_default(entry.known, entry.row):
        title = "keys with the framework's default value that one run only prints"
        folds.add(comparison, entry.key, title, "identity", "default values")
    elif partial[missing]:
        side = ("baseline", "variant")[missing]
        title = f"keys that are not known for the {side}, whose configuration is partial"
        folds.add(comparison, entry.key, title, "identity", "partial configuration")
    elif is_off(entry.known) and (entry.row is None or not entry.row.defaults):
        title = "keys that one run only has, where they switch nothing on"
        folds.add(comparison, entry.key, title, "identity", "empty values")
