"""The time of a step against throughput: a step that does less is shorter, and nothing is gained by that."""

from __future__ import annotations

from rlreport.comparators.change_values import named
from rlreport.comparators.results import Change, KnobDifference, RatioComparison, ThroughputComparison
from rlreport.run.diagnostics import Notice
from rlreport.run.format import join_words, percent
from rlreport.run.knobs import NO_RULES, KnobRules

#: Work of a step that differs by more than this fraction is told where a knob of the step's work moved.
WORK_DIFFERS = 0.02
#: Without such a knob, work must differ by more than this; response length moves it by less in most runs.
WORK_DIFFERS_MUCH = 0.05
#: Changes smaller than this fraction read as none.
SMALLEST_TOLD = 0.0005


def step_against_throughput(change: Change, throughput: ThroughputComparison, rules: KnobRules = NO_RULES) -> list[Notice]:
    """Set the change of step time against that of throughput, where a step of the variant does not do the same work.

    `rules` say which knobs decide the work of a step (`KnobRules.step_work`); those that moved are named. Both changes come
    from the comparison's own estimates, so that they are told also where the data carry no interval. Empty where tokens or
    steps per hour are not known, or where a step does about as much on both sides.
    """
    ratios = {one.metric: _ratio(one) for one in (throughput.headline, *throughput.others)}
    steps, tokens = ratios.get("steps_per_h"), ratios.get("tokens_per_s")
    if not steps or not tokens:
        return []
    moved = [d for d in change.differences if d.key in rules.step_work]
    work = tokens / steps
    if abs(work - 1) <= (WORK_DIFFERS if moved else WORK_DIFFERS_MUCH):
        return []
    why = f" ({join_words([_moved(difference, rules) for difference in moved[:3]])})" if moved else ""
    per_device = ratios.get("tokens_per_s_per_device")
    gain = per_device or tokens
    unit = "tokens/s per device" if per_device else "tokens/s"
    time = 1 / steps
    together = (time - 1) * (work - 1) > 0 and abs(time - 1) >= SMALLEST_TOLD
    message = (
        f"a step of the variant takes {_by(time, 'more time', 'less time', 'as much time')}, "
        f"{'but' if together else 'and'} holds {_by(work, 'more tokens', 'fewer tokens', 'as many tokens')}"
        f"{why}: {unit} {_changes(gain)}, and that is what counts"
    )
    return [Notice("RR420", message)]


def _moved(difference: KnobDifference, rules: KnobRules) -> str:
    row = rules.row(difference.key)
    return f"{difference.label} {named(difference.baseline, row)} against {named(difference.variant, row)}"


def _ratio(comparison: RatioComparison) -> float | None:
    if comparison.ratio is not None:
        return comparison.ratio
    baseline, variant = comparison.baseline.estimate, comparison.variant.estimate
    return None if not baseline or variant is None else variant / baseline


def _by(ratio: float, more: str, less: str, same: str) -> str:
    if abs(ratio - 1) < SMALLEST_TOLD:
        return same
    return f"{percent(abs(ratio - 1))} {more if ratio > 1 else less}"


def _changes(ratio: float) -> str:
    if abs(ratio - 1) < SMALLEST_TOLD:
        return "stay the same"
    return f"{'rise' if ratio > 1 else 'fall'} by {percent(abs(ratio - 1))}"
