"""What report.json holds of a comparison's course and of replicates: the same numbers as the page, nothing rounded."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlreport.comparators.course import Course, RunCourse
from rlreport.comparators.equal_budget import Budget
from rlreport.comparators.horizon import Horizon
from rlreport.comparators.replicated import ReplicatedComparison
from rlreport.comparators.signals import SignalComparison
from rlreport.comparators.target import TargetComparison, TargetResult
from rlreport.comparators.wall_clock import WallClock, WallClockComparison


def course_data(course: Course) -> dict[str, Any]:
    """The fields `horizon`, `wall_clock`, `equal_cost`, `targets` and `signals` of a comparison."""
    return {
        "horizon": None if course.horizon is None else _horizon(course.horizon),
        "wall_clock": None if course.wall_clock is None else _wall_clock_pair(course.wall_clock),
        "equal_cost": [_budget(budget) for budget in course.budgets],
        "targets": [_targets(target) for target in course.targets],
        "signals": [_signal(signal) for signal in course.signals],
    }


def run_course_data(course: RunCourse) -> dict[str, Any]:
    """The fields `wall_clock`, `targets` and `signals` of a run."""
    return {
        "wall_clock": None if course.wall_clock is None else _wall_clock(course.wall_clock),
        "targets": [_target(target) for target in course.targets],
        "signals": [asdict(signal) for signal in course.signals],
    }


def replicated_data(found: ReplicatedComparison | None) -> dict[str, Any] | None:
    """The field `replicates` of a comparison, None without replicates."""
    if found is None:
        return None
    data = asdict(found)
    del data["notices"]
    return data


def _horizon(found: Horizon) -> dict[str, Any]:
    return {
        "unit": found.unit,
        "metric": found.metric,
        "clock": found.clock,
        "agreement": found.agreement,
        "p_value": found.p_value,
        "sentence": found.sentence,
        "length_sentence": found.length_sentence or None,
        "windows": [asdict(window) for window in found.windows],
        "cumulative": asdict(found.last),
    }


def _wall_clock(found: WallClock) -> dict[str, Any]:
    data = asdict(found)
    del data["notices"]
    return {**data, "losses": dict(found.losses), "lost_s": found.lost_s}


def _wall_clock_pair(found: WallClockComparison) -> dict[str, Any]:
    return {
        "baseline": _wall_clock(found.baseline),
        "variant": _wall_clock(found.variant),
        "steady_ratio": found.steady_ratio,
        "wall_ratio": found.wall_ratio,
        "time_ratio": found.time_ratio,
    }


def _budget(found: Budget) -> dict[str, Any]:
    return asdict(found)


def _target(found: TargetResult) -> dict[str, Any]:
    return asdict(found)


def _targets(found: TargetComparison) -> dict[str, Any]:
    return {
        "metric": found.baseline.metric,
        "target": found.baseline.target,
        "baseline": _target(found.baseline),
        "variant": _target(found.variant),
        "samples_ratio": found.samples_ratio,
        "hours_ratio": found.hours_ratio,
        "device_hours_ratio": found.device_hours_ratio,
        "bound": found.bound,
    }


def _signal(found: SignalComparison) -> dict[str, Any]:
    data = asdict(found)
    del data["notices"]
    return data
