"""The window in which a run is compared: which steps are steady, why the others are not, and the window of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rlreport.comparators.alignment import align
from rlreport.comparators.exclusions import CHECKPOINT_MAX_SHARE, exclude_by_cause, step_seconds
from rlreport.comparators.results import Drift, Exclusion, SteadyClass, SteadyState
from rlreport.comparators.window import FEWEST_STEPS, WindowArrays, window_arrays
from rlreport.run.diagnostics import Notice
from rlreport.run.format import interval, number, percent, plural, signed_percent
from rlreport.run.format import steps as format_steps
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.stats.autocorrelation import effective_sample_size
from rlreport.stats.ratio import influence_values
from rlreport.stats.robust import count_unusual_start
from rlreport.stats.stationarity import find_shift, find_transient, fit_trend, wanders

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A drift smaller than this fraction of the mean over the window does not make a run "drifting".
SMALLEST_DRIFT = 0.02
#: A level that moves about makes a run "drifting" when its middle 80 % of steps span more than this fraction of the
#: median; a level that changes once, when it changes by more than this fraction.
SMALLEST_WANDERING = 0.05


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What the tests say of a window, before its exclusions are added."""

    steady_class: SteadyClass
    n_effective: float | None
    drift: Drift | None
    notices: tuple[Notice, ...]


def find_steady_state(
    run: Run,
    *,
    from_step: int | None = None,
    to_step: int | None = None,
    checkpoint_max_share: float = CHECKPOINT_MAX_SHARE,
) -> SteadyState:
    """Find the steps that stand for the run's throughput, and say of every other step why it does not.

    1. By cause (see `exclusions`): no step time, cut lines, validation and checkpoints inside the step's time, the first
       step after a restart, one-off stalls.
    2. Warm-up by rule: the first step of a run, and up to five steps after it, or after a restart, that differ from what
       follows. Either direction: compiling makes them slow, samples generated in advance make them fast.
    3. A longer transient of tokens per second (step time where tokens are not known) at the start or after a restart, where
       a test finds one: MSER-5.
    4. Drift over what is left. Class "flat", "warm-up" (a slow start was cut), "slowdown" (a fast start was cut), "drifting"
       (a trend of more than 2 %, or a level that changes once or wanders, which no line describes: then `drift` is None), or
       "none" (fewer than eight steps are left, or the transient may last longer than half of the run).

    A declared `from_step` replaces 2 and 3, a declared `to_step` only ends the window; what a declared window should not
    contain is told in notices. `checkpoint_max_share` is the share of a step that a checkpoint may take without the step
    being excluded.
    """
    usable, excluded, notices = exclude_by_cause(
        run, from_step=from_step, to_step=to_step, checkpoint_max_share=checkpoint_max_share
    )
    usable = _drop_warm_up_after_restarts(run, usable, excluded)
    start_class: SteadyClass = "flat"
    unsettled: tuple[Notice, ...] = ()
    if len(usable) >= FEWEST_STEPS:
        dropped, start_class, unsettled = _find_warm_up(run, usable)
        if from_step is None:
            for exclusion in dropped:
                excluded[exclusion.step] = exclusion
            usable = [step for step in usable if step not in excluded]
        elif dropped:
            which = format_steps([exclusion.step for exclusion in dropped])
            notices.append(Notice("RR445", f"the declared window contains warm-up: step {which} ({dropped[-1].detail})"))
    judgement = _judge(window_arrays(run, usable), start_class)
    if judgement.steady_class == "none":
        notices.extend(unsettled)
    if from_step is not None or to_step is not None:
        judgement = replace(judgement, notices=tuple(_of_declared(notice) for notice in judgement.notices))
    return _assemble(usable, excluded, judgement, notices, declared=from_step is not None or to_step is not None)


def common_window(
    baseline: Run, window_b: SteadyState, variant: Run, window_v: SteadyState
) -> tuple[SteadyState, SteadyState]:
    """The windows of a pair as `common_windows` restricts them; the baseline's first."""
    found = common_windows((baseline, variant), (window_b, window_v), names=("baseline", "variant"))
    return found[0], found[1]


