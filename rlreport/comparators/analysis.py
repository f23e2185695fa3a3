"""One report's analysis: every run measured over its window, every pair compared. Plain data from here on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_chain import chain_notices, declared_changes
from rlreport.comparators.change_facts import seeds_of
from rlreport.comparators.change_invariants import invariant_notices
from rlreport.comparators.change_work import step_against_throughput
from rlreport.comparators.comparability import Comparability, comparability
from rlreport.comparators.course import Course, RunCourse, follow_course, follow_run
from rlreport.comparators.doubts import doubts
from rlreport.comparators.idle import idle_of_trace, measure_idle
from rlreport.comparators.judge import METRIC_NAMES, Judgement, PairResults, judge_report
from rlreport.comparators.quality import QualitySummary, compare_quality, summarise_quality
from rlreport.comparators.replicated import ReplicatedComparison, with_runs_as_unit
from rlreport.comparators.replicated_pair import compare_pair_groups
from rlreport.comparators.replicates import ReplicateCheck, check_groups
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
from rlreport.comparators.summary import SummaryStudy, is_published_only, published_throughput
from rlreport.comparators.summary_traps import study_published
from rlreport.comparators.throughput import compare_throughput, measure_throughput
from rlreport.comparators.time_split import split_time
from rlreport.comparators.timeline import Timeline, measure_timeline
from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.run.rules import NO_POLICY, ChangePolicy

if TYPE_CHECKING:
    from rlreport.comparators.ladder import Ladder
    from rlreport.comparators.sweep import Sweep

Kind = Literal["ab", "ladder", "sweep", "profile"]

#: Metrics that a comparison looks at beside throughput, in the order in which a report shows them.
QUALITY_METRICS = ("quality.reward_mean", "quality.accuracy", "length.response_mean")
#: The manifest's short names of margins.
MARGIN_NAMES = METRIC_NAMES
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
    targets: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    knob: str | None = None
    policy: ChangePolicy = NO_POLICY
    primary: tuple[str, ...] = ("throughput",)

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
    timeline: Timeline | None = None
    invariants: tuple[Notice, ...] = ()
    course: RunCourse = field(default_factory=RunCourse)

    @property
    def traced(self) -> bool:
        """Whether a trace tells what the devices did."""
        return self.timeline is not None and self.timeline.trace is not None

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Everything a reader must know of this run: of its sources and meaning, its window, its time and its idle."""
        if is_published_only(self.run):
            return self.run.notices
        return tuple(
            dict.fromkeys(
                (
                    *self.run.notices,
                    *self.invariants,
                    *self.steady_state.notices,
                    *self.time_split.notices,
                    *self.idle.notices,
                )
            )
        )


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """One pair: what changed, how throughput changed, and what quality did meanwhile."""

    baseline_id: str
    variant_id: str
    change: Change
    throughput: ThroughputComparison
    quality: tuple[QualityComparison, ...]
    comparability: Comparability | None = None
    judgement: Judgement | None = None
    course: Course = field(default_factory=Course)
    replicated: ReplicatedComparison | None = None

    @property
    def comparable(self) -> bool:
        """Whether the two runs may be compared at all."""
        return not self.change.blocking


@dataclass(frozen=True, slots=True)
class Analysis:
    """All results of one report.

    `ladder` and `sweep` hold what those kinds of report measure over all of their runs; `pipeline.analyse` fills them in.
    """

    request: AnalysisRequest
    runs: Mapping[str, RunResult]
    comparisons: tuple[ComparisonResult, ...]
    published: SummaryStudy | None = None
    replicates: tuple[ReplicateCheck, ...] = ()
    notices: tuple[Notice, ...] = ()
    ladder: Ladder | None = None
    sweep: Sweep | None = None


