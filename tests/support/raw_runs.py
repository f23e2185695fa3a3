"""Small raw runs for tests, built from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rlreport.run.raw import ConfigValue, RawRun, SourceFacts, SourceTable, StepRow

#: A sync run's configuration of the smallest size: 4 prompts of 2 samples on 2 nodes of 4 devices.
SYNC_CONFIG: Mapping[str, Any] = {
    "actor_rollout_ref.actor.clip_ratio": 0.2,
    "actor_rollout_ref.actor.ppo_epochs": 1,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 2,
    "actor_rollout_ref.actor.strategy": "fsdp",
    "actor_rollout_ref.model.path": "/models/small",
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.5,
    "actor_rollout_ref.rollout.n": 2,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.temperature": 1.0,
    "algorithm.adv_estimator": "grpo",
    "algorithm.gamma": 1.0,
    "data.max_response_length": 64,
    "data.train_batch_size": 4,
    "data.train_files": ["/data/gsm8k/train.parquet"],
    "trainer.experiment_name": "one",
    "trainer.n_gpus_per_node": 4,
    "trainer.nnodes": 2,
    "trainer.save_freq": -1,
    "trainer.test_freq": 2,
}

#: A separate_async run: 2 nodes of 4 Trainer devices, 1 node of 4 Rollout devices, 2 mini-batches of 2 prompts a sync.
SEPARATE_CONFIG: Mapping[str, Any] = {
    **SYNC_CONFIG,
    "actor_rollout_ref.rollout.n_gpus_per_node": None,
    "actor_rollout_ref.rollout.nnodes": 1,
    "actor_rollout_ref.rollout.checkpoint_engine.backend": "nccl",
    "trainer.use_v1": True,
    "trainer.v1.trainer_mode": "separate_async",
    "trainer.v1.separate_async.parameter_sync_step": 2,
}

#: A fully async run: 8 + 4 devices, 2 mini-batches of 2 prompts at once, 3 rounds a version.
FULLY_CONFIG: Mapping[str, Any] = {
    **SYNC_CONFIG,
    "data.train_batch_size": 0,
    "async_training.require_batches": 2,
    "async_training.staleness_threshold": 0.5,
    "async_training.trigger_parameter_sync_step": 3,
    "rollout.n_gpus_per_node": 4,
    "rollout.nnodes": 1,
    "rollout.total_rollout_steps": 24,
    "trainer.use_v1": True,
    "trainer.v1.trainer_mode": "sync",
}


def config_values(values: Mapping[str, Any], origin: str = "config.yaml:1") -> dict[str, ConfigValue]:
    """Plain values as configuration values of one origin."""
    return {key: ConfigValue(value, origin) for key, value in values.items()}


def raw_run(
    rows: Mapping[int, Mapping[str, float]],
    config: Mapping[str, Any] | None = None,
    *,
    facts: SourceFacts | None = None,
    partial_steps: Mapping[int, str] | None = None,
    restarts: Sequence[int] = (),
    wall_s: Mapping[int, float] | None = None,
    first_line: int = 10,
) -> RawRun:
    """A raw run of one source: raw keys by step, dotted configuration, facts."""
    facts = facts or SourceFacts()
    index = pd.Index(sorted(rows), name="step", dtype="int64")
    keys = sorted({key for values in rows.values() for key in values})
    frame = pd.DataFrame(
        {key: [rows[step].get(key, float("nan")) for step in index] for key in keys}, index=index, dtype=float
    )
    flat = config_values(config or {})
    table = SourceTable(
        path="run.log",
        format="verl-console",
        rows=[StepRow(step, dict(rows[step]), line=first_line + place) for place, step in enumerate(index)],
        config=flat,
        facts=facts,
        size_bytes=1,
        sha256="0" * 64,
    )
    return RawRun(
        frame=frame,
        config=flat,
        facts=facts,
        sources=(table,),
        key_origin=dict.fromkeys(keys, "run.log"),
        partial_steps=dict(partial_steps or {}),
        restarts=tuple(restarts),
        wall_s=dict(wall_s or {}),
        notices=(),
    )


def timed_row(
    step_s: float = 100.0, *, devices: int = 8, trajectories: int = 8, length: float = 50.0, **timers: float
) -> dict[str, float]:
    """One line of a verl log whose throughput is divided by `devices`: 10 prompt tokens and `length` of response each."""
    tokens = trajectories * (10.0 + length)
    row = {
        "timing_s/step": step_s,
        "perf/time_per_step": step_s,
        "perf/total_num_tokens": tokens,
        "perf/throughput": tokens / (step_s * devices),
        "prompt_length/mean": 10.0,
        "response_length/mean": length,
        "timing_s/gen": 30.0,
        "timing_s/old_log_prob": 10.0,
        "timing_s/update_actor": 50.0,
        "critic/score/mean": 0.5,
    }
    row.update({f"timing_s/{name}": value for name, value in timers.items()})
    return row
