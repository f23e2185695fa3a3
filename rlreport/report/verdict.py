"""What stands first on the page: the verdict as a sentence, badges, the warning before any number, the strip."""

from __future__ import annotations

from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.results import ABSENT, RatioComparison
from rlreport.comparators.time_split import largest_phase
from rlreport.report.model import Badge, Callout, Fact, Strong, Text, Tone
from rlreport.report.verdict_series import (
    ladder_facts,
    ladder_sentence,
    ladder_tone,
    sweep_facts,
    sweep_sentence,
    sweep_tone,
)
from rlreport.report.verdict_summary import published_badges, published_facts, published_verdict
from rlreport.report.words import CHANGE_BADGES, QUALITY_WORDS, THROUGHPUT_BADGES, badge, metric_words
from rlreport.run import format as fmt
from rlreport.run.metrics import METRICS

#: Verdicts that a sentence tells with their ratio.
_CLAIMS = ("improved", "regressed", "equivalent", "within-noise", "inconclusive")


def verdict_sentence(analysis: Analysis) -> Text:
    """The verdict in one sentence; for several pairs one sentence each, in their order."""
    if analysis.published is not None and analysis.published.alone:
        return published_verdict(analysis.published)
    if analysis.ladder is not None:
        return ladder_sentence(analysis)
    if analysis.sweep is not None:
        return sweep_sentence(analysis)
    if not analysis.comparisons:
        return _profile_sentence(analysis.runs[analysis.request.baseline])
    if len(analysis.comparisons) == 1:
        return _pair_sentence(analysis, analysis.comparisons[0])
    text: Text = ()
    for comparison in analysis.comparisons:
        label = analysis.runs[comparison.variant_id].run.label
        headline = comparison.throughput.headline
        if headline.verdict in _CLAIMS:
            ratio = fmt.ratio(headline.ratio, headline.ci_low, headline.ci_high)
            interval = fmt.ratio_interval(headline.ci_low, headline.ci_high)
            told: Text = (
                f"{label}: ",
                Strong(f"{ratio} {metric_words(headline.metric)}"),
                f" ({headline.verdict}, {interval})",
            )
        else:
            told = (f"{label}: ", Strong(headline.verdict.replace("-", " ")))
        text = (*text, *("; ",) * bool(text), *told)
    return (*text, ".")


def verdict_tone(analysis: Analysis) -> Tone:
    """The tone of the sentence's emphasis, by the worst of its verdicts; a profile's is plain."""
    if analysis.ladder is not None:
        return ladder_tone(analysis)
    if analysis.sweep is not None:
        return sweep_tone(analysis)
    tones = [THROUGHPUT_BADGES[comparison.throughput.headline.verdict][1] for comparison in analysis.comparisons]
    for tone in ("bad", "warn", "good"):
        if tone in tones:
            return tone
    return "plain"


def _profile_sentence(result: RunResult) -> Text:
    rate = result.throughput.tokens_per_s
    devices = result.run.devices.total
    if result.traced and not len(result.run.steps):
        return (
            Strong("A trace alone"),
            ": what devices did is shown, and no step is logged, so nothing can be said of speed.",
        )
    if result.steady_state.n == 0:
        return (
            "Too little data for a claim: ",
            fmt.plural(len(result.run.trained_steps), "step"),
            " with a time, none in steady state.",
        )
    largest = largest_phase(result.time_split)
    over = f" over {fmt.plural(devices, 'device')}" if devices else " (device count unknown)"
    speed = f"{fmt.scaled(rate.estimate)} tokens/s{over}" if rate.estimate is not None else "tokens/s unknown"
    if largest is None:
        return ("The run trains at ", Strong(speed), "; where its time goes is not logged.")
    phase, share = largest
    label = METRICS[phase].label
    return (
        Strong(f"{label[0].upper()}{label[1:]} is the largest part of a step: {fmt.percent(share)}"),
        f". The run trains at {speed}.",
    )


def _pair_sentence(analysis: Analysis, comparison: ComparisonResult) -> Text:
    baseline = analysis.runs[comparison.baseline_id].run.label
    variant = analysis.runs[comparison.variant_id].run.label
    headline = comparison.throughput.headline
    words = metric_words(headline.metric)
    ratio = fmt.ratio(headline.ratio, headline.ci_low, headline.ci_high)
    interval = fmt.ratio_interval(headline.ci_low, headline.ci_high)
    match headline.verdict:
        case "not-comparable":
            return (Strong("These two runs cannot be compared"), f": {fmt.join_words(comparison.change.blocking)}.")
        case "insufficient-data":
            fewer = min(headline.n_baseline, headline.n_variant)
            if not fewer and any(
                not len(analysis.runs[run_id].run.steps) for run_id in (comparison.baseline_id, comparison.variant_id)
            ):
                return (Strong("No claim on speed"), ": at least one arm has no log, and a trace alone says nothing of it.")
            return (Strong("Too little data for a claim"), f": one arm has only {fmt.plural(fewer, 'usable step')}.")
        case "no-steady-state":
            return (Strong("No steady state"), ": at least one run never settles, so no throughput can be claimed for it.")
        case "improved" | "regressed":
            return (
                f"{variant} gives ",
                Strong(f"{ratio} the {words}"),
                f" of {baseline} (95 % interval {interval})",
                *_total_clause(comparison),
                ".",
            )
        case "equivalent":
            return (
                f"{variant} and {baseline} are ",
                Strong(f"equivalent within {fmt.percent(headline.margin, 0)}"),
                f" in {words}: {ratio} (95 % interval {interval})",
                *_total_clause(comparison),
                ".",
            )
        case "within-noise":
            return (
                f"{variant} differs from {baseline} by ",
                Strong("less than what matters"),
                f": {ratio} {words} (95 % interval {interval}, margin {fmt.percent(headline.margin, 0)}).",
            )
        case "inconclusive":
            return (
                Strong("No difference can be claimed"),
                f" between {variant} and {baseline}: {ratio} {words} (95 % interval {interval}).",
            )


