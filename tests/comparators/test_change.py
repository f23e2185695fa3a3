from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from support.raw_runs import FULLY_CONFIG, SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import SHORT_LIST, compare_config
from rlreport.comparators.results import ABSENT, Change, KnobDifference
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration

SYNC_STEP = "trainer.v1.separate_async.parameter_sync_step"
MINI = "actor_rollout_ref.actor.ppo_mini_batch_size"
ROLLOUT_NODES = "actor_rollout_ref.rollout.nnodes"


def _run(
    base: Mapping[str, Any], changed: Mapping[str, Any] | None = None, drop: Sequence[str] = (), **declared: Any
) -> Run:
    config = {key: value for key, value in {**base, **(changed or {})}.items() if key not in drop}
    return interpret_run(raw_run({1: timed_row()}, config), RunDeclaration("r", **declared))


def _change(base: Mapping[str, Any], changed: Mapping[str, Any], declared: Sequence[str] = (), **options: Any) -> Change:
    return compare_config(_run(base), _run(base, changed), declared=declared, **options)


def _keys(differences: Sequence[KnobDifference]) -> list[str]:
    return [difference.key for difference in differences]


def _codes(change: Change) -> set[str]:
    return {notice.code for notice in change.notices} - {"RR406"}


def test_nothing_changed() -> None:
    change = _change(SYNC_CONFIG, {})
    assert change.verdict == "identical"
    assert (change.n_equal, change.n_differing) == (len(SYNC_CONFIG), 0)
    assert change.classes == ()
    assert change.blocking == ()


@pytest.mark.parametrize(
    ("key", "left", "right"),
    [
        ("actor_rollout_ref.actor.optim.lr", 1e-6, "0.000001"),
        ("actor_rollout_ref.actor.optim.lr", "1e-6", 1e-06),
        ("actor_rollout_ref.rollout.n", 1, 1.0),
        ("actor_rollout_ref.actor.optim.betas", [0.9, 0.999], ["0.9", 0.999]),
        ("trainer.val_before_train", True, "True"),
        ("trainer.total_epochs", None, "null"),
        ("data.train_files", "/data/gsm8k/train.parquet", ["/other/gsm8k/train.parquet"]),
        ("actor_rollout_ref.model.path", "/cache/models--Qwen--Qwen2-7B/snapshots/f28", "/w/Qwen/Qwen2-7B/"),
        ("actor_rollout_ref.actor.optim.lr_warmup_steps", -1, None),
    ],
)
def test_values_that_mean_the_same_are_equal(key: str, left: Any, right: Any) -> None:
    change = compare_config(_run(SYNC_CONFIG, {key: left}), _run(SYNC_CONFIG, {key: right}), declared=())
    assert change.verdict == "identical"
    assert change.n_differing == 0


@pytest.mark.parametrize(
    ("key", "left", "right"),
    [
        ("actor_rollout_ref.actor.optim.lr", 1e-6, 1.1e-6),
        ("actor_rollout_ref.actor.optim.betas", [0.9, 0.999], [0.9, 0.99]),
        ("trainer.val_before_train", True, 1),
        ("data.train_files", "/data/gsm8k/train.parquet", "/data/math/train.parquet"),
        ("actor_rollout_ref.model.path", "/w/Qwen/Qwen2-7B", "/w/Qwen/Qwen2-1.5B"),
    ],
)
def test_values_that_differ_are_not_equal(key: str, left: Any, right: Any) -> None:
    change = compare_config(_run(SYNC_CONFIG, {key: left}), _run(SYNC_CONFIG, {key: right}), declared=())
    assert change.verdict == "undeclared"
    assert _keys(change.differences) == [key]


def test_equality_by_name_is_told() -> None:
    change = _change(SYNC_CONFIG, {"actor_rollout_ref.model.path": "/elsewhere/small"})
    assert change.verdict == "identical"
    assert _codes(change) == {"RR407"}


