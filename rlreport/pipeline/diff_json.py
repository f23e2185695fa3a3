"""A difference of configurations as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from rlreport.comparators.results import ABSENT, KnobDifference
from rlreport.pipeline.diff import Diff
from rlreport.run.model import Run

SCHEMA_VERSION = 1


def diff_json(diff: Diff) -> str:
    """The difference as JSON: values as they were configured, null and `absent_in` for a side without the key."""
    change = diff.change
    data: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "baseline": _run_data(diff.baseline),
        "variant": _run_data(diff.variant),
        "declared": list(diff.declared.changes),
        "declared_by_report": diff.declared.report,
        "verdict": change.verdict,
        "classes": list(change.classes),
        "comparable": not change.blocking,
        "blocking": list(change.blocking),
        "partial": change.partial,
        "knobs": [_knob_data(difference) for difference in change.differences],
        "short_list": [difference.key for difference in change.short_list],
        "equal": [
            {"knob": one.knob.key, "label": one.knob.label, "class": one.knob.knob_class, "value": _data(one.value)}
            for one in diff.equal
        ],
        "folded": [
            {"title": line.title, "class": line.knob_class, "cause": line.cause, "keys": list(line.keys)}
            for line in change.folded
        ],
        "identity": [difference.key for difference in change.identity],
        "n_equal": change.n_equal,
        "n_differing": change.n_differing,
        "not_known": list(change.not_known),
        "rules": [asdict(finding) for finding in change.rules],
        "waivers": [asdict(use) for use in change.waivers],
        "invariants": [asdict(finding) for finding in change.invariants],
        "warnings": [{"code": n.code, "message": n.message, "where": n.where} for n in diff.notices],
    }
    text = json.dumps(data, ensure_ascii=False, indent=2, default=str, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def _run_data(run: Run) -> dict[str, Any]:
    return {"id": run.run_id, "label": run.label, "framework": run.framework, "mode": run.mode}


def _knob_data(difference: KnobDifference) -> dict[str, Any]:
    sides = {"baseline": difference.baseline, "variant": difference.variant}
    return {
        "knob": difference.key,
        "label": difference.label,
        "class": difference.knob_class,
        **{side: None if value is ABSENT else _data(value) for side, value in sides.items()},
        "absent_in": [side for side, value in sides.items() if value is ABSENT],
        "declared": difference.declared,
        "coupled_by": difference.coupled_by,
        "waived": difference.waived,
        "origins": {"baseline": difference.baseline_origin, "variant": difference.variant_origin},
    }


def _data(value: Any) -> Any:
    """A value for JSON, which has no number for infinity and none for what is no number: they become their names."""
    if isinstance(value, list | tuple):
        return [_data(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _data(item) for key, item in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
