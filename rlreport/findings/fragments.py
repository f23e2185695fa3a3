"""The manifest's lines for a next experiment: a run that is still to be made, and the report that compares it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.results import ABSENT
from rlreport.run.format import config_value
from rlreport.run.model import Run

#: How keys end that decide how many devices a side has.
DEVICE_ENDINGS = (".nnodes", ".n_gpus_per_node")
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def next_experiment(
    analysis: Analysis,
    start: str,
    suffix: str,
    overrides: Mapping[str, object],
    changes: Sequence[str],
    *,
    question: str,
    against: str | None = None,
) -> str:
    """Lines to paste into the manifest: `runs` and `reports` entries of a new run that starts as `start` does.

    The overrides stand in a comment, since they belong to the launch command: what the new run's log tells is then its
    configuration. What the manifest alone tells of `start` (configuration, devices, replicas) is told of the new run too,
    and the report asks for the same margins and targets. The new run is compared with `against`, by default with `start`.
    Empty without overrides.
    """
    if not overrides:
        return ""
    like, request = analysis.runs[start].run, analysis.request
    run_id = _free_id(f"{start}-{suffix}", analysis.runs)
    launched = " ".join(f"{key}={_hydra(value)}" for key, value in overrides.items())
    moved = ", ".join(f"{'.'.join(key.split('.')[-2:])} {config_value(value)}" for key, value in overrides.items())
    lines = [
        "runs:",
        f"  # launch as {json.dumps(like.label, ensure_ascii=False)}, with: {launched}",
        f"  {yaml_text(run_id)}:",
        f"    label: {yaml_text(f'{like.label}, {moved}')}",
        f"    sources: [{yaml_text(f'logs/{run_id}/console.log')}]",
        *declared_lines(like, overrides),
        "reports:",
        f"  - id: {yaml_text(f'{analysis.request.report_id}-{run_id}')}",
        f"    title: {yaml_text(question.rstrip('?'))}",
        "    kind: ab",
        f"    baseline: {yaml_text(against or start)}",
        f"    variants: [{yaml_text(run_id)}]",
        f"    changes: [{', '.join(yaml_text(change) for change in changes)}]",
        *_mapping("margins", request.margins),
        *_mapping("target", request.targets),
        f"    question: {yaml_text(question)}",
    ]
    return "\n".join(lines)


def declared_lines(like: Run, overrides: Mapping[str, object]) -> list[str]:
    """What the manifest alone tells of a run, as lines of another run that starts like it.

    A value that the new run overrides is told with its new value where the manifest told the old one; ABSENT takes it away.
    Devices of a side are left out where an override moves them: the new run's log tells its own.
    """
    told = {key: value.value for key, value in like.config.items() if value.origin == "manifest"}
    told = {key: overrides.get(key, value) for key, value in told.items() if overrides.get(key, value) is not ABSENT}
    moved = any(key.endswith(DEVICE_ENDINGS) for key in overrides)
    devices = {
        side: count
        for side, count in (("trainer", like.devices.trainer), ("rollout", like.devices.rollout))
        if like.devices.origin.get(side) == "manifest" and count is not None and not moved
    }
    replicas = sorted(like.hybrid_replicas or ())
    return [
        *([f"    framework: {yaml_text(like.framework)}"] if like.framework != "unknown" else []),
        *([f"    framework_version: {yaml_text(like.framework_version)}"] if like.framework_version else []),
        *_mapping("config", told),
        *_mapping("devices", devices),
        *([] if like.hybrid_replicas is None else [f'    hybrid_replicas: "{",".join(map(str, replicas))}"']),
    ]


def _mapping(name: str, values: Mapping[str, object]) -> list[str]:
    """A mapping on one line, which is JSON and so YAML; none when it is empty."""
    return [f"    {name}: {json.dumps(dict(values), ensure_ascii=False)}"] if values else []


def yaml_text(text: str) -> str:
    """A text as YAML: plain where it is a word, else in double quotes."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9._/-]*", text) is not None
    return text if plain and text.lower() not in _NO_WORDS else json.dumps(text, ensure_ascii=False)


def _free_id(wanted: str, taken: Mapping[str, object]) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-._")
    found, number = stem, 2
    while found in taken:
        found, number = f"{stem}-{number}", number + 1
    return found


def _hydra(value: object) -> str:
    """A value as Hydra's command line reads it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
