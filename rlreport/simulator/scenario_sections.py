"""The sections of a scenario: every parameter with its unit and its source.

A value without a published source says "assumption": it was chosen to be plausible, not measured. `scenario.Scenario` puts
the sections together.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
        0, "nodes of the Rollouters' own; 0 in sync and colocate_async: the Trainer's devices generate", unit="nodes", ge=0
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

    prompts_per_step: int = parameter(
        ...,
        "prompts of a step: data.train_batch_size; in fully_async of a parameter version: mini-batch x require x trigger",
        unit="prompts",
        source="case",
        gt=0,
    )
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
    bundle: int = parameter(
        1,
        "responses of a prompt that are simulated as one, with their mean length; above 1 it is faster and cuts the tail",
        unit="responses",
        gt=0,
    )


class Sync(Section):
    """Weight sync and the limits of how far generation runs ahead."""

    weight_sync_s: float = parameter(0.0, "sending new weights to the inference engines; both sides stop", unit="s", ge=0)
    warmup_batches: float = parameter(
        1.0,
        "separate_async, colocate_async: batches of prompts handed out before step 1 (num_warmup_batches)",
        unit="batches",
        source="verl default of trainer.v1.separate_async.num_warmup_batches",
        ge=0,
    )
    max_off_policy_threshold: int = parameter(
        8,
        "V1 modes: versions after which a finished sample is dropped and a new prompt takes its place",
        unit="versions",
        source="verl default of trainer.v1.sampler.max_off_policy_threshold, strategy drop",
        gt=0,
    )


_ASYNC = "verl/experimental/fully_async_policy/config"


class FullyAsync(Section):
    """The knobs of fully_async (`async_training` of its configuration); the other modes ignore them."""

    staleness_threshold: float = parameter(
        0.1, "samples beyond those of a version that may be handed out, as a share", source=f"{_ASYNC}, default", ge=0
    )
    trigger_parameter_sync_step: int = parameter(
        4, "rounds of the Trainer between weight syncs", unit="rounds", source=f"{_ASYNC}, default", gt=0
    )
    require_batches: int = parameter(
        1, "mini-batches that a round takes from the queue", unit="mini-batches", source=f"{_ASYNC}, default", gt=0
    )
    partial_rollout: bool = parameter(
        True,
        "a weight sync interrupts running responses, which go on with the new weights; false: the sync waits for them",
        source=f"{_ASYNC}, default",
    )
    concurrent_samples_per_replica: int = parameter(
        16, "prompts in generation for every replica", unit="prompts", source=f"{_ASYNC}, default (pull request 6946)", gt=0
    )


_SWITCH = "verl default of trainer.v1.separate_async.hybrid_rollout (pull request 7373)"


class Hybrid(Section):
    """Inference engines on the Trainer's devices, which generate when the Trainer does not train."""

    validates: bool = parameter(
        False, "they take part in validations: always in verl's separate_async; use_trainer_do_validate in fully_async"
    )
    enable_switch: bool = parameter(False, "separate_async: they help to generate at the begin of a step", source=_SWITCH)
    switch_threshold_ratio: float = parameter(
        0.4, "share of a batch that must be finished before they are taken back", source=_SWITCH, gt=0, le=1
    )
    adaptive_switch_threshold: bool = parameter(True, "the ratio follows the observed waiting", source=_SWITCH)
    switch_threshold_step_up: float = parameter(0.05, "its increase after sustained waiting", source=_SWITCH, ge=0)
    switch_threshold_step_down: float = parameter(0.03, "its decrease after sustained calm", source=_SWITCH, ge=0)
    switch_threshold_release_steps: int = parameter(
        2, "steps in a row that count as sustained", unit="steps", source=_SWITCH, gt=0
    )
    switch_cost_window_size: int = parameter(
        3, "latest switches whose cost is averaged for the decision", unit="switches", source=_SWITCH, gt=0
    )
    to_rollout_s: float = parameter(0.0, "the Trainer's devices turn to generation: load weights, wake", unit="s", ge=0)
    to_trainer_s: float = parameter(
        0.0, "and back: abort, sleep; also after the generation of a step in sync and colocate_async", unit="s", ge=0
    )


class Schedule(Section):
    """What interrupts training."""

    startup_s: float = parameter(600.0, "loading models and starting engines, before anything else", unit="s", ge=0)
    validate_every_steps: int = parameter(0, "steps between validations (trainer.test_freq); 0: never", unit="steps", ge=0)
    validate_before_training: bool = parameter(False, "validate before step 1 (trainer.val_before_train)")
    validation_s: float = parameter(
        0.0,
        "one validation by the Rollouters alone, which do nothing else; with hybrid engines shorter by their share",
        unit="s",
        ge=0,
    )
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
