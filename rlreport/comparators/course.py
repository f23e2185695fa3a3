"""Everything that a comparison says beyond its one window: along training, by the wall clock, at equal cost, to a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlreport.comparators.equal_budget import Budget, compare_at_equal_cost
from rlreport.comparators.horizon import Horizon, speed_by_horizon
from rlreport.comparators.results import SteadyState, ThroughputComparison
from rlreport.comparators.signals import Signal, SignalComparison, compare_signals, measure_signals
from rlreport.comparators.target import TargetComparison, TargetResult, compare_targets, reach_target
from rlreport.comparators.wall_clock import WallClock, WallClockComparison, account_time, compare_wall_clock
from rlreport.run.diagnostics import Notice
from rlreport.run.model import Run

#: Metrics that are compared at equal cost, where both runs log them.
AT_EQUAL_COST = ("quality.reward_mean", "quality.accuracy")


@dataclass(frozen=True, slots=True)
class Course:
    """A pair along its course; parts that the logs do not tell are None or empty."""

    horizon: Horizon | None = None
    wall_clock: WallClockComparison | None = None
    budgets: tuple[Budget, ...] = ()
    targets: tuple[TargetComparison, ...] = ()
    signals: tuple[SignalComparison, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know of the parts, in their order."""
        parts = (
            self.horizon.notices if self.horizon else (),
            self.wall_clock.notices if self.wall_clock else (),
            *(target.notices for target in self.targets),
            *(signal.notices for signal in self.signals),
        )
        return tuple(dict.fromkeys(notice for part in parts for notice in part))


@dataclass(frozen=True, slots=True)
class RunCourse:
    """One run along its course, for a report of a single run."""

    wall_clock: WallClock | None = None
    targets: tuple[TargetResult, ...] = ()
    signals: tuple[Signal, ...] = ()


def follow_course(
    baseline: Run,
    variant: Run,
    throughput: ThroughputComparison,
    *,
    margins: Mapping[str, float] | None = None,
    targets: Mapping[str, float] | None = None,
    comparable: bool = True,
) -> Course:
    """Compare a pair along its course.

    `throughput` is the pair's comparison, whose windows, headline metric and margin are used. `margins` and `targets` are by
    canonical metric.
    """
    windows = (throughput.window_baseline, throughput.window_variant)
    found = (
        compare_targets(baseline, variant, metric=metric, target=value) for metric, value in sorted((targets or {}).items())
    )
    return Course(
        horizon=speed_by_horizon(baseline, variant, throughput),
        wall_clock=compare_wall_clock(baseline, variant, throughput),
        budgets=tuple(
            budget
            for metric in AT_EQUAL_COST
            for budget in compare_at_equal_cost(
                baseline, variant, metric=metric, margin=(margins or {}).get(metric), comparable=comparable
            )
        ),
        targets=tuple(target for target in found if target is not None),
        signals=compare_signals(baseline, variant, *windows),
    )


def follow_run(run: Run, window: SteadyState, *, targets: Mapping[str, float] | None = None) -> RunCourse:
    """Account for one run: its wall clock, its way to targets (by canonical metric), its signals."""
    found = (reach_target(run, metric, value) for metric, value in sorted((targets or {}).items()))
    return RunCourse(account_time(run, window), tuple(one for one in found if one is not None), measure_signals(run, window))
