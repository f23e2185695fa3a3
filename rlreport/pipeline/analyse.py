"""From a manifest's report to an analysis, and to a page."""

from __future__ import annotations

from collections.abc import Mapping

from rlreport.comparators.analysis import Analysis, AnalysisRequest, analyse
from rlreport.findings.rules import find
from rlreport.manifest.model import Manifest, ManifestReport
from rlreport.report.compose import Frame, compose
from rlreport.report.model import Report
from rlreport.run.model import Run


def analysis_request(report: ManifestReport) -> AnalysisRequest:
    """What a manifest's report asks of the comparators."""
    return AnalysisRequest(
        report_id=report.id,
        kind=report.kind,
        baseline=report.baseline,
        variants=tuple(report.variants),
        changes=tuple(report.changes),
        waivers={waiver.knob: waiver.reason for waiver in report.waive},
        from_step=report.steady_state.from_step,
        to_step=report.steady_state.to_step,
        margins=dict(report.margins),
    )


def analyse_report(report: ManifestReport, runs: Mapping[str, Run]) -> Analysis:
    """Measure and compare the runs of one report."""
    return analyse(analysis_request(report), runs)


def compose_report(manifest: Manifest, report: ManifestReport, analysis: Analysis) -> Report:
    """Find what to try next and lay the page out."""
    return compose(
        analysis,
        find(analysis),
        Frame(
            title=report.title,
            question=report.question or "",
            narrative=report.narrative_text,
            decision=report.decision_data(),
            manifest=manifest.path.name,
            manifest_sha256=manifest.sha256,
        ),
    )
