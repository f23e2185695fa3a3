"""Doses of one knob: how throughput, waiting and quality respond, where that levels off, and the smallest dose that will do.

"Not worse" is non-inferiority by interval, never by point estimate: the 95 % interval of a dose's throughput over the best
dose's lies above 1 / (1 + margin), a one-sided test at 2.5 % (Piaggio and others 2012, JAMA 308, extension of CONSORT to
non-inferiority trials). Doses are tested in a fixed order, downwards from the best, and the first that fails ends the
search, which keeps the chance of any wrong "not worse" at the level of one test (Maurer, Hothorn and Lehmacher 1995).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.analysis import DEFAULT_THROUGHPUT_MARGIN, MARGIN_NAMES, Analysis
from rlreport.comparators.chain import is_decided, own_windows, ratio_on, shared_metric, windows_common_to_all
from rlreport.comparators.dose_response import Course, Waiting, accuracy_course, levels_off, measure_waiting
from rlreport.comparators.quality import compare_quality
from rlreport.comparators.results import QualityComparison, RatioComparison, SteadyState
from rlreport.comparators.sweep_knob import DosedKnob, find_dosed_knob
from rlreport.comparators.throughput import compare_throughput
from rlreport.comparators.volatility import compare_volatility, logged_values, measure_volatility
from rlreport.comparators.window import FEWEST_STEPS
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.model import Run

if TYPE_CHECKING:
    from rlreport.comparators.window import Array

#: A dose against the best one: shown not to be worse by more than the margin, shown to be, or neither.
Standing = Literal["best", "not-worse", "worse", "undecided", "unknown"]

#: How throughput goes with the dose, as far as intervals show it.
Shape = Literal["levels-off", "flat", "rising", "falling", "peak", "undecided", "unknown"]

REWARD = "quality.reward_mean"
ACCURACY = "quality.accuracy"


@dataclass(frozen=True, slots=True)
class Dose:
    """One run of the sweep over the window that all doses share.

    `value` is the dose as configured, `number` as a number where it is one. `throughput` is on the sweep's metric and
    `to_best` its ratio to the best dose (None for the best itself). `wait_share` is waiting over step time, `wait_s` seconds
    a step. `volatility` is that of the mean reward from step to step, `volatility_ratio` over the first dose's; `reward` and
    `accuracy` are means at equal training, compared with the first dose in `qualities`. `accuracy_course` tells whether
    accuracy still changes over the second half of the evaluations.
    """

    run_id: str
    value: object
    number: float | None
    window: SteadyState
    throughput: Estimate
    to_best: RatioComparison | None
    standing: Standing
    wait_share: Estimate
    wait_s: Estimate
    volatility: Estimate
    volatility_ratio: Estimate
    reward: Estimate
    accuracy: Estimate
    accuracy_course: Course
    qualities: tuple[QualityComparison, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """All doses in ascending order, and what they show together.

    `margin` is the fraction of throughput that matters. `best_id`, `candidate_id` and `plateau` (the doses around the best
    that are not worse than it) are None and empty where the runs are no sweep of one knob or the data do not tell.
    `wait_levels_off` is the dose from which on waiting falls no more, None where that is not shown.
    """

    knob: DosedKnob
    metric: str | None
    margin: float
    doses: tuple[Dose, ...]
    shape: Shape
    best_id: str | None
    candidate_id: str | None
    plateau: tuple[str, ...]
    wait_levels_off: str | None
    notices: tuple[Notice, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the runs are doses of one knob and nothing else."""
        return not self.knob.problems

    def dose(self, run_id: str | None) -> Dose | None:
        """The dose of a run, None for none."""
        return next((dose for dose in self.doses if dose.run_id == run_id), None)


