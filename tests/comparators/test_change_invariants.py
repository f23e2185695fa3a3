from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.made_runs import make_run
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_invariants import check_invariants, compare_quantities, invariant_notices
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration

A, R = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
ENGINE = {f"{R}.tensor_model_parallel_size": 1, f"{R}.data_parallel_size": 1, f"{R}.pipeline_model_parallel_size": 1}
SHARDS = {f"{A}.ulysses_sequence_parallel_size": 1}


def _run(base: Mapping[str, Any], changed: Mapping[str, Any] | None = None) -> Run:
    return interpret_run(raw_run({1: timed_row()}, {**base, **(changed or {})}), RunDeclaration("r"))


def _standings(run: Run) -> dict[str, str]:
    return {finding.name: finding.standing for finding in check_invariants(run)}


@pytest.mark.parametrize(
    ("base", "changed", "name", "message"),
    [
        (
            SEPARATE_CONFIG,
            {f"{A}.ppo_mini_batch_size": 3},
            "train batch = parameter_sync_step x mini-batch",
            "2 × 3 is 6, not 4: verl stops on that, so this is not the configuration that ran",
        ),
        (SYNC_CONFIG, {f"{A}.ppo_mini_batch_size": 3}, "whole mini-batches in a batch", "4 mod 3 is 1, not 0"),
        (SYNC_CONFIG, {f"{R}.n": 3}, "equal shares of a batch for the Trainer's devices", "4 × 3 mod 8 is 4, not 0"),
        (
            SYNC_CONFIG,
            {**SHARDS, f"{R}.n": 5},
            "equal shares of a mini-batch for the Trainer's data-parallel ranks",
            "2 × 5 mod (8 / 1) is 2, not 0",
        ),
        (
            SYNC_CONFIG,
            {**ENGINE, f"{R}.tensor_model_parallel_size": 2, "trainer.nnodes": 3},
            "equal shares of a batch for the engine's replicas",
            "4 × 2 mod (12 / (2 × 1 × 1)) is 2, not 0",
        ),
        (
            SEPARATE_CONFIG,
            {**ENGINE, f"{R}.tensor_model_parallel_size": 3},
            "whole engine replicas on the Rollout devices",
            "4 mod (3 × 1 × 1) is 1, not 0: the devices that are left over do nothing",
        ),
        (
            SEPARATE_CONFIG,
            {**ENGINE, f"{R}.nnodes": 3, f"{R}.n_gpus_per_node": 1},
            "equal shares of a batch for the Rollouters' replicas",
            "4 × 2 mod (3 / (1 × 1 × 1)) is 2, not 0",
        ),
        (
            FULLY_CONFIG,
            {"rollout.total_rollout_steps": 30},
            "whole weight syncs in the samples planned",
            "30 mod (3 × 2 × 2) is 6, not 0: what is left over is generated and never trained on",
        ),
    ],
)
def test_a_broken_relation_is_told_with_its_numbers(
    base: Mapping[str, Any], changed: Mapping[str, Any], name: str, message: str
) -> None:
    run = _run(base, changed)
    finding = next(found for found in check_invariants(run) if found.name == name)
    assert finding.standing == "violated"
    assert finding.message.startswith(message)
    assert finding.source
    (notice,) = [notice for notice in invariant_notices(run) if name in notice.message]
    assert notice.code == "RR416"
    assert message in notice.message


@pytest.mark.parametrize("base", [SYNC_CONFIG, SEPARATE_CONFIG, FULLY_CONFIG])
def test_what_is_not_known_is_not_judged(base: Mapping[str, Any]) -> None:
    standings = _standings(_run(base))
    engine = [name for name in standings if "replicas" in name or "ranks" in name]
    assert engine
    assert {standings[name] for name in engine} == {"unknown"}
    assert "violated" not in standings.values()


def test_megatron_counts_groups_and_other_strategies_are_left_alone() -> None:
    sizes = {f"{A}.megatron.{kind}_parallel_size": 2 for kind in ("tensor_model", "pipeline_model", "context")}
    megatron = _run(SYNC_CONFIG, {**sizes, f"{A}.strategy": "megatron", f"{R}.n": 3})
    standings = _standings(megatron)
    assert standings["equal shares of a batch for the Trainer's data-parallel groups"] == "holds"  # 12 samples, one group
    assert not any("devices" in name and "Trainer" in name for name in standings)
    other = _run(SYNC_CONFIG, {f"{A}.strategy": "veomni", f"{R}.n": 3})
    assert not any("Trainer" in name for name in _standings(other))


def test_a_framework_without_relations_has_none() -> None:
    assert check_invariants(make_run({}, config={"a": 1})) == ()


def test_relations_are_checked_on_both_sides_of_a_change() -> None:
    change = compare_config(_run(SYNC_CONFIG), _run(SYNC_CONFIG, {f"{A}.ppo_mini_batch_size": 3}), declared=())
    broken = [finding for finding in change.invariants if finding.standing == "violated"]
    assert [finding.name for finding in broken] == ["whole mini-batches in a batch"]
    assert len([f for f in change.invariants if f.name == "whole mini-batches in a batch"]) == 2


def test_divisibility_ties_no_knobs() -> None:
    changed = {f"{A}.ppo_mini_batch_size": 1, "data.train_batch_size": 8}
    change = compare_config(_run(SYNC_CONFIG), _run(SYNC_CONFIG, changed), declared=["work"])
    assert {d.coupled_by for d in change.differences} == {None}


def test_modes_must_do_equal_work() -> None:
    planned = {"trainer.total_training_steps": 6}  # 4 prompts a step are 24 prompts, as the 24 samples of the other
    sync, fully = _run(SYNC_CONFIG, planned), _run(FULLY_CONFIG)
    messages = [notice.message for notice in compare_quantities(sync, fully)]
    # 4 prompts a batch against 3 x 2 x 2; 8 devices against 8 + 4; samples planned are equal.
    assert [message.split(";")[0] for message in messages] == [
        "samples of a weight sync: 4 prompts in the baseline, 12 in the variant",
        "devices in total: 8 devices in the baseline, 12 in the variant",
    ]
    assert "trigger_parameter_sync_step = train_batch_size / (require_batches x ppo_mini_batch_size)" in messages[0]
    even = {
        "async_training.trigger_parameter_sync_step": 1,
        "trainer.nnodes": 1,
    }
    assert compare_quantities(sync, _run(FULLY_CONFIG, even)) == []
    shorter = _run(SYNC_CONFIG, {"trainer.total_training_steps": 5})
    assert [n.message.split(":")[0] for n in compare_quantities(shorter, _run(FULLY_CONFIG, even))] == ["samples planned"]
    codes = {notice.code for notice in compare_config(sync, fully, declared=["schedule"]).notices}
    assert "RR417" in codes


def test_within_one_mode_the_knobs_speak_for_themselves() -> None:
    assert compare_quantities(_run(SYNC_CONFIG), _run(SYNC_CONFIG, {"data.train_batch_size": 8})) == []
