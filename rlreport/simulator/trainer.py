"""How long the Trainer works on a mini-batch, and how much memory a micro-batch takes. Pure functions."""

from __future__ import annotations

import math

from rlreport.simulator.scenario import Scenario


def micro_batches(scenario: Scenario, tokens: int) -> int:
    """Micro-batches of a mini-batch: the tokens of a data-parallel rank over its budget, rounded up.

    Sequences are assumed to be balanced over the ranks (trainer.balance_batch) and to fill micro-batches well
    (verl/utils/seqlen_balancing.py, dynamic batch size).
    """
    return max(1, math.ceil(tokens / scenario.data_parallel_ranks / scenario.trainer.token_budget_per_rank))


def update_seconds(scenario: Scenario, tokens: int) -> float:
    """Forward, backward and optimiser of one mini-batch: fixed + micro-batches + tokens over rate."""
    t = scenario.trainer
    passes = micro_batches(scenario, tokens) * t.update_micro_batch_s
    return t.update_fixed_s + passes + tokens / (scenario.trainer_devices * t.update_tokens_per_s_per_device)


def log_prob_seconds(scenario: Scenario, tokens: int) -> float:
    """The forward pass of one mini-batch for its old log-probabilities; 0 in bypass mode."""
    t = scenario.trainer
    if not t.recompute_old_log_prob:
        return 0.0
    passes = micro_batches(scenario, tokens) * t.log_prob_micro_batch_s
    return t.log_prob_fixed_s + passes + tokens / (scenario.trainer_devices * t.log_prob_tokens_per_s_per_device)


def memory_allocated_gb(scenario: Scenario, tokens: int) -> float:
    """Largest memory allocated on a device: static part + activations of the fullest micro-batch, never above the device."""
    t = scenario.trainer
    per_rank = tokens / scenario.data_parallel_ranks
    fullest = min(per_rank, t.token_budget_per_rank)
    needed = t.memory_static_gb + t.memory_gb_per_1k_tokens * fullest / 1000.0
    return min(needed, scenario.cluster.device_memory_gb)


def model_flops_utilisation(scenario: Scenario, tokens: int, seconds: float) -> float:
    """MFU of an update: 6 FLOPs a parameter and token (Kaplan et al. 2020, forward and backward) over the peak rate."""
    useful = 6.0 * scenario.policy.active_parameters * tokens
    peak = scenario.trainer_devices * scenario.cluster.peak_tflops_per_device * 1e12
    return useful / (peak * seconds)
