"""Facts about bubbles in sentences: periods, imbalance, long tail, lead, quota."""

from __future__ import annotations

from collections.abc import Iterator

from rlreport.comparators.bubble_lead import QuotaCover
from rlreport.comparators.periodic import PeriodicBubble
from rlreport.report.model import Strong, Text
from rlreport.report.timeline_words import ShownRun
from rlreport.run import format as fmt

#: Replicas whose busiest works this much longer than the mean are told as uneven.
UNEVEN = 1.1
#: A long tail below this share of generating time is not worth a sentence.
SMALL_TAIL = 0.02


def run_facts(run: ShownRun, *, many: bool) -> Iterator[Text]:
    """Everything that is told of a run in sentences: one text a sentence, of several runs one text a run."""
    sentences = list(_sentences(run))
    if many and sentences:
        yield (Strong(f"{run.label}."), f" {' '.join(sentences)}")
    elif not many:
        yield from ((sentence,) for sentence in sentences)


def _sentences(run: ShownRun) -> Iterator[str]:
    timeline = run.timeline
    for bubble in timeline.periodic:
        yield periodic_sentence(bubble)
    if timeline.quota is not None:
        yield quota_sentence(timeline.quota)
    lead = timeline.lead
    if lead is not None and lead.least_when_asked is not None:
        yield f"When the Trainer asked for samples, {fmt.number(lead.least_when_asked)} mini-batches were ready at least."
    if lead is not None and lead.while_waiting:
        counts = [value for _, value in lead.points]
        yield (
            f"While the Trainer waited, {fmt.number(min(counts))} to {fmt.number(max(counts))} mini-batches were ready "
            f"({fmt.plural(len(counts), 'line')} of the replay buffer's poll)."
        )
    balance = timeline.balance
    if balance is not None and balance.max_over_mean is not None:
        busiest, idlest = balance.busiest, balance.idlest
        if balance.max_over_mean >= UNEVEN:
            yield (
                f"The {len(balance.busy)} replicas work unevenly: the busiest has {fmt.ratio(balance.max_over_mean)} the "
                f"mean ({busiest[0].replace('_', ' ')} works {fmt.percent(busiest[1])} of the time, "
                f"{idlest[0].replace('_', ' ')} {fmt.percent(idlest[1])})."
            )
        else:
            yield (
                f"The {len(balance.busy)} replicas work evenly, {_between(fmt.percent(idlest[1]), fmt.percent(busiest[1]))} "
                "of the time."
            )
    tail = timeline.long_tail
    if tail is not None and tail.share >= SMALL_TAIL:
        what = "of a cycle's samples are" if tail.basis == "samples" else "of the replicas are"
        yield (
            f"Long tail: in {fmt.percent(tail.share)} of the generating time at most 10 % {what} still at work; what idles "
            f"meanwhile is {fmt.percent(tail.others_idle)} of the replicas' device time."
        )


def _between(low: str, high: str) -> str:
    return f"in {low}" if low == high else f"in {low} to {high}"


def periodic_sentence(bubble: PeriodicBubble) -> str:
    """A periodic bubble: "Every 5 steps: validation, 89.9 s each time, 6.1 % of all time (trainer.test_freq = 5)"."""
    cause = bubble.cause if bubble.cause != "unknown" else "something that no timer names"
    tied = f" ({bubble.tied_to})" if bubble.tied_to else ""
    return (
        f"Every {bubble.period} steps: {cause}, {fmt.seconds(bubble.seconds)} each time, {fmt.percent(bubble.share)} of all "
        f"time{tied}."
    )


def quota_sentence(quota: QuotaCover) -> str:
    """What the quota covers of a version: 0.3 and 8 rounds cover 2.4 rounds, the first two whole."""
    rounds = fmt.config_value(quota.rounds)
    if quota.covered == 0:
        return f"Nothing may be generated ahead of the Trainer's policy ({quota.quota_key} = 0)."
    if quota.covered >= quota.rounds:
        told = f"all {rounds} rounds of a version" if quota.rounds != 1 else "the only round of a version"
    elif quota.whole == 0:
        told = f"a part of the first of {rounds} rounds of a version"
    elif quota.whole == 1:
        told = f"the first of {rounds} rounds of a version"
    else:
        told = f"the first {_number_word(quota.whole)} of {rounds} rounds of a version"
    return (
        f"What may be generated ahead covers {fmt.number(quota.covered)} rounds, that is {told} "
        f"({quota.quota_key} = {fmt.config_value(quota.quota)}, {quota.rounds_key} = {rounds})."
    )


def _number_word(number: int) -> str:
    words = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if number < len(words) else fmt.count(number)
