from __future__ import annotations

import pytest

from rlreport.simulator.quotas import fully_async_quota, outstanding_prompts, warmup_prompts


def test_fully_async_quota_of_verls_own_example() -> None:
    quota = fully_async_quota(
        mini_batch_prompts=32,
        require_batches=4,
        staleness_threshold=0.5,
        trigger_parameter_sync_step=4,
        replicas=16,
        concurrent_samples_per_replica=16,
        total_rollout_steps=512 * 400,
    )
    assert quota.required_samples == 128
    assert quota.max_required_samples == 768  # 128 x 1.5 x 4
    assert quota.max_queue_size == 768
    assert quota.max_concurrent_samples == 256
    assert quota.total_train_steps == 400


def test_few_samples_bound_the_concurrency() -> None:
    quota = fully_async_quota(
        mini_batch_prompts=16,
        require_batches=1,
        staleness_threshold=0.1,
        trigger_parameter_sync_step=1,
        replicas=64,
        concurrent_samples_per_replica=16,
        total_rollout_steps=1600,
    )
    assert quota.max_concurrent_samples == quota.max_required_samples == 17  # 16 x 1.1 = 17.6, cut to a whole number


@pytest.mark.parametrize(
    ("batches", "gen", "expected"), [(0, 1, 0), (1, 1, 64), (1.5, 1, 96), (2.26, 1, 144), (1.5, 20, 84)]
)
def test_fractional_warmup_is_cut_to_generation_batches(batches: float, gen: int, expected: int) -> None:
    assert warmup_prompts(batches, 64, gen) == expected


def test_outstanding_prompts_are_the_lead_plus_one_batch() -> None:
    assert outstanding_prompts(1.5, 64) == 160