@pytest.mark.parametrize("declared", ["resources", "trainer.nnodes", "nnodes", "trainer.n*"])
def test_one_knob_declared_by_class_or_name_is_single(declared: str) -> None:
    change = _change(SYNC_CONFIG, {"trainer.nnodes": 4}, [declared])
    assert change.verdict == "single"
    assert change.classes == ("resources",)
    (difference,) = change.differences
    assert (difference.baseline, difference.variant, difference.declared) == (2, 4, True)
    assert difference.baseline_origin == "config.yaml:1"
    assert change.short_list == change.differences
    assert change.blocking == ()


def test_the_end_of_a_key_must_be_whole_parts() -> None:
    assert _change(SYNC_CONFIG, {"trainer.nnodes": 4}, ["odes"]).verdict == "undeclared"


def test_what_was_not_declared_is_undeclared() -> None:
    assert _change(SYNC_CONFIG, {"trainer.nnodes": 4}).verdict == "undeclared"
    assert _change(SYNC_CONFIG, {"trainer.nnodes": 4}, ["work"]).verdict == "undeclared"
    both = {"trainer.nnodes": 4, "trainer.n_gpus_per_node": 8}
    assert _change(SYNC_CONFIG, both, ["trainer.nnodes"]).verdict == "undeclared"
    assert _change(SYNC_CONFIG, both, ["resources"]).verdict == "single"


def test_two_classes_are_confounded_also_when_both_were_declared() -> None:
    changed = {"trainer.nnodes": 4, "actor_rollout_ref.rollout.gpu_memory_utilization": 0.7}
    change = _change(SYNC_CONFIG, changed, ["resources"])
    assert change.verdict == "confounded"
    assert change.classes == ("resources", "engine")
    assert change.blocking == ()
    both = _change(SYNC_CONFIG, changed, ["resources", "engine"])
    assert both.verdict == "confounded"
    assert "RR410" in _codes(both)


def test_identity_changes_nothing() -> None:
    change = _change(SYNC_CONFIG, {"trainer.experiment_name": "two", "trainer.default_local_dir": "/ckpt"})
    assert change.verdict == "identical"
    assert _keys(change.identity) == ["trainer.default_local_dir", "trainer.experiment_name"]
    assert change.differences == ()
    assert change.n_differing == 2


def test_the_invariant_of_separate_async_couples_two_knobs() -> None:
    change = _change(SEPARATE_CONFIG, {SYNC_STEP: 1, MINI: 4}, ["sync"])
    assert change.verdict == "coupled"
    assert change.classes == ("work", "sync")
    assert {d.key: d.coupled_by for d in change.differences} == {SYNC_STEP: None, MINI: SYNC_STEP}
    assert set(_keys(change.short_list)) == {SYNC_STEP, MINI}


def test_the_declared_knob_of_an_invariant_leads() -> None:
    change = _change(SEPARATE_CONFIG, {SYNC_STEP: 1, MINI: 4}, ["ppo_mini_batch_size"])
    assert change.verdict == "coupled"
    assert {d.key: d.coupled_by for d in change.differences} == {SYNC_STEP: MINI, MINI: None}


def test_an_invariant_that_breaks_or_moves_three_knobs_couples_nothing() -> None:
    assert _change(SEPARATE_CONFIG, {SYNC_STEP: 1, MINI: 3}, ["sync"]).verdict == "confounded"
    three = {SYNC_STEP: 3, MINI: 4, "data.train_batch_size": 12}
    assert _change(SEPARATE_CONFIG, three, ["sync"]).verdict == "confounded"


def test_coupled_but_not_declared_is_undeclared() -> None:
    assert _change(SEPARATE_CONFIG, {SYNC_STEP: 1, MINI: 4}).verdict == "undeclared"


def test_a_fixed_total_of_devices_couples_the_sides() -> None:
    change = _change(SEPARATE_CONFIG, {"trainer.nnodes": 1, ROLLOUT_NODES: 2}, ["rollout.nnodes"])
    assert change.verdict == "coupled"
    assert {d.key: d.coupled_by for d in change.differences} == {"trainer.nnodes": ROLLOUT_NODES, ROLLOUT_NODES: None}


def test_totals_that_differ_are_one_class_and_not_coupled() -> None:
    change = _change(SEPARATE_CONFIG, {"trainer.nnodes": 1, ROLLOUT_NODES: 3}, ["resources"])
    assert change.verdict == "single"
    assert {d.coupled_by for d in change.differences} == {None}