def measure_sweep(analysis: Analysis, knob: str | None = None) -> Sweep:
    """Measure all doses over their common window and find the candidate.

    `knob` is the manifest's field. Runs that are no sweep of one knob are measured all the same, but nothing is concluded
    from them.
    """
    dosed = find_dosed_knob(analysis, knob)
    runs = {dose.run_id: analysis.runs[dose.run_id].run for dose in dosed.doses}
    windows, notices = _windows(analysis, runs)
    margin = analysis.request.margins.get("throughput", DEFAULT_THROUGHPUT_MARGIN)
    blocked = {c.variant_id for c in analysis.comparisons if c.change.blocking}
    metric, estimates = _throughputs(runs, windows)
    best_id = _best(runs, windows, estimates, blocked)
    ratios = _to_best(runs, windows, metric, margin, best_id, blocked)
    standings = {run_id: _standing(run_id, best_id, ratios, margin) for run_id in runs}
    plateau = _plateau(list(runs), standings, best_id) if dosed.ordered else ()
    conclusive = not dosed.problems and dosed.ordered
    waiting = {run_id: measure_waiting(run, windows[run_id]) for run_id, run in runs.items()}
    doses = _doses(analysis, dosed, runs, windows, estimates, ratios, standings, waiting)
    shape = _shape([dose.standing for dose in doses]) if conclusive else "unknown"
    return Sweep(
        knob=dosed,
        metric=metric,
        margin=margin,
        doses=doses,
        shape=shape,
        best_id=best_id if not dosed.problems else None,
        candidate_id=plateau[0] if conclusive and plateau else None,
        plateau=plateau if conclusive else (),
        wait_levels_off=levels_off([waiting[run_id] for run_id in runs], list(runs), margin) if conclusive else None,
        notices=(*notices, *_notices(dosed, doses, shape)),
    )


def _windows(analysis: Analysis, runs: Mapping[str, Run]) -> tuple[dict[str, SteadyState], list[Notice]]:
    own = own_windows(analysis)
    common = windows_common_to_all(runs, own)
    if all(window.n >= FEWEST_STEPS for window in common.values()):
        return common, []
    message = (
        "the doses share too few steps of steady state: each is measured over its own window, which biases the response"
    )
    return own, [Notice("RR491", message)]


def _throughputs(runs: Mapping[str, Run], windows: Mapping[str, SteadyState]) -> tuple[str | None, dict[str, Estimate]]:
    """The metric that all doses have, and each dose's estimate of it."""
    first, *others = runs
    found = {
        run_id: compare_throughput(runs[first], runs[run_id], windows[first], windows[run_id])
        for run_id in (others or [first])
    }
    metric = shared_metric(found.values())
    ratios = {run_id: ratio_on(comparison, metric) for run_id, comparison in found.items()}
    estimates = {run_id: ratio.variant for run_id, ratio in ratios.items()}
    return metric, {first: next(iter(ratios.values())).baseline, **estimates}


def _best(
    runs: Mapping[str, Run],
    windows: Mapping[str, SteadyState],
    estimates: Mapping[str, Estimate],
    blocked: set[str],
) -> str | None:
    """The dose with the highest throughput among those with a usable window; the earlier of equals."""
    usable = [
        (estimate, run_id)
        for run_id in runs
        if run_id not in blocked
        and (estimate := estimates[run_id].estimate) is not None
        and windows[run_id].n >= FEWEST_STEPS
        and windows[run_id].steady_class != "none"
    ]
    return max(usable, key=lambda item: item[0])[1] if usable else None


def _to_best(
    runs: Mapping[str, Run],
    windows: Mapping[str, SteadyState],
    metric: str | None,
    margin: float,
    best_id: str | None,
    blocked: set[str],
) -> dict[str, RatioComparison]:
    if best_id is None:
        return {}
    return {
        run_id: ratio_on(
            compare_throughput(
                runs[best_id],
                runs[run_id],
                windows[best_id],
                windows[run_id],
                margin=margin,
                comparable=run_id not in blocked,
            ),
            metric,
        )
        for run_id in runs
        if run_id != best_id
    }


def _standing(run_id: str, best_id: str | None, ratios: Mapping[str, RatioComparison], margin: float) -> Standing:
    if run_id == best_id:
        return "best"
    ratio = ratios.get(run_id)
    if ratio is None or not is_decided(ratio) or ratio.ci_low is None or ratio.ci_high is None:
        return "unknown"
    limit = 1 / (1 + margin)
    if ratio.ci_low > limit:
        return "not-worse"
    return "worse" if ratio.ci_high < limit else "undecided"


