"""The dialect of a table that already has canonical names: a CSV or JSONL whose columns the manifest maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from rlreport.dialects.assemble import declared_config, frame_of, summarise_sources, wall_clock
from rlreport.dialects.numbers import as_count
from rlreport.dialects.status import judge_status
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import plain_value
from rlreport.run.metrics import METRICS
from rlreport.run.model import Devices, Mode, Run, RunDeclaration, StepSemantics
from rlreport.run.raw import ConfigValue, RawRun

SEMANTICS = StepSemantics(
    step_is="a row of the table",
    contains=(),
    excludes=(),
    throughput_denominator="unknown",
    wait_is="the column that the manifest maps to time.wait_s",
    source="the manifest's columns",
)


#: Configuration keys by which a manifest declares the execution mode of a run of its own.
MODE_KEYS = ("mode", "execution.mode", "trainer.v1.trainer_mode")


class GenericDialect:
    """Takes canonical names as they are. The execution mode and the devices come from the manifest alone."""

    name = "generic"

    def recognises(self, raw: RawRun) -> bool:
        """Whether at least one column has a canonical name."""
        return any(str(key) in METRICS for key in raw.frame.columns)

    def interpret(self, raw: RawRun, declared: RunDeclaration) -> Run:
        """Keep the columns that have canonical names; the others stay raw. Without any, the framework is unknown."""
        config, notices = declared_config(raw, declared)
        columns = {str(key): raw.frame[key] for key in raw.frame.columns if str(key) in METRICS}
        known = bool(columns) or declared.framework == self.name
        clock = wall_clock(raw)
        if clock is not None:
            columns.setdefault("clock.wall_s", clock)
        trainer, rollout = declared.trainer_devices, declared.rollout_devices
        total = None if trainer is None or rollout is None else trainer + rollout
        origin = {side: "manifest" for side, count in (("trainer", trainer), ("rollout", rollout)) if count is not None}
        if total is not None:
            origin["total"] = "trainer + rollout"
        planned = config.get("total_steps")
        status, reason = judge_status(raw, None if planned is None else as_count(plain_value(planned.value)))
        if not self.recognises(raw):
            message = (
                "no framework is recognised and no column has a canonical name; declare framework, or map columns to names "
                "such as time.step_s and work.tokens"
            )
            notices = (*notices, Notice("RR301", message))
        mode = _declared_mode(config)
        return Run(
            run_id=declared.run_id,
            label=declared.label or declared.run_id,
            framework=self.name if known else "unknown",
            framework_version=declared.framework_version,
            mode=mode,
            status=status,
            status_reason=reason,
            devices=Devices(trainer=trainer, rollout=rollout, total=total, origin=origin),
            semantics=SEMANTICS,
            steps=frame_of(columns, raw.frame.index),
            raw=raw.frame,
            config=config,
            knobs={},
            sources=summarise_sources(raw),
            partial_steps=dict(raw.partial_steps),
            restarts=tuple(raw.restarts),
            notices=(*raw.notices, *notices),
            group=declared.group,
            started_at=raw.facts.started_at,
        )


def _declared_mode(config: Mapping[str, ConfigValue]) -> Mode:
    """The execution mode that the configuration names, or "unknown"."""
    for key in MODE_KEYS:
        found = config.get(key)
        for mode in get_args(Mode):
            if found is not None and plain_value(found.value) == mode:
                return cast(Mode, mode)
    return "unknown"
