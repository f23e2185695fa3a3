from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from support.tiny_scenarios import tiny, tiny_sync

from rlreport.simulator.scenario import parameter_rows


def test_every_parameter_has_a_meaning_and_a_source() -> None:
    rows = parameter_rows()
    assert len(rows) == len({row[0] for row in rows}) > 50
    assert all(meaning and source for _, _, _, meaning, source in rows)


def test_a_parameter_with_a_unit_in_its_name_has_that_unit() -> None:
    suffixes = {
        "_s": "s",
        "_gb": "GB",
        "_nodes": "nodes",
        "_prompts": "prompts",
        "tokens_per_s_per_device": "tokens/s/device",
    }
    for name, unit, *_ in parameter_rows():
        for suffix, expected in suffixes.items():
            if name.endswith(suffix) and not name.endswith("_per_s"):
                assert unit == expected, name


def test_derived_counts() -> None:
    scenario = tiny(cluster__devices_per_node=4, cluster__rollout_nodes=3, rollout__devices_per_replica=2)
    assert (scenario.trainer_devices, scenario.rollout_devices, scenario.total_devices) == (4, 12, 16)
    assert (scenario.replicas, scenario.updates_per_step) == (6, 2)
    assert scenario.hybrid_replicas == 0
    assert (scenario.rounds_per_step, tiny(mode="one_step_off").rounds_per_step) == (2, 1)
    helped = tiny(cluster__devices_per_node=4, rollout__devices_per_replica=2, hybrid__validates=True)
    assert (helped.replicas, helped.hybrid_replicas) == (2, 2)
    sync = tiny_sync(cluster__devices_per_node=4)
    assert (sync.trainer_devices, sync.rollout_devices, sync.total_devices, sync.replicas) == (8, 0, 8, 8)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"cluster__rollout_nodes": 0}, "rollout_nodes above 0"),
        ({"mode": "sync"}, "must be 0"),
        ({"workload__prompts_per_step": 3, "trainer__mini_batch_prompts": 2}, "multiple of trainer.mini_batch_prompts"),
        ({"rollout__devices_per_replica": 2}, "multiple of rollout.devices_per_replica"),
        ({"trainer__model_parallel_devices": 2}, "multiple of trainer.model_parallel_devices"),
        ({"framework__version": "2026-07-07"}, "2026-07-08 or later"),
        ({"trainer__update_fixed_s": -1}, "greater than or equal to 0"),
        ({"mode": "half_async"}, "'one_step_off' or 'fully_async'"),
        ({"mode": "colocate_async"}, "must be 0"),
        ({"mode": "one_step_off", "cluster__rollout_nodes": 0}, "rollout_nodes above 0"),
        ({"mode": "fully_async"}, "prompts_per_step must be 4 in fully_async"),
        ({"hybrid__enable_switch": True, "mode": "one_step_off"}, "belongs to separate_async"),
        ({"hybrid__validates": True, "mode": "one_step_off"}, "separate_async and fully_async"),
        (
            {
                "hybrid__validates": True,
                "rollout__devices_per_replica": 2,
                "cluster__rollout_nodes": 2,
            },
            "with hybrid engines",
        ),
        ({"rollout__bundle": 2}, "divide workload.samples_per_prompt"),
        ({"defects": ["dented"]}, "'glued'"),
        ({"steps": 0}, "greater than 0"),
    ],
)
def test_what_verl_would_refuse_is_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError, match=part):
        tiny(**changes)


def test_the_quota_of_fully_async_follows_verls_formulas() -> None:
    # Two replicas of 16 prompts; 1 prompt x 1 x 4 rounds, half as many more: int(4 x 1.5) = 6 bound them.
    scenario = tiny(
        mode="fully_async", workload__prompts_per_step=4, cluster__rollout_nodes=2, fully_async__staleness_threshold=0.5
    )
    quota = scenario.quota
    assert (quota.required_samples, quota.max_required_samples, quota.max_queue_size) == (1, 6, 6)
    assert (quota.max_concurrent_samples, quota.total_train_steps) == (6, 3)
    assert scenario.rounds_per_step == 4
