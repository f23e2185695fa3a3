"""The words that ladders and sweeps share: ratios, what moved, doses, leads, and runs that are missing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.chain import free_differences
from rlreport.comparators.change_values import count_word
from rlreport.comparators.headroom import Headroom
from rlreport.comparators.ladder import Attribution, Ladder, Rung, measure_ladder
from rlreport.comparators.lead import Lead
from rlreport.comparators.missing_runs import MissingRun, Setting
from rlreport.comparators.results import ABSENT, KnobDifference, RatioComparison
from rlreport.comparators.sweep import Dose, Shape, Standing, Sweep, measure_sweep
from rlreport.findings.fragments import declared_lines, yaml_text
from rlreport.report.model import Code, Inline, Text
from rlreport.run import format as fmt

#: Why a rung's difference cannot be laid to one change, in a few words; what can be has no entry.
ATTRIBUTION_WORDS: dict[Attribution, str] = {
    "several-classes": "several classes",
    "undeclared": "not declared",
    "unknown": "change unknown",
    "not-comparable": "not comparable",
    "no-change": "no change found",
}

STANDING_WORDS: dict[Standing, str] = {
    "best": "best",
    "not-worse": "not worse",
    "worse": "worse",
    "undecided": "undecided",
    "unknown": "no verdict",
}

#: How throughput goes with the dose.
SHAPE_WORDS: dict[Shape, str] = {
    "levels-off": "rises with the dose and levels off",
    "flat": "does not depend on the dose by more than the margin",
    "rising": "still rises at the highest dose",
    "falling": "falls from the smallest dose on",
    "peak": "rises to a best dose and falls beyond it",
    "undecided": "is not known well enough to say where it levels off",
    "unknown": "is not read as a response",
}

#: Knobs of one rung that a table or a figure names; what is beyond is counted.
MOST_KNOBS = 4

#: Verdicts under which a ratio is told as words, since its number says nothing about the change.
UNTOLD = {
    "insufficient-data": "too little data",
    "no-steady-state": "no steady state",
    "not-comparable": "not comparable",
}


def has_steps(analysis: Analysis) -> bool:
    """Whether there is anything to measure: two runs to compare that are more than published numbers."""
    return bool(analysis.comparisons) and not (analysis.published is not None and analysis.published.alone)


def ladder_of(analysis: Analysis) -> Ladder:
    """The ladder of an analysis: the one that it holds, else measured here."""
    return analysis.ladder or measure_ladder(analysis)


def sweep_of(analysis: Analysis) -> Sweep:
    """The sweep of an analysis: the one that it holds, else measured here over the knob that its request names, if any."""
    return analysis.sweep or measure_sweep(analysis, analysis.request.knob)


def shape_words(sweep: Sweep) -> str:
    """How throughput goes with the dose; two doses have no shape, one of them is higher or not."""
    if len(sweep.doses) == 2 and sweep.shape in ("rising", "falling"):
        return f"is higher at the {'higher' if sweep.shape == 'rising' else 'smaller'} of two doses"
    return SHAPE_WORDS[sweep.shape]


def label_of(analysis: Analysis, run_id: str) -> str:
    """The label of a run."""
    return analysis.runs[run_id].run.label


def ratio_words(ratio: RatioComparison | None) -> str:
    """A ratio with its interval: "1.32× (1.30 to 1.34)"; the ratio alone without one; a dash for none."""
    if ratio is None or ratio.ratio is None:
        return fmt.UNKNOWN
    value = fmt.ratio(ratio.ratio, ratio.ci_low, ratio.ci_high)
    if ratio.ci_low is None or ratio.ci_high is None:
        return value
    return f"{value} ({fmt.ratio_interval(ratio.ci_low, ratio.ci_high)})"


def ratio_columns(ratio: RatioComparison | None) -> str:
    """A ratio and its interval as the two columns of a figure's text, or why there is none."""
    if ratio is None:
        return ""
    if ratio.ratio is None:
        return UNTOLD.get(ratio.verdict, fmt.UNKNOWN)
    value = fmt.ratio(ratio.ratio, ratio.ci_low, ratio.ci_high)
    interval = "no interval" if ratio.ci_low is None else fmt.ratio_interval(ratio.ci_low, ratio.ci_high)
    return f"{value}   {interval}"


def value_words(value: Any) -> str:
    """A configuration value; one that is not there is "not set"."""
    return "not set" if value is ABSENT else fmt.config_value(value)


def moved_words(difference: KnobDifference | Setting) -> str:
    """What moved: "Trainer nodes 1 → 2"."""
    before, after = (
        (difference.before, difference.after)
        if isinstance(difference, Setting)
        else (difference.baseline, difference.variant)
    )
    return f"{difference.label} {value_words(before)} → {value_words(after)}"


