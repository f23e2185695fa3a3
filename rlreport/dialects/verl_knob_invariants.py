"""The arithmetic between verl's configuration keys: what must agree within a run, and between runs of two modes."""

from __future__ import annotations

from rlreport.run.knobs import Condition, Invariant, Quantity

_A = "actor_rollout_ref.actor"
_R = "actor_rollout_ref.rollout"
_V1 = "trainer.v1"
#: Devices of one inference engine.
_REPLICA = f"{_R}.tensor_model_parallel_size * {_R}.data_parallel_size * {_R}.pipeline_model_parallel_size"
_MODEL_PARALLEL = " * ".join(f"{_A}.megatron.{kind}_parallel_size" for kind in ("tensor_model", "pipeline_model", "context"))
_SAMPLES_OF_A_SYNC = (
    f"async_training.trigger_parameter_sync_step * async_training.require_batches * {_A}.ppo_mini_batch_size"
)
_BATCHES_PLANNED = "data.train_batch_size * trainer.total_training_steps"
_FSDP = (Condition(f"{_A}.strategy", ("fsdp", "fsdp2")),)
_MEGATRON = (Condition(f"{_A}.strategy", ("megatron",)),)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "train batch = parameter_sync_step x mini-batch",
        "holds",
        f"{_V1}.separate_async.parameter_sync_step * {_A}.ppo_mini_batch_size == data.train_batch_size",
        ("separate_async",),
        "verl/trainer/ppo/v1/trainer_separate_async.py (assert)",
        otherwise="verl stops on that, so this is not the configuration that ran",
    ),
    Invariant(
        "the total of devices stays",
        "conserved",
        "devices.trainer + devices.rollout",
        ("separate_async", "one_step_off", "fully_async"),
        "docs/advance/fully_async.md: equal devices for a fair comparison",
    ),
    Invariant(
        "samples of a weight sync = trigger x require_batches x mini-batch stay",
        "conserved",
        _SAMPLES_OF_A_SYNC,
        ("fully_async",),
        "docs/advance/fully_async.md: trigger = train_batch_size / (require_batches x ppo_mini_batch_size)",
    ),
    Invariant(
        "whole mini-batches in a batch",
        "check",
        f"data.train_batch_size % {_A}.ppo_mini_batch_size == 0",
        ("sync", "colocate_async", "one_step_off"),
        "verl/workers/actor/dp_actor.py, the batch is split by ppo_mini_batch_size",
        otherwise="the last update of a batch is smaller than the others",
    ),
    Invariant(
        "equal shares of a batch for the Trainer's devices",
        "check",
        f"data.train_batch_size * {_R}.n % devices.trainer == 0",
        ("sync", "colocate_async", "one_step_off", "separate_async"),
        "verl/utils/config.py, validate_config",
        _FSDP,
        "verl refuses that or pads the batch",
    ),
    Invariant(
        "equal shares of a batch for the Trainer's data-parallel groups",
        "check",
        f"data.train_batch_size * {_R}.n % (devices.trainer / ({_MODEL_PARALLEL})) == 0",
        ("sync", "colocate_async", "one_step_off", "separate_async"),
        "verl/utils/config.py, validate_config",
        _MEGATRON,
        "verl refuses that or pads the batch",
    ),
    Invariant(
        "equal shares of a mini-batch for the Trainer's data-parallel ranks",
        "check",
        f"{_A}.ppo_mini_batch_size * {_R}.n % (devices.trainer / {_A}.ulysses_sequence_parallel_size) == 0",
        ("sync", "colocate_async", "one_step_off", "separate_async", "fully_async"),
        "verl/workers/fsdp_workers.py, ppo_mini_batch_size x n is divided by the ranks and rounded down",
        _FSDP,
        "an update takes fewer samples than configured, or some ranks do less than others",
    ),
    Invariant(
        "equal shares of a mini-batch for the Trainer's data-parallel groups",
        "check",
        f"{_A}.ppo_mini_batch_size * {_R}.n % (devices.trainer / ({_MODEL_PARALLEL})) == 0",
        ("sync", "colocate_async", "one_step_off", "separate_async", "fully_async"),
        "verl/workers/megatron_workers.py, ppo_mini_batch_size x n is divided by the groups and rounded down",
        _MEGATRON,
        "an update takes fewer samples than configured, or some groups do less than others",
    ),
    Invariant(
        "whole engine replicas on the Rollout devices",
        "check",
        f"devices.rollout % ({_REPLICA}) == 0",
        ("separate_async", "one_step_off", "fully_async"),
        "verl/experimental/agent_loop, replicas = devices / (tensor x data x pipeline parallel size)",
        otherwise="the devices that are left over do nothing",
    ),
    Invariant(
        "equal shares of a batch for the Rollouters' replicas",
        "check",
        f"data.train_batch_size * {_R}.n % (devices.rollout / ({_REPLICA})) == 0",
        ("separate_async", "one_step_off"),
        "verl/experimental/agent_loop, replicas = devices / (tensor x data x pipeline parallel size)",
        otherwise="some replicas generate more of a batch than others, and the others wait",
    ),
    Invariant(
        "equal shares of a batch for the engine's replicas",
        "check",
        f"data.train_batch_size * {_R}.n % (devices.trainer / ({_REPLICA})) == 0",
        ("sync", "colocate_async"),
        "verl/experimental/agent_loop, replicas = devices / (tensor x data x pipeline parallel size)",
        otherwise="some replicas generate more of a batch than others, and the others wait",
    ),
    Invariant(
        "whole weight syncs in the samples planned",
        "check",
        f"rollout.total_rollout_steps % ({_SAMPLES_OF_A_SYNC}) == 0",
        ("fully_async",),
        "verl/experimental/fully_async_policy/fully_async_rollouter.py:500",
        otherwise="what is left over is generated and never trained on",
    ),
)

#: What runs of different modes must have in common for a fair comparison (docs/advance/fully_async.md).
QUANTITIES: tuple[Quantity, ...] = (
    Quantity(
        "samples of a weight sync",
        "prompts",
        {
            "sync": "data.train_batch_size",
            "colocate_async": "data.train_batch_size",
            "one_step_off": "data.train_batch_size",
            "separate_async": "data.train_batch_size",
            "fully_async": _SAMPLES_OF_A_SYNC,
        },
        "trigger_parameter_sync_step = train_batch_size / (require_batches x ppo_mini_batch_size)",
        "docs/advance/fully_async.md",
    ),
    Quantity(
        "samples planned",
        "prompts",
        {
            "sync": _BATCHES_PLANNED,
            "colocate_async": _BATCHES_PLANNED,
            "one_step_off": _BATCHES_PLANNED,
            "separate_async": _BATCHES_PLANNED,
            "fully_async": "rollout.total_rollout_steps",
        },
        "total_rollout_steps = train_batch_size x steps",
        "docs/advance/fully_async.md",
    ),
    Quantity(
        "devices in total",
        "devices",
        {
            "sync": "devices.trainer",
            "colocate_async": "devices.trainer",
            "one_step_off": "devices.trainer + devices.rollout",
            "separate_async": "devices.trainer + devices.rollout",
            "fully_async": "devices.trainer + devices.rollout",
        },
        "Trainer and Rollouters together have as many devices as the run that shares them",
        "docs/advance/fully_async.md",
    ),
)