def _total_clause(comparison: ComparisonResult) -> Text:
    """Beside a per-device headline, what happened to the throughput of all devices together, where that is known."""
    total = _other(comparison, "tokens_per_s")
    if comparison.throughput.headline.metric != "tokens_per_s_per_device" or total is None or total.ratio is None:
        return ()
    if total.ratio == comparison.throughput.headline.ratio:
        return ()
    told = {"equivalent": "at the same tokens/s in total", "within-noise": "at the same tokens/s in total"}
    words = told.get(total.verdict, "with a different tokens/s in total")
    return (f", {words} ({fmt.ratio(total.ratio, total.ci_low, total.ci_high)})",)


def _other(comparison: ComparisonResult, metric: str) -> RatioComparison | None:
    return next((other for other in comparison.throughput.others if other.metric == metric), None)


def badges(analysis: Analysis) -> tuple[Badge, ...]:
    """Short judgements: throughput, change, quality, what the data can show."""
    if analysis.published is not None and analysis.published.alone:
        return published_badges(analysis.published)
    found: list[Badge] = []
    many = len(analysis.comparisons) > 1
    for comparison in analysis.comparisons:
        who = analysis.runs[comparison.variant_id].run.label if many else ""
        found.append(badge(THROUGHPUT_BADGES[comparison.throughput.headline.verdict], who))
        found.append(badge(CHANGE_BADGES[comparison.change.verdict], fmt.join_words(comparison.change.classes)))
        if comparison.change.partial:
            found.append(Badge("configuration known in part", "warn"))
        for quality in comparison.quality:
            if (
                quality.metric == "quality.reward_mean"
                and quality.verdict != "not-comparable"
                and quality.margin is not None
            ):
                margin = "" if quality.margin is None else f" within ±{fmt.number(quality.margin, 2)}"
                found.append(
                    Badge(f"reward {QUALITY_WORDS[quality.verdict]}{margin if quality.verdict == 'equivalent' else ''}")
                )
    for comparison in analysis.comparisons:
        horizon = comparison.course.horizon
        if horizon is not None and horizon.agreement == "differ":
            found.append(Badge("ratio depends on the horizon", "warn"))
    if analysis.comparisons and all(comparison.replicated is None for comparison in analysis.comparisons):
        found.append(Badge("one run an arm", "warn"))
    for result in analysis.runs.values():
        used, logged = result.steady_state.n, len(result.run.steps)
        prefix = f"{result.run.label}: " if len(analysis.runs) > 1 else ""
        found.append(Badge(f"{prefix}{used:,} of {fmt.plural(logged, 'step')} used"))
    return tuple(dict.fromkeys(found))


def warning(analysis: Analysis) -> Callout | None:
    """What must be read before any number: why runs cannot be compared, or why a difference cannot be attributed."""
    items: list[Text] = []
    title, blocked = "", False
    for comparison in analysis.comparisons:
        names = f"{analysis.runs[comparison.variant_id].run.label} against {analysis.runs[comparison.baseline_id].run.label}"
        prefix: Text = (f"{names}: ",) if len(analysis.comparisons) > 1 else ()
        if comparison.change.blocking:
            blocked = True
            items.extend((*prefix, _sentence(reason)) for reason in comparison.change.blocking)
            items.extend((*prefix, sentence) for sentence in _moved_besides(comparison))
        elif comparison.change.verdict in ("confounded", "undeclared", "unknown"):
            items.append((*prefix, _unattributed(comparison)))
    if blocked:
        title = "Not a fair pair: whatever differs below cannot be laid to one change"
    elif items:
        title = "A difference below cannot be attributed to the declared change alone"
    return Callout(title, "bad" if blocked else "warn", tuple(items)) if items else None


