"""Traps within the rows of a published table: numbers of one run, or of two rows, that cannot stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rlreport.comparators.summary import PublishedRun, SummaryComparison
from rlreport.comparators.summary_trap import Case, Trap, given, trap_of
from rlreport.run.format import count, duration, join_words, number, scaled, signed_percent
from rlreport.run.metrics import METRICS, PHASES
from rlreport.run.summary import BEST_ACCURACY, LAST_ACCURACY, LENGTH, STEP_TIME, Summary

#: The best evaluation is told apart from the last one when it is larger by more than this.
ACCURACY_GAP = 0.01
#: Horizons at which totals must agree before two rows are taken for one run.
FEWEST_REPEATED = 2

_OUTSIDE = ("time.other_s", "time.validate_s", "time.checkpoint_s")
#: Parts that follow each other on the Trainer, so that together they fit into its step.
_SEQUENTIAL = tuple(phase for phase in PHASES if phase not in _OUTSIDE)


def step_below_parts(runs: Sequence[PublishedRun], _pairs: Sequence[SummaryComparison]) -> Trap | None:
    """A step that is shorter than one of its own parts, or than all that follow each other in it."""
    cases = []
    for run in runs:
        step = run.find(STEP_TIME)
        parts = [part for phase in _SEQUENTIAL if (part := run.find(phase)) is not None]
        if step is None or not parts:
            continue
        longest, together = max(parts, key=lambda part: part.value), sum(part.value for part in parts)
        said = f"{run.label}: a step is said to take {given(step)}, its"
        if _exceeds(longest.value, step, [longest]):
            sentence = f"{said} {METRICS[longest.quantity].label} alone {given(longest)}."
        elif _exceeds(together, step, parts):
            named = join_words([f"{METRICS[part.quantity].label} {given(part)}" for part in parts])
            sentence = f"{said} parts together {number(together, 5)} s ({named})."
        else:
            continue
        cases.append(Case(sentence, (run,)))
    return trap_of(
        cases,
        "step-below-parts",
        "A step shorter than its own parts",
        "These parts follow each other within a step, so their means and the step's were taken over different steps. No "
        "window of the run is described by such a row.",
        "the steps over which each mean was taken",
    )


def _exceeds(value: float, step: Summary, parts: Sequence[Summary]) -> bool:
    """Whether a part or a sum of parts is longer than the step by more than rounding."""
    return value > step.value + (step.resolution + sum(part.resolution for part in parts)) / 2


def repeated_totals(runs: Sequence[PublishedRun], _pairs: Sequence[SummaryComparison]) -> Trap | None:
    """Two rows with the same total times and different step times."""
    cases = []
    for one, other in combinations(runs, 2):
        times = [{total.to_step: total.value for total in run.totals if total.to_step} for run in (one, other)]
        common = sorted(times[0].keys() & times[1].keys())
        steps = one.find(STEP_TIME), other.find(STEP_TIME)
        if len(common) < FEWEST_REPEATED or any(times[0][step] != times[1][step] for step in common):
            continue
        if steps[0] is None or steps[1] is None or steps[0].value == steps[1].value:
            continue
        both = times[0] | times[1]
        ends = sorted({max(times[0]), max(times[1])})
        implied = join_words([f"{number(both[end] / end, 4)} s a step over {count(end)} steps" for end in ends])
        sentence = (
            f"{one.label} and {other.label} both took {join_words([duration(both[step]) for step in common])} to steps "
            f"{join_words([count(step) for step in common])}, yet a step is said to take {given(steps[0])} in one and "
            f"{given(steps[1])} in the other. The totals give {implied}."
        )
        cases.append(Case(sentence, (one, other)))
    return trap_of(
        cases,
        "repeated-totals",
        "The totals of another row repeated",
        "Two runs do not take the same time to the minute at every horizon: this is one run shown twice, or a row filled in "
        "from another. Its step times were taken over different steps, so setting the two rows against each other compares "
        "windows, not settings.",
        "which run each row is, and over which steps its mean was taken",
    )


def best_for_last(runs: Sequence[PublishedRun], _pairs: Sequence[SummaryComparison]) -> Trap | None:
    """The best of many evaluations is told where the last ones say what was reached."""
    cases = []
    for run in runs:
        best, last = run.find(BEST_ACCURACY), run.find(LAST_ACCURACY)
        if best is None or (last is not None and best.value - last.value <= ACCURACY_GAP):
            continue
        sentence = (
            f"{run.label}: best {given(best)}, {'the last one is not given' if last is None else f'last {given(last)}'}."
        )
        cases.append(Case(sentence, (run,)))
    return trap_of(
        cases,
        "best-for-last",
        "The best evaluation is not what training reached",
        "The largest of many noisy evaluations grows with their number, and a run that has become worse since keeps it. The "
        "mean of the last few evaluations says where a run stands.",
        "all evaluations of each run, for the mean of the last ones and its error",
    )


def fewest_hours(runs: Sequence[PublishedRun], _pairs: Sequence[SummaryComparison]) -> Trap | None:
    """The run with the shortest time is not the one with most tokens a second: it trained on fewer tokens."""
    timed = [(run, run.total.value, rate) for run in runs if run.total is not None and (rate := run.tokens_per_s)]
    if len(timed) < 2 or len({run.total.to_step for run, _, _ in timed if run.total is not None}) > 1:
        return None
    fastest, hours, slower_rate = min(timed, key=lambda one: one[1])
    busiest, longer, rate = max(timed, key=lambda one: one[2])
    if fastest is busiest or longer == hours or slower_rate == rate:
        return None
    sentence = (
        f"{fastest.label} takes the shortest time, {duration(hours)} against {duration(longer)} of {busiest.label}, at "
        f"{count(slower_rate)} against {count(rate)} tokens/s."
    )
    lengths, tokens = (fastest.value(LENGTH), busiest.value(LENGTH)), (fastest.implied_tokens, busiest.implied_tokens)
    if lengths[0] and lengths[1]:
        change = signed_percent(lengths[0] / lengths[1] - 1)
        sentence += f" Its responses have {count(lengths[0])} against {count(lengths[1])} tokens in the mean ({change})."
    if tokens[0] and tokens[1]:
        change = signed_percent(tokens[0] / tokens[1] - 1)
        sentence += f" Tokens/s times time is {scaled(tokens[0])} against {scaled(tokens[1])} tokens ({change})."
    return trap_of(
        [Case(sentence, (fastest, busiest))],
        "fewest-hours",
        "Fewest hours is not most tokens/s",
        "The same number of steps is not the same work when responses differ in length: part of the time saved is work that "
        "was not done.",
        "response lengths by step, for the ratio at equal length",
    )
