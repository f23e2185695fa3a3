"""A difference of configurations as text for a terminal and as Markdown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from rlreport.comparators.change_facts import rules_of
from rlreport.pipeline.diff import Diff
from rlreport.pipeline.diff_values import COLUMN_WIDTH, Line, difference_line, equal_line, escaped
from rlreport.renderers.markdown import render_markdown
from rlreport.report.model import Bullets, Callout, Code, Column, Report, Row, Section, Table, Text
from rlreport.report.words import CHANGE_BADGES
from rlreport.run import format as fmt
from rlreport.run.knobs import KNOB_CLASSES, KnobClass
from rlreport.run.model import Run

#: Widest key that stands in a column; a wider one has a line of its own, and its values below it.
KEY_WIDTH = 72


def diff_text(diff: Diff) -> str:
    """The difference for a terminal: what is compared, the verdict, the knobs by class, what was folded and counted."""
    classes = _lines(diff)
    lines = _sides(diff)
    lines += ["", _verdict(diff), *(f"  may not be compared: {escaped(reason)}" for reason in diff.change.blocking)]
    lines += _class_lines(classes)
    folded = _folded(diff)
    if folded:
        lines += ["", "folded", *(f"  {text}" for text in folded)]
    lines += ["", _counts(diff)]
    for title, items in _remarks(diff):
        lines += ["", title, *(f"  {item}" for item in items)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def diff_markdown(diff: Diff) -> str:
    """The difference as Markdown with pipe tables, in the same order."""
    columns = (Column("Knob"), Column("Baseline"), Column("Variant"), Column("Why it is here"))
    sections = [
        Section(name, name, (Table(name, f"Knobs of class {name}", columns, tuple(_row(line) for line in lines)),))
        for name, lines in _lines(diff)
    ]
    more = [("folded", tuple(_folded(diff))), *_remarks(diff)]
    sections += [
        Section(title, title.capitalize(), (Bullets(tuple((item,) for item in items)),)) for title, items in more if items
    ]
    blocking = tuple((escaped(reason),) for reason in diff.change.blocking)
    report = Report(
        id="diff",
        title=f"{_name(diff.variant)} against {_name(diff.baseline)}",
        kind="diff",
        kind_label="Difference of two configurations",
        question="",
        verdict=(_verdict(diff),),
        verdict_tone="plain",
        badges=(),
        warning=Callout("These runs may not be compared", "bad", blocking) if blocking else None,
        facts=(),
        sections=tuple(sections),
        provenance=(_counts(diff),),
    )
    return render_markdown(report).encode("utf-8", "backslashreplace").decode("utf-8")


def _lines(diff: Diff) -> list[tuple[KnobClass, list[Line]]]:
    """What is shown by class, in the guide's order; classes without anything are left out."""
    rules = rules_of(diff.baseline)
    found: list[tuple[KnobClass, list[Line]]] = []
    for knob_class in KNOB_CLASSES:
        lines = []
        for one in diff.change.differences:
            if one.knob_class == knob_class:
                row = rules.row(one.key.split(" / ")[0])
                lines.append(difference_line(one, "plain" if row is None else row.kind))
        lines += [equal_line(equal) for equal in diff.equal if equal.knob.knob_class == knob_class]
        if lines:
            found.append((knob_class, lines))
    return found


def _class_lines(classes: Sequence[tuple[KnobClass, Sequence[Line]]]) -> list[str]:
    """Aligned columns over all classes; a row that does not fit has its values on lines of their own."""
    every = [line for _, lines in classes for line in lines]
    if not every:
        return []
    fitting = [line for line in every if _fits(line)]
    rows = [("knob", "baseline", "variant"), *((line.key, line.baseline, line.variant) for line in fitting)]
    widths = [max(_width(row[place]) for row in rows) for place in range(3)]

    def columns(texts: Sequence[str], note: str) -> str:
        return f"  {'  '.join(_padded(text, width) for text, width in zip(texts, widths, strict=True))}  {note}"

    shown = ["", columns(rows[0], "")]
    for knob_class, lines in classes:
        shown.append(knob_class)
        for line in lines:
            if _fits(line):
                shown.append(columns((line.key, line.baseline, line.variant), line.note))
            else:
                shown.append(f"  {line.key}  ({line.note})")
                shown += [f"    baseline  {line.baseline}", f"    variant   {line.variant}"]
            shown += [f"    - {item}" for item in line.removed]
            shown += [f"    + {item}" for item in line.added]
    return shown


def _fits(line: Line) -> bool:
    return _width(line.key) <= KEY_WIDTH and max(_width(line.baseline), _width(line.variant)) <= COLUMN_WIDTH


def _width(text: str) -> int:
    """Columns that a terminal gives a text: two for wide characters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _row(line: Line) -> Row:
    return Row(((Code(line.key),), _cell(line.baseline, line.removed), _cell(line.variant, line.added), (line.note,)))


def _cell(text: str, only_here: Iterable[str]) -> Text:
    items = tuple(only_here)
    return (f"{text}; only here: {', '.join(items)}",) if items else (text,)


def _name(run: Run) -> str:
    return escaped(run.run_id if run.label == run.run_id else f"{run.run_id} ({run.label})")


def _sides(diff: Diff) -> list[str]:
    return [f"baseline  {_name(diff.baseline)}", f"variant   {_name(diff.variant)}"]


def _verdict(diff: Diff) -> str:
    change, declared = diff.change, diff.declared
    classes = f" ({fmt.join_words(change.classes)})" if change.classes else ""
    by = f" by report {declared.report}" if declared.report else ""
    what = f"declared{by}: {fmt.join_words(declared.changes)}" if declared.changes else f"no change is declared{by}"
    partial = "; a configuration is known in part only" if change.partial else ""
    return escaped(f"{CHANGE_BADGES[change.verdict][0]}{classes}; {what}{partial}")


def _folded(diff: Diff) -> list[str]:
    return [
        f"{fmt.plural(len(line.keys), 'key')} ({line.knob_class}): {escaped(line.title)}; because of {escaped(line.cause)}"
        for line in diff.change.folded
    ]


def _counts(diff: Diff) -> str:
    change = diff.change
    folded = sum(len(line.keys) for line in change.folded)
    parts = [f"{folded:,} folded"] if folded else []
    if change.identity:
        parts.append(f"{fmt.plural(len(change.identity), 'names', 'name')} things only (identity)")
    of_which = f", of which {fmt.join_words(parts)}" if parts else ""
    return f"{fmt.plural(change.n_equal, 'key is', 'keys are')} equal, {change.n_differing:,} differ{of_which}"


def _remarks(diff: Diff) -> list[tuple[str, tuple[str, ...]]]:
    """What does not hold, what is waived, what is not known, and the warnings; without titles that have nothing."""
    change = diff.change
    checks = [f"{f.kind} {f.knob}: {f.standing}: {f.message}" for f in change.rules if f.standing != "holds"]
    checks += [f"{f.run_id}: {f.name}: {f.message}" for f in change.invariants if f.standing == "violated"]
    found = (
        ("does not hold", checks),
        ("waivers", [f"{use.knob}: {use.reason} ({use.state})" for use in change.waivers]),
        ("not known", list(change.not_known)),
        ("warnings", [f"[{n.code}] {n.message}{f' ({n.where})' if n.where else ''}" for n in diff.notices]),
    )
    return [(title, tuple(escaped(item) for item in items)) for title, items in found if items]
