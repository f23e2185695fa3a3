"""The steps of a tuning study in five sentences from the data: baseline, bottleneck, change, comparison, conclusion."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.chain import free_differences
from rlreport.comparators.results import QualityComparison, RatioComparison
from rlreport.comparators.time_split import largest_phase
from rlreport.findings.model import Finding
from rlreport.findings.rules import TRAINER_BOUND_WAIT, WAIT_WORTH_ACTING
from rlreport.report.model import Bullets, Section, Strong, Text
from rlreport.report.section_sweep import volatility_words
from rlreport.report.series_words import (
    STANDING_WORDS,
    capital,
    dose_words,
    has_steps,
    label_of,
    ladder_of,
    moved_words,
    ratio_words,
    rung_moves,
    rung_words,
    sweep_of,
)
from rlreport.report.words import CHANGE_BADGES, QUALITY_WORDS, STEADY_WORDS, metric_words, shown_estimate
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS
from rlreport.run.model import SEPARATED_MODES

#: Verdicts on a change under which a difference has no one cause.
_UNATTRIBUTED = ("confounded", "undeclared", "unknown")
_MOST_KNOBS = 4


def steps_section(analysis: Analysis, findings: Sequence[Finding]) -> Section | None:
    """Five short sentences made from results; None for a report that compares nothing, or published numbers only."""
    if not has_steps(analysis):
        return None
    baseline = analysis.runs[analysis.request.baseline]
    steps = (
        ("Baseline", _baseline(baseline)),
        ("Bottleneck", _bottleneck(baseline)),
        ("Change", _change(analysis)),
        ("Comparison", _comparison(analysis)),
        ("Conclusion", _conclusion(analysis, findings)),
    )
    items: tuple[Text, ...] = tuple((Strong(f"{name}."), f" {sentence}") for name, sentence in steps)
    return Section("steps", "The guide's steps", (Bullets(items),))


def _baseline(result: RunResult) -> str:
    run, steady, rate = result.run, result.steady_state, result.throughput
    on = f" on {fmt.plural(run.devices.total, 'device')}" if run.devices.total else ""
    if steady.n == 0:
        return f"{run.label}{on}: no steps in steady state, so nothing can be measured against it."
    if rate.tokens_per_s_per_device.estimate is not None:
        speed = f"{fmt.estimate(rate.tokens_per_s_per_device)} tokens/s per device"
    elif rate.tokens_per_s.estimate is not None:
        speed = f"{fmt.estimate(rate.tokens_per_s)} tokens/s"
    else:
        speed = f"{fmt.estimate(rate.steps_per_h)} steps/h"
    window = f"steps {steady.first_step} to {steady.last_step}"
    return f"{run.label}: {speed}{on}, {STEADY_WORDS[steady.steady_class]} over {window}."


def _bottleneck(result: RunResult) -> str:
    """Which side holds the other up, by waiting and idle time; the largest part of a step where no side is known."""
    largest = largest_phase(result.time_split)
    part = "" if largest is None else f"{METRICS[largest[0]].label} is the largest part of a step, {fmt.percent(largest[1])}"
    wait = result.time_split.fractions.get("time.wait_s")
    if result.run.mode not in SEPARATED_MODES or wait is None:
        return (
            f"{capital(part)}; which side waits for the other is not told." if part else "Where its time goes is not logged."
        )
    rollout = result.idle.rollout.fraction
    logged = "" if result.traced else ", as logged"
    idle = "their idle time is not logged" if rollout is None else f"they idle {fmt.percent(rollout)}{logged}"
    if wait >= WAIT_WORTH_ACTING:
        waits = f"The Trainer waits for samples during {fmt.percent(wait)} of a step"
        if result.idle.owner == "trainer":
            return f"{waits}: the Rollouters hold it up ({idle})."
        if rollout is not None and rollout >= WAIT_WORTH_ACTING:
            return f"{waits}, and the Rollouters idle {fmt.percent(rollout)}{logged}: both sides wait."
        return f"{waits}; whether the Rollouters are slow or paused is not known ({idle})."
    share = fmt.percent(wait)
    if wait < TRAINER_BOUND_WAIT:
        told = f"; {part}" if part else ""
        idles = "what idles are the Rollouters" if rollout is None else f"the Rollouters idle {fmt.percent(rollout)}{logged}"
        return f"The Trainer waits only {share} of a step, so it is the slower side: {idles}{told}."
    if rollout is None:
        return (
            f"The Trainer waits {share} of a step; the Rollouters' idle time is not logged, so the slower side is not known."
        )
    return f"The Trainer waits {share} of a step, and the Rollouters idle {fmt.percent(rollout)}{logged}."


def _change(analysis: Analysis) -> str:
    if analysis.request.kind == "ladder":
        rungs = ladder_of(analysis).changes
        told = [f"rung {rung.number} moves {fmt.join_words(rung_moves(rung)) or 'nothing that is known'}" for rung in rungs]
        return f"{capital('; '.join(told))}."
    if analysis.request.kind == "sweep":
        sweep = sweep_of(analysis)
        if sweep.knob.problems:
            return f"No single knob was dosed: {'; '.join(sweep.knob.problems)}."
        doses = fmt.join_words([dose_words(dose) for dose in sweep.doses])
        return f"{capital(sweep.knob.label or 'the knob')} was set to {doses}, and nothing else moved."
    told = [_pair_change(analysis, comparison) for comparison in analysis.comparisons]
    return f"{'; '.join(told)}."


def _pair_change(analysis: Analysis, comparison: ComparisonResult) -> str:
    change = comparison.change
    known = {difference.key for difference in free_differences(change)}
    moved = [moved_words(difference) for difference in change.short_list if difference.key in known]
    more = len(known) - _MOST_KNOBS
    words = [*moved[:_MOST_KNOBS], *([f"{more} more knobs"] if more > 0 else [])]
    what = fmt.join_words(words) or "nothing that is known"
    return f"From {label_of(analysis, comparison.baseline_id)} to {label_of(analysis, comparison.variant_id)}: {what} " + (
        f"({CHANGE_BADGES[change.verdict][0]})"
    )


def _comparison(analysis: Analysis) -> str:
    if analysis.request.kind == "ladder":
        return _ladder_comparison(analysis)
    if analysis.request.kind == "sweep":
        return _sweep_comparison(analysis)
    told = []
    for comparison in analysis.comparisons:
        headline = comparison.throughput.headline
        before, after = (shown_estimate(headline.metric, side) for side in (headline.baseline, headline.variant))
        told.append(
            f"{label_of(analysis, comparison.variant_id)}: {_ratio_sentence(headline)}, {fmt.scaled(before.estimate)} to "
            f"{fmt.scaled(after.estimate)}"
        )
    return f"{'; '.join(told)}."


def _ladder_comparison(analysis: Analysis) -> str:
    ladder = ladder_of(analysis)
    words = metric_words(ladder.metric) if ladder.metric else "throughput"
    told = [f"rung {rung.number} {_against(rung.ratio, 'the rung before')}" for rung in ladder.changes]
    return f"In {words}, {'; '.join(told)}; the last {_against(ladder.total, 'the first')}."


def _against(ratio: RatioComparison | None, what: str) -> str:
    if ratio is None or ratio.ratio is None:
        return f"has no ratio to {what}"
    return f"has {ratio_words(ratio)} of {what} ({ratio.verdict.replace('-', ' ')})"


def _sweep_comparison(analysis: Analysis) -> str:
    sweep = sweep_of(analysis)
    best = sweep.dose(sweep.best_id)
    if sweep.knob.problems:
        return "The runs differ in more than the dose, so their throughputs are not compared as those of doses."
    if best is None:
        return "No dose has a steady state to compare."
    words = metric_words(sweep.metric) if sweep.metric else "throughput"
    told = [
        f"{ratio_words(dose.to_best)} at {dose_words(dose)} ({STANDING_WORDS[dose.standing]})"
        for dose in sweep.doses
        if dose is not best
    ]
    return f"In {words}, {dose_words(best)} is highest; against it {fmt.join_words(told)}."


def _ratio_sentence(ratio: RatioComparison) -> str:
    words = metric_words(ratio.metric)
    return f"{ratio_words(ratio)} the {words} ({ratio.verdict.replace('-', ' ')})"


def _conclusion(analysis: Analysis, findings: Sequence[Finding]) -> str:
    if analysis.request.kind == "ladder":
        told = _ladder_conclusion(analysis)
    elif analysis.request.kind == "sweep":
        told = _sweep_conclusion(analysis)
    else:
        told = " ".join(_pair_conclusion(analysis, comparison) for comparison in analysis.comparisons)
    following = next((finding for finding in findings if finding.action is not None), None)
    if following is None:
        return told
    title = following.title.replace(": ", ", ")
    return f"{told} Next in sight, in {label_of(analysis, following.run_id)}: {title[0].lower()}{title[1:]}."


def _pair_conclusion(analysis: Analysis, comparison: ComparisonResult) -> str:
    who = f"{label_of(analysis, comparison.variant_id)}: " if len(analysis.comparisons) > 1 else ""
    verdict, change = comparison.throughput.headline.verdict, comparison.change.verdict
    if not comparison.comparable:
        return f"{who}nothing is concluded, since this is no fair pair." if who else "Nothing is concluded: no fair pair."
    judged = {
        "improved": "the data speak for the change",
        "regressed": "the data speak against the change",
        "equivalent": "the change makes no difference to throughput that matters",
        "within-noise": "the change makes a difference to throughput, but a smaller one than matters",
        "inconclusive": "the data do not decide; longer windows or a second run an arm would",
        "insufficient-data": "there is too little data to conclude anything",
        "no-steady-state": "without a steady state nothing is concluded",
    }[verdict]
    if change in _UNATTRIBUTED and verdict in ("improved", "regressed"):
        judged = "the difference is there, but it cannot be laid to the declared change alone"
    quality = _quality_words(comparison.quality) if verdict in ("improved", "within-noise", "equivalent") else ""
    sentence = f"{judged}{quality}."
    return f"{who}{sentence}" if who else capital(sentence)


def _quality_words(qualities: Sequence[QualityComparison]) -> str:
    """What the gain costs: the verdicts on reward and accuracy."""
    told = []
    for quality in qualities:
        if quality.metric not in ("quality.reward_mean", "quality.accuracy"):
            continue
        name = METRICS[quality.metric].label.split(",", maxsplit=1)[0]
        if quality.verdict in ("inconclusive", "insufficient-data"):
            told.append(f"that {name} is unchanged is not shown")
        else:
            margin = (
                "" if quality.margin is None or quality.verdict != "equivalent" else f" (±{fmt.number(quality.margin, 2)})"
            )
            told.append(f"{name} is {QUALITY_WORDS[quality.verdict]}{margin}")
    return f"; {fmt.join_words(told)}" if told else ""


def _ladder_conclusion(analysis: Analysis) -> str:
    ladder = ladder_of(analysis)
    verdict = None if ladder.total is None else ladder.total.verdict
    judged = {
        "improved": "Together the changes are worth keeping as far as throughput goes",
        "regressed": "Together the changes cost throughput",
        "equivalent": "Together the changes make no difference to throughput that matters",
        "within-noise": "Together the changes make a smaller difference to throughput than matters",
        "inconclusive": "The data do not decide what the changes bring together",
    }.get(verdict or "", "What the changes bring together cannot be said")
    doubtful = [rung.number for rung in ladder.changes if not rung.attributable]
    if not doubtful:
        return f"{judged}."
    missing = sum(len(rung.missing) for rung in ladder.changes)
    asks = f" until {fmt.plural(missing, 'missing run is', 'missing runs are')} made" if missing else ""
    return f"{judged}; how much of it {rung_words(doubtful)} brought to which class of knobs is not known{asks}."


def _sweep_conclusion(analysis: Analysis) -> str:
    sweep = sweep_of(analysis)
    candidate = sweep.dose(sweep.candidate_id)
    if candidate is None:
        return "No dose is a candidate."
    return f"{dose_words(candidate)} is the candidate, to be validated on your workload. {volatility_words(sweep)}."
