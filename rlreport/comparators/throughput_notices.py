"""What a reader of a throughput comparison must know: its footing, its course, response length, its precision."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.arm import Arm, Metric, matched_arrays
from rlreport.comparators.results import RatioComparison
from rlreport.comparators.window import mean_over
from rlreport.run.diagnostics import Notice
from rlreport.run.format import join_words, number, percent, plural, ratio, signed_percent
from rlreport.stats.decisions import excludes
from rlreport.stats.ratio import relative_influence
from rlreport.stats.stationarity import fit_trend

#: Mean response lengths that differ by more than this fraction are told beside the ratio.
_LENGTH_DIFFERENCE = 0.02


def why_not_comparable(reasons: Sequence[str], *, comparable: bool) -> list[Notice]:
    """Why the runs may not be compared, first of all notices."""
    if comparable:
        return []
    why = f": {'; '.join(reasons)}" if reasons else ""
    return [Notice("RR453", f"the runs may not be compared{why}; numbers below describe each run, not the change")]


def headline_notices(arms: tuple[Arm, Arm], headline: Metric) -> list[Notice]:
    """What the headline stands on: one run an arm, and why it is this metric."""
    notices = [
        Notice(
            "RR454",
            "one run an arm: the intervals hold step-to-step noise of these two runs, not the difference between runs of "
            "the same configuration; a second seed an arm would show it",
        )
    ]
    devices = [arm.devices for arm in arms]
    if headline.work != "tokens":
        notices.append(Notice("RR455", f"tokens a step are not known for both runs: {headline.unit} is the headline"))
    elif not headline.per_device:
        unknown = [arm.run.label for arm in arms if arm.devices is None]
        message = f"the number of devices of {join_words(unknown)} is not known: tokens/s of the whole run is the headline"
        notices.append(Notice("RR455", message))
    elif devices[0] != devices[1]:
        message = (
            f"the baseline runs on {devices[0]} devices, the variant on {devices[1]}: tokens/s per device is the headline, "
            "total tokens/s stands beside it"
        )
        notices.append(Notice("RR456", message))
    return notices


def course_notices(arms: tuple[Arm, Arm], headline: Metric, matched: tuple[int, ...]) -> list[Notice]:
    """What drift in the windows means for the ratio."""
    drifting = [
        name for name, arm in zip(("baseline", "variant"), arms, strict=True) if arm.window.steady_class == "drifting"
    ]
    if not drifting:
        return []
    if not matched:
        message = (
            f"throughput of the {join_words(drifting)} drifts within the window: the ratio depends on the window chosen"
        )
        return [Notice("RR458", message)]
    work_b, time_b, work_v, time_v = matched_arrays(arms, headline, matched)
    course = 1 + relative_influence(work_v, time_v) - relative_influence(work_b, time_b)
    trend = fit_trend(course)
    message = (
        f"throughput of both arms drifts within the window: the intervals come from the differences at {len(matched)} "
        "corresponding steps, in which a common course cancels"
    )
    notices = [Notice("RR458", message)]
    if trend.significant:
        change = signed_percent(trend.fraction)
        notices.append(Notice("RR459", f"the ratio itself changes by {change} over the window: no one number describes it"))
    return notices


def length_notices(
    arms: tuple[Arm, Arm], ratios: Sequence[RatioComparison], adjusted: RatioComparison | None
) -> list[Notice]:
    """Response length moves tokens/s and prompts/s in opposite directions; say when that matters."""
    notices: list[Notice] = []
    lengths = [mean_over(arm.run, "length.response_mean", arm.window.kept) for arm in arms]
    if lengths[0] and lengths[1] and abs(lengths[1] / lengths[0] - 1) > _LENGTH_DIFFERENCE:
        change = lengths[1] / lengths[0] - 1
        at_equal = f"; at equal length the ratio is {ratio(adjusted.ratio)}" if adjusted and adjusted.ratio else ""
        message = (
            f"responses of the variant are {percent(abs(change))} {'longer' if change > 0 else 'shorter'}: tokens/s and "
            f"prompts/s differ by as much{at_equal}"
        )
        notices.append(Notice("RR460", message))
    by_name = {one.metric: one for one in ratios}
    for suffix in ("_per_device", ""):
        tokens, prompts = by_name.get(f"tokens_per_s{suffix}"), by_name.get(f"prompts_per_s{suffix}")
        if tokens is not None and prompts is not None:
            if _disagree(tokens, prompts):
                message = f"the variant makes {ratio(tokens.ratio)} the tokens/s but {ratio(prompts.ratio)} the prompts/s"
                notices.append(Notice("RR461", message))
            break
    return notices


def _disagree(one: RatioComparison, other: RatioComparison) -> bool:
    """Whether two ratios lie on different sides of 1, and at least one interval excludes 1."""
    if one.ratio is None or other.ratio is None:
        return False
    sure = any(r.ci_low is not None and r.ci_high is not None and excludes((r.ci_low, r.ci_high), 1.0) for r in (one, other))
    return sure and (one.ratio - 1) * (other.ratio - 1) < 0


def precision_notices(arms: tuple[Arm, Arm], headline: RatioComparison) -> list[Notice]:
    """What an undecided comparison could have shown, and why it was not more."""
    smallest = headline.minimum_detectable_ratio
    if headline.verdict == "insufficient-data":
        sizes = (headline.n_effective_baseline, headline.n_effective_variant)
        arms_words = [
            f"{name}: {plural(arm.window.n, 'step')}" + (f" worth {number(size, 2)} independent ones" if size else "")
            for name, arm, size in zip(("baseline", "variant"), arms, sizes, strict=True)
        ]
        return [Notice("RR463", f"too little data for a verdict ({'; '.join(arms_words)})")]
    if headline.verdict != "inconclusive" or smallest is None or smallest <= 1 + headline.margin:
        return []
    message = (
        f"these windows could have shown a difference of {percent(smallest - 1)} or more with 80 % power; the margin is "
        f"{percent(headline.margin)}: longer windows, or more runs, are needed to decide"
    )
    return [Notice("RR462", message)]
