"""The head of a page of published numbers, and what report.json holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rlreport.comparators.results import ThroughputVerdict
from rlreport.comparators.summary import REASON, PublishedRun, SpeedUp, SummaryComparison, SummaryStudy
from rlreport.comparators.summary_pair_traps import DISAGREEMENT
from rlreport.comparators.summary_trap import spread
from rlreport.report.model import Badge, Fact, Strong, Text
from rlreport.report.section_summary import pair_label
from rlreport.report.words import CHANGE_BADGES, THROUGHPUT_BADGES, badge
from rlreport.run import format as fmt
from rlreport.run.summary import BEST_ACCURACY, LAST_ACCURACY


def published_verdict(study: SummaryStudy) -> Text:
    """The verdict in a few sentences: that nothing is claimed and why, and which ratios the numbers give."""
    claim = (Strong("No claim can be made"), f" ({REASON}).")
    if not study.comparisons:
        labels = fmt.join_words([run.label for run in study.runs.values()])
        return (*claim, f" What is published of {labels} stands below.")
    blocked = [reason for pair in study.comparisons for reason in pair.change.blocking]
    if blocked:
        claim = (Strong("These runs cannot be compared"), f": {fmt.join_words(list(dict.fromkeys(blocked)))}.")
    names = fmt.join_words([pair_label(study, pair) for pair in study.comparisons])
    baselines = {pair.baseline.label for pair in study.comparisons}
    start = f" Against {baselines.pop()}, the numbers of {names}" if len(baselines) == 1 else f" The numbers of {names}"
    told = _told(study.comparisons)
    numbers = f"{start} {f'give {fmt.join_words(told)}' if told else 'have no quantity in common'}."
    wide = any(len(pair.cumulative) > 1 and spread(pair.ratios) > DISAGREEMENT for pair in study.comparisons)
    what = "this pair" if len(study.comparisons) == 1 else "these pairs"
    return (*claim, numbers, *((" ", Strong(f"No single number describes {what}.")) if wide else ()))


def _told(pairs: Sequence[SummaryComparison]) -> list[str]:
    """The ratios that all pairs have, in words: by total time, by window, by tokens/s; by step time where no total is."""
    told = []
    if all(pair.cumulative for pair in pairs):
        last = pairs[0].cumulative[-1].to_step
        over = "" if last is None else f" over {fmt.count(last)} steps"
        told.append(f"{_listed([pair.cumulative[-1].ratio for pair in pairs])} by total time{over}")
        if all(len(pair.windows) > 1 for pair in pairs):
            told.append(f"{fmt.join_words([_span(pair.windows) for pair in pairs])} by window")
    elif all(pair.step is not None for pair in pairs):
        told.append(f"{_listed([pair.step.ratio for pair in pairs if pair.step is not None])} by mean step time")
    if all(pair.rate is not None for pair in pairs):
        told.append(f"{_listed([pair.rate for pair in pairs])} by tokens/s")
    return told


def _listed(ratios: Sequence[float | None]) -> str:
    return fmt.join_words([fmt.ratio(ratio) for ratio in ratios])


def _span(found: Sequence[SpeedUp]) -> str:
    """The smallest and the largest speed-up."""
    ratios = _known(found)
    return f"{fmt.ratio(min(ratios))} to {fmt.ratio(max(ratios))}" if ratios else fmt.UNKNOWN


def _known(found: Sequence[SpeedUp]) -> list[float]:
    return [one.ratio for one in found if one.ratio is not None]


def published_badges(study: SummaryStudy) -> tuple[Badge, ...]:
    """What the data can show, and what changed."""
    found = [Badge("published numbers only", "warn"), Badge("no interval", "warn")]
    many = len(study.comparisons) > 1
    for pair in study.comparisons:
        verdict: ThroughputVerdict = pair.verdict
        who = pair.variant.label if many else ""
        found.append(badge(THROUGHPUT_BADGES[verdict], who))
        found.append(badge(CHANGE_BADGES[pair.change.verdict], fmt.join_words(pair.change.classes)))
    if study.traps:
        found.append(Badge(fmt.plural(len(study.traps), "trap in these numbers", "traps in these numbers"), "warn"))
    return tuple(dict.fromkeys(found))


def published_facts(study: SummaryStudy) -> tuple[Fact, ...]:
    """The strip of four for one pair: total time, windows, rate or step time, accuracy; nothing for several pairs."""
    if len(study.comparisons) != 1:
        return ()
    pair = study.comparisons[0]
    found: list[Fact] = []
    if pair.cumulative:
        last = pair.cumulative[-1]
        over = "" if last.to_step is None else f", {fmt.count(last.to_step)} steps"
        times = f"{_arrow(fmt.number(last.baseline_s / 3600), fmt.number(last.variant_s / 3600))} h"
        found.append(Fact(f"Total time{over}", times, f"{fmt.ratio(last.ratio)}, no interval"))
    if len(pair.windows) > 1:
        found.append(Fact("Speed-up by window", _span(pair.windows), fmt.plural(len(pair.windows), "window")))
    if pair.step is not None:
        times = _arrow(fmt.seconds(pair.step.baseline_s), fmt.seconds(pair.step.variant_s))
        found.append(Fact("Mean step time", times, f"{fmt.ratio(pair.step.ratio)}, no interval"))
    if pair.rate is not None:
        rates = _arrow(fmt.scaled(pair.baseline.tokens_per_s), fmt.scaled(pair.variant.tokens_per_s))
        found.append(Fact("Tokens/s", rates, f"{fmt.ratio(pair.rate)}, no interval"))
    accuracies = [_accuracy(run) for run in (pair.baseline, pair.variant)]
    if all(accuracies):
        best = [fmt.number(run.value(BEST_ACCURACY)) for run in (pair.baseline, pair.variant)]
        note = "" if fmt.UNKNOWN in best else f"best {fmt.join_words(best)}"
        found.append(Fact("Accuracy, last", _arrow(accuracies[0], accuracies[1]), note))
    return tuple(found[:4])


def _accuracy(run: PublishedRun) -> str:
    last = run.value(LAST_ACCURACY)
    return "" if last is None else fmt.number(last)


def _arrow(before: str, after: str) -> str:
    return f"{before} → {after}"


def published_data(study: SummaryStudy) -> dict[str, Any]:
    """The study as JSON data: every number with its source, every speed-up with its steps; intervals are null throughout."""
    return {
        "reason": REASON,
        "runs": {run_id: [asdict(result) for result in run.run.summaries] for run_id, run in study.runs.items()},
        "implied": {
            run_id: {"step_s": run.implied_step_s, "tokens": run.implied_tokens, "devices": run.implied_devices}
            for run_id, run in study.runs.items()
        },
        "comparisons": [_pair(pair) for pair in study.comparisons],
        "traps": [asdict(trap) for trap in study.traps],
    }


def _pair(pair: SummaryComparison) -> dict[str, Any]:
    return {
        "baseline": pair.baseline.run.run_id,
        "variant": pair.variant.run.run_id,
        "verdict": pair.verdict,
        "reason": pair.reason,
        "step": None if pair.step is None else _speed_up(pair.step),
        "cumulative": [_speed_up(found) for found in pair.cumulative],
        "windows": [_speed_up(found) for found in pair.windows],
        "tokens_per_s": {
            "baseline": pair.baseline.tokens_per_s,
            "variant": pair.variant.tokens_per_s,
            "ratio": pair.rate,
            "ci_low": None,
            "ci_high": None,
        },
    }


def _speed_up(found: SpeedUp) -> dict[str, Any]:
    return {
        "from_step": found.from_step,
        "to_step": found.to_step,
        "baseline_s": found.baseline_s,
        "variant_s": found.variant_s,
        "ratio": found.ratio,
        "ci_low": None,
        "ci_high": None,
    }
