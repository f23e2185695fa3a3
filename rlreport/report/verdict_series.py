"""What stands first on the page of a ladder or a sweep: the verdict as a sentence, its tone, and the strip of facts."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.change_values import count_word
from rlreport.comparators.ladder import Ladder
from rlreport.comparators.results import RatioComparison
from rlreport.comparators.sweep import Dose, Sweep
from rlreport.report.model import Fact, Strong, Text, Tone
from rlreport.report.series_words import (
    UNTOLD,
    capital,
    dose_words,
    label_of,
    ladder_of,
    lead_words,
    memory_words,
    ratio_words,
    rung_words,
    sweep_of,
)
from rlreport.report.words import THROUGHPUT_BADGES, metric_words, shown_estimate
from rlreport.run import format as fmt


def ladder_sentence(analysis: Analysis) -> Text:
    """What all rungs brought together, then which of them cannot be attributed."""
    ladder = ladder_of(analysis)
    first, last = (label_of(analysis, rung.run_id) for rung in (ladder.rungs[0], ladder.rungs[-1]))
    head = f"{capital(count_word(len(ladder.rungs)))} rungs, from {first} to {last}: "
    doubts = _doubts(ladder)
    return (head, *_total_words(ladder), *(f"; {doubt}" for doubt in doubts), ".")


def _total_words(ladder: Ladder) -> Text:
    total = ladder.total
    if total is None:
        return ("there is nothing to compare",)
    words = metric_words(total.metric)
    ratio = fmt.ratio(total.ratio, total.ci_low, total.ci_high)
    interval = f"95 % interval {fmt.ratio_interval(total.ci_low, total.ci_high)}"
    match total.verdict:
        case "improved" | "regressed":
            return (Strong(f"{ratio} the {words} in total"), f" ({interval})")
        case "equivalent":
            alike = f"equivalent within {fmt.percent(total.margin, 0)} in total"
            return (Strong(alike), f" ({ratio} {words}, {interval})")
        case "within-noise":
            return (Strong("less than what matters in total"), f" ({ratio} {words}, {interval})")
        case "inconclusive":
            return (Strong("no difference can be claimed in total"), f" ({ratio} {words}, {interval})")
        case "not-comparable":
            return (Strong("the last rung cannot be compared with the first"),)
        case "no-steady-state":
            return (Strong("no total"), ", because the first or the last rung never settles")
        case "insufficient-data":
            return (Strong("too little data for a total"),)


def _doubts(ladder: Ladder) -> list[str]:
    """One clause a rung, or for several rungs with the same doubt."""
    found: list[str] = []
    same: dict[str, list[int]] = {}
    for rung in ladder.changes:
        if rung.attribution == "several-classes":
            found.append(f"rung {rung.number} changes {count_word(len(rung.classes))} classes and cannot be attributed")
        elif rung.attribution is not None and rung.attribution in _DOUBTS:
            same.setdefault(rung.attribution, []).append(rung.number)
    return [*found, *(f"{rung_words(numbers)} {_DOUBTS[why]}" for why, numbers in same.items())]


#: What is said of rungs in the sentence, by attribution; the words go with one rung and with several.
_DOUBTS = {
    "undeclared": "moved what was not declared",
    "unknown": "changed in ways that are not known",
    "not-comparable": "cannot be compared with the rung before",
    "no-change": "changed nothing that is known",
}


def ladder_tone(analysis: Analysis) -> Tone:
    """The tone of the ladder's sentence, by the verdict of its total."""
    total = ladder_of(analysis).total
    return "plain" if total is None else THROUGHPUT_BADGES[total.verdict][1]


def ladder_facts(analysis: Analysis) -> tuple[Fact, ...]:
    """The strip of a ladder: throughput from first to last, what can be attributed, the Rollouters' lead, memory."""
    ladder = ladder_of(analysis)
    last = ladder.rungs[-1]
    found = [] if ladder.total is None else [_total_fact(ladder.total)]
    sure = sum(rung.attribution == "one-class" for rung in ladder.changes)
    missing = sum(len(rung.missing) for rung in ladder.changes)
    found.append(
        Fact(
            "Changes of one class, as declared",
            f"{sure} of {len(ladder.changes)}",
            f"{fmt.plural(missing, 'run is', 'runs are')} missing" if missing else "no run is missing",
        )
    )
    leads = [lead_words(rung.lead) for rung in ladder.rungs]
    known = any(lead != "unknown" for lead in leads)
    found.append(
        Fact(
            "Rollouters' lead",
            " → ".join(leads) if known else "unknown",
            "mini-batches, rung by rung" if known else "no queue and no staleness is logged",
        )
    )
    tokens, margin = ladder.budget.tokens, fmt.percent(last.headroom.margin, 0)
    note = f"budget up to {fmt.count(tokens)} tokens keeps {margin}" if tokens is not None else "no budget recommended"
    found.append(Fact("Memory free, last rung", memory_words(last.headroom), note))
    return tuple(found)


