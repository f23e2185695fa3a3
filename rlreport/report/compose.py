"""An analysis to a report: which sections a page has, in which order, and what stands at its head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rlreport import __version__
from rlreport.comparators.analysis import Analysis
from rlreport.findings.model import Finding
from rlreport.report.data import report_data
from rlreport.report.data_series import ladder_data, sweep_data
from rlreport.report.figure_data import roles
from rlreport.report.model import Callout, Code, Figure, FindingBlock, Link, Narrative, Report, Section, Table, Text
from rlreport.report.section_change import change_section
from rlreport.report.section_close import findings_section, runs_section, threats_section
from rlreport.report.section_comparability import ComparedPair, comparability_section
from rlreport.report.section_equal_cost import equal_cost_section, run_signals_section
from rlreport.report.section_horizon import horizon_section, wall_clock_section
from rlreport.report.section_ladder import ladder_section
from rlreport.report.section_quality import quality_section
from rlreport.report.section_replicates import replicates_section
from rlreport.report.section_speed import throughput_section, time_section
from rlreport.report.section_steps import steps_section
from rlreport.report.section_summary import published_next_section, published_section, published_traps_section
from rlreport.report.section_sweep import sweep_section
from rlreport.report.section_timeline import timeline_section
from rlreport.report.verdict import badges, facts, verdict_sentence, verdict_tone, warning
from rlreport.report.words import KIND_WORDS


@dataclass(frozen=True, slots=True)
class Frame:
    """What the author gives around the numbers: title, question, prose, decision, and the manifest it stands in."""

    title: str
    question: str = ""
    narrative: str = ""
    decision: Mapping[str, str | None] = field(default_factory=dict)
    manifest: str = ""
    manifest_sha256: str = ""


def _figure_ids(sections: tuple[Section | None, ...]) -> frozenset[str]:
    blocks = (block for section in sections if section is not None for block in section.blocks)
    return frozenset(block.spec.id for block in blocks if isinstance(block, Figure))


def _along(analysis: Analysis) -> tuple[Section | None, ...]:
    """Replicates and speed along training; of a single run its wall clock."""
    if not analysis.comparisons:
        own = analysis.runs[analysis.request.baseline]
        return (wall_clock_section(own.run.label, own.course.wall_clock),)
    return (
        replicates_section(analysis, [comparison.replicated for comparison in analysis.comparisons]),
        horizon_section(analysis, [comparison.course for comparison in analysis.comparisons]),
    )


def _at_equal_cost(analysis: Analysis) -> Section | None:
    """Quality at equal cost, targets and signals."""
    if not analysis.comparisons:
        return run_signals_section(analysis.runs[analysis.request.baseline].course)
    return equal_cost_section(analysis, [comparison.course for comparison in analysis.comparisons])


def compose(analysis: Analysis, findings: tuple[Finding, ...], frame: Frame) -> Report:
    """Lay out one report. A profile shows first where the time goes; a comparison first what changed."""
    request = analysis.request
    narrative = Section("narrative", "The author's account", (Narrative(frame.narrative),)) if frame.narrative else None
    change, throughput, time = change_section(analysis), throughput_section(analysis), time_section(analysis)
    lanes, along = timeline_section(analysis), _along(analysis)
    middle = (throughput, time, lanes) if analysis.comparisons else (time, lanes, throughput)
    body: tuple[Section | None, ...] = (
        *middle,
        *along,
        quality_section(analysis, _figure_ids(along)),
        _at_equal_cost(analysis),
        findings_section(findings, analysis),
    )
    study = analysis.published
    if study is not None:
        numbers = (published_section(study, roles(analysis)), published_traps_section(study))
        body = (*numbers, published_next_section(study)) if study.alone else (*body[:-1], *numbers, body[-1])
    sections = (
        comparability_section(_compared_pairs(analysis), analysis.replicates),
        ladder_section(analysis),
        sweep_section(analysis),
        change,
        narrative,
        steps_section(analysis, findings),
        *body,
        threats_section(analysis),
        _decision_section(frame.decision) if analysis.comparisons or frame.decision else None,
        runs_section(analysis),
    )
    shown = _without_dead_links(tuple(section for section in sections if section is not None))
    return Report(
        id=request.report_id,
        title=frame.title,
        kind=request.kind,
        kind_label=KIND_WORDS[request.kind],
        question=frame.question,
        verdict=verdict_sentence(analysis),
        verdict_tone=verdict_tone(analysis),
        badges=badges(analysis),
        warning=warning(analysis),
        facts=facts(analysis),
        sections=shown,
        provenance=_provenance(request.report_id, frame),
        data={
            **report_data(
                analysis,
                _with_shown_evidence(findings, shown),
                title=frame.title,
                question=frame.question,
                decision=dict(frame.decision),
            ),
            "ladder": None if analysis.ladder is None else ladder_data(analysis),
            "sweep": None if analysis.sweep is None else sweep_data(analysis),
            "contents": _contents(shown),
        },
    )


def _contents(sections: tuple[Section, ...]) -> dict[str, dict[str, str]]:
    """What the page shows, by id: sections, figures and tables with their titles. Evidence of findings names these ids."""
    blocks = [block for section in sections for block in section.blocks]
    return {
        "sections": {section.id: section.title for section in sections},
        "figures": {block.spec.id: block.spec.title for block in blocks if isinstance(block, Figure)},
        "tables": {block.id: block.caption for block in blocks if isinstance(block, Table)},
    }


def _with_shown_evidence(findings: tuple[Finding, ...], sections: tuple[Section, ...]) -> tuple[Finding, ...]:
    """The findings with the evidence that the page shows."""
    ids = {name for names in _contents(sections).values() for name in names}
    return tuple(replace(f, evidence=tuple(name for name in f.evidence if name in ids)) for f in findings)


def _compared_pairs(analysis: Analysis) -> list[ComparedPair]:
    labels = {run_id: result.run.label for run_id, result in analysis.runs.items()}
    return [
        ComparedPair(f"{labels[c.variant_id]} against {labels[c.baseline_id]}", c.comparability, c.change, c.judgement)
        for c in analysis.comparisons
        if c.comparability is not None
    ]


def _without_dead_links(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """The sections with evidence that the page does not show told as text instead of linked."""
    ids = {name for names in _contents(sections).values() for name in names}

    def resolved(text: Text) -> Text:
        return tuple(part.text if isinstance(part, Link) and part.target not in ids else part for part in text)

    return tuple(
        replace(
            section,
            blocks=tuple(
                replace(block, meta=resolved(block.meta)) if isinstance(block, FindingBlock) else block
                for block in section.blocks
            ),
        )
        for section in sections
    )


def _decision_section(decision: Mapping[str, str | None]) -> Section:
    blank = "____________________"
    status = decision.get("status") or "proposed"
    by, date = decision.get("by") or blank, decision.get("date") or blank
    line: Text = (f"By: {by}   Date: {date}   Reason: {decision.get('reason') or blank * 2}",)
    return Section("decision", "Decision", (Callout(f"{status[0].upper()}{status[1:]}", "plain", (line,)),))


def _provenance(report_id: str, frame: Frame) -> Text:
    parts: Text = (f"rlreport {__version__}",)
    if frame.manifest:
        parts = (*parts, f" · manifest {frame.manifest}, SHA-256 {frame.manifest_sha256[:12]}")
        parts = (*parts, " · ", Code(f"rlreport build {frame.manifest} --report {report_id}"))
    return parts
