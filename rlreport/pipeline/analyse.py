"""From a manifest's report to an analysis, and to a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rlreport.comparators.analysis import Analysis, AnalysisRequest, analyse
from rlreport.comparators.change_waive import judging_day
from rlreport.comparators.ladder import measure_ladder
from rlreport.comparators.replicated import replicates_by_run
from rlreport.comparators.sweep import measure_sweep
from rlreport.findings.rules import find
from rlreport.manifest.model import Manifest, ManifestReport
from rlreport.report.compose import Frame, compose
from rlreport.report.model import Report
from rlreport.run.model import Run


def analysis_request(report: ManifestReport, runs: Mapping[str, Run]) -> AnalysisRequest:
    """What a manifest's report asks of the comparators; waivers are judged on the latest day of its runs."""
    day = judging_day(report.as_of, [runs[run_id].started_at for run_id in report.run_ids])
    return AnalysisRequest(
        report_id=report.id,
        kind=report.kind,
        baseline=report.baseline,
        variants=tuple(report.variants),
        changes=tuple(report.changes),
        policy=replace(report.policy, as_of=day),
        primary=report.primary,
        from_step=report.steady_state.from_step,
        to_step=report.steady_state.to_step,
        margins=dict(report.margins),
        targets=dict(report.target),
        knob=report.knob,
        groups=replicates_by_run(report.run_ids, {name: run.group for name, run in runs.items()}),
    )


def analyse_report(report: ManifestReport, runs: Mapping[str, Run]) -> Analysis:
    """Measure and compare the runs of one report."""
    analysis = analyse(analysis_request(report, runs), runs)
    if not analysis.comparisons or (analysis.published is not None and analysis.published.alone):
        return analysis
    if report.kind == "ladder":
        return replace(analysis, ladder=measure_ladder(analysis))
    if report.kind == "sweep":
        return replace(analysis, sweep=measure_sweep(analysis, report.knob))
    return analysis


def compose_report(manifest: Manifest, report: ManifestReport, analysis: Analysis) -> Report:
    """Find what to try next and lay the page out."""
    page = compose(
        analysis,
        find(analysis, {i: r.timeline for i, r in analysis.runs.items() if r.timeline is not None}),
        Frame(
            title=report.title,
            question=report.question or "",
            narrative=report.narrative_text,
            decision=report.decision_data(),
            manifest=manifest.path.name,
            manifest_sha256=manifest.sha256,
        ),
    )
    return replace(page, files=_timelines(analysis))


def _timelines(analysis: Analysis) -> dict[str, bytes]:
    """The traces of a report's runs for Perfetto: timeline.json.gz, numbered by run when there are several."""
    traced = [result for result in analysis.runs.values() if result.traced]
    if not traced:
        return {}
    from rlreport.renderers.perfetto import render_perfetto

    if len(traced) == 1:
        return {"timeline.json.gz": render_perfetto(traced[0].run, traced[0].timeline)}
    return {f"timeline-{n}.json.gz": render_perfetto(r.run, r.timeline) for n, r in enumerate(traced, 1)}
