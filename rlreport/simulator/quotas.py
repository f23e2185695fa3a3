"""verl's own formulas of how far generation may run ahead. Pure functions.

Source of the fully-async ones: verl/experimental/fully_async_policy/fully_async_rollouter.py, lines 424 to 507 of commit
1dda039b9; of the V1 ones: verl/trainer/ppo/v1/trainer_base.py and docs/advance/v1_async_trainer.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def warmup_prompts(warmup_batches: float, train_batch_size: int, gen_batch_size: int = 1) -> int:
    """V1: prompts handed out before step 1; a fraction of a batch is rounded down to whole generation batches."""
    whole = math.floor(warmup_batches)
    part = math.floor((warmup_batches - whole) * train_batch_size / gen_batch_size) * gen_batch_size
    return whole * train_batch_size + part


def outstanding_prompts(warmup_batches: float, train_batch_size: int) -> int:
    """V1 separate_async: the most prompts that are handed out and not yet trained, right after a step began."""
    return warmup_prompts(warmup_batches, train_batch_size) + train_batch_size


@dataclass(frozen=True, slots=True)
class FullyAsyncQuota:
    """Limits of fully_async, in samples (prompts): all that follows from its knobs."""

    required_samples: int
    max_required_samples: int
    max_queue_size: int
    max_concurrent_samples: int
    total_train_steps: int


def fully_async_quota(
    *,
    mini_batch_prompts: int,
    require_batches: int,
    staleness_threshold: float,
    trigger_parameter_sync_step: int,
    replicas: int,
    concurrent_samples_per_replica: int,
    total_rollout_steps: int,
) -> FullyAsyncQuota:
    """Work the limits out: required = mini x require; at most required x (1 + staleness) x trigger wait or run at once."""
    required = mini_batch_prompts * require_batches
    most = int(required * (1 + staleness_threshold) * trigger_parameter_sync_step)
    return FullyAsyncQuota(
        required_samples=required,
        max_required_samples=most,
        max_queue_size=most,
        max_concurrent_samples=min(replicas * concurrent_samples_per_replica, most),
        total_train_steps=int(total_rollout_steps / (required * trigger_parameter_sync_step)),
    )