def test_samples_of_a_sync_are_conserved_in_fully_async() -> None:
    changed = {"async_training.require_batches": 1, "async_training.trigger_parameter_sync_step": 6}
    change = _change(FULLY_CONFIG, changed, ["work"])
    assert change.verdict == "coupled"
    lead = "async_training.require_batches"
    assert {d.key: d.coupled_by for d in change.differences} == {
        lead: None,
        "async_training.trigger_parameter_sync_step": lead,
    }
    uneven = {**changed, "async_training.trigger_parameter_sync_step": 5}
    assert _change(FULLY_CONFIG, uneven, ["work"]).verdict == "confounded"


def test_a_repeated_key_is_the_same_knob() -> None:
    base = {**SYNC_CONFIG, "actor_rollout_ref.actor.rollout_n": 2}
    change = _change(base, {"actor_rollout_ref.rollout.n": 4, "actor_rollout_ref.actor.rollout_n": 4}, ["rollout.n"])
    assert change.verdict == "single"
    assert _keys(change.short_list) == ["actor_rollout_ref.rollout.n"]
    own = _change(base, {"actor_rollout_ref.rollout.n": 4, "actor_rollout_ref.actor.rollout_n": 3}, ["rollout.n"])
    assert own.verdict == "confounded"


def test_a_mode_brings_its_own_settings_and_device_split() -> None:
    variant = _run(SEPARATE_CONFIG, {"trainer.nnodes": 1})
    change = compare_config(_run(SYNC_CONFIG), variant, declared=["schedule"])
    assert change.verdict == "coupled"
    coupled = {d.key: d.coupled_by for d in change.differences}
    assert coupled.pop("execution.mode") is None
    assert set(coupled.values()) == {"execution.mode"}
    assert {"trainer.nnodes", ROLLOUT_NODES, SYNC_STEP, "trainer.v1.trainer_mode"} <= set(coupled)
    assert compare_config(_run(SYNC_CONFIG), variant, declared=["trainer_mode"]).verdict == "coupled"


def test_a_mode_does_not_excuse_more_devices() -> None:
    change = compare_config(_run(SYNC_CONFIG), _run(SEPARATE_CONFIG), declared=["schedule"])
    assert change.verdict == "confounded"
    assert "resources" in change.classes


def test_parts_that_run_in_neither_run_are_folded() -> None:
    change = _change(SYNC_CONFIG, {"critic.optim.lr": 1e-5, SYNC_STEP: 7})
    assert change.verdict == "identical"
    (folded,) = change.folded
    assert folded.keys == ("critic.optim.lr", SYNC_STEP)
    assert folded.cause == "critic, separate async settings"
    gae = {**SYNC_CONFIG, "algorithm.adv_estimator": "gae"}
    assert _change(gae, {"critic.optim.lr": 1e-5}).verdict == "undeclared"


def test_defaults_that_one_side_only_prints_are_recognised() -> None:
    change = _change(SYNC_CONFIG, {"actor_rollout_ref.rollout.top_p": 1.0, "trainer.val_before_train": True})
    assert change.verdict == "identical"
    (folded,) = change.folded
    assert "default value" in folded.title
    changed = _change(SYNC_CONFIG, {"trainer.val_before_train": False})
    assert changed.verdict == "undeclared"
    assert changed.differences[0].baseline is ABSENT


def test_unlisted_keys_of_one_side_count_unless_they_switch_nothing_on() -> None:
    off = _change(SYNC_CONFIG, {"actor_rollout_ref.rollout.new_a": None, "actor_rollout_ref.rollout.new_b": False})
    assert off.verdict == "identical"
    assert len(off.folded[0].keys) == 2
    on = _change(SYNC_CONFIG, {"actor_rollout_ref.rollout.new_a": 3})
    assert on.verdict == "undeclared"
    assert on.classes == ("engine",)