def _moved_besides(comparison: ComparisonResult) -> list[str]:
    """The other differences that a reader must know, in one sentence: the most important ones by name and values."""
    fixed = {"workload", "algorithm", "environment"}
    besides = [
        f"{difference.label} ({fmt.config_value(difference.baseline)} against {fmt.config_value(difference.variant)})"
        for difference in comparison.change.short_list
        if difference.knob_class not in fixed
        and difference.coupled_by is None
        and difference.waived is None
        and ABSENT not in (difference.baseline, difference.variant)
    ]
    return [f"Moved besides: {fmt.join_words(besides[:4])}."] if besides else []


def _unattributed(comparison: ComparisonResult) -> str:
    change = comparison.change
    if change.verdict == "confounded":
        moved = fmt.join_words(change.classes)
        return f"More than one class of knobs moved: {moved}. A run that changes one of them alone is missing."
    if change.verdict == "unknown":
        return "The configuration of at least one run is not known, so what else changed cannot be told."
    undeclared = [
        difference.label for difference in change.differences if not difference.declared and difference.waived is None
    ]
    return f"Something moved that was not declared: {fmt.join_words(undeclared[:6])}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text and not text.endswith(".") else text


def facts(analysis: Analysis) -> tuple[Fact, ...]:
    """The strip of four: for a pair before and after, for a profile the run's own numbers."""
    if analysis.published is not None and analysis.published.alone:
        return published_facts(analysis.published)
    if analysis.ladder is not None:
        return ladder_facts(analysis)
    if analysis.sweep is not None:
        return sweep_facts(analysis)
    if len(analysis.comparisons) == 1:
        return _pair_facts(analysis, analysis.comparisons[0])
    if not analysis.comparisons:
        return _profile_facts(analysis.runs[analysis.request.baseline])
    return ()


def _pair_facts(analysis: Analysis, comparison: ComparisonResult) -> tuple[Fact, ...]:
    baseline, variant = analysis.runs[comparison.baseline_id], analysis.runs[comparison.variant_id]
    headline = comparison.throughput.headline
    found = [
        Fact(
            f"Throughput, {metric_words(headline.metric)}",
            _arrow(fmt.scaled(headline.baseline.estimate), fmt.scaled(headline.variant.estimate)),
            f"steps used {headline.n_baseline} and {headline.n_variant}; effective "
            f"{fmt.count(headline.n_effective_baseline)} and {fmt.count(headline.n_effective_variant)}",
        )
    ]
    total = _other(comparison, "tokens_per_s")
    if headline.metric == "tokens_per_s_per_device" and total is not None:
        found.append(
            Fact(
                "Tokens/s, all devices",
                _arrow(fmt.scaled(total.baseline.estimate), fmt.scaled(total.variant.estimate)),
                f"{_devices(baseline)} → {_devices(variant)} devices",
            )
        )
    largest = largest_phase(variant.time_split)
    if largest is not None:
        phase = largest[0]
        found.append(
            Fact(
                f"Largest part of a step: {METRICS[phase].label}",
                _arrow(fmt.percent(baseline.time_split.fractions.get(phase)), fmt.percent(largest[1])),
                _idle_note(variant),
            )
        )
    detectable = headline.minimum_detectable_ratio
    found.append(
        Fact(
            "Smallest effect visible",
            fmt.UNKNOWN if detectable is None else f"±{fmt.percent(detectable - 1)}",
            f"margin that matters ±{fmt.percent(headline.margin, 0)}",
        )
    )
    return tuple(found)


def _profile_facts(result: RunResult) -> tuple[Fact, ...]:
    devices, steady = result.run.devices, result.steady_state
    found = [
        Fact(
            "Tokens/s per device",
            fmt.estimate(result.throughput.tokens_per_s_per_device),
            f"steps used {steady.n}; effective {fmt.count(steady.n_effective)}",
        ),
        Fact("Tokens/s, all devices", fmt.estimate(result.throughput.tokens_per_s), _device_note(result)),
        Fact(
            "Time of a step",
            fmt.seconds(result.time_split.step_s),
            f"{fmt.number(result.throughput.steps_per_h.estimate)} steps/h",
        ),
    ]
    wait = result.time_split.fractions.get("time.wait_s")
    if wait is not None:
        found.append(Fact("Trainer waits", fmt.percent(wait), _idle_note(result)))
    elif devices.hybrid:
        found.append(Fact("Trainer and Rollouters", "same devices", "training and generation take turns"))
    return tuple(found)


def _idle_note(result: RunResult) -> str:
    rollout = result.idle.rollout.fraction
    if result.idle.owner == "neither" and result.idle.trainer.fraction is None:
        return "one set of devices: neither side waits"
    if rollout is None:
        return "Rollouter idle: unknown"
    return f"Rollouters idle {fmt.percent(rollout)}{'' if result.traced else ', as logged'}"


def _device_note(result: RunResult) -> str:
    devices = result.run.devices
    if devices.total is None:
        return "device count unknown"
    if devices.rollout:
        return f"{devices.trainer} Trainer + {devices.rollout} Rollouter devices"
    return fmt.plural(devices.total, "device")


def _devices(result: RunResult) -> str:
    return fmt.count(result.run.devices.total)


def _arrow(before: str, after: str) -> str:
    return f"{before} → {after}"
