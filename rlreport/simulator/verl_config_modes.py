"""What the configurations of verl's experimental trainers have of their own, as dotted keys and values.

Sources: verl/experimental/fully_async_policy/config/fully_async_ppo_megatron_trainer.yaml and fully_async_main.py (which
copies the Rollouters' nodes into the engine's section); verl/experimental/one_step_off_policy/config and its main program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlreport.simulator.scenario import Scenario

Values = dict[str, Any]

_R = "actor_rollout_ref.rollout"


def mode_values(scenario: Scenario) -> Values:
    """Keys to set over those that all modes have; empty for the modes of the V1 trainer."""
    return _VALUES.get(scenario.mode, _none)(scenario)


def _none(_: Scenario) -> Values:
    return {}


def _separated(scenario: Scenario) -> Values:
    """What both trainers need: no hybrid engine, weights through a checkpoint engine, the Rollouters' own section."""
    cluster = scenario.cluster
    return {
        "actor_rollout_ref.hybrid_engine": False,
        f"{_R}.checkpoint_engine.backend": {"cuda": "nccl", "npu": "hccl"}[cluster.device],
        f"{_R}.free_cache_engine": False,
        f"{_R}.gpu_memory_utilization": 0.8,
        f"{_R}.n_gpus_per_node": cluster.devices_per_node,
        f"{_R}.nnodes": cluster.rollout_nodes,
        "rollout.n_gpus_per_node": cluster.devices_per_node,
        "rollout.nnodes": cluster.rollout_nodes,
        "transfer_queue.enable": False,
    }


def _fully_async(scenario: Scenario) -> Values:
    knobs, workload = scenario.fully_async, scenario.workload
    return _separated(scenario) | {
        "actor_rollout_ref.actor.optim.total_training_steps": -1,
        "actor_rollout_ref.actor.use_rollout_log_probs": True,
        "async_training.concurrent_samples_per_replica": knobs.concurrent_samples_per_replica,
        "async_training.dynamic_schedule_deactivate_ratio": 0.3,
        "async_training.dynamic_schedule_enable_rebalance": True,
        "async_training.dynamic_schedule_policy": "default",
        "async_training.partial_rollout": knobs.partial_rollout,
        "async_training.require_batches": knobs.require_batches,
        "async_training.staleness_threshold": knobs.staleness_threshold,
        "async_training.trigger_parameter_sync_step": knobs.trigger_parameter_sync_step,
        "async_training.use_dynamic_resource_scheduling": False,
        "async_training.use_trainer_do_validate": scenario.hybrid.validates,
        "data.train_batch_size": 0,
        "rollout.n": workload.samples_per_prompt,
        "rollout.test_freq": scenario.schedule.validate_every_steps or -1,
        "rollout.total_epochs": 30,
        "rollout.total_rollout_steps": scenario.steps * workload.prompts_per_step,
        "trainer.total_training_steps": None,
    }


_VALUES: Mapping[str, Callable[[Scenario], Values]] = {"one_step_off": _separated, "fully_async": _fully_async}
