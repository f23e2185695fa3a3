"""What changed between two runs, by class, and whether that is what was meant to change (design section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlreport.comparators.change_couple import couple
from rlreport.comparators.change_entries import Comparison, Entry, compare_keys, is_partial
from rlreport.comparators.change_facts import not_known
from rlreport.comparators.change_fold import fold
from rlreport.comparators.change_invariants import check_invariants, compare_quantities
from rlreport.comparators.change_remarks import classes_of, no_configuration, partial_notice, remarks, version_notice
from rlreport.comparators.change_waive import declared_by_name, mark_declared, mark_waived
from rlreport.comparators.change_words import blocking_words
from rlreport.comparators.results import Change, ChangeVerdict, KnobDifference
from rlreport.comparators.rules import apply_rules, broken
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import KNOB_CLASSES, TIERS, KnobClass
from rlreport.run.model import Run
from rlreport.run.rules import NO_POLICY, ChangePolicy, Preset, Waiver

#: Classes that must stay fixed for two runs to be comparable, unless the change of one was the very point.
BLOCKING: frozenset[KnobClass] = frozenset({"workload", "algorithm", "environment"})
#: Classes of which an undeclared change keeps two runs from being compared, by preset.
BLOCKING_BY_PRESET: Mapping[Preset | None, frozenset[KnobClass]] = {
    None: BLOCKING,
    "exploratory": BLOCKING,
    "strict": frozenset(knob_class for knob_class in KNOB_CLASSES if knob_class != "identity"),
}
#: Most differences that the short list holds.
SHORT_LIST = 12


def compare_config(
    baseline: Run,
    variant: Run,
    *,
    declared: Sequence[str],
    waivers: Mapping[str, str] | None = None,
    policy: ChangePolicy = NO_POLICY,
) -> Change:
    """Compare the configurations of two runs and judge the change.

    Args:
        baseline: the run that the comparison starts from; its dialect's rules class the keys.
        variant: the run that it is compared with.
        declared: what was meant to change: class names ("resources"), dotted keys, or ends of keys ("rollout.nnodes").
            Empty means that nothing was.
        waivers: differences that do not count, by key or end of key, each with the reason; they have no end.
        policy: the author's rules, preset and further waivers with the day on which they are judged.

    Returns:
        The verdict (`identical`, `single`, `coupled`, `undeclared`, `confounded`, `unknown`), the differences and why the
        runs may not be compared. A side without configuration, or with a partial one against a whole one, never gives a
        clean verdict; two partial ones are judged by what they give, and the result says that they are partial.
    """
    comparison = compare_keys(baseline, variant)
    notices = mark_declared(comparison, declared)
    given = (*(Waiver(knob, reason) for knob, reason in (waivers or {}).items()), *policy.waivers)
    uses, told = mark_waived(comparison, given, policy.as_of)
    notices += told
    named = [entry.key for entry in comparison.entries.values() if entry.waived or declared_by_name(entry, declared)]
    one_sided = sum(entry.one_sided for entry in comparison.entries.values())
    folded = fold(comparison, named)
    ties = couple(comparison)
    findings, told = apply_rules(comparison, policy.rules)
    invariants = (*check_invariants(baseline), *check_invariants(variant))
    if not baseline.config or not variant.config:
        return Change(
            *("unknown", (), (), (), (), (), 0, 0),
            rules=findings,
            invariants=invariants,
            not_known=not_known(baseline, variant),
            notices=(no_configuration(baseline, variant),),
        )
    notices += told
    notices += compare_quantities(baseline, variant)
    others = [entry for entry in comparison.entries.values() if entry.knob.knob_class != "identity"]
    identity = [entry for entry in comparison.entries.values() if entry.knob.knob_class == "identity"]
    moved = [entry for entry in others if entry.waived is None]
    partial = [is_partial(run, comparison.rules) for run in comparison.runs]
    verdict = _verdict(moved)
    if any(partial):
        notices.append(partial_notice(partial))
        if not all(partial) and verdict in ("identical", "single", "coupled"):
            verdict = "unknown"
    if declared and not moved and verdict == "identical":
        notices.append(Notice("RR403", f"{', '.join(declared)} was declared to change, but no knob differs"))
    notices += remarks(comparison, moved, ties)
    tolerated = policy.preset == "exploratory" and _is_tolerable(verdict, moved)
    if tolerated:
        notices.append(_tolerated_notice(moved))
    if not any(partial):
        explained = sum(len(line.keys) for line in folded if line.knob_class != "identity")
        notices += version_notice(one_sided - explained)
    ranked = sorted(moved, key=lambda entry: comparison.rules.rank(entry.key.split(" / ")[0]))
    short = [entry for entry in ranked if entry.coupled_by is None or entry.forced][:SHORT_LIST]
    return Change(
        verdict=verdict,
        classes=classes_of(moved),
        differences=tuple(_difference(entry) for entry in sorted(others, key=lambda entry: _order(comparison, entry))),
        short_list=tuple(_difference(entry) for entry in short),
        folded=folded,
        identity=tuple(_difference(entry) for entry in sorted(identity, key=lambda entry: entry.key)),
        n_equal=comparison.n_equal,
        n_differing=comparison.n_differing,
        blocking=(*broken(findings), *_blocking(ranked, BLOCKING_BY_PRESET[policy.preset])),
        partial=any(partial),
        rules=findings,
        waivers=uses,
        invariants=invariants,
        not_known=not_known(baseline, variant),
        tolerated=tolerated,
        notices=tuple(dict.fromkeys(notices)),
    )


def _verdict(moved: Sequence[Entry]) -> ChangeVerdict:
    """The verdict on the differences that count: see the words of design section 4.

    What is coupled stands with the knob that it follows. Several classes are confounded also where all were declared: their
    effects cannot be told apart.
    """
    free = [entry for entry in moved if entry.coupled_by is None]
    if not moved:
        return "identical"
    if len(classes_of(free)) > 1:
        return "confounded"
    if not all(entry.declared for entry in free):
        return "undeclared"
    return "coupled" if any(entry.forced for entry in moved) else "single"


def _undeclared(moved: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in moved if entry.coupled_by is None and not entry.declared]


def _is_tolerable(verdict: ChangeVerdict, moved: Sequence[Entry]) -> bool:
    """Whether nothing but tuned classes moved beyond what was declared."""
    tuned = all(TIERS[entry.knob.knob_class] is not None for entry in _undeclared(moved))
    return verdict in ("undeclared", "confounded") and tuned


def _tolerated_notice(moved: Sequence[Entry]) -> Notice:
    names = [entry.key for entry in _undeclared(moved)][:SHORT_LIST]
    what = f"{', '.join(names)} moved undeclared" if names else "several classes moved"
    return Notice("RR414", f"{what}: the preset 'exploratory' lets that pass, but the effect has no one cause")


def _blocks(entry: Entry, classes: frozenset[KnobClass]) -> bool:
    fixed = entry.knob.knob_class in classes and not entry.ruled
    return fixed and not entry.declared and entry.coupled_by is None and entry.waived is None


def _blocking(ranked: Sequence[Entry], classes: frozenset[KnobClass]) -> tuple[str, ...]:
    """Why the runs may not be compared, in the order of a reader, as many reasons as the short list has places."""
    found = [entry for entry in ranked if _blocks(entry, classes)]
    words = [blocking_words(entry) for entry in found[:SHORT_LIST]]
    rest = found[SHORT_LIST:]
    if rest:
        words.append(f"and {len(rest)} more differences of {' and '.join(classes_of(rest))}")
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
