from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects.verl_devices import DeviceFinding, count_replicas, find_devices, implied_devices
from rlreport.dialects.verl_metrics import map_metrics
from rlreport.run.model import Mode, RunDeclaration

NONE = RunDeclaration("r")


def _columns(devices: int) -> dict[str, pd.Series]:
    return map_metrics(raw_run({1: timed_row(devices=devices), 2: timed_row(devices=devices)}).frame, "sync")[0]


def _counts(found: DeviceFinding) -> tuple[int | None, int | None, int | None, int | None]:
    return (found.devices.trainer, found.devices.rollout, found.devices.hybrid, found.devices.total)


def _codes(found: DeviceFinding) -> list[str]:
    return [notice.code for notice in found.notices]


def test_sync_devices_are_all_hybrid() -> None:
    found = find_devices("sync", SYNC_CONFIG, NONE, _columns(8))
    assert _counts(found) == (8, 0, 8, 8)
    assert found.devices.implied == pytest.approx(8.0)
    assert found.notices == ()


def test_rollout_devices_inherit_the_devices_of_a_trainer_node() -> None:
    found = find_devices("separate_async", SEPARATE_CONFIG, NONE, _columns(12))
    assert _counts(found) == (8, 4, 0, 12)
    assert found.notices == ()


def test_fully_async_takes_the_section_of_its_own() -> None:
    config = {**FULLY_CONFIG, "actor_rollout_ref.rollout.nnodes": 7, "actor_rollout_ref.rollout.n_gpus_per_node": 7}
    assert _counts(find_devices("fully_async", config, NONE, {})) == (8, 4, 0, 12)
    dynamic = {**config, "async_training.use_dynamic_resource_scheduling": True}
    assert _counts(find_devices("fully_async", dynamic, NONE, {}))[2] == 8


def test_the_hybrid_switch_makes_trainer_devices_hybrid() -> None:
    config = {**SEPARATE_CONFIG, "trainer.v1.separate_async.hybrid_rollout.enable_switch": True}
    assert _counts(find_devices("separate_async", config, NONE, {})) == (8, 4, 8, 12)


@pytest.mark.parametrize(("mode", "config"), [("separate_async", {}), ("unknown", {}), ("unknown", SYNC_CONFIG)])
def test_what_is_not_told_stays_unknown(mode: Mode, config: Mapping[str, Any]) -> None:
    found = find_devices(mode, config, NONE, {})
    assert found.devices.rollout is None
    assert found.devices.total is None
    assert found.devices.hybrid is None
    assert found.devices.implied is None


def test_a_throughput_of_trainer_devices_only_is_called_inflated() -> None:
    found = find_devices("separate_async", SEPARATE_CONFIG, NONE, _columns(8))
    assert _codes(found) == ["RR310"]
    assert "the Trainer's 8 devices only" in found.notices[0].message
    assert "1.5 times too high" in found.notices[0].message


def test_a_count_that_fits_nothing_is_told() -> None:
    found = find_devices("sync", SYNC_CONFIG, NONE, _columns(5))
    assert _codes(found) == ["RR310"]
    assert "implies 5 devices" in found.notices[0].message


def test_one_percent_is_the_limit() -> None:
    columns = _columns(8)
    columns["perf.throughput_reported"] = columns["perf.throughput_reported"] / 1.009
    assert find_devices("sync", SYNC_CONFIG, NONE, columns).notices == ()
    columns["perf.throughput_reported"] = columns["perf.throughput_reported"] / 1.009
    assert _codes(find_devices("sync", SYNC_CONFIG, NONE, columns)) == ["RR310"]


def test_the_manifest_overrides_and_is_shown() -> None:
    declared = RunDeclaration("r", trainer_devices=16, rollout_devices=48)
    found = find_devices("separate_async", SEPARATE_CONFIG, declared, _columns(64))
    assert _counts(found) == (16, 48, 0, 64)
    assert found.devices.origin["trainer"] == "manifest"
    assert _codes(found) == ["RR312", "RR312"]
    assert "gives 8" in found.notices[0].message


def test_hybrid_replicas_count_by_their_size() -> None:
    config = {**SEPARATE_CONFIG, "actor_rollout_ref.rollout.tensor_model_parallel_size": 2}
    assert _counts(find_devices("separate_async", config, RunDeclaration("r", hybrid_replicas="0-2"), {}))[2] == 6
    too_many = find_devices("separate_async", config, RunDeclaration("r", hybrid_replicas="0-7"), {})
    assert too_many.devices.hybrid is None
    assert _codes(too_many) == ["RR312"]


@pytest.mark.parametrize(
    ("text", "count"), [("0-7", 8), ("0,2,4", 3), ("0-3, 8", 5), ("1-1", 1), ("7-0", None), ("all", None)]
)
def test_replica_lists(text: str, count: int | None) -> None:
    assert count_replicas(text) == count


def test_a_pool_of_its_own_is_told_and_explains_the_divisor() -> None:
    config = {
        **SYNC_CONFIG,
        "reward.reward_model.enable_resource_pool": True,
        "reward.reward_model.nnodes": 1,
        "reward.reward_model.n_gpus_per_node": 2,
    }
    found = find_devices("sync", config, NONE, _columns(10))
    assert _counts(found) == (8, 0, 8, 8)
    assert found.extra == 2
    assert _codes(found) == ["RR311"]


def test_unknown_rollout_devices_with_a_known_divisor() -> None:
    config = {key: value for key, value in SEPARATE_CONFIG.items() if "rollout.n" not in key or "trainer" in key}
    found = find_devices("separate_async", config, NONE, _columns(8))
    assert _codes(found) == ["RR313"]
    assert "per Trainer device (8)" in found.notices[0].message


def test_implied_devices_is_a_median_and_needs_all_three() -> None:
    columns = map_metrics(raw_run({s: timed_row(devices=d) for s, d in ((1, 4), (2, 4), (3, 400))}).frame, "sync")[0]
    assert implied_devices(columns) == pytest.approx(4.0)
    assert implied_devices({}) is None
