"""What report.json holds: the documented fields of schema version 1, from an analysis and its findings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlreport import __version__
from rlreport.comparators.analysis import Analysis, ComparisonResult, RunResult
from rlreport.comparators.bubble_lead import known_lead
from rlreport.comparators.results import ABSENT, KnobDifference, QualityComparison, RatioComparison
from rlreport.findings.model import Finding
from rlreport.report.data_course import course_data, replicated_data, run_course_data
from rlreport.report.data_timeline import idle_by_cause, timeline_data
from rlreport.report.section_comparability import comparability_data, policy_data
from rlreport.report.verdict_summary import published_data
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.metrics import phase_key

SCHEMA_VERSION = 1


def report_data(
    analysis: Analysis, findings: tuple[Finding, ...], *, title: str, question: str, decision: dict[str, Any]
) -> dict[str, Any]:
    """The JSON data of one report. What is not known is None; nothing is rounded here."""
    return {
        "schema_version": SCHEMA_VERSION,
        "id": analysis.request.report_id,
        "title": title,
        "kind": analysis.request.kind,
        "question": question,
        "generator": {"name": "rlreport", "version": __version__},
        "runs": {run_id: _run(result) for run_id, result in analysis.runs.items()},
        "comparisons": [_comparison(comparison) for comparison in analysis.comparisons],
        "findings": [_finding(finding) for finding in findings],
        "decision": decision,
        "published": None if analysis.published is None else published_data(analysis.published),
    }


def _run(result: RunResult) -> dict[str, Any]:
    run, steady = result.run, result.steady_state
    index = [int(step) for step in run.steps.index]
    return {
        "label": run.label,
        "framework": run.framework,
        "framework_version": run.framework_version,
        "mode": run.mode,
        "status": run.status,
        "status_reason": run.status_reason,
        "devices": {
            "trainer": run.devices.trainer,
            "rollout": run.devices.rollout,
            "hybrid": run.devices.hybrid,
            "total": run.devices.total,
            "implied": run.devices.implied,
            "origin": dict(run.devices.origin),
        },
        "steps": {"first": index[0] if index else None, "last": index[-1] if index else None, "count": len(index)},
        "step_semantics": asdict(run.semantics),
        "knobs": {key: run.value(key) for key in sorted(run.knobs)},
        "config": {key: run.config[key].value for key in sorted(run.config)},
        "steady_state": {
            "class": steady.steady_class,
            "first_step": steady.first_step,
            "last_step": steady.last_step,
            "n": steady.n,
            "n_effective": steady.n_effective,
            "declared": steady.declared,
            "excluded": [{"step": e.step, "reason": e.reason, "detail": e.detail} for e in steady.excluded],
            "drift": None if steady.drift is None else asdict(steady.drift),
        },
        "throughput": {
            "tokens_per_s": _estimate(result.throughput.tokens_per_s),
            "tokens_per_s_per_device": _estimate(result.throughput.tokens_per_s_per_device),
            "prompts_per_s": _estimate(result.throughput.prompts_per_s),
            "steps_per_h": _estimate(result.throughput.steps_per_h),
        },
        "time_split": {phase_key(phase): share for phase, share in result.time_split.fractions.items()},
        "time_split_s": {phase_key(phase): seconds for phase, seconds in result.time_split.seconds.items()},
        "idle": {
            "trainer": {
                "fraction": result.idle.trainer.fraction,
                "source": result.idle.trainer.source,
                **idle_by_cause(result.timeline, "trainer"),
            },
            "rollout": {
                "fraction": result.idle.rollout.fraction,
                "source": result.idle.rollout.source,
                **idle_by_cause(result.timeline, "rollout"),
            },
            "owner": result.idle.owner,
        },
        "timeline": None
        if result.timeline is None
        else timeline_data(result.timeline, known_lead(run, steady, result.timeline.lead)),
        "quality": asdict(result.quality),
        **run_course_data(result.course),
        "sources": [
            {
                "path": source.path,
                "format": source.format,
                "steps": {"first": source.first_step, "last": source.last_step, "count": source.n_steps},
                "bytes": source.size_bytes,
                "sha256": source.sha256,
            }
            for source in run.sources
        ],
        "warnings": notices_data(result.notices),
    }


def _comparison(comparison: ComparisonResult) -> dict[str, Any]:
    change, throughput = comparison.change, comparison.throughput
    first = comparison.quality[0] if comparison.quality else None
    return {
        "baseline": comparison.baseline_id,
        "variant": comparison.variant_id,
        "change": {
            "verdict": change.verdict,
            "classes": list(change.classes),
            "blocking": list(change.blocking),
            "knobs": [_knob(difference) for difference in change.differences],
            "short_list": [difference.key for difference in change.short_list],
            "folded": [
                {"title": fold.title, "class": fold.knob_class, "cause": fold.cause, "keys": list(fold.keys)}
                for fold in change.folded
            ],
            "identity": [difference.key for difference in change.identity],
            "partial": change.partial,
            "n_equal": change.n_equal,
            "n_differing": change.n_differing,
            **policy_data(change),
        },
        "comparability": comparability_data(comparison.comparability) if comparison.comparability else [],
        "judgement": None if comparison.judgement is None else asdict(comparison.judgement),
        "throughput": {
            **_ratio(throughput.headline),
            "others": [_ratio(other) for other in throughput.others],
            "windows": {
                "baseline": [throughput.window_baseline.first_step, throughput.window_baseline.last_step],
                "variant": [throughput.window_variant.first_step, throughput.window_variant.last_step],
            },
        },
        "quality": _quality(first),
        "qualities": [_quality(quality) for quality in comparison.quality],
        **course_data(comparison.course),
        "replicates": replicated_data(comparison.replicated),
        "warnings": notices_data(
            (*change.notices, *throughput.notices, *(n for q in comparison.quality for n in q.notices))
        ),
    }


def _knob(difference: KnobDifference) -> dict[str, Any]:
    return {
        "knob": difference.key,
        "class": difference.knob_class,
        "baseline": None if difference.baseline is ABSENT else difference.baseline,
        "variant": None if difference.variant is ABSENT else difference.variant,
        "absent_in": [side for side in ("baseline", "variant") if getattr(difference, side) is ABSENT],
        "declared": difference.declared,
        "coupled_by": difference.coupled_by,
        "waived": difference.waived,
    }


def _ratio(comparison: RatioComparison) -> dict[str, Any]:
    return {
        "metric": comparison.metric,
        "baseline": _estimate(comparison.baseline),
        "variant": _estimate(comparison.variant),
        "ratio": comparison.ratio,
        "ci_low": comparison.ci_low,
        "ci_high": comparison.ci_high,
        "confidence": comparison.confidence,
        "margin": comparison.margin,
        "verdict": comparison.verdict,
        "minimum_detectable_ratio": comparison.minimum_detectable_ratio,
        "p_value": comparison.p_value,
        "n": {"baseline": comparison.n_baseline, "variant": comparison.n_variant},
        "n_effective": {"baseline": comparison.n_effective_baseline, "variant": comparison.n_effective_variant},
    }


def _quality(quality: QualityComparison | None) -> dict[str, Any]:
    if quality is None:
        return {
            "metric": None,
            "difference": None,
            "ci_low": None,
            "ci_high": None,
            "verdict": "insufficient-data",
            "volatility_ratio": None,
        }
    return {
        "metric": quality.metric,
        "baseline": _estimate(quality.baseline),
        "variant": _estimate(quality.variant),
        "difference": quality.difference,
        "ci_low": quality.ci_low,
        "ci_high": quality.ci_high,
        "margin": quality.margin,
        "verdict": quality.verdict,
        "volatility_ratio": quality.volatility_ratio,
        "volatility_low": quality.volatility_low,
        "volatility_high": quality.volatility_high,
        "non_inferior": quality.non_inferior,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    action = finding.action
    return {
        "id": finding.id,
        "severity": finding.severity,
        "title": finding.title,
        "body": finding.body,
        "run": finding.run_id,
        "evidence": list(finding.evidence),
        "owner": finding.owner,
        "action": None if action is None else asdict(action),
        "fragment": finding.fragment or None,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(estimate)


def notices_data(notices: tuple[Notice, ...]) -> list[dict[str, Any]]:
    """Notices as JSON, each once, in the order in which they were found."""
    return [{"code": n.code, "message": n.message, "where": n.where} for n in dict.fromkeys(notices)]
