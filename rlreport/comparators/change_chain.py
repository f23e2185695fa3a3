"""The changes of a report in their order: what a pair declares, and what the rungs of a ladder do to each other."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.change_values import same_value, written
from rlreport.comparators.results import ABSENT, Change, KnobDifference
from rlreport.run.diagnostics import Notice


def declared_changes(kind: str, changes: Sequence[str], knob: str | None) -> tuple[str, ...]:
    """What a pair of a report declares to change: in a sweep its one knob, where it is named; else what the report says.

    A sweep of one knob is then "undeclared" where another knob of the same class moved too.
    """
    return (knob,) if kind == "sweep" and knob is not None else tuple(changes)


def chain_notices(changes: Sequence[Change]) -> list[Notice]:
    """What the rungs of a ladder do to each other, `changes` being those from each rung to the next.

    A knob that one change moves and a later one moves back takes its gain away again, so that the rungs do not add up. A
    knob that several changes move belongs to none of them alone.
    """
    first: dict[str, tuple[int, KnobDifference]] = {}
    notices: list[Notice] = []
    for place, change in enumerate(changes, start=1):
        for difference in _free(change):
            if difference.key not in first:
                first[difference.key] = (place, difference)
                continue
            earlier, before = first[difference.key]
            if _same(before.baseline, difference.variant):
                message = (
                    f"change {place} of the ladder moves {difference.key} back to {written(difference.variant)}, from which "
                    f"change {earlier} had moved it: the rungs do not add up"
                )
                notices.append(Notice("RR438", message))
            else:
                message = f"changes {earlier} and {place} of the ladder both move {difference.key}: it is no rung of its own"
                notices.append(Notice("RR438", message))
    return notices


def _free(change: Change) -> list[KnobDifference]:
    return [d for d in change.differences if d.coupled_by is None and d.waived is None]


def _same(left: object, right: object) -> bool:
    return (left is ABSENT and right is ABSENT) or (ABSENT not in (left, right) and same_value(left, right))
