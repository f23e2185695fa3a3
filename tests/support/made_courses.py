"""Pairs of runs along a course, analysed, for tests of the sections that tell it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlreport.comparators.analysis import Analysis, AnalysisRequest, analyse
from rlreport.comparators.course import Course, follow_course
from rlreport.comparators.replicated import ReplicatedComparison, compare_replicates
from rlreport.comparators.steady_state import find_steady_state
from rlreport.run.model import Run
from support.made_runs import make_run


def course_run(name: str, *, seed: int = 1, speed: Any = 1.0, n: int = 120, clock: bool = True, **columns: Any) -> Run:
    """About 100 s, 10,000 tokens and 64 prompts a step; reward, accuracy in every 10th step, entropy; a wall clock."""
    rng = np.random.default_rng(seed)
    time_s = 100 * np.exp(0.03 * rng.normal(size=n)) / speed
    base: dict[str, Any] = {
        "time.step_s": time_s,
        "work.tokens": np.full(n, 10_000.0),
        "work.prompts": np.full(n, 64.0),
        "length.response_mean": np.full(n, 1000.0),
        "quality.reward_mean": np.linspace(0.2, 0.6, n) + 0.01 * rng.normal(size=n),
        "quality.accuracy": np.where(np.arange(1, n + 1) % 10 == 0, np.linspace(0.3, 0.7, n), np.nan),
        "quality.entropy": np.linspace(0.8, 0.4, n) + 0.01 * rng.normal(size=n),
    }
    if clock:
        validate = np.where(np.arange(1, n + 1) % 10 == 0, 40.0, np.nan)
        base |= {"clock.wall_s": 300 + np.cumsum(time_s + np.nan_to_num(validate)), "time.validate_s": validate}
    return make_run({**base, **columns}, run_id=name, label=f"run {name}")


def course_analysis(baseline: Run, *variants: Run) -> Analysis:
    """The analysis of a baseline against its variants."""
    runs = {run.run_id: run for run in (baseline, *variants)}
    names = tuple(run.run_id for run in variants)
    return analyse(AnalysisRequest("made", "ab" if names else "profile", baseline.run_id, names), runs)


def courses_of(analysis: Analysis, **options: Any) -> list[Course]:
    """The courses of the analysis's comparisons, in their order."""
    return [
        follow_course(analysis.runs[c.baseline_id].run, analysis.runs[c.variant_id].run, c.throughput, **options)
        for c in analysis.comparisons
    ]


def replicated_of(baseline: Sequence[Run], variant: Sequence[Run]) -> ReplicatedComparison | None:
    """Two groups of runs compared by tokens/s per device."""
    windows = [[find_steady_state(run) for run in arm] for arm in (baseline, variant)]
    return compare_replicates(baseline, variant, *windows, metric="tokens_per_s_per_device")
