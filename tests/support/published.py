"""The published results of examples/published as runs and studies, and results made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rlreport.collectors import merge_sources, read_sources, require_steps
from rlreport.collectors.summary import summaries_of
from rlreport.comparators.change import compare_config
from rlreport.comparators.summary import SummaryStudy
from rlreport.comparators.summary_traps import study_published
from rlreport.dialects import interpret_run
from rlreport.dialects.summary import with_summaries
from rlreport.manifest import Manifest, load_manifest
from rlreport.run.model import Run
from rlreport.run.summary import QUANTITIES, Summary
from support.made_runs import make_run

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "published"
MANIFEST = FOLDER / "experiments.yaml"


@cache
def manifest() -> Manifest:
    """The manifest beside the tables."""
    return load_manifest(MANIFEST)


@cache
def published_run(run_id: str) -> Run:
    """One run of the manifest with its results."""
    declared = manifest().runs[run_id]
    raw = merge_sources(read_sources([(s.path, s.format, s.columns) for s in declared.sources], FOLDER))
    require_steps(raw)
    return with_summaries(interpret_run(raw, declared.declaration()), summaries_of(raw, run_id))


@cache
def study(report_id: str) -> SummaryStudy:
    """The study of one report of the manifest."""
    report = next(report for report in manifest().reports if report.id == report_id)
    runs = {run_id: published_run(run_id) for run_id in report.run_ids}
    return study_of(runs, report.baseline, declared=report.changes)


def study_of(runs: Mapping[str, Run], baseline: str, declared: tuple[str, ...] = ()) -> SummaryStudy:
    """A study that compares every other run with the baseline."""
    pairs = [
        (baseline, run_id, compare_config(runs[baseline], run, declared=declared))
        for run_id, run in runs.items()
        if run_id != baseline
    ]
    found = study_published(runs, pairs)
    assert found is not None
    return found


def results_run(run_id: str, results: Mapping[Any, float], *, resolution: float = 1e-6, **more: Any) -> Run:
    """A run without steps whose results are given as quantity -> value, or (quantity, last step) -> value."""
    summaries = []
    for line, (key, value) in enumerate(results.items(), 2):
        quantity, last = key if isinstance(key, tuple) else (key, None)
        first = None if last is None else 1
        unit = QUANTITIES[quantity].unit
        summaries.append(Summary(run_id, quantity, value, unit, first, last, "made", f"made.csv:{line}", resolution))
    return make_run({}, run_id=run_id, summaries=tuple(summaries), **more)


def totals(*hours: float) -> dict[Any, float]:
    """Total times after 100, 200, ... steps, in hours."""
    return {("clock.wall_s", 100 * number): 3600 * value for number, value in enumerate(hours, 1)}