def analyse(request: AnalysisRequest, runs: Mapping[str, Run]) -> Analysis:
    """Measure the runs of a report and compare its pairs.

    Both arms of a pair are compared over their common window. A run is measured over the window of the first pair it
    belongs to, so that the numbers of a report agree with each other; a profile's run over its own.
    """
    own = {
        run_id: find_steady_state(runs[run_id], from_step=request.from_step, to_step=request.to_step)
        for run_id in request.run_ids
    }
    replicates = check_groups(runs, request.policy)
    declared = declared_changes(request.kind, request.changes, request.knob)
    windows: dict[str, SteadyState] = {}
    comparisons: list[ComparisonResult] = []
    for baseline_id, variant_id in request.pairs:
        baseline, variant = runs[baseline_id], runs[variant_id]
        waivers = {**_free_seeds(baseline, variant, request.groups), **request.waivers}
        change = compare_config(baseline, variant, declared=declared, waivers=waivers, policy=request.policy)
        change = replace(change, blocking=(*doubts(baseline, variant), *change.blocking))
        pair = common_window(baseline, own[baseline_id], variant, own[variant_id])
        throughput = _compare_speeds(baseline, variant, pair, request, change)
        throughput = replace(
            throughput, notices=(*step_against_throughput(change, throughput, baseline.knob_rules), *throughput.notices)
        )
        comparable = not change.blocking
        replicated = compare_pair_groups(
            baseline_id,
            variant_id,
            runs,
            request.groups,
            throughput,
            policy=request.policy,
            from_step=request.from_step,
            to_step=request.to_step,
            comparable=comparable,
        )
        throughput = with_runs_as_unit(throughput, replicated)
        course = follow_course(
            baseline,
            variant,
            throughput,
            margins=_by_metric(request.margins),
            targets=_by_metric(request.targets),
            comparable=comparable,
        )
        comparisons.append(
            ComparisonResult(
                baseline_id,
                variant_id,
                change,
                throughput,
                _compare_qualities(baseline, variant, pair, request, comparable=comparable),
                comparability(change, throughput, pair, (baseline, variant), replicates),
                course=course,
                replicated=replicated,
            )
        )
        windows.setdefault(baseline_id, pair[0])
        windows.setdefault(variant_id, pair[1])
    judged = judge_report(
        [PairResults(c.variant_id, c.change, c.throughput, c.quality) for c in comparisons], request.primary
    )
    comparisons = [
        replace(c, throughput=j.throughput, quality=j.quality, judgement=j.judgement)
        for c, j in zip(comparisons, judged, strict=True)
    ]
    chain = chain_notices([c.change for c in comparisons]) if request.kind == "ladder" else []
    targets = _by_metric(request.targets)
    results = {run_id: _measure(runs[run_id], windows.get(run_id, own[run_id]), targets) for run_id in request.run_ids}
    changes = [(c.baseline_id, c.variant_id, c.change) for c in comparisons]
    published = study_published({run_id: runs[run_id] for run_id in request.run_ids}, changes)
    return Analysis(request, results, tuple(comparisons), published, replicates=replicates, notices=tuple(chain))


def _by_metric(values: Mapping[str, float]) -> dict[str, float]:
    """Values that the manifest gives by short name, by canonical metric."""
    return {metric: values[short] for metric, short in MARGIN_NAMES.items() if short in values}


def _free_seeds(baseline: Run, variant: Run, groups: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Seeds differ on purpose where an arm has replicates: the runs of one configuration are then the unit."""
    if not (groups.get(baseline.run_id) or groups.get(variant.run_id)):
        return {}
    return dict.fromkeys((*seeds_of(baseline), *seeds_of(variant)), "the seed of a replicate")


def _compare_speeds(
    baseline: Run, variant: Run, pair: tuple[SteadyState, SteadyState], request: AnalysisRequest, change: Change
) -> ThroughputComparison:
    margin, comparable = request.margins.get("throughput", DEFAULT_THROUGHPUT_MARGIN), not change.blocking
    if is_published_only(baseline) and is_published_only(variant):
        return published_throughput(baseline, variant, pair, margin=margin, comparable=comparable)
    return compare_throughput(baseline, variant, *pair, margin=margin, comparable=comparable)


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


def _measure(run: Run, window: SteadyState, targets: Mapping[str, float]) -> RunResult:
    timeline = None if is_published_only(run) else measure_timeline(run, window)
    series = {name: metric_series(run, name, METRICS[name].unit) for name in _SERIES}
    return RunResult(
        run=run,
        steady_state=window,
        throughput=measure_throughput(run, window),
        time_split=split_time(run, window),
        idle=idle_of_trace(timeline) or measure_idle(run, window, None if timeline is None else timeline.owner),
        quality=summarise_quality(run, window),
        throughput_series=throughput_series(run, per_device=run.devices.total is not None),
        series={name: found for name, found in series.items() if found is not None},
        progress=progress(run),
        checkpoint_seconds=_checkpoints(run),
        course=follow_run(run, window, targets=targets),
        timeline=timeline,
        invariants=invariant_notices(run),
    )


def _checkpoints(run: Run) -> tuple[tuple[int, float], ...]:
    column = run.metric("time.checkpoint_s")
    if column is None:
        return ()
    return tuple((int(step), float(seconds)) for step, seconds in column.dropna().items() if seconds > 0)  # type: ignore[call-overload]
