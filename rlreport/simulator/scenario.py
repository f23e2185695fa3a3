"""What a simulation is told: the model of a scenario file, every parameter with its unit and its source.

`parameter_rows` lists them for the documentation. A value without a published source says "assumption": it was chosen to be
plausible, not measured. Reading a scenario from YAML is the business of `scenario_file`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from rlreport.simulator.defects import DefectName

SimulatedMode = Literal["sync", "separate_async"]

#: From this day on a V1 separate_async step is a sync cycle and not a mini-batch (verl pull request 6977); what came before
#: is not simulated.
FIRST_SIMULATED_VERSION = dt.date(2026, 7, 8)

ASSUMPTION = "assumption"


def parameter(default: Any, meaning: str, *, unit: str = "", source: str = ASSUMPTION, **bounds: Any) -> Any:
    """A field with its meaning, unit ("" for a plain number or a name) and source; `...` as default makes it required."""
    return Field(default, description=meaning, json_schema_extra={"unit": unit, "source": source}, **bounds)


class Section(BaseModel):
    """Base of all sections: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Framework(Section):
    """Which verl the log pretends to come from, and when the run started."""

    version: dt.date = parameter(
        "2026-08-22", "day of the verl commit; decides what some keys mean", unit="date", validate_default=True
    )
    started_at: dt.datetime = parameter(
        "2026-09-01T08:00:00", "time of the first dated line; the only clock", unit="local time", validate_default=True
    )
    project: str = parameter("rlreport-examples", "trainer.project_name of the configuration")


class Cluster(Section):
    """Nodes and devices of both sides."""

    device: Literal["npu", "cuda"] = parameter("npu", "kind of device, trainer.device of the configuration")
    devices_per_node: int = parameter(8, "devices of every node, on both sides", unit="devices", gt=0)
    trainer_nodes: int = parameter(..., "nodes of the Trainer (trainer.nnodes)", unit="nodes", source="case", gt=0)
    rollout_nodes: int = parameter(
        0, "nodes of the Rollouters' own; 0 in sync mode, where the Trainer's devices generate", unit="nodes", ge=0
    )
    device_memory_gb: float = parameter(64.0, "memory of one device", unit="GB", gt=0)
    peak_tflops_per_device: float = parameter(
        320.0, "peak rate of one device in the training precision; only MFU uses it", unit="TFLOP/s", gt=0
    )


class Policy(Section):
    """The model that is trained."""

    name: str = parameter("Qwen3-30B-A3B", "name of the model, as in the path of the configuration")
    active_parameters: float = parameter(
        3.3e9, "parameters that one token passes through", unit="parameters", source="Qwen3-30B-A3B model card", gt=0
    )


class Workload(Section):
    """What is generated in a step, and how long it gets."""

    prompts_per_step: int = parameter(..., "prompts of a step: data.train_batch_size", unit="prompts", source="case", gt=0)
    samples_per_prompt: int = parameter(8, "responses to one prompt (rollout.n)", unit="responses", gt=0)
    dataset_prompts: int = parameter(17_000, "prompts of the training set; an epoch", unit="prompts", gt=0)
    prompt_tokens_mean: float = parameter(200.0, "mean length of a prompt, before the cap", unit="tokens", gt=0)
    prompt_tokens_sigma: float = parameter(0.3, "standard deviation of the logarithm of a prompt's length", ge=0)
    max_prompt_tokens: int = parameter(1024, "cap of a prompt (data.max_prompt_length)", unit="tokens", gt=0)
    response_tokens_mean: float = parameter(..., "mean length of a response at step 1, before the cap", unit="tokens", gt=0)
    response_tokens_sigma: float = parameter(
        0.45, "standard deviation of the logarithm of a response's length (log-normal: a long tail)", ge=0
    )
    response_correlation: float = parameter(
        0.4, "correlation of the logarithms of two responses to the same prompt: hard prompts get long answers", ge=0, le=1
    )
    max_response_tokens: int = parameter(..., "cap of a response (data.max_response_length)", unit="tokens", gt=0)
    response_growth_per_step: float = parameter(
        0.0, "relative growth of the mean response length with every step of training", unit="1/step"
    )


