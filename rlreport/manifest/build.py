"""The checked manifest, put together from the validated shape and what the checks resolved."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from rlreport.manifest.checks import Checked
from rlreport.manifest.model import (
    Decision,
    DecisionStatus,
    Kind,
    Manifest,
    ManifestReport,
    ManifestRun,
    ManifestSource,
    Window,
)
from rlreport.manifest.shape import DecisionShape, ManifestShape, ReportShape, RuleShape, RunShape
from rlreport.manifest.yaml12 import DataPath, Document
from rlreport.run.diagnostics import Diagnostic
from rlreport.run.knobs import KnobClass, KnobRow
from rlreport.run.rules import Preset, Rule, RuleKind, RuleLevel, Waiver


def build_manifest(
    document: Document, shape: ManifestShape, checked: Checked, path: Path, sha256: str, warnings: tuple[Diagnostic, ...]
) -> Manifest:
    """Build the manifest of a document without errors."""
    return Manifest(
        version=shape.version,
        title=shape.title,
        path=path,
        runs={run_id: _run(document, checked, run_id, run) for run_id, run in shape.runs.items()},
        reports=tuple(_report(document, checked, index, report, shape) for index, report in enumerate(shape.reports)),
        warnings=warnings,
        sha256=sha256,
        knobs=tuple(KnobRow(knob.key, cast("KnobClass", knob.knob_class), knob.label or "") for knob in shape.knobs),
    )


def _run(document: Document, checked: Checked, run_id: str, run: RunShape) -> ManifestRun:
    here: DataPath = ("runs", run_id)
    return ManifestRun(
        run_id=run_id,
        sources=_sources(checked, here, run),
        label=run.label,
        framework=run.framework,
        framework_version=run.framework_version,
        config=checked.configs.get(here, {}),
        trainer_devices=run.devices.trainer,
        rollout_devices=run.devices.rollout,
        hybrid_replicas=run.hybrid_replicas,
        group=run.group,
        location=document.key_at(here),
    )


def _sources(checked: Checked, here: DataPath, run: RunShape) -> tuple[ManifestSource, ...]:
    """The files of a run in order, each once: an entry that says how to read a file counts before one that does not."""
    found: dict[str, ManifestSource] = {}
    for index, source in enumerate(run.sources):
        place: DataPath = (*here, "sources", index)
        for each in checked.paths.get(place) or checked.paths[(*place, "path")]:
            known = found.get(each.display)
            if known is None or not (known.format or known.columns):
                found[each.display] = ManifestSource(each.path, source.format, source.columns, each.display)
    return tuple(found.values())


def _report(
    document: Document, checked: Checked, index: int, report: ReportShape, manifest: ManifestShape
) -> ManifestReport:
    here: DataPath = ("reports", index)
    narrative = checked.paths.get((*here, "narrative"))
    margins = {name: value for name, value in report.margins if value is not None}
    return ManifestReport(
        id=report.id,
        title=report.title or report.id,
        kind=cast("Kind", report.kind),
        baseline=report.baseline,
        variants=tuple(report.variants),
        changes=tuple(report.changes),
        waive=tuple(Waiver(waiver.knob, waiver.reason, waiver.expires) for waiver in report.waive),
        steady_state=Window(report.steady_state.first, report.steady_state.last),
        margins=margins,
        target={name: value for name, value in report.target if value is not None},
        question=report.question,
        narrative=narrative[0].path if narrative else None,
        narrative_text=checked.narratives.get(here, ""),
        decision=None if report.decision is None else _decision(report.decision),
        knob=report.knob,
        rules=tuple(_rule(rule) for rule in (*manifest.rules, *report.rules)),
        preset=cast("Preset | None", report.preset or manifest.preset),
        primary=tuple(dict.fromkeys(report.primary)),
        as_of=manifest.as_of,
        location=document.value_at((*here, "id")),
    )


def _rule(rule: RuleShape) -> Rule:
    return Rule(
        knob=rule.knob,
        kind=cast("RuleKind", rule.rule),
        level=cast("RuleLevel", rule.level),
        has_value="value" in rule.model_fields_set,
        value=rule.value,
        expression=rule.expression,
        reason=rule.reason,
    )


def _decision(decision: DecisionShape) -> Decision:
    return Decision(cast("DecisionStatus", decision.status), decision.by, decision.date, decision.reason)
