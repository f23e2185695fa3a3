"""One report's analysis: every run measured over its window, every pair compared. Plain data from here on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rlreport.comparators.change import compare_config
from rlreport.comparators.doubts import doubts
from rlreport.comparators.idle import measure_idle
from rlreport.comparators.quality import QualitySummary, compare_quality, summarise_quality
from rlreport.comparators.results import (
    Change,
    Idle,
    QualityComparison,
    SteadyState,
    Throughput,
    ThroughputComparison,
    TimeSplit,
)
from rlreport.comparators.series import Progress, StepSeries, metric_series, progress, throughput_series
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput, measure_throughput
from rlreport.comparators.time_split import split_time
from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run

Kind = Literal["ab", "ladder", "sweep", "profile"]

#: Metrics that a comparison looks at beside throughput, in the order in which a report shows them.
QUALITY_METRICS = ("quality.reward_mean", "quality.accuracy", "length.response_mean")
#: The manifest's short names of margins.
MARGIN_NAMES = {"quality.reward_mean": "reward", "quality.accuracy": "accuracy", "length.response_mean": "response_length"}
#: Smallest difference that matters when the manifest does not say: 5 % of throughput.
DEFAULT_THROUGHPUT_MARGIN = 0.05

_SERIES = (*QUALITY_METRICS, "length.response_max", "length.clip_ratio", "quality.entropy", "staleness.mean", "time.wait_s")


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What a report asks: the run it starts from, its variants in order, and how they are to be compared."""

    report_id: str
    kind: Kind
    baseline: str
    variants: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    waivers: Mapping[str, str] = field(default_factory=dict)
    from_step: int | None = None
    to_step: int | None = None
    margins: Mapping[str, float] = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs to compare: in a ladder each variant with the one before it, else each with the baseline."""
        if self.kind == "ladder":
            return tuple(zip((self.baseline, *self.variants), self.variants, strict=False))
        return tuple((self.baseline, variant) for variant in self.variants)

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs of the report, baseline first."""
        return (self.baseline, *self.variants)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run measured over its window, with the series that figures need."""

    run: Run
    steady_state: SteadyState
    throughput: Throughput
    time_split: TimeSplit
    idle: Idle
    quality: QualitySummary
    throughput_series: StepSeries | None
    series: Mapping[str, StepSeries]
    progress: Progress | None
    checkpoint_seconds: tuple[tuple[int, float], ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything a reader must know of this run: of its sources and meaning, its window, its time and its idle."""
        return tuple(
            dict.fromkeys((*self.run.notices, *self.steady_state.notices, *self.time_split.notices, *self.idle.notices))
        )


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """One pair: what changed, how throughput changed, and what quality did meanwhile."""

    baseline_id: str
    variant_id: str
    change: Change
    throughput: ThroughputComparison
    quality: tuple[QualityComparison, ...]

    @property
    def comparable(self) -> bool:
        """Whether the two runs may be compared at all."""
        return not self.change.blocking


@dataclass(frozen=True, slots=True)
class Analysis:
    """All results of one report."""

    request: AnalysisRequest
    runs: Mapping[str, RunResult]
    comparisons: tuple[ComparisonResult, ...]


def analyse(request: AnalysisRequest, runs: Mapping[str, Run]) -> Analysis:
    """Measure the runs of a report and compare its pairs.

    Both arms of a pair are compared over their common window. A run is measured over the window of the first pair it
    belongs to, so that the numbers of a report agree with each other; a profile's run over its own.
    """
    own = {
        run_id: find_steady_state(runs[run_id], from_step=request.from_step, to_step=request.to_step)
        for run_id in request.run_ids
    }
    windows: dict[str, SteadyState] = {}
    comparisons: list[ComparisonResult] = []
    for baseline_id, variant_id in request.pairs:
        baseline, variant = runs[baseline_id], runs[variant_id]
        change = compare_config(baseline, variant, declared=request.changes, waivers=request.waivers)
        change = replace(change, blocking=(*doubts(baseline, variant), *change.blocking))
        pair = common_window(baseline, own[baseline_id], variant, own[variant_id])
        comparisons.append(
            ComparisonResult(
                baseline_id,
                variant_id,
                change,
                compare_throughput(
                    baseline,
                    variant,
                    *pair,
                    margin=request.margins.get("throughput", DEFAULT_THROUGHPUT_MARGIN),
                    comparable=not change.blocking,
                ),
                _compare_qualities(baseline, variant, pair, request, comparable=not change.blocking),
            )
        )
        windows.setdefault(baseline_id, pair[0])
        windows.setdefault(variant_id, pair[1])
    results = {run_id: _measure(runs[run_id], windows.get(run_id, own[run_id])) for run_id in request.run_ids}
    return Analysis(request, results, tuple(comparisons))


def _compare_qualities(
    baseline: Run, variant: Run, pair: Sequence[SteadyState], request: AnalysisRequest, *, comparable: bool
) -> tuple[QualityComparison, ...]:
    return tuple(
        compare_quality(
            baseline,
            variant,
            pair[0],
            pair[1],
            metric=metric,
            margin=request.margins.get(MARGIN_NAMES[metric]),
            comparable=comparable,
        )
        for metric in QUALITY_METRICS
        if baseline.metric(metric) is not None and variant.metric(metric) is not None
    )


def _measure(run: Run, window: SteadyState) -> RunResult:
    series = {name: metric_series(run, name, METRICS[name].unit) for name in _SERIES}
    return RunResult(
        run=run,
        steady_state=window,
        throughput=measure_throughput(run, window),
        time_split=split_time(run, window),
        idle=measure_idle(run, window),
        quality=summarise_quality(run, window),
        throughput_series=throughput_series(run, per_device=run.devices.total is not None),
        series={name: found for name, found in series.items() if found is not None},
        progress=progress(run),
        checkpoint_seconds=_checkpoints(run),
    )


def _checkpoints(run: Run) -> tuple[tuple[int, float], ...]:
    column = run.metric("time.checkpoint_s")
    if column is None:
        return ()
    return tuple((int(step), float(seconds)) for step, seconds in column.dropna().items() if seconds > 0)  # type: ignore[call-overload]