def test_waivers_need_to_meet_a_difference_and_are_kept() -> None:
    changed = {"trainer.nnodes": 4, "data.seed": 2}
    change = _change(
        {**SYNC_CONFIG, "data.seed": 1}, changed, ["resources"], waivers={"data.seed": "replicates", "x.y": "?"}
    )
    assert change.verdict == "single"
    assert {d.key: d.waived for d in change.differences} == {"trainer.nnodes": None, "data.seed": "replicates"}
    assert change.blocking == ()
    assert _codes(change) == {"RR404"}


def test_a_declared_knob_that_does_not_exist_is_told_with_a_hint() -> None:
    change = _change(SYNC_CONFIG, {}, ["trainer.nnode"])
    assert _codes(change) == {"RR402", "RR403"}
    assert "did you mean 'trainer.nnodes'?" in next(n.message for n in change.notices if n.code == "RR402")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"data.train_files": ["/d/gsm8k/train.parquet", "/d/math/train.parquet"]},
            "the dataset changed: one train file against two",
        ),
        (
            {"data.train_files": ["/d/math/train.parquet"]},
            "the dataset changed: gsm8k/train.parquet against math/train.parquet",
        ),
        ({"actor_rollout_ref.model.path": "/models/large"}, "model changed: small against large"),
        ({"actor_rollout_ref.rollout.temperature": 0.7}, "the temperature changed: 1.0 against 0.7"),
        ({"trainer.device": "npu"}, "kind of device (trainer.device) is given in the variant only: npu"),
    ],
)
def test_what_blocks_a_comparison_in_words(changed: dict[str, Any], words: str) -> None:
    change = _change(SYNC_CONFIG, changed, ["resources"])
    assert change.blocking == (words,)


def test_a_declared_change_of_a_fixed_class_does_not_block() -> None:
    change = _change(SYNC_CONFIG, {"actor_rollout_ref.rollout.temperature": 0.7}, ["workload"])
    assert change.verdict == "single"
    assert change.blocking == ()


def test_versions_and_frameworks_are_compared() -> None:
    old = _run(SYNC_CONFIG, framework_version="2026-01-05")
    new = _run(SYNC_CONFIG, framework_version="2026-08-22")
    change = compare_config(old, new, declared=())
    assert change.classes == ("environment",)
    assert change.blocking == ("the framework version changed: 2026-01-05 against 2026-08-22",)
    assert "RR406" not in {notice.code for notice in change.notices}
    assert "RR406" in {notice.code for notice in compare_config(old, _run(SYNC_CONFIG), declared=()).notices}
    other = _run(SYNC_CONFIG, framework="generic")
    assert "the framework changed: verl against generic" in compare_config(_run(SYNC_CONFIG), other, declared=()).blocking[0]


def test_devices_of_the_manifest_are_knobs() -> None:
    base = {key: value for key, value in SEPARATE_CONFIG.items() if "nnodes" not in key}
    left = _run(base, trainer_devices=32, rollout_devices=48)
    right = _run(base, trainer_devices=32, rollout_devices=32)
    change = compare_config(left, right, declared=["resources"])
    assert change.verdict == "single"
    (difference,) = change.differences
    assert (difference.key, difference.baseline, difference.variant) == ("devices.rollout", 48, 32)
    assert compare_config(left, right, declared=()).verdict == "undeclared"


def test_configuration_of_the_manifest_counts() -> None:
    change = compare_config(_run(SYNC_CONFIG), _run(SYNC_CONFIG, config={"trainer.nnodes": 4}), declared=["resources"])
    assert change.verdict == "single"
    assert change.differences[0].variant_origin == "manifest"


def test_a_side_without_configuration_is_unknown() -> None:
    for pair in ((_run({}), _run(SYNC_CONFIG)), (_run(SYNC_CONFIG), _run({}))):
        change = compare_config(*pair, declared=["resources"])
        assert change.verdict == "unknown"
        assert {notice.code for notice in change.notices} == {"RR401"}


def test_a_partial_configuration_never_gives_a_clean_verdict() -> None:
    partial = {"trainer.nnodes": 4, "trainer.n_gpus_per_node": 4}
    change = compare_config(_run(SYNC_CONFIG), _run(partial), declared=["resources"])
    assert change.verdict == "unknown"
    assert _keys(change.differences) == ["trainer.nnodes"]
    assert "RR405" in _codes(change)
    worse = {**partial, "actor_rollout_ref.rollout.gpu_memory_utilization": 0.9}
    assert compare_config(_run(SYNC_CONFIG), _run(worse), declared=["resources"]).verdict == "confounded"


