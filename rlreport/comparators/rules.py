"""The author's rules for knobs, checked on both sides of a comparison: pinned, free and derived.

Of several rules that cover a key the last decides. A rule at level "off" decides too: the key is then judged as if no rule
named it. What cannot be checked, because a side does not tell it, is unknown and never taken to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rlreport.comparators.change_entries import Comparison, Entry, is_partial, names_key
from rlreport.comparators.change_lookup import lookup_of, number
from rlreport.comparators.change_results import RuleFinding, Standing
from rlreport.comparators.change_values import is_default, same_value, written
from rlreport.comparators.change_waive import all_keys, near_name
from rlreport.comparators.results import ABSENT
from rlreport.run.diagnostics import Notice
from rlreport.run.expression import TOLERANCE, parse_expression, written_number
from rlreport.run.knobs import plain_value
from rlreport.run.model import Run
from rlreport.run.rules import Rule

#: How many keys of one rule a message spells out.
SHOWN = 3
_SIDES = ("baseline", "variant")


@dataclass(frozen=True, slots=True)
class _Check:
    """One key under a rule: how it stands, and what was found in words."""

    standing: Standing
    words: str


def deciding_rule(rules: Sequence[Rule], key: str) -> Rule | None:
    """The last rule that covers a key, None where none does or the last one is off."""
    for rule in reversed(rules):
        if names_key(rule.knob, key):
            return None if rule.level == "off" else rule
    return None


def apply_rules(comparison: Comparison, rules: Sequence[Rule]) -> tuple[tuple[RuleFinding, ...], list[Notice]]:
    """Check the rules on both sides and mark the differences that they decide.

    Call it when differences are folded and coupled. A difference of a free knob is waived; one of a derived knob whose
    expression holds on both sides follows the first moved knob of the expression; one that breaks a rule is `ruled`.

    Returns:
        One finding for each rule that is not off and still decides a key, or covers none; and notices of violations at
        level "warn", of rules that cannot be checked, and of rules that cover no key.
    """
    keys = all_keys(comparison)
    decided = {key: deciding_rule(rules, key) for key in keys}
    findings: list[RuleFinding] = []
    notices: list[Notice] = []
    for rule in rules:
        if rule.level == "off":
            continue
        covered = [key for key in keys if names_key(rule.knob, key)]
        own = [key for key in covered if decided[key] is rule]
        if covered and not own:
            continue
        if not covered:
            message = f"the rule for '{rule.knob}' covers no key of either run{near_name(rule.knob, keys)}"
            findings.append(_finding(rule, "unknown", "neither run tells it"))
            notices.append(Notice("RR415", message))
            continue
        finding = _KINDS[rule.kind](comparison, rule, own)
        findings.append(finding)
        if finding.standing == "violated" and rule.level == "warn":
            notices.append(Notice("RR412", f"a {rule.kind} knob breaks its rule: {finding.message}"))
        elif finding.standing == "unknown":
            notices.append(Notice("RR413", f"the rule for '{rule.knob}' cannot be checked: {finding.message}"))
    return tuple(findings), notices


def broken(findings: Sequence[RuleFinding]) -> tuple[str, ...]:
    """Why the author's rules keep two runs from being compared, in words."""
    return tuple(finding.message for finding in findings if finding.standing == "violated" and finding.level == "error")


def _finding(rule: Rule, standing: Standing, message: str) -> RuleFinding:
    return RuleFinding(rule.knob, rule.kind, rule.level, standing, message, rule.reason)


def _check_free(comparison: Comparison, rule: Rule, keys: Sequence[str]) -> RuleFinding:
    moved = [comparison.entries[key] for key in keys if key in comparison.entries]
    for entry in moved:
        if entry.waived is None:
            entry.waived = f"free by rule{f', {rule.reason}' if rule.reason else ''}"
    words = "; ".join(_difference_words(entry) for entry in moved[:SHOWN]) or "equal on both sides"
    return _finding(rule, "holds", words)


def _check_pinned(comparison: Comparison, rule: Rule, keys: Sequence[str]) -> RuleFinding:
    return _summarise(rule, [_pinned(comparison, rule, key) for key in keys])


def _pinned(comparison: Comparison, rule: Rule, key: str) -> _Check:
    entry = comparison.entries.get(key)
    if entry is not None and entry.waived is not None:
        return _Check("holds", f"{key} is waived")
    if rule.has_value:
        return _pinned_to_value(comparison, rule, key, entry)
    if entry is not None:
        if entry.one_sided and is_partial(_lacking_run(comparison, entry), comparison.rules):
            return _Check("unknown", f"{key} is not known for the {_SIDES[0 if entry.baseline is None else 1]}")
        entry.ruled = True
        return _Check("violated", f"{entry.knob.label} is pinned, but changed: {_difference_words(entry)}")
    return _not_different(comparison, key)


