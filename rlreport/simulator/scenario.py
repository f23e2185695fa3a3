"""What a simulation is told: the model of a scenario file, every parameter with its unit and its source.

The sections are in `scenario_sections`. `parameter_rows` lists all parameters for the documentation. Reading a scenario from
YAML is the business of `scenario_file`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator
from pydantic.fields import FieldInfo

from rlreport.simulator.defects import DefectName
from rlreport.simulator.output_names import OutputName
from rlreport.simulator.quotas import FullyAsyncQuota, fully_async_quota
from rlreport.simulator.scenario_sections import (
    ASSUMPTION,
    Cluster,
    Framework,
    FullyAsync,
    Hybrid,
    Noise,
    Policy,
    Quality,
    RolloutSpeed,
    Schedule,
    Section,
    Sync,
    TrainerSpeed,
    Workload,
    parameter,
)

__all__ = [
    "ASSUMPTION",
    "COLOCATED_MODES",
    "FIRST_SIMULATED_VERSION",
    "Cluster",
    "Framework",
    "FullyAsync",
    "Hybrid",
    "Noise",
    "Policy",
    "Quality",
    "RolloutSpeed",
    "Scenario",
    "Schedule",
    "SimulatedMode",
    "Sync",
    "TrainerSpeed",
    "Workload",
    "parameter_rows",
]

SimulatedMode = Literal["sync", "colocate_async", "separate_async", "one_step_off", "fully_async"]

#: Modes in which the Trainer's devices generate and train in turns.
COLOCATED_MODES: frozenset[SimulatedMode] = frozenset({"sync", "colocate_async"})

#: From this day on a V1 separate_async step is a sync cycle and not a mini-batch (verl pull request 6977); what came before
#: is not simulated.
FIRST_SIMULATED_VERSION = dt.date(2026, 7, 8)


class Scenario(Section):
    """One simulated run."""

    name: str = parameter(..., "name of the run; lower case, digits and hyphens", pattern=r"^[a-z0-9][a-z0-9-]*$")
    description: str = parameter("", "what the scenario shows")
    mode: SimulatedMode = parameter(
        ..., "execution mode", source="verl trainer.v1.trainer_mode; one_step_off and fully_async: verl/experimental"
    )
    seed: int = parameter(0, "seed of all random streams", ge=0)
    steps: int = parameter(..., "steps to train; in fully_async: parameter versions", unit="steps", gt=0)
    framework: Framework = Field(default_factory=Framework)
    cluster: Cluster
    policy: Policy = Field(default_factory=Policy)
    workload: Workload
    trainer: TrainerSpeed
    rollout: RolloutSpeed
    sync: Sync = Field(default_factory=Sync)
    fully_async: FullyAsync = Field(default_factory=FullyAsync)
    hybrid: Hybrid = Field(default_factory=Hybrid)
    schedule: Schedule = Field(default_factory=Schedule)
    quality: Quality = Field(default_factory=Quality)
    noise: Noise = Field(default_factory=Noise)
    config: dict[str, Any] = parameter({}, "configuration values set by dotted key, over those that follow from the rest")
    defects: tuple[DefectName, ...] = parameter((), "defects of the console log, applied in this order")
    outputs: tuple[OutputName, ...] = parameter(("console",), "what is written beside truth.json")
    traced_steps: tuple[int, int] | None = parameter(
        None, "first and last step of traces and rollout dumps, which are large; null: all", unit="steps"
    )

    @property
    def trainer_devices(self) -> int:
        """Devices of the Trainer."""
        return self.cluster.trainer_nodes * self.cluster.devices_per_node

    @property
    def rollout_devices(self) -> int:
        """Devices of the Rollouters' own; 0 in sync and colocate_async."""
        return self.cluster.rollout_nodes * self.cluster.devices_per_node

    @property
    def total_devices(self) -> int:
        """All devices."""
        return self.trainer_devices + self.rollout_devices

    @property
    def generating_devices(self) -> int:
        """Devices that replicas always run on: the Trainer's in sync and colocate_async."""
        return self.trainer_devices if self.mode in COLOCATED_MODES else self.rollout_devices

    @property
    def replicas(self) -> int:
        """Inference engines, those that only help now and then not counted."""
        return self.generating_devices // self.rollout.devices_per_replica

    @property
    def hybrid_replicas(self) -> int:
        """Inference engines on the Trainer's devices that help the Rollouters; 0 where none do."""
        helps = self.mode not in COLOCATED_MODES and (self.hybrid.validates or self.hybrid.enable_switch)
        return self.trainer_devices // self.rollout.devices_per_replica if helps else 0

    @property
    def updates_per_step(self) -> int:
        """Optimiser updates of a step; in separate_async this is `parameter_sync_step`."""
        return self.workload.prompts_per_step // self.trainer.mini_batch_prompts

    @property
    def rounds_per_step(self) -> int:
        """How often the Trainer asks for samples in a step; in fully_async this is `trigger_parameter_sync_step`."""
        if self.mode == "fully_async":
            return self.fully_async.trigger_parameter_sync_step
        return self.updates_per_step if self.mode == "separate_async" else 1

    @property
    def data_parallel_ranks(self) -> int:
        """Data-parallel ranks of the Trainer."""
        return self.trainer_devices // self.trainer.model_parallel_devices

    @property
    def quota(self) -> FullyAsyncQuota:
        """The limits of fully_async that follow from its knobs, by verl's own formulas; meaningless in other modes."""
        return fully_async_quota(
            mini_batch_prompts=self.trainer.mini_batch_prompts,
            require_batches=self.fully_async.require_batches,
            staleness_threshold=self.fully_async.staleness_threshold,
            trigger_parameter_sync_step=self.fully_async.trigger_parameter_sync_step,
            replicas=self.replicas,
            concurrent_samples_per_replica=self.fully_async.concurrent_samples_per_replica,
            total_rollout_steps=self.steps * self.workload.prompts_per_step,
        )

    @model_validator(mode="after")
    def _check_what_belongs_together(self) -> Scenario:
        for problem in _contradictions(self):
            raise ValueError(problem)
        return self


