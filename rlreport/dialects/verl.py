"""The verl dialect: a merged raw run of verl becomes a Run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rlreport.dialects.assemble import declared_config, frame_of, plain_values, summarise_sources, wall_clock
from rlreport.dialects.numbers import as_count
from rlreport.dialects.status import judge_status
from rlreport.dialects.verl_accuracy import read_accuracy
from rlreport.dialects.verl_devices import find_devices
from rlreport.dialects.verl_knobs import VERL_RULES
from rlreport.dialects.verl_metrics import map_metrics
from rlreport.dialects.verl_modes import find_mode
from rlreport.dialects.verl_notices import meaning_notices
from rlreport.dialects.verl_semantics import decide_meaning
from rlreport.dialects.verl_versions import bound_by_evidence, date_of_version
from rlreport.dialects.verl_work import PROMPT_RULES, measure_work
from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import matches
from rlreport.run.model import Mode, Run, RunDeclaration
from rlreport.run.raw import RawRun

#: Configuration keys and log hints of which one is enough to recognise verl.
SURE_SIGNS: tuple[str, ...] = (
    "actor_rollout_ref.**",
    "main:verl.**",
    "actor:TaskRunner*",
    "actor:FullyAsync*",
    "actor:OneStepTaskRunner",
    "actor:main_task",
)
#: Metric keys of which two make a run of verl (other frameworks borrow single ones).
METRIC_SIGNS: tuple[str, ...] = (
    "timing_s/gen",
    "timing/gen",
    "timing_s/update_actor",
    "critic/score/mean",
    "perf/total_num_tokens",
    "actor/pg_loss",
    "global_seqlen/mean",
    "val-core/**",
    "fully_async/**",
)


class VerlDialect:
    """Reads runs of verl in all its execution modes (see `verl_modes` for what a step is in each)."""

    name = "verl"

    def recognises(self, raw: RawRun) -> bool:
        """Whether the configuration, the log's hints, or at least two metric keys are verl's."""
        if _any_matches(SURE_SIGNS, (*raw.config, *raw.facts.hints)):
            return True
        keys = [str(key) for key in raw.frame.columns]
        return sum(_any_matches((sign,), keys) for sign in METRIC_SIGNS) >= 2

    def interpret(self, raw: RawRun, declared: RunDeclaration) -> Run:
        """Give the raw keys their canonical meaning for the run's mode and version; what is unknown stays unknown."""
        config, notices = declared_config(raw, declared)
        values = plain_values(config)
        finding = find_mode(raw, values)
        date, told = date_of_version(declared.framework_version)
        notices += told
        date, told = bound_by_evidence(
            date,
            keys=[str(key) for key in raw.frame.columns],
            config=list(config),
            hints=sorted(raw.facts.hints),
            started_at=raw.facts.started_at,
        )
        notices += told
        columns, told = map_metrics(raw.frame, finding.mode)
        notices += told
        found = find_devices(finding.mode, values, declared, columns)
        meaning = decide_meaning(finding, date, columns, found.devices, values)
        work = measure_work(columns, meaning.prompts, values)
        accuracy, accuracy_notices = read_accuracy(raw.frame)
        extra = {
            "work.prompts": work.prompts,
            "work.trajectories": work.trajectories,
            "quality.accuracy": accuracy,
            "clock.wall_s": wall_clock(raw),
        }
        columns |= {name: series for name, series in extra.items() if series is not None}
        status, reason = judge_status(raw, planned_steps(finding.mode, values))
        return Run(
            run_id=declared.run_id,
            label=declared.label or declared.run_id,
            framework=self.name,
            framework_version=declared.framework_version,
            mode=finding.mode,
            status=status,
            status_reason=reason,
            devices=found.devices,
            semantics=meaning.semantics,
            steps=frame_of(columns, raw.frame.index),
            raw=raw.frame,
            config=config,
            knobs=VERL_RULES.tunable(values, finding.mode),
            sources=summarise_sources(raw),
            partial_steps=dict(raw.partial_steps),
            restarts=tuple(raw.restarts),
            notices=(
                *raw.notices,
                *notices,
                *_mode_notice(finding.mode, finding.why),
                *found.notices,
                *meaning.notices,
                *work.notices,
                *accuracy_notices,
                *meaning_notices(finding.mode, values, columns),
            ),
            group=declared.group,
            knob_rules=VERL_RULES,
            started_at=raw.facts.started_at,
        )


def planned_steps(mode: Mode, config: Mapping[str, Any]) -> int | None:
    """How many logged steps the configuration asks for, or None.

    Fully async plans in samples: total_rollout_steps / (required samples x trigger)
    (verl/experimental/fully_async_policy/fully_async_rollouter.py:500).
    """
    if mode == "fully_async":
        samples = as_count(config.get("rollout.total_rollout_steps"))
        per_step = PROMPT_RULES["required samples x trigger"](config)
        return samples // per_step if samples and per_step else None
    for key in ("trainer.total_training_steps", "actor_rollout_ref.actor.optim.total_training_steps"):
        steps = as_count(config.get(key))
        if steps:
            return steps
    return None


def _any_matches(patterns: Iterable[str], names: Iterable[str]) -> bool:
    present = list(names)
    return any(matches(pattern, name) for pattern in patterns for name in present)


def _mode_notice(mode: Mode, why: str) -> tuple[Notice, ...]:
    return (Notice("RR304", f"the execution mode is not known: {why}"),) if mode == "unknown" else ()