class TrainerSpeed(Section):
    """How long the Trainer works on a mini-batch: fixed part + micro-batches + tokens over rate."""

    mini_batch_prompts: int = parameter(
        ..., "prompts of one optimiser update (actor.ppo_mini_batch_size)", unit="prompts", source="case", gt=0
    )
    model_parallel_devices: int = parameter(
        1, "devices that share one copy of the model (tensor times pipeline parallel size)", unit="devices", gt=0
    )
    token_budget_per_rank: int = parameter(
        16384,
        "tokens of a micro-batch on one data-parallel rank (actor.ppo_max_token_len_per_gpu)",
        unit="tokens",
        source="verl default of actor.ppo_max_token_len_per_gpu",
        gt=0,
    )
    update_fixed_s: float = parameter(0.0, "fixed part of an update: optimiser, gradient reduction", unit="s", ge=0)
    update_micro_batch_s: float = parameter(0.0, "overhead of one micro-batch of an update", unit="s", ge=0)
    update_tokens_per_s_per_device: float = parameter(..., "rate of forward and backward pass", unit="tokens/s/device", gt=0)
    recompute_old_log_prob: bool = parameter(
        True, "recompute log-probabilities; false: algorithm.rollout_correction.bypass_mode", source="verl default"
    )
    log_prob_fixed_s: float = parameter(0.0, "fixed part of a forward pass, weight swap included", unit="s", ge=0)
    log_prob_micro_batch_s: float = parameter(0.0, "overhead of one micro-batch of a forward pass", unit="s", ge=0)
    log_prob_tokens_per_s_per_device: float = parameter(1e9, "rate of a forward pass", unit="tokens/s/device", gt=0)
    advantage_s: float = parameter(0.0, "advantage computation of a mini-batch", unit="s", ge=0)
    first_step_extra_s: float = parameter(0.0, "compilation in step 1, in no timer but the step's", unit="s", ge=0)
    memory_static_gb: float = parameter(30.0, "memory that does not depend on the micro-batch", unit="GB", ge=0)
    memory_gb_per_1k_tokens: float = parameter(1.2, "activation memory of 1,000 tokens of a micro-batch", unit="GB", ge=0)


class RolloutSpeed(Section):
    """How fast a replica decodes with continuous batching."""

    devices_per_replica: int = parameter(1, "devices of one inference engine (tensor parallel size)", unit="devices", gt=0)
    max_sequences: int = parameter(256, "sequences decoded at once (rollout.max_num_seqs)", unit="sequences", gt=0)
    decode_tokens_per_s: float = parameter(..., "rate of the only sequence on a replica", unit="tokens/s", gt=0)
    half_rate_sequences: float | None = parameter(
        None,
        "sequences beside it at which a sequence decodes half as fast; null: concurrency costs nothing",
        unit="sequences",
        gt=0,
    )
    prefill_speedup: float | None = parameter(
        None, "prompt tokens read in the time of one decoded token; null: prompts cost nothing", unit="tokens", gt=0
    )
    poll_interval_s: float = parameter(
        2.0,
        "the Trainer looks for finished samples this often; 0: at once",
        unit="s",
        source="verl/trainer/ppo/v1/replay_buffer.py, poll_interval",
        ge=0,
    )
    fetch_s: float = parameter(0.0, "fetching a mini-batch that is ready; counts as waiting, as in the log", unit="s", ge=0)


class Sync(Section):
    """Weight sync and the limits of how far generation runs ahead."""

    weight_sync_s: float = parameter(0.0, "sending new weights to the inference engines; both sides stop", unit="s", ge=0)
    warmup_batches: float = parameter(
        1.0,
        "batches of prompts handed to the Rollouters before step 1 (num_warmup_batches): their lead",
        unit="batches",
        source="verl default of trainer.v1.separate_async.num_warmup_batches",
        ge=0,
    )
    max_off_policy_threshold: int = parameter(
        8,
        "versions after which a finished sample is dropped and a new prompt takes its place",
        unit="versions",
        source="verl default of trainer.v1.sampler.max_off_policy_threshold, strategy drop",
        gt=0,
    )


class Schedule(Section):
    """What interrupts training."""

    startup_s: float = parameter(600.0, "loading models and starting engines, before anything else", unit="s", ge=0)
    validate_every_steps: int = parameter(0, "steps between validations (trainer.test_freq); 0: never", unit="steps", ge=0)
    validate_before_training: bool = parameter(False, "validate before step 1 (trainer.val_before_train)")
    validation_s: float = parameter(0.0, "one validation; the Rollouters do nothing else, the Trainer waits", unit="s", ge=0)
    checkpoint_every_steps: int = parameter(0, "steps between checkpoints (trainer.save_freq); 0: never", unit="steps", ge=0)
    checkpoint_s: float = parameter(0.0, "saving one checkpoint", unit="s", ge=0)


class Quality(Section):
    """The learning curves: start + gain x (1 - exp(-step / steps constant)) + noise."""

    reward_start: float = parameter(0.35, "mean reward of a batch before training", ge=0, le=1)
    reward_gain: float = parameter(0.3, "gain of the mean reward in the long run")
    accuracy_start: float = parameter(0.3, "validation accuracy before training", ge=0, le=1)
    accuracy_gain: float = parameter(0.25, "gain of the validation accuracy in the long run")
    steps_constant: float = parameter(60.0, "steps in which 63 % of the gain is reached", unit="steps", gt=0)
    reward_noise: float = parameter(0.015, "standard deviation of a batch's mean reward around the curve", ge=0)
    noise_per_version: float = parameter(
        0.0, "relative growth of the reward's noise with every version of mean staleness", unit="1/version", ge=0
    )
    validation_samples: int = parameter(960, "answers of a validation; accuracy has binomial noise", unit="answers", gt=0)
    validation_source: str = parameter("simulated-math", "data source in the validation keys")