def _plateau(run_ids: Sequence[str], standings: Mapping[str, Standing], best_id: str | None) -> tuple[str, ...]:
    """The doses around the best, each next to the one before, that are not worse than it; ascending."""
    if best_id is None:
        return ()
    place = run_ids.index(best_id)
    low = high = place
    while low > 0 and standings[run_ids[low - 1]] == "not-worse":
        low -= 1
    while high + 1 < len(run_ids) and standings[run_ids[high + 1]] == "not-worse":
        high += 1
    return tuple(run_ids[low : high + 1])


def _shape(standings: Sequence[Standing]) -> Shape:
    """What the standings of ascending doses say together; "undecided" where a neighbour of the plateau is not decided."""
    if "best" not in standings:
        return "unknown"
    if len(standings) < 2 or "unknown" in standings:
        return "undecided" if len(standings) > 1 else "unknown"
    good = [standing in ("best", "not-worse") for standing in standings]
    low, high = good.index(True), len(good) - 1 - good[::-1].index(True)
    if not all(good[low : high + 1]) or "undecided" in standings[max(low - 1, 0) : high + 2]:
        return "undecided"
    if all(good):
        return "flat"
    below, above = low > 0, high < len(good) - 1
    if below and above:
        return "peak"
    if below:
        return "levels-off" if high > low else "rising"
    return "falling"


def _doses(
    analysis: Analysis,
    dosed: DosedKnob,
    runs: Mapping[str, Run],
    windows: Mapping[str, SteadyState],
    estimates: Mapping[str, Estimate],
    ratios: Mapping[str, RatioComparison],
    standings: Mapping[str, Standing],
    waiting: Mapping[str, Waiting],
) -> tuple[Dose, ...]:
    first = dosed.doses[0].run_id
    rewards = {run_id: logged_values(run, windows[run_id], REWARD) for run_id, run in runs.items()}
    blocked = {c.variant_id for c in analysis.comparisons if c.change.blocking}
    found: list[Dose] = []
    for dose in dosed.doses:
        run, window = runs[dose.run_id], windows[dose.run_id]
        comparable = not {dose.run_id, first} & blocked
        qualities = tuple(
            compare_quality(
                runs[first],
                run,
                windows[first],
                window,
                metric=metric,
                margin=analysis.request.margins.get(MARGIN_NAMES[metric]),
                comparable=comparable,
            )
            for metric in (REWARD, ACCURACY)
            if runs[first].metric(metric) is not None and run.metric(metric) is not None
        )
        means = {quality.metric: quality.variant for quality in qualities}
        found.append(
            Dose(
                run_id=dose.run_id,
                value=dose.value,
                number=dose.number,
                window=window,
                throughput=estimates[dose.run_id],
                to_best=ratios.get(dose.run_id),
                standing=standings[dose.run_id],
                wait_share=waiting[dose.run_id].share,
                wait_s=waiting[dose.run_id].seconds,
                volatility=measure_volatility(run, window, REWARD),
                volatility_ratio=_ratio_to_first(rewards, first, dose.run_id),
                reward=means.get(REWARD, Estimate.unknown("")),
                accuracy=means.get(ACCURACY, Estimate.unknown("")),
                accuracy_course=accuracy_course(run, window),
                qualities=qualities if dose.run_id != first else (),
            )
        )
    return tuple(found)


def _ratio_to_first(rewards: Mapping[str, Array], first: str, run_id: str) -> Estimate:
    return Estimate.unknown("ratio") if run_id == first else compare_volatility(rewards[first], rewards[run_id])


def _notices(dosed: DosedKnob, doses: Sequence[Dose], shape: Shape) -> list[Notice]:
    found: list[Notice] = []
    if len(doses) == 2:
        found.append(Notice("RR492", "two doses show a difference, not a response: a plateau needs three doses at least"))
    if not dosed.ordered and dosed.key is not None:
        message = f"{dosed.label} has no order (its values are not all numbers): doses are compared, but no response is read"
        found.append(Notice("RR493", message))
    if shape == "rising":
        found.append(Notice("RR494", "the best dose is the highest one tried: a higher one may be better still"))
    if shape == "falling":
        found.append(Notice("RR494", "the best dose is the lowest one tried: a lower one may be better still"))
    return found