def _contradictions(scenario: Scenario) -> Iterator[str]:
    """What verl itself would refuse, or what would make a number of this scenario meaningless."""
    cluster, workload, trainer = scenario.cluster, scenario.workload, scenario.trainer
    rollout = scenario.rollout
    if scenario.mode not in COLOCATED_MODES and cluster.rollout_nodes == 0:
        yield f"{scenario.mode} needs cluster.rollout_nodes above 0"
    if scenario.mode in COLOCATED_MODES and cluster.rollout_nodes:
        yield f"{scenario.mode} generates on the Trainer's devices: cluster.rollout_nodes must be 0"
    if workload.prompts_per_step % trainer.mini_batch_prompts:
        yield "workload.prompts_per_step must be a multiple of trainer.mini_batch_prompts"
    if scenario.generating_devices % rollout.devices_per_replica:
        yield "the generating devices must be a multiple of rollout.devices_per_replica"
    if scenario.trainer_devices % trainer.model_parallel_devices:
        yield "the Trainer's devices must be a multiple of trainer.model_parallel_devices"
    if workload.samples_per_prompt % rollout.bundle or rollout.bundle > rollout.max_sequences:
        yield "rollout.bundle must divide workload.samples_per_prompt and not exceed rollout.max_sequences"
    if scenario.framework.version < FIRST_SIMULATED_VERSION:
        yield f"framework.version must be {FIRST_SIMULATED_VERSION} or later: older steps mean something else"
    yield from _mode_contradictions(scenario)
    yield from _output_contradictions(scenario)


def _mode_contradictions(scenario: Scenario) -> Iterator[str]:
    knobs, mini = scenario.fully_async, scenario.trainer.mini_batch_prompts
    needed = mini * knobs.require_batches * knobs.trigger_parameter_sync_step
    if scenario.mode == "fully_async" and scenario.workload.prompts_per_step != needed:
        yield f"workload.prompts_per_step must be {needed} in fully_async: mini-batch x require_batches x trigger"
    if scenario.hybrid.enable_switch and scenario.mode != "separate_async":
        yield "hybrid.enable_switch belongs to separate_async"
    if scenario.hybrid.validates and scenario.mode not in ("separate_async", "fully_async"):
        yield "hybrid.validates belongs to separate_async and fully_async"
    lends = scenario.hybrid.validates or scenario.hybrid.enable_switch
    if lends and scenario.trainer_devices % scenario.rollout.devices_per_replica:
        yield "with hybrid engines the Trainer's devices must be a multiple of rollout.devices_per_replica"


def _output_contradictions(scenario: Scenario) -> Iterator[str]:
    schedule, traced = scenario.schedule, scenario.traced_steps
    validated, saved = schedule.validate_every_steps, schedule.checkpoint_every_steps
    if "resumed" in scenario.defects and validated and saved % validated:
        yield "with the defect resumed, schedule.checkpoint_every_steps must be a multiple of validate_every_steps, or 0"
    if traced is not None and traced[0] > traced[1]:
        yield "traced_steps must be the first and the last step, in this order"


def parameter_rows() -> list[tuple[str, str, str, str, str]]:
    """Every parameter as (dotted name, unit, default, meaning, source), in the order of the model."""
    return list(_rows(Scenario, ""))


def _rows(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str, str]]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _rows(inner, f"{prefix}{name}.")
        else:
            yield _row(f"{prefix}{name}", field)


def _row(name: str, field: FieldInfo) -> tuple[str, str, str, str, str]:
    extra = field.json_schema_extra
    if not isinstance(extra, dict) or field.description is None:
        raise TypeError(f"{name} has no unit, source or meaning: define it with parameter()")
    default = "required" if field.is_required() else "null" if field.default is None else str(field.default)
    return name, str(extra["unit"]), default, field.description, str(extra["source"])
