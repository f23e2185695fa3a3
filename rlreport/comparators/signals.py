"""Signals of how training behaves inside: entropy, KL, clipping, gradient norm, importance weights, when they are logged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.quality_values import FEWEST_EFFECTIVE, MetricValues, matched_difference
from rlreport.comparators.results import SteadyState
from rlreport.comparators.volatility import FEWEST_VALUES
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.format import number, percent, plural
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.decisions import excludes
from rlreport.stats.means import difference_of_means
from rlreport.stats.robust import volatility

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Signals in the order in which a table shows them.
SIGNALS: tuple[str, ...] = (
    "quality.entropy",
    "quality.kl",
    "quality.grad_norm",
    "correction.clip_fraction",
    "correction.is_mean",
    "correction.is_max",
    "correction.ess_fraction",
    "correction.masked_fraction",
    "correction.kl",
)
#: First and last values are means of this many logged steps: one step is noise.
ENDS = 5
#: Entropy that falls below this share of its first value is told as a collapse in all but name.
_ENTROPY_LEFT = 0.2
#: Importance weights that leave less than this share of the samples effective are told.
_FEW_EFFECTIVE = 0.5
#: More samples than this share rejected for their weights are told.
_MANY_MASKED = 0.1


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of one run.

    `first` and `last` are means of the first and last five logged steps of training; `mean` that over the window with its
    interval by effective sample size; `volatility` the robust step-to-step scale over the window, None below 30 values.
    """

    run_id: str
    metric: str
    unit: str
    first: float
    last: float
    n: int
    mean: Estimate
    volatility: float | None


@dataclass(frozen=True, slots=True)
class SignalComparison:
    """One signal in both arms over the window, variant minus baseline. A side that does not log it is None.

    More or less is neither better nor worse in itself: `different` says only whether the interval of the difference excludes
    0, None where there is none.
    """

    metric: str
    baseline: Signal | None
    variant: Signal | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    different: bool | None
    volatility_ratio: float | None
    notices: tuple[Notice, ...] = ()


def measure_signals(run: Run, window: SteadyState) -> tuple[Signal, ...]:
    """The signals that a run logs, in the order of `SIGNALS`."""
    found = (_signal(run, window, metric) for metric in SIGNALS)
    return tuple(signal for signal in found if signal is not None)


def compare_signals(
    baseline: Run, variant: Run, window_b: SteadyState, window_v: SteadyState
) -> tuple[SignalComparison, ...]:
    """Every signal that at least one of the arms logs, over the windows.

    The interval comes from step-by-step differences where steps correspond, so that a course which both arms share cancels;
    else it adds the errors of both arms.
    """
    compared = []
    for metric in SIGNALS:
        sides = [_signal(run, window, metric) for run, window in ((baseline, window_b), (variant, window_v))]
        if sides[0] is None and sides[1] is None:
            continue
        values = (_within(baseline, window_b, metric), _within(variant, window_v, metric))
        means = [one.mean(independent=False, fewest=FEWEST_STEPS) for one in values]
        difference = matched_difference((baseline, variant), values)
        if difference is None and means[0] is not None and means[1] is not None:
            difference = difference_of_means(means[0], means[1])
        low, high = difference.interval() if difference is not None else (None, None)
        sure = difference is not None and difference.degrees + 1 >= FEWEST_EFFECTIVE
        compared.append(
            SignalComparison(
                metric=metric,
                baseline=sides[0],
                variant=sides[1],
                difference=None if difference is None else difference.value,
                ci_low=low,
                ci_high=high,
                different=excludes((low, high), 0.0) if sure and low is not None and high is not None else None,
                volatility_ratio=_over(sides[1], sides[0]),
                notices=_notices(metric, sides, (baseline, variant)),
            )
        )
    return tuple(compared)


def signal_notices(signal: Signal, label: str) -> tuple[Notice, ...]:
    """What a signal of one run should make a reader look at."""
    name = METRICS[signal.metric].label
    message = None
    if signal.metric == "quality.entropy" and signal.first > 0 and signal.last < _ENTROPY_LEFT * signal.first:
        message = (
            f"{label}: {name} falls from {number(signal.first)} to {number(signal.last)} {signal.unit}: the policy has "
            "become nearly deterministic"
        )
    level = signal.mean.estimate if signal.mean.estimate is not None else signal.last
    if signal.metric == "correction.ess_fraction" and level < _FEW_EFFECTIVE:
        message = f"{label}: importance weights leave {percent(level, 0)} of the samples effective; the rest is thrown away"
    if signal.metric == "correction.masked_fraction" and level > _MANY_MASKED:
        message = f"{label}: {percent(level, 0)} of the samples are generated and then rejected for their weights"
    return () if message is None else (Notice("RR479", message),)


def _signal(run: Run, window: SteadyState, metric: str) -> Signal | None:
    import numpy as np

    values = column_array(run, metric)
    trained = run.steps.index.isin(run.trained_steps.index)
    known = values[np.isfinite(values) & trained]
    if not known.size:
        return None
    within = _within(run, window, metric)
    unit = METRICS[metric].unit
    return Signal(
        run_id=run.run_id,
        metric=metric,
        unit=unit,
        first=float(known[:ENDS].mean()),
        last=float(known[-ENDS:].mean()),
        n=len(within.steps),
        mean=within.estimate(within.mean(independent=False, fewest=FEWEST_STEPS), unit),
        volatility=volatility(within.values) if len(within.steps) >= FEWEST_VALUES else None,
    )


def _over(variant: Signal | None, baseline: Signal | None) -> float | None:
    """The variant's volatility over the baseline's; it has no interval, which reward and accuracy have elsewhere."""
    if variant is None or baseline is None or not variant.volatility or not baseline.volatility:
        return None
    return variant.volatility / baseline.volatility


def _within(run: Run, window: SteadyState, metric: str) -> MetricValues:
    """All logged values between the ends of the window; excluded steps are among them, for their time alone is odd."""
    import numpy as np

    values = column_array(run, metric)
    steps = np.asarray(run.steps.index)
    if window.first_step is None or window.last_step is None:
        return MetricValues((), values[:0])
    rows = np.isfinite(values) & (steps >= window.first_step) & (steps <= window.last_step)
    return MetricValues(tuple(int(step) for step in steps[rows]), values[rows])


def _notices(metric: str, sides: list[Signal | None], runs: tuple[Run, Run]) -> tuple[Notice, ...]:
    notices: list[Notice] = []
    for signal, run in zip(sides, runs, strict=True):
        if signal is None:
            other = next(one for one in sides if one is not None)
            message = (
                f"{METRICS[metric].label}: {run.label} does not log it, so its {plural(other.n, 'step')} in the other arm "
                "have nothing to be compared with"
            )
            notices.append(Notice("RR478", message))
        else:
            notices.extend(signal_notices(signal, run.label))
    return tuple(notices)
