"""The window in which a run is compared: which steps are steady, why the others are not, and the window of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlreport.comparators.exclusions import CHECKPOINT_MAX_SHARE, exclude_by_cause, step_seconds
from rlreport.comparators.results import Drift, Exclusion, SteadyClass, SteadyState
from rlreport.comparators.window import FEWEST_STEPS, WindowArrays, column_array, window_arrays
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
#: Samples a step that differ by less than this fraction count as equal.
_SAME_SAMPLES = 0.02


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
    3. A longer transient of tokens per second (step time where tokens are not known), where a test finds one: MSER-5.
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
    usable = _drop_unusual_after_restarts(run, usable, excluded)
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
    """Restrict both arms to the part of training that both have in steady state; returns the baseline's window first.

    From the later of both starts to the earlier of both ends: by step number when both arms train on equally many prompts
    a step (or when that is not known, which a notice says), else by prompts trained since the start of the run. Effective
    sample size, drift and class are judged again on what is left. A window that needs no restriction is returned as it is.
    """
    if not window_b.kept or not window_v.kept:
        return window_b, window_v
    prompts = [_prompts_a_step(run) for run in (baseline, variant)]
    notice: Notice | None = None
    if prompts[0] is None or prompts[1] is None:
        positions = [_by_step(run) for run in (baseline, variant)]
        notice = Notice("RR451", "prompts a step are not known for both arms: windows are aligned by step number")
    elif abs(prompts[0] / prompts[1] - 1) <= _SAME_SAMPLES:
        positions = [_by_step(run) for run in (baseline, variant)]
    else:
        positions = [_by_prompts(baseline, prompts[0]), _by_prompts(variant, prompts[1])]
        notice = Notice(
            "RR452",
            f"a step of the baseline trains on {number(prompts[0])} prompts, one of the variant on {number(prompts[1])}: "
            "windows are aligned by prompts trained, not by step number",
        )
    arms = ((baseline, window_b, positions[0]), (variant, window_v, positions[1]))
    start = max(places[window.kept[0]][0] for _, window, places in arms)
    end = min(places[window.kept[-1]][1] for _, window, places in arms)
    tolerance = 1e-9 * max(abs(end), 1.0)
    restricted = [
        _restrict(
            run,
            window,
            [s for s in window.kept if places[s][0] >= start - tolerance and places[s][1] <= end + tolerance],
            notice,
        )
        for run, window, places in arms
    ]
    return restricted[0], restricted[1]


def _drop_unusual_after_restarts(run: Run, usable: list[int], excluded: dict[int, Exclusion]) -> list[int]:
    import numpy as np

    for restart in run.restarts:
        after = [step for step in usable if step > restart]
        if len(after) < FEWEST_STEPS:
            continue
        arrays = window_arrays(run, after)
        median_s = float(np.median(arrays.time_s))
        for place in range(count_unusual_start(np.log(arrays.rate))):
            taken = f"{step_seconds(float(arrays.time_s[place]))} against a median of {step_seconds(median_s)}"
            detail = f"warm-up after a restart: {taken}"
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


def _restrict(run: Run, window: SteadyState, kept: list[int], notice: Notice | None) -> SteadyState:
    """The window with only the given steps of it, judged again."""
    extra = () if notice is None else (notice,)
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


def _prompts_a_step(run: Run) -> float | None:
    import numpy as np

    prompts = column_array(run, "work.prompts")
    known = prompts[np.isfinite(prompts) & (prompts > 0)]
    return float(np.median(known)) if known.size else None


def _by_step(run: Run) -> dict[int, tuple[float, float]]:
    return {int(step): (float(step), float(step)) for step in run.steps.index}


def _by_prompts(run: Run, typical: float) -> dict[int, tuple[float, float]]:
    """Prompts trained before and after each logged step; steps that were not logged count as typical ones."""
    trained = {int(step) for step in run.trained_steps.index}
    logged = dict(zip((int(step) for step in run.steps.index), column_array(run, "work.prompts"), strict=True))
    places: dict[int, tuple[float, float]] = {}
    total = 0.0
    for step in range(min(1, *trained), max(trained) + 1):
        known = float(logged.get(step, typical))
        prompts = 0.0 if step in logged and step not in trained else known if known > 0 else typical
        places[step] = (total, total + prompts)
        total += prompts
    return places