def test_keys_of_one_backend_fold_into_its_line() -> None:
    left = {
        **SYNC_CONFIG,
        "actor_rollout_ref.actor.fsdp_config.param_offload": False,
        "actor_rollout_ref.actor.grad_clip": 1.0,
    }
    right = {
        **SYNC_CONFIG,
        "actor_rollout_ref.actor.strategy": "megatron",
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size": 2,
        "actor_rollout_ref.actor.optim.clip_grad": 1.0,
        "actor_rollout_ref.actor.megatron.unheard_of": 7,
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 999,
        "actor_rollout_ref.actor.use_dynamic_bsz": True,
    }
    change = compare_config(_run(left), _run(right), declared=["actor.strategy"])
    assert change.folded[0].title == "keys of one training backend only (fsdp in the baseline, megatron in the variant)"
    assert change.folded[0].cause == "actor_rollout_ref.actor.strategy"
    assert change.folded[0].keys == (
        "actor_rollout_ref.actor.fsdp_config.param_offload",
        "actor_rollout_ref.actor.grad_clip",
        "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size",
        "actor_rollout_ref.actor.megatron.unheard_of",
        "actor_rollout_ref.actor.optim.clip_grad",
    )
    # A listed key off its default is no matter of the backend, even when one side only has it.
    assert "actor_rollout_ref.actor.ppo_max_token_len_per_gpu" in _keys(change.differences)
    assert change.verdict == "confounded"


def test_one_knob_that_two_backends_spell_differently_is_compared() -> None:
    left = {**SYNC_CONFIG, "actor_rollout_ref.actor.optim.warmup_style": "constant"}
    right = {
        **SYNC_CONFIG,
        "actor_rollout_ref.actor.strategy": "megatron",
        "actor_rollout_ref.actor.optim.lr_decay_style": "linear",
    }
    change = compare_config(_run(left), _run(right), declared=["engine"])
    assert change.blocking == ("the learning-rate schedule changed: constant against linear",)
    assert change.verdict == "confounded"
    same = {**right, "actor_rollout_ref.actor.optim.lr_decay_style": "constant"}
    assert compare_config(_run(left), _run(same), declared=["engine"]).verdict == "single"


def test_the_short_list_is_short_and_in_the_order_of_a_reader() -> None:
    changed = {
        "actor_rollout_ref.actor.strategy": "fsdp2",
        "data.train_files": ["/data/math/train.parquet"],
        "actor_rollout_ref.model.path": "/models/large",
        "data.train_batch_size": 8,
        "actor_rollout_ref.actor.optim.lr": 1e-5,
        **{f"data.unlisted_{number}": number + 1 for number in range(20)},
    }
    change = _change(SYNC_CONFIG, changed)
    assert len(change.short_list) == SHORT_LIST
    assert _keys(change.short_list)[:5] == [
        "actor_rollout_ref.actor.strategy",
        "data.train_files",
        "actor_rollout_ref.model.path",
        "data.train_batch_size",
        "actor_rollout_ref.actor.optim.lr",
    ]
    assert len(change.differences) == 25
    assert change.classes == ("work", "engine", "workload", "algorithm")


def test_the_length_of_a_run_matters_only_with_a_schedule() -> None:
    assert _change(SYNC_CONFIG, {"trainer.total_training_steps": 50}).verdict == "identical"
    cosine = {**SYNC_CONFIG, "actor_rollout_ref.actor.optim.lr_scheduler_type": "cosine"}
    assert _change(cosine, {"trainer.total_training_steps": 50}).verdict == "undeclared"


def test_the_same_input_gives_the_same_result() -> None:
    changed = {"trainer.nnodes": 4, "data.seed": 2, SYNC_STEP: 3, MINI: 9}
    assert _change(SEPARATE_CONFIG, changed) == _change(SEPARATE_CONFIG, dict(reversed(changed.items())))