def _pinned_to_value(comparison: Comparison, rule: Rule, key: str, entry: Entry | None) -> _Check:
    row = comparison.rules.row(key)
    states: list[Standing] = []
    found: list[str] = []
    for side, run in zip(_SIDES, comparison.runs, strict=True):
        value = _value(run, key, entry, side)
        if value is ABSENT:
            default = is_default(rule.value, row) and not is_partial(run, comparison.rules)
            states.append("holds" if default else "unknown")
            found.append(f"not given in the {side}")
        elif same_value(value, rule.value, row):
            states.append("holds")
        else:
            states.append("violated")
            found.append(f"{written(value)} in the {side}")
    standing = _worst(states)
    if standing == "violated" and entry is not None:
        entry.ruled = True
    label = _label(comparison, key, entry)
    if standing == "holds":
        return _Check("holds", f"{key} is {written(rule.value)} on both sides")
    return _Check(standing, f"{label} ({key}) is pinned to {written(rule.value)}, but {' and '.join(found)}")


def _not_different(comparison: Comparison, key: str) -> _Check:
    """A key that is no difference: equal, or folded away; unknown where a side that lacks it is known in part."""
    sides = [run.config.get(key) for run in comparison.runs]
    row = comparison.rules.row(key)
    if None not in sides:
        left, right = (side.value for side in sides if side is not None)
        same = same_value(left, right, row)
        return _Check("holds", f"{key} is equal on both sides" if same else f"{key} changes nothing in these runs")
    place = sides.index(None)
    known = sides[1 - place]
    if known is None or is_default(known.value, row) or not is_partial(comparison.runs[place], comparison.rules):
        return _Check("holds", f"{key} changes nothing in these runs")
    return _Check("unknown", f"{key} is not known for the {_SIDES[place]}")


def _check_derived(comparison: Comparison, rule: Rule, keys: Sequence[str]) -> RuleFinding:
    return _summarise(rule, [_derived(comparison, rule, key) for key in keys])


def _derived(comparison: Comparison, rule: Rule, key: str) -> _Check:
    expression = parse_expression(rule.expression or "")
    entry = comparison.entries.get(key)
    if entry is not None and entry.waived is not None:
        return _Check("holds", f"{key} is waived")
    states: list[Standing] = []
    found: list[str] = []
    for side, run in zip(_SIDES, comparison.runs, strict=True):
        lookup = lookup_of(run)
        value = number(plain_value(_value(run, key, entry, side)))
        wanted = expression.value(lookup)
        if value is None or wanted is None:
            missing = [key] if value is None else [name for name in expression.variables if lookup(name) is None]
            states.append("unknown")
            found.append(f"the {side} does not tell {' and '.join(missing) or 'a finite value'}")
        elif math.isclose(value, wanted, rel_tol=TOLERANCE):
            states.append("holds")
        else:
            states.append("violated")
            found.append(
                f"{written_number(value)} in the {side}, where {expression.filled(lookup)} is {written_number(wanted)}"
            )
    standing = _worst(states)
    if standing == "holds" and entry is not None and entry.coupled_by is None:
        _follow(comparison, entry, expression.variables)
    if standing == "violated" and entry is not None:
        entry.ruled = True
    if standing == "holds":
        return _Check("holds", f"{key} is {rule.expression} on both sides")
    if standing == "unknown":
        return _Check("unknown", "; ".join(found))
    label = _label(comparison, key, entry)
    return _Check("violated", f"{label} ({key}) must be {rule.expression}, but is {' and '.join(found)}")


def _follow(comparison: Comparison, entry: Entry, variables: Sequence[str]) -> None:
    """Couple a derived knob to the first knob of its expression that moved."""
    for name in variables:
        names = (name, *comparison.rules.variables.get(name, ()))
        for key in sorted(comparison.entries):
            lead = comparison.entries[key]
            if lead is not entry and lead.coupled_by != entry.key and any(names_key(each, key) for each in names):
                entry.coupled_by, entry.forced = lead.key, True
                return


def _value(run: Run, key: str, entry: Entry | None, side: str) -> Any:
    """The value of one side: of the configuration, or of what stands beside it."""
    if key in run.config:
        return run.config[key].value
    beside = None if entry is None else getattr(entry, side)
    return ABSENT if beside is None else beside.value


def _label(comparison: Comparison, key: str, entry: Entry | None) -> str:
    return (comparison.rules.knob(key) if entry is None else entry.knob).label


def _lacking_run(comparison: Comparison, entry: Entry) -> Run:
    return comparison.baseline if entry.baseline is None else comparison.variant


def _difference_words(entry: Entry) -> str:
    left, right = entry.values
    return f"{entry.key} is {written(left)} in the baseline, {written(right)} in the variant"


def _summarise(rule: Rule, checks: Sequence[_Check]) -> RuleFinding:
    """One finding of all keys of a rule: as the worst of them, whose words it keeps."""
    standing = _worst([check.standing for check in checks])
    words = [check.words for check in checks if check.standing == standing]
    rest = len(words) - SHOWN
    return _finding(rule, standing, "; ".join(words[:SHOWN]) + (f"; and {rest} more" if rest > 0 else ""))


def _worst(states: Sequence[Standing]) -> Standing:
    order: tuple[Standing, ...] = ("violated", "unknown", "holds")
    return next(state for state in order if state in states)


_KINDS: dict[str, Callable[[Comparison, Rule, Sequence[str]], RuleFinding]] = {
    "free": _check_free,
    "pinned": _check_pinned,
    "derived": _check_derived,
}
