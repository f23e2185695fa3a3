"""What really differs between two scenarios, by knob class: the answer that a change validation must find.

The classes are those of the report (docs: knob classes). Parameters of the model that no configuration shows (speeds, noise,
learning curves) are "model": they change what happens, and no knob.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rlreport.simulator.scenario import Scenario

ParameterClass = Literal[
    "resources", "schedule", "work", "sync", "off-policy", "engine", "workload", "environment", "identity", "model"
]

#: The class of a parameter, by the longest dotted beginning that fits.
CLASSES: dict[str, ParameterClass] = {
    "": "model",
    "name": "identity",
    "description": "identity",
    "config": "identity",
    "defects": "identity",
    "outputs": "identity",
    "traced_steps": "identity",
    "framework": "identity",
    "seed": "environment",
    "framework.version": "environment",
    "mode": "schedule",
    "steps": "schedule",
    "cluster": "environment",
    "cluster.devices_per_node": "resources",
    "cluster.trainer_nodes": "resources",
    "cluster.rollout_nodes": "resources",
    "policy": "workload",
    "workload": "workload",
    "workload.prompts_per_step": "work",
    "workload.samples_per_prompt": "work",
    "trainer.mini_batch_prompts": "work",
    "trainer.model_parallel_devices": "resources",
    "trainer.token_budget_per_rank": "work",
    "trainer.recompute_old_log_prob": "off-policy",
    "rollout.devices_per_replica": "resources",
    "rollout.max_sequences": "engine",
    "sync.warmup_batches": "work",
    "sync.max_off_policy_threshold": "off-policy",
    "fully_async.staleness_threshold": "off-policy",
    "fully_async.partial_rollout": "off-policy",
    "fully_async.trigger_parameter_sync_step": "sync",
    "fully_async.require_batches": "work",
    "fully_async.concurrent_samples_per_replica": "engine",
    "hybrid.validates": "schedule",
    "hybrid.enable_switch": "schedule",
    "hybrid.switch_threshold_ratio": "schedule",
    "hybrid.adaptive_switch_threshold": "schedule",
    "schedule": "schedule",
    "schedule.startup_s": "model",
    "schedule.validation_s": "model",
    "schedule.checkpoint_s": "model",
}


@dataclass(frozen=True, slots=True)
class TrueChange:
    """One parameter that differs."""

    parameter: str
    parameter_class: ParameterClass
    baseline: Any
    variant: Any


def true_change(baseline: Scenario, variant: Scenario) -> tuple[TrueChange, ...]:
    """Every parameter that differs, in the order of the model; names and seeds among them."""
    before, after = parameters(baseline), parameters(variant)
    names = dict.fromkeys([*before, *after])
    return tuple(
        TrueChange(name, parameter_class(name), before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    )


def changed_classes(baseline: Scenario, variant: Scenario) -> tuple[ParameterClass, ...]:
    """The knob classes that differ, sorted, without those that a comparison ignores."""
    ignored = ("identity", "environment")
    changes = true_change(baseline, variant)
    return tuple(sorted({change.parameter_class for change in changes} - set(ignored)))


def parameters(scenario: Scenario) -> dict[str, Any]:
    """Every parameter of a scenario by dotted name, JSON-able, in the order of the model."""
    return dict(_flattened(scenario.model_dump(mode="json"), ""))


def parameter_class(name: str) -> ParameterClass:
    """The class of a parameter by its dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        found = CLASSES.get(".".join(parts[:length]))
        if found:
            return found
    return CLASSES[""]


def _flattened(tree: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flattened(value, f"{name}.")
        else:
            yield name, value
