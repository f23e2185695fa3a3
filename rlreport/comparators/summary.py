"""Runs of which only published numbers are known, compared: speed-ups by horizon and by window, rates, implied work.

One number an arm has no spread: nothing here has an interval, and no verdict is claimed. What the numbers of a report say
against each other is told by the rules of `summary_traps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.results import Change, RatioComparison, SteadyState, ThroughputComparison
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.model import Run
from rlreport.run.summary import ELAPSED, RATE, RATE_PER_DEVICE, STEP_TIME, TOKENS, WAIT, Summary

if TYPE_CHECKING:
    from rlreport.comparators.summary_trap import Trap

#: Why no claim is made.
REASON = "one published number an arm: no interval"
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class PublishedRun:
    """A run with its published results, looked up by quantity; what was not published is None."""

    run: Run

    @property
    def label(self) -> str:
        """The run's label."""
        return self.run.label

    def find(self, quantity: str) -> Summary | None:
        """The result about a quantity; of several, the one over most steps."""
        found = [summary for summary in self.run.summaries if summary.quantity == quantity]
        return max(found, key=lambda summary: summary.to_step or 0, default=None)

    def value(self, quantity: str) -> float | None:
        """The value of `find`."""
        found = self.find(quantity)
        return None if found is None else found.value

    @cached_property
    def totals(self) -> tuple[Summary, ...]:
        """Total times from the first step on, by ascending last step; one whose last step is not told stands last."""
        found = [summary for summary in self.run.summaries if summary.quantity == ELAPSED and summary.from_start]
        return tuple(sorted(found, key=lambda summary: (summary.to_step is None, summary.to_step or 0)))

    @property
    def total(self) -> Summary | None:
        """The total time over most steps."""
        return self.totals[-1] if self.totals else None

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens a second of all devices: as published, else by tokens and time of a step, else from the rate per device."""
        published, tokens, step_s = self.value(RATE), self.value(TOKENS), self.value(STEP_TIME)
        if published is not None:
            return published
        if tokens is not None and step_s:
            return tokens / step_s
        per_device, devices = self.value(RATE_PER_DEVICE), self.run.devices.total
        return per_device * devices if per_device is not None and devices else None

    @property
    def wait_share(self) -> float | None:
        """Share of the step in which the Trainer waits for samples."""
        wait, step_s = self.value(WAIT), self.value(STEP_TIME)
        return wait / step_s if wait is not None and step_s else None

    @property
    def implied_tokens(self) -> float | None:
        """Tokens of the whole run as tokens/s x total time, where both are about the same steps."""
        rate, total = self.find(RATE), self.total
        if rate is None or total is None or rate.to_step != total.to_step:
            return None
        return rate.value * total.value

    @property
    def implied_step_s(self) -> float | None:
        """Mean step time that the total time implies."""
        total = self.total
        return total.value / total.to_step if total is not None and total.to_step else None

    @property
    def implied_devices(self) -> float | None:
        """Devices that the published rate per device implies: tokens / (step time x rate)."""
        tokens, step_s, rate = self.value(TOKENS), self.value(STEP_TIME), self.value(RATE_PER_DEVICE)
        return tokens / (step_s * rate) if tokens is not None and step_s and rate else None


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Two times for the same steps, and the baseline's over the variant's: above 1 the variant is faster.

    `from_step` and `to_step` are None where the table does not tell them; `ratio` is None where a time is not positive, as
    when a total falls from one horizon to the next.
    """

    from_step: int | None
    to_step: int | None
    baseline_s: float
    variant_s: float

    @property
    def ratio(self) -> float | None:
        """The speed-up, as a ratio of times."""
        return self.baseline_s / self.variant_s if self.baseline_s > 0 and self.variant_s > 0 else None


@dataclass(frozen=True, slots=True)
class SummaryComparison:
    """One pair by its published numbers. There is never an interval.

    `step` is the speed-up by the published mean step times, `cumulative` that of total times from the start by horizon,
    `windows` that between two horizons (differences of totals); `rate` is the variant's tokens/s over the baseline's and
    `length` its mean response length over the baseline's.
    """

    baseline: PublishedRun
    variant: PublishedRun
    change: Change
    step: SpeedUp | None
    cumulative: tuple[SpeedUp, ...]
    windows: tuple[SpeedUp, ...]
    rate: float | None
    verdict: Literal["insufficient-data", "not-comparable"]
    reason: str = REASON

    @property
    def ratios(self) -> tuple[float, ...]:
        """All speed-ups by total time: from the start, then by window; the first window is the first horizon."""
        return tuple(found.ratio for found in (*self.cumulative, *self.windows[1:]) if found.ratio is not None)


@dataclass(frozen=True, slots=True)
class SummaryStudy:
    """The published numbers of a report's runs. `alone` says that no run of the report has steps.

    `traps` is what the numbers say against each other (`summary_traps.study_published` fills it).
    """

    runs: Mapping[str, PublishedRun]
    comparisons: tuple[SummaryComparison, ...]
    alone: bool
    traps: tuple[Trap, ...] = ()


def is_published_only(run: Run) -> bool:
    """Whether a run has published results and no steps."""
    return bool(run.summaries) and not len(run.steps)


