"""What ladders and sweeps share: windows of several runs, one metric for all of their ratios, and the knobs that moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from rlreport.comparators.arm import METRICS
from rlreport.comparators.results import Change, KnobDifference, RatioComparison, SteadyState, ThroughputComparison
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.run.knobs import KNOB_CLASSES, KnobClass
from rlreport.run.model import Run

if TYPE_CHECKING:
    from rlreport.comparators.analysis import Analysis

#: Verdicts of a ratio that say nothing about the runs' difference, whatever the interval is.
UNDECIDABLE = frozenset({"insufficient-data", "no-steady-state", "not-comparable"})


def own_windows(analysis: Analysis) -> dict[str, SteadyState]:
    """The steady state of each run by itself, before any pair restricts it."""
    request = analysis.request
    return {
        run_id: find_steady_state(analysis.runs[run_id].run, from_step=request.from_step, to_step=request.to_step)
        for run_id in request.run_ids
    }


def windows_common_to_all(runs: Mapping[str, Run], own: Mapping[str, SteadyState]) -> dict[str, SteadyState]:
    """Restrict every run to the part of training that all of them have in steady state.

    Each pair is restricted in turn: a run's window is final once it has met every other one, and the first run's already
    holds for all when the later pairs are made.
    """
    windows = dict(own)
    for first, second in combinations(runs, 2):
        windows[first], windows[second] = common_window(runs[first], windows[first], runs[second], windows[second])
    return windows


def shared_metric(comparisons: Iterable[ThroughputComparison]) -> str | None:
    """The first metric, in the order in which a headline is chosen, that all comparisons have; None without one."""
    known = [{ratio.metric for ratio in ratios_of(comparison)} for comparison in comparisons]
    if not known:
        return None
    return next((metric.name for metric in METRICS if all(metric.name in names for names in known)), None)


def ratios_of(comparison: ThroughputComparison) -> tuple[RatioComparison, ...]:
    """The headline and the ratios beside it."""
    return (comparison.headline, *comparison.others)


def ratio_on(comparison: ThroughputComparison, metric: str | None) -> RatioComparison:
    """The ratio of one metric; the headline where the comparison does not have it."""
    return next((ratio for ratio in ratios_of(comparison) if ratio.metric == metric), comparison.headline)


def is_decided(ratio: RatioComparison) -> bool:
    """Whether the ratio has an interval that may be read as a statement about the two runs."""
    return ratio.verdict not in UNDECIDABLE and ratio.ci_low is not None and ratio.ci_high is not None


def free_differences(change: Change) -> tuple[KnobDifference, ...]:
    """What moved by itself: neither waived nor tied to another knob that moved."""
    return tuple(d for d in change.differences if d.coupled_by is None and d.waived is None)


def free_classes(change: Change) -> tuple[KnobClass, ...]:
    """The classes of what moved by itself, in the order in which the guide tunes them."""
    return ordered_classes(difference.knob_class for difference in free_differences(change))


def ordered_classes(classes: Iterable[KnobClass]) -> tuple[KnobClass, ...]:
    """Classes without repetition, in the order in which the guide tunes them."""
    present = set(classes)
    return tuple(knob_class for knob_class in KNOB_CLASSES if knob_class in present)


def first_value(run: Run, keys: Sequence[str]) -> tuple[str, float] | None:
    """The first of some configuration keys that holds a number above 0, with that number; None without one."""
    for key in keys:
        value = run.value(key)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return key, float(value)
    return None