def _total_fact(total: RatioComparison) -> Fact:
    before, after = (shown_estimate(total.metric, side).estimate for side in (total.baseline, total.variant))
    return Fact(
        f"Throughput, {metric_words(total.metric)}",
        f"{fmt.scaled(before)} → {fmt.scaled(after)}",
        UNTOLD.get(total.verdict) or ratio_words(total),
    )


def sweep_sentence(analysis: Analysis) -> Text:
    """Where the response levels off and which dose is the candidate; or why the runs are no sweep."""
    sweep = sweep_of(analysis)
    if sweep.knob.problems:
        what = (
            f"These runs are no sweep of {sweep.knob.label}" if sweep.knob.label else "These runs are no sweep of one knob"
        )
        return (Strong(what), f": {fmt.join_words(sweep.knob.problems)}.")
    first, last = (dose_words(dose) for dose in (sweep.doses[0], sweep.doses[-1]))
    head = f"{capital(sweep.knob.label or 'the dose')} from {first} to {last}: "
    candidate, best = sweep.dose(sweep.candidate_id), sweep.dose(sweep.best_id)
    if candidate is None or best is None:
        return (head, Strong("no dose can be named"), f", since {_why_none(sweep)}.")
    shape = _shape_words(sweep, candidate, best)
    return (f"{head}throughput ", Strong(shape), *_candidate_words(sweep, candidate, best), ".")


def _shape_words(sweep: Sweep, candidate: Dose, best: Dose) -> str:
    match sweep.shape:
        case "levels-off":
            return f"stops rising at {dose_words(candidate)}"
        case "flat":
            return f"is alike within {fmt.percent(sweep.margin, 0)} at all doses"
        case "rising":
            still = "is higher at" if len(sweep.doses) == 2 else "still rises at the highest dose,"
            return f"{still} {dose_words(best)}"
        case "falling":
            return f"is higher at {dose_words(best)}" if len(sweep.doses) == 2 else f"falls from {dose_words(best)} on"
        case "peak":
            where = dose_words(best) if candidate is best else f"{dose_words(candidate)} to {dose_words(best)}"
            return f"is best at {where} and falls beyond"
        case _:
            return f"is highest at {dose_words(best)}, but where it levels off is not decided"


def _candidate_words(sweep: Sweep, candidate: Dose, best: Dose) -> Text:
    """The candidate with what it stands on; a dose that is the best of all needs no ratio."""
    against = "" if candidate is best else f": {ratio_words(candidate.to_best)} of the best, {dose_words(best)}"
    return (
        "; ",
        Strong(f"{dose_words(candidate)} is the candidate"),
        f", to be validated on your workload{against}",
    )


def _why_none(sweep: Sweep) -> str:
    if not sweep.knob.ordered:
        return f"the values of {sweep.knob.label} have no order"
    return "no dose has a steady state to compare"


def sweep_tone(analysis: Analysis) -> Tone:
    """The tone of the sweep's sentence: a warning where nothing is concluded, else plain."""
    sweep = sweep_of(analysis)
    if sweep.candidate_id is None:
        return "warn"
    return "plain" if sweep.shape in ("undecided", "unknown") else "good"


def sweep_facts(analysis: Analysis) -> tuple[Fact, ...]:
    """The strip of a sweep: the candidate, its throughput, waiting over the doses, and the reward's volatility."""
    sweep = sweep_of(analysis)
    candidate, best, first, last = (
        sweep.dose(sweep.candidate_id),
        sweep.dose(sweep.best_id),
        sweep.doses[0],
        sweep.doses[-1],
    )
    margin = fmt.percent(sweep.margin, 0)
    found = [
        Fact(
            "Candidate",
            "none" if candidate is None else dose_words(candidate),
            f"smallest dose not worse by more than {margin}" if candidate is not None else "nothing is concluded",
        )
    ]
    shown = candidate or best or last
    rate = shown_estimate(sweep.metric or "", shown.throughput)
    words = metric_words(sweep.metric) if sweep.metric else "throughput"
    against = "the best dose" if shown is best else f"{ratio_words(shown.to_best)} of the best"
    found.append(Fact(f"{capital(words)} at {dose_words(shown)}", fmt.estimate(rate), against if best else ""))
    waits = [fmt.number(dose.wait_s.estimate, 2) for dose in sweep.doses]
    level = sweep.dose(sweep.wait_levels_off)
    note = "s a step, by dose" if level is None else f"s a step; falls no further from {dose_words(level)} on"
    known = any(dose.wait_s.estimate is not None for dose in sweep.doses)
    found.append(Fact("Trainer waits", " → ".join(waits) if known else "unknown", note if known else "no timer of it"))
    ratio = last.volatility_ratio
    interval = "no interval" if ratio.ci_low is None else fmt.ratio_interval(ratio.ci_low, ratio.ci_high)
    value = "unknown" if ratio.estimate is None else fmt.ratio(ratio.estimate, ratio.ci_low, ratio.ci_high)
    ends = f"{dose_words(last)} over {dose_words(first)}"
    note = ends if ratio.estimate is None else f"{ends}; {interval}"
    found.append(Fact("Reward volatility", value, note))
    return tuple(found)