def study_summaries(runs: Mapping[str, Run], pairs: Sequence[tuple[str, str, Change]]) -> SummaryStudy | None:
    """Compare the runs of a report by their published numbers.

    Args:
        runs: the runs of the report by id, in its order.
        pairs: (baseline id, variant id, change between them) of the report.

    Returns:
        The study; pairs of which a run has no published number are left out. None when no run has one.
    """
    published = {run_id: PublishedRun(run) for run_id, run in runs.items() if run.summaries}
    if not published:
        return None
    comparisons = tuple(
        compare_published(published[baseline], published[variant], change)
        for baseline, variant, change in pairs
        if baseline in published and variant in published
    )
    return SummaryStudy(published, comparisons, alone=all(is_published_only(run) for run in runs.values()))


def compare_published(baseline: PublishedRun, variant: PublishedRun, change: Change) -> SummaryComparison:
    """Compare two runs by what both published; see `SummaryComparison`."""
    cumulative = _cumulative(baseline, variant)
    return SummaryComparison(
        baseline=baseline,
        variant=variant,
        change=change,
        step=_step(baseline, variant),
        cumulative=cumulative,
        windows=_windows(cumulative),
        rate=_over(variant.tokens_per_s, baseline.tokens_per_s),
        verdict="not-comparable" if change.blocking else "insufficient-data",
    )


def _step(baseline: PublishedRun, variant: PublishedRun) -> SpeedUp | None:
    left, right = baseline.find(STEP_TIME), variant.find(STEP_TIME)
    if left is None or right is None:
        return None
    same = (left.from_step, left.to_step) == (right.from_step, right.to_step)
    steps = (left.from_step, left.to_step) if same else (None, None)
    return SpeedUp(*steps, left.value, right.value)


def _cumulative(baseline: PublishedRun, variant: PublishedRun) -> tuple[SpeedUp, ...]:
    """Speed-ups at the horizons that both arms have."""
    other = {total.to_step: total for total in variant.totals}
    return tuple(
        SpeedUp(None if total.to_step is None else 1, total.to_step, total.value, other[total.to_step].value)
        for total in baseline.totals
        if total.to_step in other
    )


def _windows(cumulative: Sequence[SpeedUp]) -> tuple[SpeedUp, ...]:
    """Speed-ups between horizons: differences of total times. The first window is the first horizon itself."""
    known = [found for found in cumulative if found.to_step is not None]
    later = [_between(before, after) for before, after in pairwise(known)]
    return (*known[:1], *later)


def _between(before: SpeedUp, after: SpeedUp) -> SpeedUp:
    first = None if before.to_step is None else before.to_step + 1
    return SpeedUp(first, after.to_step, after.baseline_s - before.baseline_s, after.variant_s - before.variant_s)


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def published_throughput(
    baseline: Run, variant: Run, windows: tuple[SteadyState, SteadyState], *, margin: float, comparable: bool
) -> ThroughputComparison:
    """The throughput comparison of two runs without steps, as comparisons of runs with steps have it: never an interval.

    The headline is the first that both published numbers give: tokens/s per device, tokens/s, steps/h by the longest horizon
    that both have, steps/h by the mean step time. The verdict is "insufficient-data", or "not-comparable".
    """
    left, right = PublishedRun(baseline), PublishedRun(variant)
    verdict: Literal["insufficient-data", "not-comparable"] = "insufficient-data" if comparable else "not-comparable"

    def compare(metric: str, unit: str, before: float | None, after: float | None) -> RatioComparison:
        return RatioComparison(
            metric=metric,
            baseline=Estimate(before, None, None, unit),
            variant=Estimate(after, None, None, unit),
            ratio=_over(after, before),
            ci_low=None,
            ci_high=None,
            confidence=_CONFIDENCE,
            margin=margin,
            verdict=verdict,
            minimum_detectable_ratio=None,
            n_baseline=0,
            n_variant=0,
            n_effective_baseline=None,
            n_effective_variant=None,
        )

    devices = (left.run.devices.total, right.run.devices.total)
    rates = (left.tokens_per_s, right.tokens_per_s)
    ratios = [
        compare("tokens_per_s_per_device", "tokens/s/device", _over(rates[0], devices[0]), _over(rates[1], devices[1])),
        compare("tokens_per_s", "tokens/s", *rates),
        compare("steps_per_h", "steps/h", *_steps_per_h(left, right)),
    ]
    known = [ratio for ratio in ratios if ratio.ratio is not None] or [ratios[-1]]
    return ThroughputComparison(known[0], tuple(known[1:]), *windows, notices=_notices(known[0], comparable=comparable))


def _steps_per_h(left: PublishedRun, right: PublishedRun) -> tuple[float | None, float | None]:
    common = [found for found in _cumulative(left, right) if found.to_step and found.ratio is not None]
    if common:
        steps = 3600.0 * (common[-1].to_step or 0)
        return steps / common[-1].baseline_s, steps / common[-1].variant_s
    found = _step(left, right)
    return (None, None) if found is None else (_over(3600.0, found.baseline_s), _over(3600.0, found.variant_s))


def _notices(headline: RatioComparison, *, comparable: bool) -> tuple[Notice, ...]:
    blocked = () if comparable else (Notice("RR453", "the runs may not be compared; numbers below describe each run"),)
    said = "" if headline.ratio is None else ", and the ratio of two such numbers has no error that could be told"
    return (*blocked, Notice("RR490", f"{REASON}{said}; the step data of both runs would give one"))
