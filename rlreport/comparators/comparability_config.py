"""Conditions that the configurations of two runs tell: what moved, what is the same, and what nobody says."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.change_facts import FRAMEWORK_KEY, VERSION_KEY, fact_keys, rules_of, seeds_of
from rlreport.comparators.change_values import named, same_value, written
from rlreport.comparators.comparability_items import (
    NO_DIFFERENCE,
    SHOWN,
    SIDES,
    Check,
    ComparabilityItem,
    PairEvidence,
    Standing,
)
from rlreport.comparators.results import KnobDifference
from rlreport.run.format import join_words, plural
from rlreport.run.knobs import KnobClass, matches


def as_declared_check(pair: PairEvidence) -> ComparabilityItem:
    """One class moved, and it is the one that was meant to."""
    change = pair.change
    told_identical = any(notice.code == "RR403" for notice in change.notices)
    classes = join_words(change.classes)
    free = [d for d in change.differences if d.coupled_by is None and d.waived is None and not d.declared]
    standing: Standing = "fails"
    match change.verdict:
        case "single" | "coupled":
            standing, reason = "holds", f"{classes}"
        case "identical":
            standing = "fails" if told_identical else "holds"
            reason = "no knob differs, though a change was declared" if told_identical else "no knob differs"
        case "undeclared":
            reason = f"{join_words([d.key for d in free[:SHOWN]])} moved undeclared"
        case "confounded":
            reason = f"{classes} moved together"
        case "unknown":
            standing, reason = "unknown", "the configurations are not known well enough to say what moved"
    return ComparabilityItem("change", "One class of knobs moved, as declared", standing, reason)


def config_known_check(pair: PairEvidence) -> ComparabilityItem:
    """Nothing of either configuration is left open."""
    title = "Configuration known on both sides"
    missing = [side for side, run in zip(SIDES, pair.runs, strict=True) if not run.config]
    if missing:
        return ComparabilityItem("configuration", title, "fails", f"nothing is known of the {join_words(missing)}")
    if pair.change.partial:
        return ComparabilityItem("configuration", title, "fails", "known in part: what is not given may differ")
    return ComparabilityItem("configuration", title, "holds", f"{plural(pair.change.n_equal, 'key')} equal")


def fact_check(name: str, title: str, fact: str) -> Check:
    """The check of something that keys of the configuration tell, as the model."""

    def check(pair: PairEvidence) -> ComparabilityItem:
        patterns = [pattern for run in pair.runs for pattern in fact_keys(run, fact)]
        moved = [d for d in pair.change.differences if any(matches(pattern, d.key) for pattern in patterns)]
        if moved:
            return _failing(pair, name, title, moved)
        unknown = _not_told(pair, patterns)
        if unknown:
            return ComparabilityItem(name, title, "unknown", unknown)
        return ComparabilityItem(name, title, "holds", _held(pair, patterns))

    return check


def _not_told(pair: PairEvidence, patterns: Sequence[str]) -> str:
    silent = [
        side
        for side, run in zip(SIDES, pair.runs, strict=True)
        if not any(
            run.config[key].value is not None and any(matches(pattern, key) for pattern in patterns) for key in run.config
        )
    ]
    if not silent:
        return ""
    return "no source tells it" if len(silent) == len(SIDES) else f"no source tells it of the {silent[0]}"


def _held(pair: PairEvidence, patterns: Sequence[str]) -> str:
    run = pair.runs[0]
    rules = rules_of(run)
    values = [
        named(run.config[key].value, rules.row(key))
        for key in sorted(run.config)
        if run.config[key].value is not None and any(matches(pattern, key) for pattern in patterns)
    ]
    return values[0] if len(values) == 1 else f"{plural(len(values), 'value')} equal"


def class_check(name: str, title: str, knob_class: KnobClass, facts: Sequence[str] = ()) -> Check:
    """The check that nothing of a class moved but what is checked on its own (`facts`)."""

    def check(pair: PairEvidence) -> ComparabilityItem:
        apart = [pattern for run in pair.runs for fact in facts for pattern in fact_keys(run, fact)]
        moved = [
            d
            for d in pair.change.differences
            if d.knob_class == knob_class and not any(matches(pattern, d.key) for pattern in apart)
        ]
        if moved:
            return _failing(pair, name, title, moved)
        if not pair.config_known:
            return ComparabilityItem(name, title, "unknown", "the configurations are known in part or not at all")
        return ComparabilityItem(name, title, "holds", NO_DIFFERENCE)

    return check


def _failing(pair: PairEvidence, name: str, title: str, moved: Sequence[KnobDifference]) -> ComparabilityItem:
    rules = rules_of(pair.runs[0])
    shown = [
        f"{d.label} {named(d.baseline, rules.row(d.key))} against {named(d.variant, rules.row(d.key))}"
        for d in moved[:SHOWN]
    ]
    rest = len(moved) - SHOWN
    reason = "; ".join(shown) + (f"; and {rest} more" if rest > 0 else "")
    return ComparabilityItem(name, title, "fails", reason, pair.expects(moved))


def version_check(pair: PairEvidence) -> ComparabilityItem:
    """The same framework at the same version or commit."""
    title = "Same framework and version"
    keys = (FRAMEWORK_KEY, VERSION_KEY, "environment.commit")
    moved = [d for d in pair.change.differences if d.key in keys]
    if moved:
        return _failing(pair, "version", title, moved)
    versions = [run.framework_version or run.value("environment.commit") for run in pair.runs]
    silent = [side for side, version in zip(SIDES, versions, strict=True) if version is None]
    if silent:
        return ComparabilityItem("version", title, "unknown", f"no version is given for the {join_words(silent)}")
    return ComparabilityItem("version", title, "holds", f"{pair.runs[0].framework} {written(versions[0])}")


def seeds_check(pair: PairEvidence) -> ComparabilityItem:
    """The seeds that both runs tell are equal."""
    title = "Same seed, so that both see the same samples"
    seeds = [seeds_of(run) for run in pair.runs]
    common = sorted(seeds[0].keys() & seeds[1].keys())
    differ = [key for key in common if not same_value(seeds[0][key], seeds[1][key])]
    if differ:
        waived = {d.key for d in pair.change.differences if d.waived is not None or d.declared}
        reason = ", ".join(f"{key} {written(seeds[0][key])} against {written(seeds[1][key])}" for key in differ[:SHOWN])
        return ComparabilityItem("seed", title, "fails", reason, expected=set(differ) <= waived)
    if not common:
        return ComparabilityItem("seed", title, "unknown", "no seed is known on both sides")
    return ComparabilityItem("seed", title, "holds", f"{common[0]} is {written(seeds[0][common[0]])}")


def invariants_check(pair: PairEvidence) -> ComparabilityItem:
    """The dialect's relations between knobs hold on each side."""
    title = "Each configuration agrees with itself"
    findings = pair.change.invariants
    broken = [f for f in findings if f.standing == "violated"]
    if broken:
        labels = {run.run_id: side for side, run in zip(SIDES, pair.runs, strict=True)}
        reason = "; ".join(f"{labels.get(f.run_id, f.run_id)}, {f.name}: {f.message}" for f in broken[:SHOWN])
        return ComparabilityItem("invariants", title, "fails", reason)
    held = [f for f in findings if f.standing == "holds"]
    if not held:
        return ComparabilityItem("invariants", title, "unknown", "no relation between knobs could be checked")
    unknown = len(findings) - len(held)
    more = f"; {unknown} could not be checked" if unknown else ""
    return ComparabilityItem("invariants", title, "holds", f"{plural(len(held), 'relation')} checked{more}")


def rules_check(pair: PairEvidence) -> ComparabilityItem | None:
    """The author's rules are kept on each side; None where there are none."""
    title = "The author's rules are kept"
    findings = pair.change.rules
    broken = [f for f in findings if f.standing == "violated"]
    if broken:
        return ComparabilityItem("rules", title, "fails", "; ".join(f.message for f in broken[:SHOWN]))
    if not findings:
        return None
    unknown = [f for f in findings if f.standing == "unknown"]
    if unknown:
        return ComparabilityItem("rules", title, "unknown", "; ".join(f"{f.knob}: {f.message}" for f in unknown[:SHOWN]))
    return ComparabilityItem("rules", title, "holds", f"{plural(len(findings), 'rule')} checked")
