"""What is true of a simulated run: idle device-seconds by side and cause, throughput, lead. Written as truth.json.

A comparator must find these numbers from the log alone, within its own interval. Names carry their unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import IDLE_CAUSES, DeviceSeconds, Side, device_seconds

SCHEMA_VERSION = 1

#: A side owns the bubble when it idles for the other side this much more of its time than the other way round.
OWNER_MARGIN = 0.01


def describe(simulation: Simulation, noise_free: Simulation | None) -> dict[str, Any]:
    """The truth as JSON-able values. `noise_free` is the same scenario without noise of its times, None to leave it out.

    `throughput.steady_noise_free` is what the noisy run's steady throughput scatters around: the noise is a factor of mean 1
    on seconds, and throughput is a ratio of sums.
    """
    scenario = simulation.scenario
    steady = steady_steps(simulation)
    warmup = simulation.steps[: len(simulation.steps) - len(steady)]
    quiet = None if noise_free is None else throughput(scenario, steady_steps(noise_free))
    result = {
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "mode": scenario.mode,
        "devices": {
            "trainer": scenario.trainer_devices,
            "rollout": scenario.rollout_devices,
            "total": scenario.total_devices,
        },
        "wall_s": simulation.end_s,
        "steps": {"count": len(simulation.steps), "warmup": [record.step for record in warmup]},
        "throughput": {
            "all": throughput(scenario, simulation.steps),
            "warmup": throughput(scenario, warmup),
            "steady": throughput(scenario, steady),
            "steady_noise_free": quiet,
        },
        "device_time": {
            "run": _device_time(simulation, [(0.0, simulation.end_s)]),
            "steady_steps": _device_time(simulation, _intervals(steady)),
        },
        "bubble_owner": bubble_owner(simulation),
        "lead_mini_batches": _lead(scenario, steady),
        "tokens": {
            "submitted": simulation.submitted_tokens,
            "trained": sum(record.tokens for record in simulation.steps),
            "evicted": simulation.evicted_tokens,
            "left_over": sum(group.tokens for group in simulation.left_over),
            "unfinished": sum(group.tokens for group in simulation.unfinished),
        },
        "idle_causes": dict(IDLE_CAUSES),
    }
    rounded: dict[str, Any] = _rounded(result)
    return rounded


def steady_steps(simulation: Simulation) -> tuple[StepRecord, ...]:
    """The steps after warm-up: all but step 1 and those that train on prompts handed out before training began.

    These train on samples of the initial policy that were generated while no step consumed any.
    """
    scenario = simulation.scenario
    ahead = math.ceil(scenario.sync.warmup_batches) if scenario.mode == "separate_async" else 0
    return simulation.steps[max(1, ahead) :]


def throughput(scenario: Scenario, steps: Sequence[StepRecord]) -> dict[str, float] | None:
    """Sum of tokens over sum of step seconds, in all and over all devices; None without steps."""
    seconds = sum(record.step_s for record in steps)
    if not seconds:
        return None
    tokens = sum(record.tokens for record in steps)
    prompts = len(steps) * scenario.workload.prompts_per_step
    return {
        "steps": len(steps),
        "tokens": tokens,
        "step_s": seconds,
        "tokens_per_s": tokens / seconds,
        "tokens_per_s_per_device": tokens / seconds / scenario.total_devices,
        "prompts_per_s": prompts / seconds,
    }


def bubble_owner(simulation: Simulation) -> str:
    """Which side idles because the other is slower, in the steady steps: "trainer", "rollout" or "neither"."""
    if simulation.scenario.mode == "sync":
        return "neither"
    intervals = _intervals(steady_steps(simulation))
    trainer = device_seconds(simulation.lanes, "trainer", intervals).idle_fraction("samples") or 0.0
    rollout = device_seconds(simulation.lanes, "rollout", intervals).idle_fraction("quota") or 0.0
    if abs(trainer - rollout) < OWNER_MARGIN:
        return "neither"
    return "trainer" if trainer > rollout else "rollout"


def _intervals(steps: Sequence[StepRecord]) -> list[tuple[float, float]]:
    return [(record.begin_s, record.end_s) for record in steps]


def _device_time(simulation: Simulation, intervals: Sequence[tuple[float, float]]) -> dict[str, Any]:
    sides: tuple[Side, ...] = ("trainer", "rollout")
    sums = {side: device_seconds(simulation.lanes, side, intervals) for side in sides}
    return {side: _side(seconds) for side, seconds in sums.items() if seconds.devices}


def _side(seconds: DeviceSeconds) -> dict[str, Any]:
    return {
        "devices": seconds.devices,
        "wall_s": seconds.wall_s,
        "busy_device_s": seconds.busy,
        "idle_device_s": seconds.idle,
        "idle_fraction": seconds.idle_fraction(),
        "idle_fraction_by_cause": {cause: seconds.idle_fraction(cause) for cause in seconds.idle},
    }


def _lead(scenario: Scenario, steps: Sequence[StepRecord]) -> dict[str, float] | None:
    """How far the Rollouters are ahead: finished mini-batches in the store when the Trainer asks for one.

    1 is just in time. In sync mode there is no lead.
    """
    if scenario.mode == "sync" or not steps:
        return None
    ready = [count / scenario.trainer.mini_batch_prompts for record in steps for count in record.ready]
    return {"mean": sum(ready) / len(ready), "min": min(ready), "max": max(ready)}


def _rounded(value: Any) -> Any:
    """Nine significant digits: the same bytes where `exp` differs in the last bit."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
