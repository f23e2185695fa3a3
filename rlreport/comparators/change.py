"""What changed between two runs, by class, and whether that is what was meant to change (design section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from rlreport.comparators.change_couple import couple
from rlreport.comparators.change_entries import Comparison, Entry, compare_keys, is_partial, names_key
from rlreport.comparators.change_fold import fold
from rlreport.comparators.change_words import blocking_words
from rlreport.comparators.results import Change, ChangeVerdict, KnobDifference
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import KNOB_CLASSES, KnobClass
from rlreport.run.model import Run

#: Classes that must stay fixed for two runs to be comparable, unless the change of one was the very point.
BLOCKING: frozenset[KnobClass] = frozenset({"workload", "algorithm", "environment"})
#: Most differences that the short list holds.
SHORT_LIST = 12
#: So many keys that one run only has, without a backend to explain them, speak for different versions of the framework.
VERSION_KEYS = 40
#: How many names a notice spells out.
SHOWN = 5


def compare_config(
    baseline: Run, variant: Run, *, declared: Sequence[str], waivers: Mapping[str, str] | None = None
) -> Change:
    """Compare the configurations of two runs and judge the change.

    Args:
        baseline: the run that the comparison starts from; its dialect's rules class the keys.
        variant: the run that it is compared with.
        declared: what was meant to change: class names ("resources"), dotted keys, or ends of keys ("rollout.nnodes").
            Empty means that nothing was.
        waivers: differences that do not count, by key or end of key, each with the reason.

    Returns:
        The verdict (`identical`, `single`, `coupled`, `undeclared`, `confounded`, `unknown`), the differences and why the
        runs may not be compared. A side without configuration, or with a partial one against a whole one, never gives a
        clean verdict; two partial ones are judged by what they give, and the result says that they are partial.
    """
    waivers = waivers or {}
    if not baseline.config or not variant.config:
        return _unknown(baseline, variant)
    comparison = compare_keys(baseline, variant)
    notices = _declare(comparison, declared, waivers)
    named = [entry.key for entry in comparison.entries.values() if entry.waived or _declared_by_name(entry, declared)]
    one_sided = sum(entry.one_sided for entry in comparison.entries.values())
    folded = fold(comparison, named)
    ties = couple(comparison)
    identity = [entry for entry in comparison.entries.values() if entry.knob.knob_class == "identity"]
    others = [entry for entry in comparison.entries.values() if entry.knob.knob_class != "identity"]
    moved = [entry for entry in others if entry.waived is None]
    partial = [is_partial(run, comparison.rules) for run in comparison.runs]
    verdict = _verdict(moved)
    if any(partial):
        notices.append(_partial_notice(partial))
        if not all(partial) and verdict in ("identical", "single", "coupled"):
            verdict = "unknown"
    if declared and not moved and verdict == "identical":
        notices.append(Notice("RR403", f"{', '.join(declared)} was declared to change, but no knob differs"))
    notices += _remarks(comparison, moved, ties)
    explained = sum(len(line.keys) for line in folded if line.knob_class != "identity")
    if one_sided - explained > VERSION_KEYS and not any(partial):
        message = (
            f"{one_sided - explained} keys are in one run only: the two probably ran different versions of the framework"
        )
        notices.append(Notice("RR411", message))
    ranked = sorted(moved, key=lambda entry: comparison.rules.rank(entry.key.split(" / ")[0]))
    short = [entry for entry in ranked if entry.coupled_by is None or entry.forced][:SHORT_LIST]
    return Change(
        verdict=verdict,
        classes=_classes(moved),
        differences=tuple(_difference(entry) for entry in sorted(others, key=lambda entry: _order(comparison, entry))),
        short_list=tuple(_difference(entry) for entry in short),
        folded=folded,
        identity=tuple(_difference(entry) for entry in sorted(identity, key=lambda entry: entry.key)),
        n_equal=comparison.n_equal,
        n_differing=comparison.n_differing,
        blocking=_blocking(ranked),
        partial=any(partial),
        notices=tuple(notices),
    )


def _unknown(baseline: Run, variant: Run) -> Change:
    sides = [f"the {side} ({run.run_id})" for side, run in (("baseline", baseline), ("variant", variant)) if not run.config]
    message = (
        f"the configuration of {' and '.join(sides)} is not known, so nothing can be said about what changed; add its "
        ".hydra folder or the log with the printed configuration to the sources"
    )
    return Change("unknown", (), (), (), (), (), 0, 0, notices=(Notice("RR401", message),))


def _declare(comparison: Comparison, declared: Sequence[str], waivers: Mapping[str, str]) -> list[Notice]:
    """Mark what was declared and what is waived; tell the names that meet nothing."""
    notices: list[Notice] = []
    for entry in comparison.entries.values():
        entry.declared = entry.knob.knob_class in declared or _declared_by_name(entry, declared)
        for name, reason in waivers.items():
            if names_key(name, entry.key):
                entry.waived = reason
    keys = sorted({*comparison.baseline.config, *comparison.variant.config, *comparison.entries})
    for name in declared:
        if name not in KNOB_CLASSES and not any(names_key(name, key) for key in keys):
            notices.append(
                Notice("RR402", f"'{name}' is declared to change, but neither run has such a knob{_near(name, keys)}")
            )
    for name in waivers:
        if not any(names_key(name, key) for key in comparison.entries):
            notices.append(Notice("RR404", f"the waiver of '{name}' meets no difference"))
    return notices


def _declared_by_name(entry: Entry, declared: Sequence[str]) -> bool:
    return any(name not in KNOB_CLASSES and names_key(name, entry.key) for name in declared)


def _near(name: str, keys: Sequence[str]) -> str:
    ends = {".".join(key.split(".")[-name.count(".") - 1 :]): key for key in keys}
    near = get_close_matches(name, [*KNOB_CLASSES, *ends], n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _verdict(moved: Sequence[Entry]) -> ChangeVerdict:
    """The verdict on the differences that count: see the words of design section 4.

    What is coupled stands with the knob that it follows. Several classes are confounded also where all were declared: their
    effects cannot be told apart.
    """
    free = [entry for entry in moved if entry.coupled_by is None]
    if not moved:
        return "identical"
    if len(_classes(free)) > 1:
        return "confounded"
    if not all(entry.declared for entry in free):
        return "undeclared"
    return "coupled" if any(entry.forced for entry in moved) else "single"


def _classes(entries: Sequence[Entry]) -> tuple[KnobClass, ...]:
    present = {entry.knob.knob_class for entry in entries}
    return tuple(knob_class for knob_class in KNOB_CLASSES if knob_class in present)


def _blocks(entry: Entry) -> bool:
    fixed = entry.knob.knob_class in BLOCKING
    return fixed and not entry.declared and entry.coupled_by is None and entry.waived is None


def _blocking(ranked: Sequence[Entry]) -> tuple[str, ...]:
    """Why the runs may not be compared, in the order of a reader, as many reasons as the short list has places."""
    found = [entry for entry in ranked if _blocks(entry)]
    words = [blocking_words(entry) for entry in found[:SHORT_LIST]]
    rest = found[SHORT_LIST:]
    if rest:
        words.append(f"and {len(rest)} more differences of {' and '.join(_classes(rest))}")
    return tuple(words)


def _order(comparison: Comparison, entry: Entry) -> tuple[int, int, str]:
    place, key = comparison.rules.rank(entry.key.split(" / ")[0])
    return (KNOB_CLASSES.index(entry.knob.knob_class), place, key)


def _difference(entry: Entry) -> KnobDifference:
    left, right = entry.values
    return KnobDifference(
        key=entry.key,
        label=entry.knob.label,
        knob_class=entry.knob.knob_class,
        baseline=left,
        variant=right,
        declared=entry.declared,
        coupled_by=entry.coupled_by,
        baseline_origin=entry.baseline.origin if entry.baseline else None,
        variant_origin=entry.variant.origin if entry.variant else None,
        waived=entry.waived,
    )


def _partial_notice(partial: Sequence[bool]) -> Notice:
    sides = [side for side, lacking in zip(("baseline", "variant"), partial, strict=True) if lacking]
    subject = "configurations of both runs are" if len(sides) > 1 else f"configuration of the {sides[0]} is"
    message = f"the {subject} known in part: what the sources and the manifest do not give is not known to be equal"
    return Notice("RR405", message)


def _remarks(comparison: Comparison, moved: Sequence[Entry], ties: Sequence[str]) -> list[Notice]:
    notices: list[Notice] = []
    if comparison.equal_by_name:
        keys = comparison.equal_by_name
        shown = ", ".join(keys[:SHOWN]) + (", ..." if len(keys) > SHOWN else "")
        notices.append(Notice("RR407", f"taken as the same by name, at different paths: {shown}"))
    if any(run.framework_version is None for run in comparison.runs):
        message = "the framework's version is not declared for both runs, so a difference in it would not be seen"
        notices.append(Notice("RR406", message))
    if (
        "unknown" in (comparison.baseline.mode, comparison.variant.mode)
        and comparison.baseline.mode != comparison.variant.mode
    ):
        notices.append(Notice("RR409", "the execution mode of one run is not known, so a change of it would not be seen"))
    if ties:
        notices.append(Notice("RR408", f"knobs are tied by: {'; '.join(ties)}"))
    free = _classes([entry for entry in moved if entry.coupled_by is None])
    if len(free) > 1 and all(entry.declared for entry in moved if entry.coupled_by is None):
        message = f"all of {', '.join(free)} were declared to change, but with several classes no effect has one cause"
        notices.append(Notice("RR410", message))
    return notices
