from __future__ import annotations

import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.trainer import (
    log_prob_seconds,
    memory_allocated_gb,
    micro_batches,
    model_flops_utilisation,
    update_seconds,
)


def scenario(**changes: object) -> object:
    return tiny(
        **{
            "cluster__trainer_nodes": 8,
            "trainer__model_parallel_devices": 2,
            "trainer__token_budget_per_rank": 1000,
            "trainer__update_micro_batch_s": 0.5,
            **changes,
        }
    )


@pytest.mark.parametrize(("tokens", "expected"), [(1, 1), (4000, 1), (4001, 2), (8000, 2), (17_000, 5)])
def test_micro_batches_are_tokens_of_a_rank_over_the_budget(tokens: int, expected: int) -> None:
    assert micro_batches(scenario(), tokens) == expected  # 8 devices in pairs: 4 ranks of 1,000 tokens


def test_an_update_is_fixed_plus_micro_batches_plus_tokens_over_rate() -> None:
    assert update_seconds(scenario(), 8800) == 2 + 3 * 0.5 + 8800 / (8 * 11)


def test_a_smaller_token_budget_costs_more_micro_batches() -> None:
    small = update_seconds(scenario(trainer__token_budget_per_rank=500), 8800)
    assert small - update_seconds(scenario(), 8800) == pytest.approx((5 - 3) * 0.5)


def test_bypass_mode_has_no_old_log_probabilities() -> None:
    assert log_prob_seconds(scenario(), 8800) == 0.0


def test_a_forward_pass_has_its_own_rate() -> None:
    with_pass = scenario(
        trainer__recompute_old_log_prob=True, trainer__log_prob_fixed_s=1, trainer__log_prob_tokens_per_s_per_device=44
    )
    assert log_prob_seconds(with_pass, 8800) == 1 + 8800 / (8 * 44)


def test_memory_follows_the_fullest_micro_batch_up_to_the_device() -> None:
    roomy = scenario(trainer__memory_static_gb=30, trainer__memory_gb_per_1k_tokens=4)
    assert memory_allocated_gb(roomy, 2000) == 30 + 4 * 0.5  # 500 tokens a rank, below the budget
    assert memory_allocated_gb(roomy, 90_000) == 34  # the budget of 1,000 tokens
    assert memory_allocated_gb(scenario(trainer__memory_static_gb=63), 90_000) == 64


def test_mfu_is_six_flops_a_parameter_and_token_over_the_peak() -> None:
    half = scenario(policy__active_parameters=1e9, cluster__peak_tflops_per_device=3)
    # 6 x 1e9 x 2,000 tokens = 1.2e13 FLOP; 8 devices of 3e12 FLOP/s do that in 0.5 s.
    assert model_flops_utilisation(half, 2000, 1.0) == pytest.approx(0.5)
