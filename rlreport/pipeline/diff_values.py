"""The values of a difference as text for a reader.

Values come from logs: whatever could steer a terminal or hide in a line is written as an escape. A value is never
abbreviated to what the other side shows too; a long list is told by the items that only one side has.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlreport.comparators.change_values import normal
from rlreport.comparators.results import ABSENT, KnobDifference
from rlreport.pipeline.diff import EqualKnob
from rlreport.run import format as fmt
from rlreport.run.knobs import ValueKind

#: Widest value that stands in a column; a wider one has a line of its own.
COLUMN_WIDTH = 28
#: Longest text that is shown whole, and how much of it is kept before the first difference.
WHOLE_CHARACTERS = 240
BEFORE_DIFFERENCE = 40
#: Most items of a list that are shown; JSON has them all.
SHOWN_ITEMS = 20
#: Unicode categories that steer a terminal, change the direction of text, or break a line.
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Line:
    """One knob as it is shown: its two values as text, why it is here, and for long lists the items of one side only."""

    key: str
    baseline: str
    variant: str
    note: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def escaped(text: str) -> str:
    """Text on one line, with every character that could steer a terminal or hide written as an escape."""
    return "".join(
        character.encode("unicode_escape").decode("ascii") if unicodedata.category(character) in _ESCAPED else character
        for character in text
    )


def value_texts(baseline: Any, variant: Any) -> tuple[str, str]:
    """The two values of a knob as texts that differ where the values do; long texts around their first difference."""
    left, right = _value_text(baseline), _value_text(variant)
    if left == right:
        left, right = (escaped(repr(value)) for value in (baseline, variant))
    if max(len(left), len(right)) <= WHOLE_CHARACTERS:
        return left, right
    start = max(_shared_length(left, right) - BEFORE_DIFFERENCE, 0)
    return _excerpt(left, start), _excerpt(right, start)


def _shared_length(left: str, right: str) -> int:
    """How many characters two texts begin with in common."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _value_text(value: Any) -> str:
    if value is ABSENT:
        return "not given"
    if isinstance(value, str):
        return escaped(value) if value and value == value.strip() else f'"{escaped(value)}"'
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(item) for item in value) or "[]"
    return escaped(str(value)) if isinstance(value, dict) else fmt.config_value(value)


def _excerpt(text: str, start: int) -> str:
    if start and len(text) > start:
        text = f"…{text[start:]}"
    return text if len(text) <= WHOLE_CHARACTERS else f"{text[: WHOLE_CHARACTERS - 1]}…"


def equal_line(equal: EqualKnob) -> Line:
    """An equal knob as it is shown."""
    text = _excerpt(_value_text(equal.value), 0)
    return Line(escaped(equal.knob.key), text, text, "equal")


def difference_line(difference: KnobDifference, kind: ValueKind) -> Line:
    """A difference as it is shown; `kind` says when two items of a list are the same."""
    key, note = escaped(difference.key), escaped(_note(difference))
    left, right = value_texts(difference.baseline, difference.variant)
    sides = [_items(value) for value in (difference.baseline, difference.variant)]
    if max(map(len, sides)) < 2 or max(len(left), len(right)) <= COLUMN_WIDTH:
        return Line(key, left, right, note)
    removed, added = _only_in(sides[0], sides[1], kind), _only_in(sides[1], sides[0], kind)
    if not removed and not added:
        note = f"{note}; the same items in another order"
    same = len(sides[0]) - len(removed)
    if same and (removed or added):
        note = f"{note}; {fmt.plural(same, 'item is', 'items are')} the same"
    texts = [
        "not given" if value is ABSENT else fmt.plural(len(items), "item")
        for value, items in zip((difference.baseline, difference.variant), sides, strict=True)
    ]
    return Line(key, texts[0], texts[1], note, _shown(removed), _shown(added))


def _items(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is ABSENT or value is None else [value]


def _only_in(items: Sequence[Any], others: Sequence[Any], kind: ValueKind) -> list[str]:
    """The items of one list that the other does not hold as often, in their order."""
    left = [repr(normal(item, kind)) for item in others]
    found = []
    for item in items:
        text = repr(normal(item, kind))
        if text in left:
            left.remove(text)
        else:
            found.append(_excerpt(_value_text(item), 0))
    return found


def _shown(items: Sequence[str]) -> tuple[str, ...]:
    rest = len(items) - SHOWN_ITEMS
    return (*items[:SHOWN_ITEMS], *((f"… and {rest:,} more",) if rest > 0 else ()))


def _note(difference: KnobDifference) -> str:
    if difference.waived is not None:
        return f"waived: {difference.waived}"
    if difference.coupled_by is not None:
        return f"follows from {difference.coupled_by}"
    return "declared" if difference.declared else "not declared"
