"""What to try next, what could be wrong, and where every number comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rlreport.comparators.analysis import Analysis, RunResult
from rlreport.findings.model import Action, Finding
from rlreport.report.model import (
    Block,
    Bullets,
    Code,
    Column,
    FindingBlock,
    Inline,
    Link,
    Paragraph,
    Report,
    Row,
    Section,
    Snippet,
    Table,
    Text,
)
from rlreport.report.words import MODE_WORDS
from rlreport.run import format as fmt
from rlreport.run.diagnostics import Notice


def findings_section(findings: tuple[Finding, ...], analysis: Analysis) -> Section:
    """What to try next, ranked; an empty list is said, not left out."""
    if not findings:
        return Section("next", "What to try next", (Paragraph(("No rule found anything worth acting on in these logs.",)),))
    blocks: list[Block] = []
    for rank, finding in enumerate(findings, 1):
        blocks.append(_finding(rank, finding, analysis))
        if finding.fragment:
            blocks += manifest_snippets(finding.fragment, f"Finding {rank}, once it has run:")
    return Section("next", "What to try next", tuple(blocks))


def manifest_snippets(fragment: str, words: str) -> tuple[Snippet, ...]:
    """A fragment of a manifest as what stands below its `runs:` and below its `reports:`, to be pasted each in its place."""
    runs, _, reports = fragment.rstrip().removeprefix("runs:\n").partition("\nreports:\n")
    return (
        Snippet(runs, f"{words} paste below “runs:” of the manifest"),
        Snippet(reports, "and below “reports:”"),
    )


def _finding(rank: int, finding: Finding, analysis: Analysis) -> FindingBlock:
    action, meta = finding.action, []
    text: Text = ()
    if action is not None:
        text = (f"Next: {action.text}{_gain(action)}",)
        meta.append(f"Tier {action.tier}. ")
    links: list[Inline] = []
    for evidence in finding.evidence:
        links += [", " if links else "", Link(evidence.replace("-", " "), evidence)]
    run = analysis.runs[finding.run_id].run.label
    refuted = f"Refuted if {action.refuted_by}." if action is not None and action.refuted_by else ""
    risk = f" Risk: {action.risk}." if action is not None and action.risk else ""
    return FindingBlock(
        rank, finding.title, (f"{run}: {finding.body}",), text, (*meta, "Evidence: ", *links, f". {refuted}{risk}")
    )


def _gain(action: Action) -> str:
    """What an action may bring: " About 1.26x throughput per device; 2.49x at most."."""
    most = f"{fmt.ratio(action.gain_bound)}" if action.gain_bound else ""
    if action.gain_expected:
        return f" About {fmt.ratio(action.gain_expected)} {action.gain_of}{f'; {most} at most' if most else ''}."
    return f" Upper bound of the gain: {most} {action.gain_of}." if most else ""


def threats_section(analysis: Analysis) -> Section:
    """What could be wrong, made from the warnings that the results carry: first of the comparison, then of the runs."""
    items: list[Text] = [_notice("", notice.message, [notice.where]) for notice in analysis.notices]
    for comparison in analysis.comparisons:
        found = (
            *comparison.change.notices,
            *comparison.throughput.notices,
            *comparison.course.notices,
            *(notice for quality in comparison.quality for notice in quality.notices),
        )
        items += [_notice("", notice.message, [notice.where]) for notice in found]
    items += _run_notices(analysis)
    if not items:
        return Section("threats", "What could be wrong", (Paragraph(("The logs and the comparison gave no warning.",)),))
    return Section("threats", "What could be wrong", (Bullets(tuple(dict.fromkeys(items))),))


def with_notices(report: Report, notices: Sequence[Notice]) -> Report:
    """The report with what drawing found added to what could be wrong."""
    if not notices:
        return report
    added = Bullets(tuple(_notice("", notice.message, [notice.where]) for notice in dict.fromkeys(notices)))
    sections = tuple(
        replace(section, blocks=(*section.blocks, added)) if section.id == "threats" else section
        for section in report.sections
    )
    return replace(report, sections=sections)


def _run_notices(analysis: Analysis) -> list[Text]:
    """The runs' own warnings; one that several runs share is told once."""
    shared: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for result in analysis.runs.values():
        for notice in result.notices:
            shared.setdefault((notice.code, notice.message), []).append((result.run.label, notice.where))
    items = []
    for (_, message), places in shared.items():
        labels = list(dict.fromkeys(label for label, _ in places))
        who = "All runs: " if len(labels) == len(analysis.runs) else f"{fmt.join_words(labels)}: "
        items.append(_notice(who if len(analysis.runs) > 1 else "", message, [where for _, where in places]))
    return items


def _notice(who: str, message: str, places: list[str | None]) -> Text:
    """A warning as a sentence, with its place when it has just one."""
    message = message if who else f"{message[0].upper()}{message[1:]}"
    text = message if message.endswith((".", "!", "?")) else f"{message}."
    place: Text = (" ", Code(places[0])) if len(places) == 1 and places[0] else ()
    return (f"{who}{text}", *place)


def runs_section(analysis: Analysis) -> Section:
    """The runs and their sources: where every number comes from."""
    blocks: list[Block] = [_runs_table(analysis), _sources_table(analysis)]
    return Section("sources", "Runs and sources", tuple(blocks))


def _runs_table(analysis: Analysis) -> Table:
    columns = (Column("Run"), Column("Framework"), Column("Mode"), Column("Status"), Column("Devices"), Column("Steps"))
    rows = []
    for result in analysis.runs.values():
        run = result.run
        index = run.steps.index
        steps = f"{index[0]} to {index[-1]} ({len(index):,})" if len(index) else "none"
        version = f" {run.framework_version}" if run.framework_version else ""
        rows.append(
            Row(
                (
                    (run.label,),
                    (f"{run.framework}{version}",),
                    (MODE_WORDS[run.mode],),
                    (f"{run.status}: {run.status_reason}" if run.status_reason else run.status,),
                    (_devices(result),),
                    (steps,),
                )
            )
        )
    return Table("runs", "Runs", columns, tuple(rows))


def _devices(result: RunResult) -> str:
    devices = result.run.devices
    if devices.total is None:
        implied = f"; the logged throughput implies {fmt.number(devices.implied)}" if devices.implied is not None else ""
        return f"unknown{implied}"
    if devices.rollout:
        words = f"{devices.trainer:,} Trainer + {devices.rollout:,} Rollouter"
    else:
        words = f"{devices.total:,} shared"
    return f"{words}; implied {fmt.number(devices.implied)}" if devices.implied is not None else words


def _sources_table(analysis: Analysis) -> Table:
    columns = (
        Column("Source"),
        Column("Run"),
        Column("Format"),
        Column("Steps"),
        Column("Size", numeric=True),
        Column("SHA-256"),
    )
    rows = []
    for result in analysis.runs.values():
        for source in result.run.sources:
            steps = (
                "none" if source.first_step is None else f"{source.first_step} to {source.last_step} ({source.n_steps:,})"
            )
            rows.append(
                Row(
                    (
                        (Code(source.path),),
                        (result.run.label,),
                        (source.format,),
                        (steps,),
                        (fmt.byte_size(source.size_bytes),),
                        (Code(source.sha256[:12]),) if source.sha256 else (fmt.UNKNOWN,),
                    )
                )
            )
    return Table(
        "source-files", "Sources", columns, tuple(rows), ("The full configuration of every run stands in report.json.",)
    )
