"""A difference in words, for the sentence that says why two runs may not be compared."""

from __future__ import annotations

from rlreport.comparators.change_entries import Entry
from rlreport.comparators.change_facts import FRAMEWORK_KEY
from rlreport.comparators.change_values import count_word, counted, normal, written
from rlreport.comparators.results import ABSENT

_DATASETS = {"data.train_files": "the dataset", "data.val_files": "the validation set"}


def blocking_words(entry: Entry) -> str:
    """Why one difference keeps two runs from being compared: "the dataset changed: two train files against one"."""
    left, right = entry.values
    if entry.key == FRAMEWORK_KEY:
        return f"the framework changed: {written(left)} against {written(right)}, whose metrics do not mean the same"
    if ABSENT in (left, right):
        side, value = ("variant", right) if left is ABSENT else ("baseline", left)
        return f"{entry.knob.label} ({entry.key}) is given in the {side} only: {written(value)}"
    subject = _DATASETS.get(entry.key, entry.knob.label)
    numbers = counted(left), counted(right)
    if entry.row is not None and entry.row.kind == "files" and numbers[0] != numbers[1]:
        items = f"{entry.knob.label.removesuffix('s')}{'s' if numbers[0] != 1 else ''}"
        return f"{subject} changed: {count_word(numbers[0])} {items} against {count_word(numbers[1])}"
    if entry.row is not None and entry.row.kind in ("files", "model"):
        kind = entry.row.kind
        return f"{subject} changed: {_names(normal(left, kind))} against {_names(normal(right, kind))}"
    subject = subject if subject.startswith("the ") else f"the {subject}"
    return f"{subject} changed: {written(left)} against {written(right)}"


def _names(value: object) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, tuple) else written(value)