def common_windows(
    runs: Sequence[Run], windows: Sequence[SteadyState], *, names: Sequence[str] = ()
) -> tuple[SteadyState, ...]:
    """Restrict the windows of several runs to the part of training that all have in steady state.

    From the latest of their starts to the earliest of their ends: by step number when all train on equally many prompts a
    step (or when that is not known, which a notice says), else by prompts trained since the start of the run. Effective
    sample size, drift and class are judged again on what is left. A window that needs no restriction is returned as it is.
    """
    if not all(window.kept for window in windows):
        return tuple(windows)
    aligned = align(runs, names)
    start = max(places.begin[window.kept[0]] for window, places in zip(windows, aligned.places, strict=True))
    end = min(places.end[window.kept[-1]] for window, places in zip(windows, aligned.places, strict=True))
    tolerance = 1e-9 * max(abs(end), 1.0)
    return tuple(
        _restrict(
            run,
            window,
            [s for s in window.kept if places.begin[s] >= start - tolerance and places.end[s] <= end + tolerance],
            aligned.notices,
        )
        for run, window, places in zip(runs, windows, aligned.places, strict=True)
    )


def _drop_warm_up_after_restarts(run: Run, usable: list[int], excluded: dict[int, Exclusion]) -> list[int]:
    """Exclude warm-up after each restart: a few unusual steps, then a transient where a test finds one before the next."""
    import numpy as np

    for restart, following in pairwise((*run.restarts, None)):
        assert restart is not None  # only the last of a pair is
        after = [step for step in usable if step > restart]
        if len(after) < FEWEST_STEPS:
            continue
        arrays = window_arrays(run, after)
        median_s = float(np.median(arrays.time_s))
        unusual = count_unusual_start(np.log(arrays.rate))
        for place in range(unusual):
            taken = f"{step_seconds(float(arrays.time_s[place]))} against a median of {step_seconds(median_s)}"
            detail = f"warm-up after a restart: {taken}"
            excluded[after[place]] = Exclusion(after[place], "restart", detail)
        own = [place for place, step in enumerate(after) if place >= unusual and (following is None or step < following)]
        transient = find_transient(arrays.rate[own])
        if transient is None or not transient.settled:
            continue
        for place in own[: transient.length]:
            detail = f"warm-up after a restart: {signed_percent(transient.difference)} against the steps that follow"
            excluded[after[place]] = Exclusion(after[place], "restart", detail)
    return [step for step in usable if step not in excluded]


def _find_warm_up(run: Run, usable: list[int]) -> tuple[list[Exclusion], SteadyClass, tuple[Notice, ...]]:
    """The first steps that are not steady, ascending; the class that follows; why there may be no steady state."""
    import numpy as np

    arrays = window_arrays(run, usable)
    median_s = float(np.median(arrays.time_s))
    dropped: list[Exclusion] = []
    start = 0
    steady_class: SteadyClass = "flat"
    trained = run.trained_steps.index
    if usable[0] == int(trained[0]) and usable[0] <= 1:
        time_s = float(arrays.time_s[0])
        detail = f"the first step of the run: {step_seconds(time_s)} against a median of {step_seconds(median_s)}"
        dropped.append(Exclusion(usable[0], "warm-up", detail))
        start = 1
    unusual = count_unusual_start(np.log(arrays.rate[start:]))
    if unusual:
        slow = float(arrays.rate[start : start + unusual].mean()) < float(np.median(arrays.rate))
        steady_class = "warm-up" if slow else "slowdown"
        for place in range(start, start + unusual):
            time_s = float(arrays.time_s[place])
            detail = f"{_start_words(run, slow=slow)}: {step_seconds(time_s)} against a median of {step_seconds(median_s)}"
            dropped.append(Exclusion(usable[place], "warm-up", detail))
        start += unusual
    transient = find_transient(arrays.rate[start:])
    if transient is None:
        return dropped, steady_class, ()
    slow = transient.difference < 0
    if not transient.settled:
        message = (
            f"the run starts {percent(abs(transient.difference))} {'slower' if slow else 'faster'} than it ends, and the "
            "change may last longer than half of its steps: there is no steady state to measure"
        )
        return dropped, "none", (Notice("RR443", message),)
    last = usable[start + transient.length - 1]
    rate = f"{signed_percent(transient.difference)} against the steps after {last}"
    for place in range(start, start + transient.length):
        dropped.append(Exclusion(usable[place], "warm-up", f"{_start_words(run, slow=slow)}: {rate}"))
    return dropped, "warm-up" if slow else "slowdown", ()


