"""Scenarios small enough to work out by hand: noise off, all responses of one length, whole numbers everywhere."""

from __future__ import annotations

from typing import Any

from rlreport.simulator import Scenario

#: One Trainer device, one replica of one device, two prompts a step in two mini-batches, one response to each.
#: A response has 100 tokens and decodes at 10 tokens/s however many run; a prompt has 10 tokens.
#: An update of 110 tokens takes 2 s + 110 / 11 s = 12 s; a weight sync takes 3 s. The Trainer notices samples at once.
SEPARATE: dict[str, Any] = {
    "name": "tiny",
    "mode": "separate_async",
    "steps": 3,
    "cluster": {"devices_per_node": 1, "trainer_nodes": 1, "rollout_nodes": 1},
    "workload": {
        "prompts_per_step": 2,
        "samples_per_prompt": 1,
        "prompt_tokens_mean": 10,
        "prompt_tokens_sigma": 0,
        "response_tokens_mean": 100,
        "response_tokens_sigma": 0,
        "max_response_tokens": 1000,
    },
    "trainer": {
        "mini_batch_prompts": 1,
        "update_fixed_s": 2,
        "update_tokens_per_s_per_device": 11,
        "recompute_old_log_prob": False,
    },
    "rollout": {"decode_tokens_per_s": 10, "poll_interval_s": 0},
    "sync": {"weight_sync_s": 3, "warmup_batches": 0},
    "schedule": {"startup_s": 5},
}


def tiny(**changes: Any) -> Scenario:
    """The scenario above with values replaced by dotted key, dots written as two underscores: `rollout__fetch_s=1`."""
    values = _copied(SEPARATE)
    for key, value in changes.items():
        *parents, last = key.split("__")
        section = values
        for parent in parents:
            section = section.setdefault(parent, {})
        section[last] = value
    return Scenario.model_validate(values)


def tiny_sync(**changes: Any) -> Scenario:
    """The same work in sync mode: two devices that train and generate, each a replica."""
    return tiny(**{"mode": "sync", "cluster__trainer_nodes": 2, "cluster__rollout_nodes": 0, **changes})


def noisy(**changes: Any) -> Scenario:
    """Random lengths and noisy speeds on a few more devices: for what must hold whatever is drawn."""
    return tiny(
        **{
            "steps": 12,
            "cluster__devices_per_node": 2,
            "cluster__rollout_nodes": 2,
            "workload__prompts_per_step": 8,
            "workload__samples_per_prompt": 4,
            "workload__response_tokens_sigma": 0.6,
            "workload__prompt_tokens_sigma": 0.4,
            "workload__max_response_tokens": 300,
            "trainer__mini_batch_prompts": 4,
            "trainer__update_tokens_per_s_per_device": 300,
            "trainer__recompute_old_log_prob": True,
            "trainer__log_prob_tokens_per_s_per_device": 900,
            "rollout__max_sequences": 4,
            "rollout__half_rate_sequences": 3,
            "rollout__prefill_speedup": 20,
            "rollout__poll_interval_s": 2,
            "sync__warmup_batches": 1,
            "schedule__validate_every_steps": 4,
            "schedule__validation_s": 9,
            "schedule__validate_before_training": True,
            "schedule__checkpoint_every_steps": 5,
            "schedule__checkpoint_s": 4,
            "noise": {"trainer_cv": 0.05, "rollout_cv": 0.05, "event_cv": 0.05},
            **changes,
        }
    )


def _copied(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in tree.items()}
