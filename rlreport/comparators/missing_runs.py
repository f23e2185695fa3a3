"""The runs that a change of several classes lacks: which ones would tell the classes' effects apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlreport.comparators.chain import free_classes, ordered_classes
from rlreport.comparators.results import Change, KnobDifference
from rlreport.run.knobs import KnobClass


@dataclass(frozen=True, slots=True)
class Setting:
    """One knob of a run that is still to be made: the value of the run it starts from, and the value it is to have.

    `follows` names the knob that forces it, None for a knob that moves by itself. A value may be the marker ABSENT.
    """

    key: str
    label: str
    knob_class: KnobClass
    before: Any
    after: Any
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class MissingRun:
    """A run that is as `like` but for its settings.

    `adds` is the class that it moves beyond the run before it, `classes` are all that it moves; `settings` hold the knobs of
    these classes, those that move by themselves first.
    """

    like: str
    adds: KnobClass
    classes: tuple[KnobClass, ...]
    settings: tuple[Setting, ...]


def missing_runs(change: Change, like: str) -> tuple[MissingRun, ...]:
    """The runs between two ends of a change that moved several classes; none when at most one class moved.

    With m classes they are m - 1 runs, each of which moves one class more than the one before, in the order in which the
    guide tunes them; the change then falls into m steps of one class each. Knobs that follow from others move with them.
    What is waived stays as it is in `like`.
    """
    classes = free_classes(change)
    if len(classes) < 2:
        return ()
    moved = [difference for difference in change.differences if difference.waived is None]
    leads = {difference.key: difference for difference in moved}
    by_class: dict[KnobClass, list[KnobDifference]] = {}
    for difference in moved:
        by_class.setdefault(_lead(difference, leads).knob_class, []).append(difference)
    found: list[MissingRun] = []
    for count in range(1, len(classes)):
        inside = [difference for knob_class in classes[:count] for difference in by_class[knob_class]]
        found.append(MissingRun(like, classes[count - 1], ordered_classes(classes[:count]), _settings(inside)))
    return tuple(found)


def _lead(difference: KnobDifference, leads: Mapping[str, KnobDifference]) -> KnobDifference:
    """The difference that this one follows in the end; itself when it moves by itself."""
    seen = {difference.key}
    while difference.coupled_by is not None and difference.coupled_by in leads and difference.coupled_by not in seen:
        difference = leads[difference.coupled_by]
        seen.add(difference.key)
    return difference


def _settings(differences: Sequence[KnobDifference]) -> tuple[Setting, ...]:
    ordered = sorted(differences, key=lambda difference: difference.coupled_by is not None)
    return tuple(Setting(d.key, d.label, d.knob_class, d.baseline, d.variant, d.coupled_by) for d in ordered)
