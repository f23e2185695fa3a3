"""What the collectors and the dialect understand of some paths, taken as the sources of one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlreport.collectors.summary import summaries_of
from rlreport.dialects.summary import with_summaries
from rlreport.pipeline.inspect_trace import trace_data, trace_lines
from rlreport.pipeline.load import read_run
from rlreport.run import format as fmt
from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.summary import summary_line


@dataclass(frozen=True, slots=True)
class Inspection:
    """The run that some paths make."""

    run: Run


def inspect_paths(paths: Sequence[Path], *, framework: str | None = None) -> Inspection:
    """Read paths as the sources of one run. Raises RlreportError (exit code 3) when nothing can be read."""
    declared = RunDeclaration(run_id="inspected", framework=framework)
    raw, run = read_run([(path, None, {}) for path in paths], declared, None)
    return Inspection(with_summaries(run, summaries_of(raw, None)))


def inspect_json(inspection: Inspection) -> str:
    """The inspection as JSON, as design section 8 documents it."""
    run = inspection.run
    index = [int(step) for step in run.steps.index]
    data: dict[str, Any] = {
        "sources": [
            {
                "path": source.path,
                "format": source.format,
                "steps": {"first": source.first_step, "last": source.last_step, "count": source.n_steps},
                "warnings": [_notice(notice) for notice in source.notices],
            }
            for source in run.sources
        ],
        "run": {
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
            },
            "steps": {"first": index[0] if index else None, "last": index[-1] if index else None, "count": len(index)},
            "metrics": known_metrics(run),
            "knobs": {key: run.value(key) for key in sorted(run.knobs)},
            **trace_data(run),
            "warnings": [_notice(notice) for notice in run.notices],
        },
    }
    return json.dumps(data, ensure_ascii=False, indent=2, default=str) + "\n"


def known_metrics(run: Run) -> list[str]:
    """The canonical metrics that the run has at least one value of, in the order of the catalogue."""
    return [name for name in METRICS if name in run.steps.columns and bool(run.steps[name].notna().any())]


def _notice(notice: Notice) -> dict[str, str | None]:
    return {"code": notice.code, "message": notice.message, "where": notice.where}


def inspect_text(inspection: Inspection) -> str:
    """The inspection for a person: sources, the run, its metrics by family, traces, knobs by class, warnings last."""
    run = inspection.run
    lines = ["Sources"]
    for source in run.sources:
        steps = (
            "no steps"
            if source.first_step is None
            else f"steps {source.first_step} to {source.last_step} ({source.n_steps:,})"
        )
        lines.append(f"  {source.path}  {source.format}, {steps}, {fmt.byte_size(source.size_bytes)}")
    version = f" {run.framework_version}" if run.framework_version else ""
    lines += ["", "Run"]
    lines.append(f"  framework  {run.framework}{version}, mode {run.mode}")
    lines.append(f"  status     {run.status}: {run.status_reason}")
    devices = run.devices
    lines.append(
        f"  devices    Trainer {fmt.count(devices.trainer)}, Rollouter {fmt.count(devices.rollout)}, "
        f"hybrid {fmt.count(devices.hybrid)}, total {fmt.count(devices.total)}; "
        f"implied by the log {fmt.number(devices.implied)}"
    )
    index = run.steps.index
    lines.append(f"  steps      {f'{index[0]} to {index[-1]} ({len(index):,})' if len(index) else 'none'}")
    lines.append(f"  a step is  {run.semantics.step_is}")
    lines += ["", "Metrics (median over the steps that have it)"]
    for name in known_metrics(run):
        values = run.steps[name].dropna()
        unit = f" {METRICS[name].unit}" if METRICS[name].unit else ""
        middle = float(values.max() if name == "clock.wall_s" else values.median())
        text = fmt.count(middle) if bool((values % 1 == 0).all()) else fmt.number(middle)
        note = ", at the end" if name == "clock.wall_s" else ""
        lines.append(f"  {name:<28} {text}{unit}{note}  ({fmt.plural(len(values), 'step')})")
    unread = [str(key) for key in run.raw.columns if bool(run.raw[key].notna().any())]
    lines.append(f"  of {fmt.plural(len(unread), 'raw key')}: {', '.join(unread[:8])}{' …' if len(unread) > 8 else ''}")
    lines += trace_lines(run)
    if run.summaries:
        lines += ["", "Results", *(f"  {summary_line(summary)}" for summary in run.summaries)]
    lines += ["", "Knobs"]
    for key in sorted(run.knobs, key=lambda key: (run.knobs[key].knob_class, key)):
        lines.append(f"  {run.knobs[key].knob_class:<12} {key} = {fmt.config_value(run.value(key))}")
    notices = list(dict.fromkeys((*(n for source in run.sources for n in source.notices), *run.notices)))
    if notices:
        lines += ["", "Warnings"]
        lines += [f"  [{n.code}] {n.message}{f' ({n.where})' if n.where else ''}" for n in notices]
    return "\n".join(lines) + "\n"
