"""What report.json holds of ladders and sweeps, beside the documented fields: the keys "ladder" and "sweep"."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.headroom import Headroom
from rlreport.comparators.ladder import Rung
from rlreport.comparators.missing_runs import MissingRun
from rlreport.comparators.results import ABSENT, QualityComparison, RatioComparison
from rlreport.comparators.sweep import Dose
from rlreport.report.data import notices_data
from rlreport.report.series_words import ladder_of, sweep_of


def ladder_data(analysis: Analysis) -> dict[str, Any]:
    """The rungs of a ladder as JSON. Nothing is rounded, what is not known is None."""
    ladder = ladder_of(analysis)
    return {
        "metric": ladder.metric,
        "rungs": [_rung(rung) for rung in ladder.rungs],
        "budget": asdict(ladder.budget),
        "warnings": notices_data(ladder.notices),
    }


def _rung(rung: Rung) -> dict[str, Any]:
    return {
        "number": rung.number,
        "run": rung.run_id,
        "previous": rung.previous_id,
        "attribution": rung.attribution,
        "classes": list(rung.classes),
        "to_previous": ratio_data(rung.ratio),
        "to_first": ratio_data(rung.cumulative),
        "window": None if rung.window is None else list(rung.window),
        "missing": [_missing(missing) for missing in rung.missing],
        "lead": {
            "mini_batches": rung.lead.mini_batches,
            "low": rung.lead.low,
            "high": rung.lead.high,
            "basis": rung.lead.basis,
            "source": rung.lead.source,
        },
        "memory": _memory(rung.headroom),
    }


def _missing(missing: MissingRun) -> dict[str, Any]:
    return {
        "like": missing.like,
        "adds": missing.adds,
        "classes": list(missing.classes),
        "settings": [
            {
                "knob": setting.key,
                "class": setting.knob_class,
                "before": plain_data(setting.before),
                "after": plain_data(setting.after),
                "absent_in": [side for side in ("before", "after") if getattr(setting, side) is ABSENT],
                "follows": setting.follows,
            }
            for setting in missing.settings
        ],
    }


def _memory(headroom: Headroom) -> dict[str, Any]:
    return {
        "reserved_gb": headroom.reserved_gb,
        "at_step": headroom.at_step,
        "device_gb": headroom.device_gb,
        "origin": headroom.origin,
        "free_fraction": headroom.free_fraction,
        "margin": headroom.margin,
        "budget_tokens": headroom.budget_tokens,
    }


def ratio_data(ratio: RatioComparison | None) -> dict[str, Any] | None:
    """A ratio with its interval and verdict."""
    if ratio is None:
        return None
    return {
        "metric": ratio.metric,
        "ratio": ratio.ratio,
        "ci_low": ratio.ci_low,
        "ci_high": ratio.ci_high,
        "confidence": ratio.confidence,
        "margin": ratio.margin,
        "verdict": ratio.verdict,
    }


def plain_data(value: Any) -> Any:
    """A configuration value as JSON; a key that is not there is None."""
    return None if value is ABSENT else value


def sweep_data(analysis: Analysis) -> dict[str, Any]:
    """The doses of a sweep as JSON, in ascending order. Nothing is rounded, what is not known is None."""
    sweep = sweep_of(analysis)
    return {
        "knob": sweep.knob.key,
        "label": sweep.knob.label,
        "ordered": sweep.knob.ordered,
        "valid": sweep.valid,
        "problems": list(sweep.knob.problems),
        "moved_besides": [
            {"run": entry.run_id, "knobs": [difference.key for difference in entry.differences]}
            for entry in sweep.knob.besides
        ],
        "metric": sweep.metric,
        "margin": sweep.margin,
        "shape": sweep.shape,
        "best": sweep.best_id,
        "candidate": sweep.candidate_id,
        "plateau": list(sweep.plateau),
        "wait_levels_off": sweep.wait_levels_off,
        "doses": [_dose(dose) for dose in sweep.doses],
        "warnings": notices_data(sweep.notices),
    }


def _dose(dose: Dose) -> dict[str, Any]:
    return {
        "run": dose.run_id,
        "value": plain_data(dose.value),
        "number": dose.number,
        "window": [dose.window.first_step, dose.window.last_step],
        "n": dose.window.n,
        "throughput": asdict(dose.throughput),
        "to_best": ratio_data(dose.to_best),
        "standing": dose.standing,
        "wait_share": asdict(dose.wait_share),
        "wait_s": asdict(dose.wait_s),
        "reward": asdict(dose.reward),
        "reward_volatility": asdict(dose.volatility),
        "reward_volatility_ratio": asdict(dose.volatility_ratio),
        "accuracy": asdict(dose.accuracy),
        "accuracy_course": dose.accuracy_course,
        "qualities": [_quality(quality) for quality in dose.qualities],
    }


def _quality(quality: QualityComparison) -> dict[str, Any]:
    return {
        "metric": quality.metric,
        "difference": quality.difference,
        "ci_low": quality.ci_low,
        "ci_high": quality.ci_high,
        "margin": quality.margin,
        "verdict": quality.verdict,
    }
