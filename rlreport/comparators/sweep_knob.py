"""Which knob a sweep doses, the dose of every run, and whether anything else moved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlreport.comparators.analysis import Analysis, ComparisonResult
from rlreport.comparators.chain import free_differences
from rlreport.comparators.change_entries import names_key
from rlreport.comparators.results import ABSENT, KnobDifference
from rlreport.run.format import config_value, join_words
from rlreport.run.knobs import plain_value


@dataclass(frozen=True, slots=True)
class DoseValue:
    """The dose of one run as it stands in its configuration, and as a number where it is one."""

    run_id: str
    value: Any
    number: float | None


@dataclass(frozen=True, slots=True)
class MovedBesides:
    """What moved beside the dosed knob between the first run of the manifest and this one."""

    run_id: str
    differences: tuple[KnobDifference, ...]


@dataclass(frozen=True, slots=True)
class DosedKnob:
    """The knob of a sweep.

    `key` and `label` are None when it cannot be told which one it is. `doses` are ordered by number where all are numbers
    (then `ordered`), else as in the manifest. `problems` say in words why the runs are no sweep of this knob; a sweep has
    none.
    """

    key: str | None
    label: str | None
    doses: tuple[DoseValue, ...]
    ordered: bool
    besides: tuple[MovedBesides, ...]
    problems: tuple[str, ...]


def find_dosed_knob(analysis: Analysis, declared: str | None = None) -> DosedKnob:
    """Find the knob of a sweep and check that it alone moved.

    `declared` is the manifest's `knob`: a key or the end of one. Without it the knob is the one that differs; where several
    do, the one that `changes` names. Every run is compared with the manifest's baseline: two runs that differ from it in the
    knob alone also differ from each other in nothing else. Knobs that follow from the dose belong to it.
    """
    key = _find_key(analysis, declared)
    besides = tuple(
        MovedBesides(comparison.variant_id, others)
        for comparison in analysis.comparisons
        if (others := _others(comparison, key))
    )
    unknown = [c.variant_id for c in analysis.comparisons if c.change.verdict == "unknown"]
    if key is None:
        doses = tuple(DoseValue(run_id, ABSENT, None) for run_id in analysis.request.run_ids)
        return DosedKnob(None, None, doses, False, besides, _no_knob(analysis, declared, besides, unknown))
    doses = _doses(analysis, key)
    ordered = all(dose.number is not None for dose in doses)
    if ordered:
        doses = tuple(sorted(doses, key=lambda dose: (dose.number or 0.0, analysis.request.run_ids.index(dose.run_id))))
    problems = (*_unknown_words(analysis, unknown), *_besides_words(analysis, besides), *_dose_words(analysis, doses))
    return DosedKnob(key, _label(analysis, key), doses, ordered, besides, problems)


def _find_key(analysis: Analysis, declared: str | None) -> str | None:
    moved = Counter(
        difference.key for comparison in analysis.comparisons for difference in _candidates(comparison) if difference.key
    )
    if declared is not None:
        named = [key for key in moved if names_key(declared, key)]
        if len(named) == 1:
            return named[0]
        known = sorted({key for result in analysis.runs.values() for key in result.run.config})
        exact = [key for key in known if names_key(declared, key)]
        return exact[0] if not named and len(exact) == 1 else None
    free = {difference.key for comparison in analysis.comparisons for difference in free_differences(comparison.change)}
    named = [key for key in moved if any(names_key(name, key) for name in analysis.request.changes)]
    for choice in (sorted(free), named):
        if len(choice) == 1:
            return choice[0]
    everywhere = sorted(key for key in free if moved[key] == len(analysis.comparisons))
    return everywhere[0] if len(everywhere) == 1 else None


def _candidates(comparison: ComparisonResult) -> list[KnobDifference]:
    return [difference for difference in comparison.change.differences if difference.waived is None]


def _others(comparison: ComparisonResult, key: str | None) -> tuple[KnobDifference, ...]:
    """What moved by itself beside the knob; the knob that the dose itself follows is a part of the dose."""
    leads = {difference.coupled_by for difference in comparison.change.differences if difference.key == key}
    return tuple(d for d in free_differences(comparison.change) if d.key != key and d.key not in leads)


def _doses(analysis: Analysis, key: str) -> tuple[DoseValue, ...]:
    """The dose of each run in the manifest's order, from the differences where the knob moved, else from the baseline."""
    by_run = {
        comparison.variant_id: difference
        for comparison in analysis.comparisons
        for difference in comparison.change.differences
        if difference.key == key
    }
    baseline = analysis.runs[analysis.request.baseline].run
    start: Any = next(iter(by_run.values())).baseline if by_run else _configured(baseline.value(key))
    values = [start, *(by_run[run_id].variant if run_id in by_run else start for run_id in analysis.request.variants)]
    return tuple(
        DoseValue(run_id, value, _number(value)) for run_id, value in zip(analysis.request.run_ids, values, strict=True)
    )


def _configured(value: Any) -> Any:
    return ABSENT if value is None else value


def _number(value: Any) -> float | None:
    value = plain_value(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _label(analysis: Analysis, key: str) -> str:
    labels = [d.label for c in analysis.comparisons for d in c.change.differences if d.key == key]
    if labels:
        return labels[0]
    return analysis.runs[analysis.request.baseline].run.knob_rules.knob(key).label


def _no_knob(
    analysis: Analysis, declared: str | None, besides: Sequence[MovedBesides], unknown: Sequence[str]
) -> tuple[str, ...]:
    if unknown:
        return _unknown_words(analysis, unknown)
    if declared is not None:
        return (f"the knob '{declared}' is in the configuration of no run, or names several knobs",)
    moved = dict.fromkeys(f"{d.label} ({d.key})" for entry in besides for d in entry.differences)
    if not moved:
        return ("no knob differs between the runs",)
    names = join_words(list(moved)[:6])
    return (f"more than one knob differs, so which one is the dose cannot be told: {names}; name it as `knob`",)


def _unknown_words(analysis: Analysis, run_ids: Sequence[str]) -> tuple[str, ...]:
    if not run_ids:
        return ()
    names = join_words([analysis.runs[run_id].run.label for run_id in run_ids])
    return (f"what differs from the first run is not known for {names}: a configuration is missing or known in part",)


def _besides_words(analysis: Analysis, besides: Sequence[MovedBesides]) -> tuple[str, ...]:
    return tuple(
        f"in {analysis.runs[entry.run_id].run.label} "
        + join_words(
            [f"{d.label} ({_value(d.baseline)} → {_value(d.variant)})" for d in entry.differences[:4]]
            + ([f"{len(entry.differences) - 4} more knobs"] if len(entry.differences) > 4 else [])
        )
        + " moved too"
        for entry in besides
    )


def _dose_words(analysis: Analysis, doses: Sequence[DoseValue]) -> tuple[str, ...]:
    found: list[str] = []
    by_dose: dict[str, list[str]] = {}
    for dose in doses:
        by_dose.setdefault(repr(dose.number if dose.number is not None else dose.value), []).append(dose.run_id)
    for run_ids in by_dose.values():
        if len(run_ids) > 1:
            names = join_words([analysis.runs[run_id].run.label for run_id in run_ids])
            found.append(f"{names} have the same dose")
    return tuple(found)


def _value(value: Any) -> str:
    return "not set" if value is ABSENT else config_value(value)
