"""What is true of a simulated run: idle device-seconds by side and cause, throughput, lead. Written as truth.json.

A comparator must find these numbers from the log alone, within its own interval. Names carry their unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlreport.simulator.lead import lead, staleness
from rlreport.simulator.quality import reward_sd
from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.scenario import COLOCATED_MODES
from rlreport.simulator.spans import IDLE_CAUSES, DeviceSeconds, Side, device_seconds
from rlreport.simulator.steady import seconds_by_timer, split_steps, steady_steps, throughput
from rlreport.simulator.trainer import memory_allocated_gb
from rlreport.simulator.true_change import parameters

SCHEMA_VERSION = 2

#: A side owns the bubble when it waits for the other side this much more of its time than the other way round.
OWNER_MARGIN = 0.05

#: Causes for which a side waits because the other side is slower.
WAITS_FOR_TRAINER = ("quota", "queue_full")
WAITS_FOR_ROLLOUT = ("samples",)


def describe(simulation: Simulation, noise_free: Simulation | None) -> dict[str, Any]:
    """The truth as JSON-able values. `noise_free` is the same scenario without noise of its times, None to leave it out.

    `throughput.steady_noise_free` is what the noisy run's steady throughput scatters around: the noise is a factor of mean 1
    on seconds, and throughput is a ratio of sums.
    """
    scenario = simulation.scenario
    warmup, steady = split_steps(simulation)
    quiet = None if noise_free is None else throughput(scenario, steady_steps(noise_free))
    result = {
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "mode": scenario.mode,
        "devices": {
            "trainer": scenario.trainer_devices,
            "rollout": scenario.rollout_devices,
            "hybrid": scenario.hybrid_replicas * scenario.rollout.devices_per_replica,
            "total": scenario.total_devices,
        },
        "wall_s": simulation.end_s,
        "steps": {
            "count": scenario.steps,
            "warmup": list(range(1, len(warmup) // _records_per_step(simulation) + 1)),
            "rounds_per_step": scenario.rounds_per_step,
        },
        "throughput": {
            "all": throughput(scenario, simulation.steps),
            "warmup": throughput(scenario, warmup),
            "steady": throughput(scenario, steady),
            "steady_noise_free": quiet,
        },
        "seconds_per_step": seconds_by_timer(scenario, steady),
        "device_time": {
            "run": _device_time(simulation, [(0.0, simulation.end_s)]),
            "steady_steps": _device_time(simulation, _intervals(steady)),
        },
        "bubble_owner": bubble_owner(simulation),
        "lead_mini_batches": lead(simulation, steady),
        "staleness_versions": staleness(simulation, steady),
        "quality": _quality(simulation, steady),
        "memory": _memory(simulation),
        "quota": _quota(simulation),
        "tokens": {
            "submitted": simulation.submitted_tokens,
            "trained": sum(record.tokens for record in simulation.steps),
            "evicted": simulation.evicted_tokens,
            "left_over": sum(group.tokens for group in simulation.left_over),
            "unfinished": sum(group.tokens for group in simulation.unfinished),
        },
        "parameters": parameters(scenario),
        "idle_causes": dict(IDLE_CAUSES),
    }
    rounded: dict[str, Any] = _rounded(result)
    return rounded


def bubble_owner(simulation: Simulation) -> str:
    """Which side idles because the other is slower, in the steady steps: "trainer", "rollout" or "neither"."""
    if simulation.scenario.mode in COLOCATED_MODES:
        return "neither"
    intervals = _intervals(steady_steps(simulation))
    trainer = device_seconds(simulation.lanes, "trainer", intervals).idle_fraction(*WAITS_FOR_ROLLOUT) or 0.0
    rollout = device_seconds(simulation.lanes, "rollout", intervals).idle_fraction(*WAITS_FOR_TRAINER) or 0.0
    if abs(trainer - rollout) < OWNER_MARGIN:
        return "neither"
    return "trainer" if trainer > rollout else "rollout"


def _records_per_step(simulation: Simulation) -> int:
    return simulation.scenario.rounds_per_step if simulation.scenario.mode == "fully_async" else 1


def _intervals(records: Sequence[StepRecord]) -> list[tuple[float, float]]:
    return [(record.begin_s, record.end_s) for record in records]


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


def _quality(simulation: Simulation, records: Sequence[StepRecord]) -> dict[str, float] | None:
    """What the reward scatters with: the model's standard deviation at the mean staleness of every record, averaged."""
    ages = [staleness(simulation, [record]) for record in records]
    known = [age["mean"] for age in ages if age is not None]
    if not known:
        return None
    deviations = [reward_sd(simulation.scenario, age) for age in known]
    return {"reward_sd": sum(deviations) / len(deviations)}


def _memory(simulation: Simulation) -> dict[str, float | None]:
    """Largest memory allocated on one of the Trainer's devices, and how much the device has."""
    tokens = [batch.tokens for record in simulation.steps for batch in record.batches]
    allocated = memory_allocated_gb(simulation.scenario, max(tokens)) if tokens else None
    return {"device_gb": simulation.scenario.cluster.device_memory_gb, "largest_allocated_gb": allocated}


def _quota(simulation: Simulation) -> dict[str, int] | None:
    """The limits of fully_async that follow from its knobs; None in other modes."""
    if simulation.scenario.mode != "fully_async":
        return None
    quota = simulation.scenario.quota
    return {
        "required_samples": quota.required_samples,
        "max_required_samples": quota.max_required_samples,
        "max_queue_size": quota.max_queue_size,
        "max_concurrent_samples": quota.max_concurrent_samples,
        "total_train_steps": quota.total_train_steps,
    }


def _rounded(value: Any) -> Any:
    """Nine significant digits: the same bytes where `exp` differs in the last bit."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
