"""Speed-up along training: part by part, and cumulatively since the start. A ratio depends on how long one looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.alignment import Unit, align
from rlreport.comparators.arm import BY_NAME, CONFIDENCE
from rlreport.comparators.horizon_sides import Side, common_clock, edges_along, make_side, part_ratios
from rlreport.comparators.results import ThroughputComparison
from rlreport.comparators.series import Clock
from rlreport.run.diagnostics import Notice
from rlreport.run.format import p_value, percent, ratio, scaled
from rlreport.run.model import Run
from rlreport.stats.heterogeneity import compare_levels
from rlreport.stats.ratio import LogRatio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Agreement = Literal["agree", "agree after the first", "differ", "unknown"]

#: Level of the test that parts differ: low, since every pair is asked.
DIFFERENCE_LEVEL = 0.01
#: Smaller differences than this in time or length are not told against each other.
_TELLING = 0.01
#: Points of the cumulative curve at most.
_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class CumulativePoint:
    """Both arms from the start of their common training to a place: hours, and what they make of the speed-up.

    `time_ratio` is the baseline's time over the variant's for the same training, `ratio` that of the headline's metric.
    """

    place: float
    hours_baseline: float
    hours_variant: float
    time_ratio: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class HorizonWindow:
    """A part of training that is the same in both arms, from place `begin` to place `end`.

    `ratio` is that of the headline's metric, variant over baseline, over the steps that no cause excludes; its interval is
    None where the steps are too few. `time_ratio` is the baseline's time over the variant's, all time of the clock counted.
    `length_ratio` compares mean response lengths. `n_*` are the steps used. `cumulative` is where the part ends.
    """

    begin: float
    end: float
    n_baseline: int
    n_variant: int
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    time_ratio: float | None
    length_ratio: float | None
    cumulative: CumulativePoint


@dataclass(frozen=True, slots=True)
class Horizon:
    """The speed-up of a pair along training.

    `unit` counts places ("prompts" or "steps"); `metric` is the headline's name; `clock` says what cumulative hours are made
    of. `agreement` says whether the parts' ratios differ by more than their noise and the margin: "agree", "agree after the
    first" (only the start of training differs), "differ", or "unknown" where fewer than two parts have intervals. `p_value`
    is that of the test. `sentence` says it in words. `length_sentence` says, where it is so, that less time for the same
    training is not more tokens a second, because responses differ in length; else it is empty.
    """

    unit: Unit
    metric: str
    margin: float
    clock: Clock
    windows: tuple[HorizonWindow, ...]
    curve: tuple[CumulativePoint, ...]
    agreement: Agreement
    p_value: float | None
    sentence: str
    length_sentence: str = ""
    notices: tuple[Notice, ...] = ()

    @property
    def last(self) -> CumulativePoint:
        """Both arms at the end of the training that they share."""
        return self.curve[-1]

    @property
    def spread(self) -> float:
        """The largest ratio of a part over the smallest, 1 where fewer than two are known."""
        return _spread(self.windows)


def speed_by_horizon(baseline: Run, variant: Run, throughput: ThroughputComparison) -> Horizon | None:
    """Compare two runs part by part and cumulatively along the training that both have done.

    Parts are equal in prompts trained (in steps, where both train on equally many prompts a step). A part's interval comes
    from the effective sample size, with the dependence between steps estimated from all parts together. Cumulative numbers
    hold the whole history: warm-up, validation and checkpoints, as far as the clock knows them. Whether one number describes
    the pair is tested by Welch's analysis of variance over the parts' log ratios.

    None where an arm has fewer than two steps with a time, or the two have no training in common.
    """
    runs = (baseline, variant)
    metric = BY_NAME.get(throughput.headline.metric)
    if metric is None or min(len(run.trained_steps) for run in runs) < 2:
        return None
    aligned = align(runs, ("baseline", "variant"))
    windows = (throughput.window_baseline, throughput.window_variant)
    clock = common_clock(runs)
    sides = [
        make_side(run, window, places, metric, clock)
        for run, window, places in zip(runs, windows, aligned.places, strict=True)
    ]
    begin, end = max(float(side.begin[0]) for side in sides), min(float(side.end[-1]) for side in sides)
    if end <= begin:
        return None
    edges = edges_along(begin, end, min(int(side.within(begin, end).sum()) for side in sides))
    ratios = part_ratios(sides, edges)
    found = tuple(
        _window(sides, begin, part, value, ratio_found)
        for part, (value, ratio_found) in zip(pairwise(edges), ratios, strict=True)
    )
    margin = throughput.headline.margin
    agreement, p = _agreement(found, [ratio_found for _, ratio_found in ratios], margin)
    sentence = _sentence(found, agreement, p, aligned.unit, margin)
    telling = agreement in ("differ", "agree after the first") or (agreement == "unknown" and _spread(found) > 1 + margin)
    curve = _curve(sides, begin, end)
    length_sentence = _length_sentence(sides, curve[-1]) if metric.work == "tokens" else ""
    notices = [Notice("RR465", sentence)] if telling else []
    if length_sentence:
        notices.append(Notice("RR469", length_sentence))
    return Horizon(
        unit=aligned.unit,
        metric=metric.name,
        margin=margin,
        clock=clock,
        windows=found,
        curve=curve,
        agreement=agreement,
        p_value=p,
        sentence=sentence,
        length_sentence=length_sentence,
        notices=tuple(notices),
    )


def _window(
    sides: Sequence[Side], start: float, part: tuple[float, float], value: float | None, found: LogRatio | None
) -> HorizonWindow:
    begin, end = part
    low, high = found.interval(CONFIDENCE) if found is not None else (None, None)
    counts = [int((side.within(begin, end) & side.usable).sum()) for side in sides]
    hours = [side.hours_at(end) - side.hours_at(begin) for side in sides]
    return HorizonWindow(
        begin=begin,
        end=end,
        n_baseline=counts[0],
        n_variant=counts[1],
        ratio=value,
        ci_low=low,
        ci_high=high,
        time_ratio=hours[0] / hours[1] if min(hours) > 0 else None,
        length_ratio=_length_ratio(sides, begin, end),
        cumulative=_point(sides, start, end),
    )


def _length_ratio(sides: Sequence[Side], begin: float, end: float) -> float | None:
    lengths = [side.mean_length(begin, end) for side in sides]
    return lengths[1] / lengths[0] if lengths[0] and lengths[1] else None


def _length_sentence(sides: Sequence[Side], last: CumulativePoint) -> str:
    """Where the time for the same training and the tokens a second of all devices point in opposite directions."""
    length = _length_ratio(sides, -math.inf, last.place)
    if last.ratio is None or length is None:
        return ""
    total = last.ratio * sides[0].factor / sides[1].factor
    less_time, more_tokens = last.time_ratio > 1, total > 1
    if less_time == more_tokens or abs(last.time_ratio - 1) < _TELLING or abs(length - 1) < _TELLING:
        return ""
    return (
        f"The variant needs {'less' if less_time else 'more'} time for the same training (the baseline takes "
        f"{ratio(last.time_ratio)} as long) but makes {'more' if more_tokens else 'fewer'} tokens/s ({ratio(total)}): its "
        f"responses are {percent(abs(length - 1))} {'longer' if length > 1 else 'shorter'}."
    )


def _point(sides: Sequence[Side], start: float, place: float) -> CumulativePoint:
    hours = [side.hours_at(place) - side.hours_at(start) for side in sides]
    rates = []
    for side, spent in zip(sides, hours, strict=True):
        done, before = side.work_at(place), side.work_at(start)
        rates.append(
            (done - before) / spent * side.factor if done is not None and before is not None and spent > 0 else None
        )
    return CumulativePoint(
        place=place,
        hours_baseline=hours[0],
        hours_variant=hours[1],
        time_ratio=hours[0] / hours[1] if hours[1] > 0 else math.nan,
        ratio=rates[1] / rates[0] if rates[0] and rates[1] else None,
    )


def _curve(sides: Sequence[Side], begin: float, end: float) -> tuple[CumulativePoint, ...]:
    """Cumulative points at the ends of the baseline's steps, thinned, and at the end of the common training."""
    import numpy as np

    places: NDArray[np.float64] = sides[0].end[(sides[0].end > begin) & (sides[0].end < end)]
    if len(places) > _MOST_POINTS:
        places = places[np.linspace(0, len(places) - 1, _MOST_POINTS).round().astype(int)]
    return tuple(_point(sides, begin, float(place)) for place in (*places, end))


