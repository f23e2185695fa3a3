"""Conditions that the measurements of two runs tell: devices, what a step is, windows, response length, replicates."""

from __future__ import annotations

from rlreport.comparators.change_facts import MODE_KEY
from rlreport.comparators.comparability_items import SIDES, ComparabilityItem, PairEvidence
from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array, mean_over
from rlreport.run.format import count, join_words, number, percent, plural, signed_percent
from rlreport.run.model import Run

#: Mean response lengths that differ by less than this fraction are alike.
LENGTHS_ALIKE = 0.02
#: Ends of two windows that differ by less than this fraction of the windows' samples are equal.
SAMPLES_ALIKE = 0.05


def devices_check(pair: PairEvidence) -> ComparabilityItem:
    """As many devices in total on both sides."""
    title = "Same number of devices in total"
    totals = [run.devices.total for run in pair.runs]
    if totals[0] is None or totals[1] is None:
        silent = [side for side, total in zip(SIDES, totals, strict=True) if total is None]
        return ComparabilityItem("devices", title, "unknown", f"not known for the {join_words(silent)}")
    if totals[0] == totals[1]:
        return ComparabilityItem("devices", title, "holds", f"{count(totals[0])} on both sides")
    moved = [d for d in pair.change.differences if d.knob_class == "resources"]
    expected = bool(moved) and pair.expects(moved)
    headline = pair.throughput.headline.metric
    basis = "throughput is told per device" if headline.endswith("per_device") else "throughput is told for the whole run"
    return ComparabilityItem("devices", title, "fails", f"{count(totals[0])} against {count(totals[1])}; {basis}", expected)


def step_meaning_check(pair: PairEvidence) -> ComparabilityItem:
    """A step is the same thing, and its time contains the same phases."""
    title = "A step means the same"
    first, second = (run.semantics for run in pair.runs)
    if any(run.mode == "unknown" for run in pair.runs):
        return ComparabilityItem("step", title, "unknown", "the execution mode of at least one run is not known")
    if first.step_is == second.step_is and set(first.contains) == set(second.contains):
        return ComparabilityItem("step", title, "holds", f"a step is {first.step_is}")
    mode = [d for d in pair.change.differences if d.key == MODE_KEY]
    declared = bool(mode) and pair.expects(mode)
    if first.step_is == second.step_is:
        reason = "the time of a step does not contain the same phases"
    else:
        reason = f"{first.step_is} in the baseline, {second.step_is} in the variant"
    return ComparabilityItem("step", title, "fails", reason, declared)


def steady_check(pair: PairEvidence) -> ComparabilityItem:
    """Both windows are in steady state, and do not drift."""
    title = "Both in steady state"
    silent = [side for side, run in zip(SIDES, pair.runs, strict=True) if run.trained_steps.empty]
    if silent:
        return ComparabilityItem("steady", title, "unknown", f"no steps with a time are logged for the {join_words(silent)}")
    troubles = []
    for side, window in zip(SIDES, pair.windows, strict=True):
        if window.n < FEWEST_STEPS:
            troubles.append(f"the {side} has {plural(window.n, 'usable step')}")
        elif window.steady_class == "none":
            troubles.append(f"the {side} never settles")
        elif window.steady_class == "drifting":
            by = f" by {signed_percent(window.drift.fraction)}" if window.drift else ""
            troubles.append(f"the {side} drifts{by}")
    if troubles:
        return ComparabilityItem("steady", title, "fails", join_words(troubles))
    sizes = " and ".join(str(window.n) for window in pair.windows)
    return ComparabilityItem("steady", title, "holds", f"{sizes} steps")


def equal_samples_check(pair: PairEvidence) -> ComparabilityItem:
    """Both windows cover the same part of training, counted in prompts."""
    title = "Windows over the same part of training"
    if not all(window.kept for window in pair.windows):
        return ComparabilityItem("samples", title, "unknown", "at least one window is empty")
    ranges = [_sample_range(run, window) for run, window in zip(pair.runs, pair.windows, strict=True)]
    if ranges[0] is None or ranges[1] is None:
        steps = " and ".join(f"{window.kept[0]} to {window.kept[-1]}" for window in pair.windows)
        return ComparabilityItem("samples", title, "unknown", f"prompts a step are not known; by number, steps {steps}")
    span = max(end - start for start, end in (ranges[0], ranges[1]))
    apart = max(abs(one - other) for one, other in zip(*(ranges[0], ranges[1]), strict=True))
    first, second = (f"{count(start)} to {count(end)}" for start, end in (ranges[0], ranges[1]))
    words = f"prompts {first}" if first == second else f"prompts {first} against {second}"
    if apart <= SAMPLES_ALIKE * span:
        return ComparabilityItem("samples", title, "holds", words)
    return ComparabilityItem("samples", title, "fails", words)


def _sample_range(run: Run, window: SteadyState) -> tuple[float, float] | None:
    """Prompts trained before the window and at its end, counting unlogged steps as the mean of the logged ones."""
    mean = mean_over(run, "work.prompts", [int(step) for step in run.trained_steps.index])
    if mean is None:
        return None
    import numpy as np

    prompts = column_array(run, "work.prompts")
    steps = np.asarray(run.steps.index)
    counted = np.where(np.isfinite(prompts), prompts, 0.0)
    silent = (steps >= 1) & ~np.isfinite(prompts)
    before_log = max(int(steps[steps >= 1].min(initial=1)) - 1, 0) * mean
    before = steps < window.kept[0]
    upto = steps <= window.kept[-1]
    start, end = (before_log + float(counted[rows].sum()) + mean * int((silent & rows).sum()) for rows in (before, upto))
    return start, end


def lengths_check(pair: PairEvidence) -> ComparabilityItem:
    """Mean response length over the windows is alike."""
    title = "Responses of the same length"
    lengths = [
        mean_over(run, "length.response_mean", window.kept) for run, window in zip(pair.runs, pair.windows, strict=True)
    ]
    if not lengths[0] or not lengths[1]:
        return ComparabilityItem("length", title, "unknown", "response length is not logged on both sides")
    change = lengths[1] / lengths[0] - 1
    words = f"{number(lengths[0])} and {number(lengths[1])} tokens"
    if abs(change) <= LENGTHS_ALIKE:
        return ComparabilityItem("length", title, "holds", words)
    more = "longer" if change > 0 else "shorter"
    return ComparabilityItem("length", title, "fails", f"{words}: {percent(abs(change))} {more} in the variant")


def replicates_check(pair: PairEvidence) -> ComparabilityItem:
    """Each arm has runs of its own to show how much runs differ by chance."""
    title = "More than one run an arm"
    by_run = {run_id: check for check in pair.replicates for run_id in check.accepted}
    counts = [len(by_run[run.run_id].accepted) if run.run_id in by_run else 1 for run in pair.runs]
    if all(count > 1 for count in counts):
        silent = [check for check in pair.replicates if check.accepted and not check.seeds_known]
        reason = f"{counts[0]} and {counts[1]} runs{'; seeds are not known' if silent else ''}"
        return ComparabilityItem("replicates", title, "unknown" if silent else "holds", reason)
    one = [side for side, count in zip(SIDES, counts, strict=True) if count == 1]
    reason = f"{'one run' if len(one) > 1 else f'one run of the {one[0]}'}: how much runs differ by chance is not known"
    return ComparabilityItem("replicates", title, "fails", reason)
