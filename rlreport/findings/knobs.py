"""The configuration keys that actions move, by mode: tables to extend, and how their values are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlreport.comparators.chain import first_value
from rlreport.run.knobs import plain_value
from rlreport.run.model import Run

_A = "actor_rollout_ref.actor"
_R = "actor_rollout_ref.rollout"

MINI_BATCH = f"{_A}.ppo_mini_batch_size"
TOKEN_BUDGET = f"{_A}.ppo_max_token_len_per_gpu"
DYNAMIC_BATCH = f"{_A}.use_dynamic_bsz"
TRAIN_BATCH = "data.train_batch_size"
WARM_UP = "trainer.v1.separate_async.num_warmup_batches"
SYNC_STEP = "trainer.v1.separate_async.parameter_sync_step"
OFF_POLICY = "trainer.v1.sampler.max_off_policy_threshold"
OFF_POLICY_STRATEGY = "trainer.v1.sampler.max_off_policy_strategy"
STALENESS = "async_training.staleness_threshold"
TRIGGER = "async_training.trigger_parameter_sync_step"
TRAINER_VALIDATES = "async_training.use_trainer_do_validate"
TEST_FREQ = ("trainer.test_freq", "rollout.test_freq")
SAVE_FREQ = "trainer.save_freq"
IMPORTANCE = "algorithm.rollout_correction.rollout_is"
REJECTION = "algorithm.rollout_correction.rollout_rs"
SYNC_BACKEND = f"{_R}.checkpoint_engine.backend"
TRAINER_NODES = "trainer.nnodes"
TRAINER_PER_NODE = "trainer.n_gpus_per_node"
SEED = "data.seed"

#: Nodes of the Rollouters and devices of one of their nodes (verl/trainer/config, fully_async's own top-level section).
ROLLOUT_KEYS: Mapping[str, tuple[str, str]] = {
    "separate_async": (f"{_R}.nnodes", f"{_R}.n_gpus_per_node"),
    "one_step_off": ("rollout.nnodes", "rollout.n_gpus_per_node"),
    "fully_async": ("rollout.nnodes", "rollout.n_gpus_per_node"),
}
#: Sizes whose product is the devices of one inference engine; one that is not told counts as 1.
REPLICA_KEYS = tuple(f"{_R}.{kind}_parallel_size" for kind in ("tensor_model", "data", "pipeline_model"))


def number_of(run: Run, key: str) -> float | None:
    """A configuration value as a number, 0 included; None where it is unknown or no number."""
    value = plain_value(run.value(key))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_off(run: Run, key: str) -> bool:
    """Whether a key is known to be null, false or 0: one that no source tells is not known to be anything."""
    return key in run.config and plain_value(run.value(key)) in (None, False, 0)


def replica_devices(run: Run) -> int | None:
    """Devices of one Rollouter replica; None where the tensor-parallel size is not told."""
    if first_value(run, REPLICA_KEYS[:1]) is None:
        return None
    size = 1
    for key in REPLICA_KEYS:
        found = first_value(run, (key,))
        size *= 1 if found is None else int(found[1])
    return size


def smallest_unit(run: Run) -> int:
    """The smallest number of Rollout devices that can come or go: one replica, one device where that is unknown."""
    return replica_devices(run) or 1


def rollout_overrides(run: Run, devices: int) -> dict[str, int]:
    """The overrides that give the Rollouters so many devices; empty where the mode's keys or values do not tell how.

    Whole nodes where that is possible, else one node with fewer devices.
    """
    keys = ROLLOUT_KEYS.get(run.mode)
    if keys is None:
        return {}
    per_node = first_value(run, keys[1:])
    if first_value(run, keys[:1]) is None or per_node is None:
        return {}
    size = int(per_node[1])
    if devices % size == 0:
        return {keys[0]: devices // size}
    return {keys[0]: 1, keys[1]: devices} if devices < size else {}


def round_up(devices: float, units: Sequence[int]) -> int:
    """The smallest multiple of the largest unit that is at least so many devices; a unit that does not divide is left out.

    `units` are ascending (a replica, a node): a count of whole nodes is preferred when it holds whole replicas.
    """
    unit = units[0]
    for larger in units[1:]:
        if larger % unit == 0:
            unit = larger
    return int(-(-devices // unit)) * unit