def _spread(windows: Sequence[HorizonWindow]) -> float:
    known = [window.ratio for window in windows if window.ratio is not None]
    return max(known) / min(known) if len(known) > 1 else 1.0


def _agreement(
    windows: Sequence[HorizonWindow], ratios: Sequence[LogRatio | None], margin: float
) -> tuple[Agreement, float | None]:
    known = [ratio_found for ratio_found in ratios if ratio_found is not None]
    if len(known) < 2:
        return "unknown", None
    p = _p_of(known)
    if not _differ(known, p, margin):
        return "agree", p
    if ratios[0] is not None and len(known) > 2 and not _differ(known[1:], _p_of(known[1:]), margin):
        return "agree after the first", p
    return "differ", p


def _p_of(ratios: Sequence[LogRatio]) -> float:
    import numpy as np

    return compare_levels(
        np.log([one.value for one in ratios]),
        np.maximum([one.error for one in ratios], 1e-9),
        np.array([one.degrees for one in ratios]),
    ).p_value


def _differ(ratios: Sequence[LogRatio], p: float, margin: float) -> bool:
    values = [one.value for one in ratios]
    return p < DIFFERENCE_LEVEL and max(values) / min(values) > 1 + margin


def _sentence(windows: Sequence[HorizonWindow], agreement: Agreement, p: float | None, unit: Unit, margin: float) -> str:
    known = [window for window in windows if window.ratio is not None]
    if not known:
        return "The work of a step is not known for both runs: there is no speed-up by window."
    low, high = (by(known, key=lambda window: window.ratio or 0.0) for by in (min, max))
    between = f"{ratio(low.ratio)} to {ratio(high.ratio)}"
    extremes = f"{ratio(low.ratio)} in {place_words(low, unit)} and {ratio(high.ratio)} in {place_words(high, unit)}"
    match agreement:
        case "differ":
            return (
                f"No single number describes this pair: the ratio is {extremes}, which is more than the noise of the "
                f"windows ({p_value(p)})."
            )
        case "agree after the first":
            rest = [window for window in known if window is not windows[0]]
            values = [window.ratio or 0.0 for window in rest]
            return (
                f"The start differs: the ratio is {ratio(windows[0].ratio)} in {place_words(windows[0], unit)} and "
                f"{ratio(min(values))} to {ratio(max(values))} in the windows after it, which do not differ by more than "
                "their noise."
            )
        case "agree":
            if p is not None and p < DIFFERENCE_LEVEL:
                return f"The windows give {between}: they differ by less than the margin of {percent(margin, 0)}."
            return f"The windows give {between} and do not differ by more than their noise ({p_value(p)})."
        case "unknown":
            few = "there are too few steps a window to tell that from noise"
            if _spread(windows) > 1 + margin:
                return f"No single number describes this pair as it stands: the ratio is {extremes}; {few}."
            return f"The windows give {between}; {few}."


def place_words(window: HorizonWindow, unit: Unit) -> str:
    """A part of training in words: "steps 1 to 100", "step 4", "prompts 0 to 50.0 k"."""
    if unit == "steps":
        if round(window.end) - round(window.begin) == 1:
            return f"step {round(window.end):,}"
        return f"steps {round(window.begin) + 1:,} to {round(window.end):,}"
    return f"prompts {scaled(window.begin)} to {scaled(window.end)}"