def rung_moves(rung: Rung) -> tuple[str, ...]:
    """What moved from the rung before, most important first; what is beyond `MOST_KNOBS` is counted."""
    if rung.comparison is None:
        return ()
    change = rung.comparison.change
    order = {difference.key: place for place, difference in enumerate(change.short_list)}
    free = sorted(free_differences(change), key=lambda d: order.get(d.key, len(order)))
    more = len(free) - MOST_KNOBS
    words = [moved_words(difference) for difference in free[: MOST_KNOBS if more <= 0 else MOST_KNOBS - 1]]
    return (*words, *([f"{more + 1} more knobs"] if more > 0 else []))


def attribution_words(rung: Rung) -> str:
    """Why a rung cannot be attributed, with the number of classes; empty where it can."""
    if rung.attribution is None:
        return ""
    if rung.attribution == "several-classes":
        return f"{count_word(len(rung.classes))} classes"
    return ATTRIBUTION_WORDS.get(rung.attribution, "")


def missing_words(analysis: Analysis, missing: MissingRun, before: MissingRun | None = None) -> Text:
    """A run that is missing: "a run with Trainer nodes `trainer.nnodes` = 2 and everything else as in r8t8".

    After another missing run, `before`, only what it adds to that one.
    """
    known = () if before is None else before.settings
    settings = [setting for setting in missing.settings if setting not in known]
    parts: list[Inline] = ["a run with " if before is None else "one that has "]
    for place, setting in enumerate(settings):
        joint = "" if place == 0 else " and " if place == len(settings) - 1 else ", "
        follows = " (it follows)" if setting.follows is not None else ""
        parts += [f"{joint}{setting.label} ", Code(setting.key), f" = {value_words(setting.after)}{follows}"]
    rest = f" and everything else as in {label_of(analysis, missing.like)}" if before is None else " besides"
    return (*parts, rest)


def missing_id(analysis: Analysis, missing: MissingRun) -> str:
    """An id for a missing run that no run of the report has: the run it starts from and the classes that it moves."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join((missing.like, *missing.classes))).strip("-._") or "missing"
    found, number = stem, 2
    while found in analysis.runs:
        found, number = f"{stem}-{number}", number + 1
    return found


def manifest_fragment(analysis: Analysis, ladder: Ladder) -> str:
    """The manifest's lines for the missing runs of a ladder and their places in it, with the overrides to launch them by."""
    request = analysis.request
    lines = ["runs:"]
    variants: list[str] = []
    for rung in ladder.changes:
        for missing in rung.missing:
            run_id = missing_id(analysis, missing)
            variants.append(run_id)
            lines += _run_lines(analysis, missing, run_id)
        variants.append(rung.run_id)
    lines += ["reports:", f"  - id: {yaml_text(request.report_id)}", f"    kind: {request.kind}"]
    lines += [f"    baseline: {yaml_text(request.baseline)}", f"    variants: [{', '.join(yaml_text(v) for v in variants)}]"]
    return "\n".join(lines)


def _run_lines(analysis: Analysis, missing: MissingRun, run_id: str) -> list[str]:
    like = analysis.runs[missing.like].run
    overrides = [_override(setting) for setting in missing.settings]
    label = f"{like.label}, {'; '.join(moved_words(setting) for setting in missing.settings if setting.follows is None)}"
    return [
        f"  # launch as {json.dumps(like.label, ensure_ascii=False)}, with: {' '.join(overrides)}",
        f"  {yaml_text(run_id)}:",
        f"    label: {yaml_text(label)}",
        f"    sources: [{yaml_text(f'logs/{run_id}/console.log')}]",
        *declared_lines(like, {setting.key: setting.after for setting in missing.settings}),
    ]


def _override(setting: Setting) -> str:
    """A command-line override as Hydra reads it; "~key" takes a key away."""
    key = setting.key.split(" / ")[-1]
    if setting.after is ABSENT:
        return f"~{key}"
    value = setting.after
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"{key}={' '.join(text.split())}"


def lead_words(lead: Lead) -> str:
    """A lead in mini-batches: "5.0", "about 4.4" or "1.0 to 5.5" where staleness gives only its bounds, or "unknown"."""
    if lead.mini_batches is None and lead.low is not None and lead.high is not None:
        return f"{fmt.number(lead.low, 2)} to {fmt.number(lead.high, 2)}"
    if lead.mini_batches is None:
        return "unknown"
    return f"{'about ' if lead.basis == 'staleness' else ''}{fmt.number(lead.mini_batches, 2)}"


def memory_words(headroom: Headroom) -> str:
    """How much of a device's memory is free: "21.9 % of 64 GB", or "unknown"."""
    if headroom.free_fraction is None:
        return "unknown"
    return f"{fmt.percent(headroom.free_fraction)} of {fmt.number(headroom.device_gb)} GB"


def dose_words(dose: Dose) -> str:
    """A dose as text."""
    return value_words(dose.value)


def rung_words(numbers: Sequence[int]) -> str:
    """Rungs by number: "rung 2", "rungs 2 and 3"."""
    return f"{'rung' if len(numbers) == 1 else 'rungs'} {fmt.join_words([str(number) for number in numbers])}"


def capital(text: str) -> str:
    """The text with its first letter a capital."""
    return f"{text[0].upper()}{text[1:]}" if text else text
