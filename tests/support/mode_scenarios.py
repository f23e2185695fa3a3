"""A small noisy scenario for every execution mode, and what its logger was told: what a reader must find again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rlreport.simulator import Scenario
from rlreport.simulator.log_call import LogCall
from support.tiny_scenarios import noisy

#: What each mode needs over the noisy separate-async scenario. "switch" is separate async with step switching.
MODES: Mapping[str, dict[str, Any]] = {
    "sync": {"mode": "sync", "cluster__rollout_nodes": 0, "cluster__trainer_nodes": 2},
    "colocate_async": {"mode": "colocate_async", "cluster__rollout_nodes": 0, "cluster__trainer_nodes": 2},
    "separate_async": {},
    "switch": {"hybrid__enable_switch": True, "hybrid__to_rollout_s": 1, "hybrid__to_trainer_s": 1},
    "one_step_off": {"mode": "one_step_off"},
    "fully_async": {
        "mode": "fully_async",
        "workload__prompts_per_step": 16,
        "fully_async__concurrent_samples_per_replica": 2,
        "fully_async__staleness_threshold": 0.5,
    },
}

#: (Trainer, Rollout, divisor of the logged throughput) devices of each.
DEVICES: Mapping[str, tuple[int, int, int]] = {
    "sync": (4, 0, 4),
    "colocate_async": (4, 0, 4),
    "separate_async": (2, 4, 6),
    "switch": (2, 4, 6),
    "one_step_off": (2, 4, 2),
    "fully_async": (2, 4, 6),
}


def mode_scenario(name: str, **changes: Any) -> Scenario:
    """The scenario of a mode with changes by dotted key, dots written as two underscores."""
    return noisy(**{**MODES[name], **changes})


def logged_values(calls: Iterable[LogCall]) -> dict[tuple[int, str], float]:
    """(step, key) -> the value that was logged first, as a merged table must hold it."""
    values: dict[tuple[int, str], float] = {}
    for call in calls:
        for key, value in call.values.items():
            values.setdefault((call.step, key), float(value))
    return values
