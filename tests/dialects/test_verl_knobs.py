from __future__ import annotations

import pytest

from rlreport.dialects.verl_knobs import VERL_RULES
from rlreport.run.knobs import KNOB_CLASSES, NO_RULES, matches, specificity


@pytest.mark.parametrize(
    ("pattern", "key", "covers"),
    [
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.**", "a.b.c", True),
        ("a.**", "a", True),
        ("a.**", "ab", False),
        ("**.seed", "seed", True),
        ("**.seed", "a.b.seed", True),
        ("**.seed", "a.b.reseed", False),
        ("a.*_size", "a.x_size", True),
        ("a+b", "aab", False),
    ],
)
def test_patterns(pattern: str, key: str, covers: bool) -> None:
    assert matches(pattern, key) is covers


def test_a_literal_pattern_beats_every_wildcard() -> None:
    assert specificity("a.b") > specificity("**.a_very_long_name_of_a_key")


@pytest.mark.parametrize(
    ("key", "knob_class"),
    [
        ("actor_rollout_ref.actor.strategy", "engine"),
        ("critic.strategy", "engine"),
        ("trainer.nnodes", "resources"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size", "resources"),
        ("actor_rollout_ref.actor.megatron.pipeline_model_parallel_size", "resources"),
        ("trainer.test_freq", "schedule"),
        ("async_training.use_trainer_do_validate", "schedule"),
        ("data.train_batch_size", "work"),
        ("actor_rollout_ref.rollout.n", "work"),
        ("async_training.require_batches", "work"),
        ("trainer.v1.separate_async.parameter_sync_step", "sync"),
        ("async_training.trigger_parameter_sync_step", "sync"),
        ("actor_rollout_ref.rollout.checkpoint_engine.backend", "sync"),
        ("async_training.staleness_threshold", "off-policy"),
        ("algorithm.rollout_correction.bypass_mode", "off-policy"),
        ("algorithm.rollout_correction.something_new", "off-policy"),
        ("actor_rollout_ref.rollout.gpu_memory_utilization", "engine"),
        ("actor_rollout_ref.model.path", "workload"),
        ("data.max_response_length", "workload"),
        ("actor_rollout_ref.rollout.temperature", "workload"),
        ("algorithm.adv_estimator", "algorithm"),
        ("actor_rollout_ref.actor.optim.lr", "algorithm"),
        ("actor_rollout_ref.actor.clip_ratio_high", "algorithm"),
        ("data.seed", "environment"),
        ("actor_rollout_ref.actor.fsdp_config.seed", "environment"),
        ("global_profiler.steps", "environment"),
        ("trainer.experiment_name", "identity"),
        ("trainer.logger", "identity"),
    ],
)
def test_classes_of_listed_keys(key: str, knob_class: str) -> None:
    assert VERL_RULES.row(key) is not None
    assert VERL_RULES.knob(key).knob_class == knob_class
    assert VERL_RULES.listed([key])[key] == VERL_RULES.knob(key)


@pytest.mark.parametrize(
    ("key", "knob_class"),
    [
        ("data.something_new", "workload"),
        ("actor_rollout_ref.rollout.something_new", "engine"),
        ("actor_rollout_ref.actor.something_new", "algorithm"),
        ("actor_rollout_ref.actor.fsdp_config.something_new", "engine"),
        ("trainer.something_new", "schedule"),
        ("something.new", "algorithm"),
    ],
)
def test_unlisted_keys_take_the_class_of_their_section(key: str, knob_class: str) -> None:
    assert VERL_RULES.row(key) is None
    assert VERL_RULES.knob(key).knob_class == knob_class
    assert VERL_RULES.listed([key]) == {}


def test_no_section_gives_identity_and_no_rules_read_strictly() -> None:
    assert "identity" not in {knob_class for _, knob_class in VERL_RULES.sections}
    assert NO_RULES.knob("anything.at_all").knob_class == "algorithm"


def test_the_table_is_sound() -> None:
    patterns = [row.pattern for row in VERL_RULES.rows]
    assert len(set(patterns)) == len(patterns)
    assert {row.knob_class for row in VERL_RULES.rows} == set(KNOB_CLASSES)
    assert all(row.label for row in VERL_RULES.rows)
    for key in VERL_RULES.core:
        assert VERL_RULES.row(key) is not None, key


def test_readers_see_backend_and_data_first() -> None:
    order = [
        "actor_rollout_ref.actor.strategy",
        "data.train_files",
        "actor_rollout_ref.model.path",
        "trainer.nnodes",
        "data.train_batch_size",
        "actor_rollout_ref.actor.optim.lr",
        "unlisted.key",
    ]
    shuffled = [*order[3:], *order[:3]]
    assert sorted(shuffled, key=VERL_RULES.rank) == order


def test_parts_that_do_not_run() -> None:
    grpo = {"algorithm.adv_estimator": "grpo"}
    assert VERL_RULES.inert_in("critic.optim.lr", grpo, "sync") == "critic"
    assert VERL_RULES.inert_in("critic.optim.lr", {"algorithm.adv_estimator": "gae"}, "sync") is None
    assert VERL_RULES.inert_in("critic.optim.lr", {}, "sync") is None  # gae is the default
    key = "async_training.staleness_threshold"
    assert VERL_RULES.inert_in(key, {}, "sync") == "fully async settings"
    assert VERL_RULES.inert_in(key, {}, "fully_async") is None
    assert VERL_RULES.inert_in(key, {}, "unknown") is None


def test_tunable_knobs_leave_out_names_and_sleeping_parts() -> None:
    values = {
        "algorithm.adv_estimator": "grpo",
        "critic.optim.lr": 1e-5,
        "trainer.experiment_name": "x",
        "trainer.nnodes": 1,
    }
    assert list(VERL_RULES.tunable(values, "sync")) == ["algorithm.adv_estimator", "trainer.nnodes"]
