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
        ({"mode": "fully_async"}, "'sync' or 'separate_async'"),
        ({"defects": ["dented"]}, "'glued'"),
        ({"steps": 0}, "greater than 0"),
    ],
)
def test_what_verl_would_refuse_is_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError, match=part):
        tiny(**changes)