def _start_words(run: Run, *, slow: bool) -> str:
    if slow:
        return "slow start"
    if run.mode in SEPARATED_MODES:
        return "fast start, fed from samples generated in advance"
    return "fast start"


def _judge(arrays: WindowArrays, start_class: SteadyClass) -> _Judgement:
    """Class, effective sample size and drift of a window whose exclusions are decided."""
    n = len(arrays)
    if n < FEWEST_STEPS:
        message = f"{plural(n, 'step')} left after exclusions, fewer than {FEWEST_STEPS}: no steady state can be told"
        return _Judgement("none", None, None, (Notice("RR442", message),))
    rate = arrays.rate
    n_effective = effective_sample_size(influence_values(arrays.work, arrays.time_s))
    trend = fit_trend(rate, arrays.steps.astype(float))
    drift = Drift(trend.fraction, trend.low, trend.high)
    what = "tokens per second" if arrays.tokens is not None else "steps per hour"
    first, last = int(arrays.steps[0]), int(arrays.steps[-1])
    if trend.significant and abs(trend.fraction) > SMALLEST_DRIFT:
        message = (
            f"{what} drift by {signed_percent(trend.fraction)} over steps {first} to {last} (95 % interval "
            f"{interval(100 * trend.low, 100 * trend.high, decimals=1)} %): their mean depends on the window"
        )
        return _Judgement("drifting", n_effective, drift, (Notice("RR441", message),))
    shift = find_shift(rate)
    if shift is not None and abs(shift.difference) > SMALLEST_WANDERING:
        message = (
            f"{what} change by {signed_percent(shift.difference)} about step {int(arrays.steps[shift.start])} of {first} to "
            f"{last} and stay there: their mean depends on the window"
        )
        return _Judgement("drifting", n_effective, None, (Notice("RR441", message),))
    span = _middle_span(rate)
    if span > SMALLEST_WANDERING and wanders(rate):
        message = (
            f"{what} wander over steps {first} to {last}: the middle 80 % of steps span {percent(span)} of the median, and "
            f"{plural(n, 'step')} are worth {number(n_effective, 2)} independent ones; their mean depends on the window"
        )
        return _Judgement("drifting", n_effective, None, (Notice("RR441", message),))
    return _Judgement(start_class, n_effective, drift, ())


def _middle_span(rate: NDArray[np.float64]) -> float:
    import numpy as np

    low, median, high = np.quantile(rate, [0.1, 0.5, 0.9])
    return float((high - low) / median)


def _of_declared(notice: Notice) -> Notice:
    return Notice(notice.code, f"the declared window is not steady: {notice.message}") if notice.code == "RR441" else notice


def _assemble(
    kept: Sequence[int],
    excluded: dict[int, Exclusion],
    judgement: _Judgement,
    notices: Sequence[Notice],
    *,
    declared: bool,
) -> SteadyState:
    return SteadyState(
        steady_class=judgement.steady_class,
        first_step=kept[0] if kept else None,
        last_step=kept[-1] if kept else None,
        kept=tuple(kept),
        n_effective=judgement.n_effective,
        excluded=tuple(excluded[step] for step in sorted(excluded)),
        drift=judgement.drift,
        declared=declared,
        notices=(*notices, *judgement.notices),
    )


def _restrict(run: Run, window: SteadyState, kept: list[int], extra: tuple[Notice, ...]) -> SteadyState:
    """The window with only the given steps of it, judged again."""
    if len(kept) == window.n:
        return replace(window, notices=(*window.notices, *extra))
    excluded = {exclusion.step: exclusion for exclusion in window.excluded}
    for step in window.kept:
        if step not in kept:
            excluded[step] = Exclusion(step, "outside window", "the other run has no steady state at this point of training")
    start_class: SteadyClass = "flat" if window.steady_class == "drifting" else window.steady_class
    judgement = _judge(window_arrays(run, kept), start_class)
    earlier = [notice for notice in window.notices if notice.code not in {"RR441", "RR442"}]
    return _assemble(kept, excluded, judgement, [*earlier, *extra], declared=window.declared)