class Noise(Section):
    """Autocorrelated noise of the seconds, AR(1); 0 turns it off."""

    trainer_cv: float = parameter(0.0, "coefficient of variation of the Trainer's times, one factor a step", ge=0, lt=0.3)
    rollout_cv: float = parameter(0.0, "coefficient of variation of the decoding rate, one factor a step", ge=0, lt=0.3)
    event_cv: float = parameter(0.0, "coefficient of variation of weight syncs, validations and checkpoints", ge=0, lt=0.3)
    autocorrelation: float = parameter(
        0.5, "lag-1 autocorrelation of the speed factors and of the reward's noise", ge=0, lt=1
    )


class Scenario(Section):
    """One simulated run."""

    name: str = parameter(..., "name of the run; lower case, digits and hyphens", pattern=r"^[a-z0-9][a-z0-9-]*$")
    description: str = parameter("", "what the scenario shows")
    mode: SimulatedMode = parameter(..., "execution mode", source="verl trainer.v1.trainer_mode")
    seed: int = parameter(0, "seed of all random streams", ge=0)
    steps: int = parameter(..., "steps to train", unit="steps", gt=0)
    framework: Framework = Field(default_factory=Framework)
    cluster: Cluster
    policy: Policy = Field(default_factory=Policy)
    workload: Workload
    trainer: TrainerSpeed
    rollout: RolloutSpeed
    sync: Sync = Field(default_factory=Sync)
    schedule: Schedule = Field(default_factory=Schedule)
    quality: Quality = Field(default_factory=Quality)
    noise: Noise = Field(default_factory=Noise)
    config: dict[str, Any] = parameter({}, "configuration values set by dotted key, over those that follow from the rest")
    defects: tuple[DefectName, ...] = parameter((), "defects of the console log, applied in this order")

    @property
    def trainer_devices(self) -> int:
        """Devices of the Trainer."""
        return self.cluster.trainer_nodes * self.cluster.devices_per_node

    @property
    def rollout_devices(self) -> int:
        """Devices of the Rollouters' own; 0 in sync mode."""
        return self.cluster.rollout_nodes * self.cluster.devices_per_node

    @property
    def total_devices(self) -> int:
        """All devices."""
        return self.trainer_devices + self.rollout_devices

    @property
    def generating_devices(self) -> int:
        """Devices that replicas run on: the Trainer's in sync mode."""
        return self.trainer_devices if self.mode == "sync" else self.rollout_devices

    @property
    def replicas(self) -> int:
        """Inference engines."""
        return self.generating_devices // self.rollout.devices_per_replica

    @property
    def updates_per_step(self) -> int:
        """Optimiser updates of a step; in separate_async this is `parameter_sync_step`."""
        return self.workload.prompts_per_step // self.trainer.mini_batch_prompts

    @property
    def data_parallel_ranks(self) -> int:
        """Data-parallel ranks of the Trainer."""
        return self.trainer_devices // self.trainer.model_parallel_devices

    @model_validator(mode="after")
    def _check_what_belongs_together(self) -> Scenario:
        for problem in _contradictions(self):
            raise ValueError(problem)
        return self


def _contradictions(scenario: Scenario) -> Iterator[str]:
    """What verl itself would refuse, or what would make a number of this scenario meaningless."""
    cluster, workload, trainer = scenario.cluster, scenario.workload, scenario.trainer
    if scenario.mode == "separate_async" and cluster.rollout_nodes == 0:
        yield "separate_async needs cluster.rollout_nodes above 0"
    if scenario.mode == "sync" and cluster.rollout_nodes:
        yield "sync generates on the Trainer's devices: cluster.rollout_nodes must be 0"
    if workload.prompts_per_step % trainer.mini_batch_prompts:
        yield "workload.prompts_per_step must be a multiple of trainer.mini_batch_prompts"
    if scenario.generating_devices % scenario.rollout.devices_per_replica:
        yield "the generating devices must be a multiple of rollout.devices_per_replica"
    if scenario.trainer_devices % trainer.model_parallel_devices:
        yield "the Trainer's devices must be a multiple of trainer.model_parallel_devices"
    if scenario.framework.version < FIRST_SIMULATED_VERSION:
        yield f"framework.version must be {FIRST_SIMULATED_VERSION} or later: older steps mean something else"


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
