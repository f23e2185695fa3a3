"""Traps of pairs in published tables: speed-ups that hold for one horizon or one way of counting, and changes unseen."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.summary import PublishedRun, SpeedUp, SummaryComparison
from rlreport.comparators.summary_trap import Case, Trap, pair_words, speed_ups, spread, trap_of
from rlreport.run.format import count, duration, join_words, number, plural, ratio, scaled, signed_percent
from rlreport.run.knobs import InertPart, matches, plain_value
from rlreport.run.summary import CLAIM, TOKENS

#: Two ways to tell one speed-up disagree when they differ by more than this fraction.
DISAGREEMENT = 0.05


def horizon(_runs: Sequence[PublishedRun], pairs: Sequence[SummaryComparison]) -> Trap | None:
    """The speed-up of one pair depends on how many steps it is taken over."""
    cases = []
    for pair in pairs:
        if len(pair.cumulative) < 2 or spread(pair.ratios) <= DISAGREEMENT:
            continue
        ends = join_words([count(found.to_step) for found in pair.cumulative])
        sentence = (
            f"{pair_words(pair)}: {speed_ups(pair.cumulative)} from the start, over {ends} steps; by window "
            f"{speed_ups(pair.windows)}."
        )
        cases.append(Case(sentence, (pair.baseline, pair.variant)))
    return trap_of(
        cases,
        "horizon",
        "One pair, several speed-ups: no single number describes it",
        "Both runs change their pace in the course of training, each in its own way. A speed-up is a number only together "
        "with its steps.",
        "step times of both runs over all steps, to see what happens in the windows that differ",
    )


def less_work(_runs: Sequence[PublishedRun], pairs: Sequence[SummaryComparison]) -> Trap | None:
    """Time fell by more, or by less, than tokens a second rose: the steps hold other work."""
    cases = []
    for pair in pairs:
        timed = pair.step or (pair.cumulative[-1] if pair.cumulative else None)
        if timed is None or timed.ratio is None or not pair.rate or spread((timed.ratio, pair.rate)) <= DISAGREEMENT:
            continue
        said = [
            f"{pair_words(pair)}: time {signed_percent(timed.variant_s / timed.baseline_s - 1)}, a speed-up of "
            f"{ratio(timed.ratio)}, but tokens/s {signed_percent(pair.rate - 1)}, {ratio(pair.rate)}"
        ]
        before, after = pair.baseline.value(TOKENS), pair.variant.value(TOKENS)
        if before and after:
            change = signed_percent(after / before - 1)
            said.append(f"a step holds {scaled(after)} tokens instead of {scaled(before)} ({change})")
        said += _moved_words(pair)
        cases.append(Case(f"{'; '.join(said)}.", (pair.baseline, pair.variant)))
    return trap_of(
        cases,
        "less-work",
        "Time saved is not throughput gained",
        "A step that holds other work takes another time. Only work over time compares two runs whose steps differ.",
        "tokens and time of each step of both runs, with one knob moved at a time",
    )


def _moved_words(pair: SummaryComparison) -> list[str]:
    """How many knobs moved, where it is more than one, and how many more are given for one run only."""
    moved = sum(difference.waived is None for difference in pair.change.differences)
    one_sided = len(pair.baseline.run.config.keys() ^ pair.variant.run.config.keys())
    if moved + one_sided < 2:
        return []
    more = f", and {count(one_sided)} more are given for one run only" if one_sided else ""
    return [f"{plural(moved, 'knob')} moved at once{more}"]


def changed_in_effect(_runs: Sequence[PublishedRun], pairs: Sequence[SummaryComparison]) -> Trap | None:
    """A knob with one value on both sides that acts on one side only: it changed, and no diff shows it."""
    acting_in: dict[tuple[str, str], list[PublishedRun]] = {}
    idle_in: dict[tuple[str, str], PublishedRun] = {}
    for pair in pairs:
        for part in pair.baseline.run.knob_rules.inert:
            asleep = [_sleeps(part, run) for run in (pair.baseline, pair.variant)]
            if set(asleep) != {True, False}:
                continue
            idle, acting = (pair.baseline, pair.variant) if asleep[0] else (pair.variant, pair.baseline)
            for key in _same_keys(part, idle, acting):
                words = _effect_words(part, key, idle)
                idle_in[words] = idle
                acting_in.setdefault(words, []).append(acting)
    cases = []
    for words, runs in acting_in.items():
        labels = join_words(list(dict.fromkeys(run.label for run in runs)))
        cases.append(Case(f"{words[0]} {labels} {words[1]}", (idle_in[words], *runs)))
    return trap_of(
        cases,
        "changed-in-effect",
        "A second knob changed in effect",
        "Its value is the same on both sides, but on one side another setting switches it off. What differs between the "
        "runs is the effect of both knobs, and no comparison of configurations shows it.",
        "a run with the new value of the first knob and the second one off",
    )


def _sleeps(part: InertPart, run: PublishedRun) -> bool | None:
    """Whether a part does nothing in a run; None where the configuration does not tell."""
    values = {key: plain_value(found.value) for key, found in run.run.config.items()}
    if any(condition.key not in values for condition in part.conditions):
        return None
    return part.sleeps(values, run.run.mode)


def _same_keys(part: InertPart, idle: PublishedRun, acting: PublishedRun) -> list[str]:
    """The keys of a part that both configurations have, with one value."""
    left, right = idle.run, acting.run
    common = sorted(left.config.keys() & right.config.keys())
    return [key for key in common if _covers(part, key) and plain_value(left.value(key)) == plain_value(right.value(key))]


def _covers(part: InertPart, key: str) -> bool:
    return any(matches(pattern, key) for pattern in part.patterns)


def _effect_words(part: InertPart, key: str, idle: PublishedRun) -> tuple[str, str]:
    """What is said of a key before and after the labels of the runs in which it acts."""
    why = join_words([f"{condition.key} is {idle.run.value(condition.key)}" for condition in part.conditions])
    label = idle.run.knob_rules.knob(key).label
    before = f"{label[0].upper()}{label[1:]} ({key} = {idle.run.value(key)}) acts in"
    return before, f"and does nothing in {idle.label}, where {why}."


def step_and_total(_runs: Sequence[PublishedRun], pairs: Sequence[SummaryComparison]) -> Trap | None:
    """The mean step time gives one speed-up, the total time another."""
    cases = []
    for pair in pairs:
        step, whole = pair.step, pair.cumulative[-1] if pair.cumulative else None
        if step is None or whole is None or step.ratio is None or whole.ratio is None:
            continue
        if spread((step.ratio, whole.ratio)) <= DISAGREEMENT:
            continue
        sentence = (
            f"{pair_words(pair)}: {ratio(step.ratio)} by the mean step time ({number(step.baseline_s)} s against "
            f"{number(step.variant_s)} s), {ratio(whole.ratio)} by the total time ({duration(whole.baseline_s)} against "
            f"{duration(whole.variant_s)})."
        )
        cases.append(Case(sentence, (pair.baseline, pair.variant)))
    return trap_of(
        cases,
        "step-and-total",
        "Step time and total time tell different speed-ups",
        "The total holds what a step does not (validation, checkpoints, start-up), or the two were taken over different "
        "steps. The total is what a user waits for.",
        "the time outside of the steps, and the steps of each mean",
    )


def claimed(_runs: Sequence[PublishedRun], pairs: Sequence[SummaryComparison]) -> Trap | None:
    """The author's own speed-up is not what the author's total times give."""
    cases = []
    for pair in pairs:
        by_horizon = {found.to_step: found for found in pair.cumulative}
        for claim in pair.variant.run.summaries:
            found = by_horizon.get(claim.to_step) if claim.quantity == CLAIM else None
            if found is None or found.ratio is None:
                continue
            if abs(claim.value - found.ratio) <= claim.resolution / 2 + found.ratio * _rounding(pair, found):
                continue
            over = "" if claim.to_step is None else f" over {count(claim.to_step)} steps"
            sentence = (
                f"{pair_words(pair)}{over}: {signed_percent(claim.value - 1, 0)} is claimed; {duration(found.baseline_s)} "
                f"over {duration(found.variant_s)} is {ratio(found.ratio, found.ratio, found.ratio)}, "
                f"{signed_percent(found.ratio - 1)}."
            )
            cases.append(Case(sentence, (pair.baseline, pair.variant)))
    return trap_of(
        cases,
        "claimed",
        "A published speed-up that its own times do not give",
        "Ratio and times stand in one row and disagree by more than rounding. What is computed here uses the times.",
        "how the ratio was computed",
    )


def _rounding(pair: SummaryComparison, found: SpeedUp) -> float:
    """The largest relative error of a ratio that the rounding of its two times can make."""
    totals = [total for run in (pair.baseline, pair.variant) for total in run.totals if total.to_step == found.to_step]
    return sum(total.resolution / 2 / total.value for total in totals if total.value)
