"""Device counts of a verl run by side and mode, and the check against the throughput that verl logged.

Where the counts stand in the configuration depends on the mode: V1 separate_async takes the Rollouters' from
actor_rollout_ref.rollout, the experimental trainers from a top-level rollout section
(verl/trainer/ppo/v1/trainer_separate_async.py, verl/experimental/fully_async_policy/fully_async_trainer.py:170).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlreport.dialects.numbers import as_count
from rlreport.run.diagnostics import Notice
from rlreport.run.model import Devices, Mode, RunDeclaration

if TYPE_CHECKING:
    import pandas as pd

#: Largest relative distance of two device counts that are still the same.
AGREEMENT = 0.01

_TRAINER = ("trainer.nnodes", "trainer.n_gpus_per_node")
_V1_ROLLOUT = ("actor_rollout_ref.rollout.nnodes", "actor_rollout_ref.rollout.n_gpus_per_node")
_EXPERIMENTAL_ROLLOUT = ("rollout.nnodes", "rollout.n_gpus_per_node")

#: The configuration keys of the Rollouters' nodes and devices a node, by mode. Other modes have no Rollouters of their own.
ROLLOUT_KEYS: Mapping[Mode, tuple[str, str]] = {
    "separate_async": _V1_ROLLOUT,
    "fully_async": _EXPERIMENTAL_ROLLOUT,
    "one_step_off": _EXPERIMENTAL_ROLLOUT,
}

#: Switches that let the Trainer's devices generate too, by mode; in sync and colocate_async they always do.
HYBRID_SWITCH: Mapping[Mode, str] = {
    "separate_async": "trainer.v1.separate_async.hybrid_rollout.enable_switch",
    "fully_async": "async_training.use_dynamic_resource_scheduling",
}

#: Pools beside Trainer and Rollouters: what they serve, the switch that turns them on, and the section of their size.
EXTRA_POOLS: tuple[tuple[str, str, str], ...] = (
    ("reward model", "reward.reward_model.enable_resource_pool", "reward.reward_model"),
    ("reward model", "reward_model.enable_resource_pool", "reward_model"),
    ("teacher", "distillation.enabled", "distillation"),
)


@dataclass(frozen=True, slots=True)
class DeviceFinding:
    """Device counts, the devices of pools beside Trainer and Rollouters, and notices."""

    devices: Devices
    extra: int
    notices: tuple[Notice, ...]


def implied_devices(columns: Mapping[str, pd.Series]) -> float | None:
    """The device count that the logged throughput implies: the median of tokens / (time x throughput).

    None where one of the three is not logged (verl/trainer/ppo/metric_utils.py:655 divides tokens by time and devices).
    """
    parts = ("work.tokens", "time.step_s", "perf.throughput_reported")
    if any(part not in columns for part in parts):
        return None
    tokens, seconds, throughput = (columns[part] for part in parts)
    divisor = seconds * throughput
    implied = (tokens / divisor.where(divisor > 0)).dropna()
    return float(implied.median()) if len(implied) else None


def find_devices(
    mode: Mode, config: Mapping[str, Any], declared: RunDeclaration, columns: Mapping[str, pd.Series]
) -> DeviceFinding:
    """Count devices by side from configuration and manifest; what neither tells stays None."""
    origin: dict[str, str] = {}
    notices: list[Notice] = []
    trainer = _product(config, _TRAINER, inherit=None)
    if trainer is not None:
        origin["trainer"] = f"config {_TRAINER[0]} x {_TRAINER[1]}"
    rollout: int | None = None
    if mode in ROLLOUT_KEYS:
        keys = ROLLOUT_KEYS[mode]
        rollout = _product(config, keys, inherit=_TRAINER[1])
        if rollout is not None:
            origin["rollout"] = f"config {keys[0]} x {keys[1]}"
    elif mode in ("sync", "colocate_async"):
        rollout = 0
        origin["rollout"] = f"mode {mode} has no Rollouters of its own"
    trainer, told = _override("trainer", trainer, declared.trainer_devices, origin)
    notices += told
    rollout, told = _override("rollout", rollout, declared.rollout_devices, origin)
    notices += told
    hybrid, told = _hybrid(mode, config, declared, trainer, origin)
    notices += told
    total = None if trainer is None or rollout is None else trainer + rollout
    if total is not None:
        origin["total"] = "trainer + rollout"
    extra, told = _extra_pools(config)
    notices += told
    devices = Devices(trainer, rollout, hybrid, total, implied_devices(columns), origin)
    return DeviceFinding(devices, extra, (*notices, *_check(devices, extra)))


def _product(config: Mapping[str, Any], keys: tuple[str, str], inherit: str | None) -> int | None:
    nodes = as_count(config.get(keys[0]))
    per_node = as_count(config.get(keys[1]))
    if per_node is None and inherit is not None:
        per_node = as_count(config.get(inherit))
    return None if nodes is None or per_node is None else nodes * per_node


def _override(side: str, found: int | None, declared: int | None, origin: dict[str, str]) -> tuple[int | None, list[Notice]]:
    if declared is None:
        return found, []
    before = origin.get(side)
    origin[side] = "manifest"
    if found is None or found == declared:
        return declared, []
    return declared, [Notice("RR312", f"the manifest gives {declared} {side} devices; {before} gives {found}")]


def _hybrid(
    mode: Mode, config: Mapping[str, Any], declared: RunDeclaration, trainer: int | None, origin: dict[str, str]
) -> tuple[int | None, list[Notice]]:
    if declared.hybrid_replicas is not None:
        return _declared_hybrid(config, declared.hybrid_replicas, trainer, origin)
    if mode in ("sync", "colocate_async"):
        origin["hybrid"] = f"mode {mode}: all of the Trainer's devices generate"
        return trainer, []
    if mode in HYBRID_SWITCH and any(key.startswith(("trainer.v1.", "async_training.")) for key in config):
        switch = HYBRID_SWITCH[mode]
        on = config.get(switch) is True
        origin["hybrid"] = f"config {switch} is {'on' if on else 'off'}"
        return (trainer if on else 0), []
    if mode == "one_step_off":
        origin["hybrid"] = "one_step_off has no hybrid replicas"
        return 0, []
    return None, []


def _declared_hybrid(
    config: Mapping[str, Any], replicas: str, trainer: int | None, origin: dict[str, str]
) -> tuple[int | None, list[Notice]]:
    count = count_replicas(replicas)
    if count is None:
        message = f"hybrid_replicas '{replicas}' is no list of replica numbers such as 0-7 or 0,2,4; it is left unread"
        return None, [Notice("RR312", message)]
    size = 1
    for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "data_parallel_size"):
        size *= as_count(config.get(f"actor_rollout_ref.rollout.{name}")) or 1
    hybrid = count * size
    origin["hybrid"] = f"manifest: {count} replicas of {size} devices"
    if trainer is not None and hybrid > trainer:
        message = f"{count} hybrid replicas of {size} devices are more than the Trainer's {trainer} devices"
        return None, [Notice("RR312", message)]
    return hybrid, []


def count_replicas(text: str) -> int | None:
    """How many replicas a list such as "0-7" or "0-3,8" names; None when it is no such list."""
    numbers: set[int] = set()
    for part in str(text).split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            return None
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return len(numbers)


def _extra_pools(config: Mapping[str, Any]) -> tuple[int, list[Notice]]:
    extra, notices = 0, []
    for title, switch, section in EXTRA_POOLS:
        size = _product(config, (f"{section}.nnodes", f"{section}.n_gpus_per_node"), inherit=None)
        if config.get(switch) is True and size:
            extra += size
            message = (
                f"the {title} has {size} devices of its own, which are in neither the Trainer's nor the Rollouters' count"
            )
            notices.append(Notice("RR311", message))
    return extra, notices


def same_count(implied: float | None, count: int | None) -> bool:
    """Whether an implied device count is a counted one, within 1 %."""
    return implied is not None and bool(count) and count is not None and abs(implied - count) <= AGREEMENT * count


def _check(devices: Devices, extra: int) -> list[Notice]:
    implied, total, trainer = devices.implied, devices.total, devices.trainer
    if implied is None:
        return []
    if total is None:
        if trainer is not None and same_count(implied, trainer):
            text = f"the logged throughput is per Trainer device ({trainer}); the Rollouters' devices are not known"
            return [Notice("RR313", text)]
        missing = "the device counts are not known" if trainer is None else "the Rollouters' devices are not known"
        text = f"{missing}; the logged throughput is divided by {implied:.3g} devices. Give devices in the manifest"
        return [Notice("RR313", text)]
    if same_count(implied, total):
        return []
    if extra and same_count(implied, total + extra):
        return []
    if same_count(implied, trainer):
        text = (
            f"the logged throughput is divided by the Trainer's {trainer} devices only, not by all {total}: as a number per "
            f"device it is {total / implied:.3g} times too high"
        )
    else:
        text = (
            f"the logged throughput implies {implied:.4g} devices, but {total} are counted ({trainer} Trainer, "
            f"{devices.rollout} Rollout); one of the two is wrong"
        )
    return [Notice("RR310", text)]
