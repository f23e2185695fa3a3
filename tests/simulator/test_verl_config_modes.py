from __future__ import annotations

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.verl_logs import flat

from rlreport.dialects.verl_knobs import VERL_RULES
from rlreport.simulator.verl_config import verl_config


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_v1_trainer_runs_its_own_modes_only(mode: str) -> None:
    scenario = mode_scenario(mode)
    config = verl_config(scenario)
    own = {"one_step_off": "sync", "fully_async": "sync"}  # these carry V1's default
    assert config["trainer"]["v1"]["trainer_mode"] == own.get(mode, scenario.mode)
    assert ("async_training" in config) is (mode == "fully_async")
    assert ("rollout" in config) is (mode in ("fully_async", "one_step_off"))
    assert config["actor_rollout_ref"]["hybrid_engine"] is (mode not in ("fully_async", "one_step_off"))


def test_the_knobs_of_fully_async() -> None:
    config = verl_config(
        mode_scenario(
            "fully_async",
            fully_async__staleness_threshold=0.7,
            fully_async__trigger_parameter_sync_step=2,
            fully_async__require_batches=2,
            fully_async__partial_rollout=False,
            hybrid__validates=True,
        )
    )
    knobs = config["async_training"]
    assert knobs["staleness_threshold"] == 0.7
    assert (knobs["trigger_parameter_sync_step"], knobs["require_batches"]) == (2, 2)
    assert knobs["partial_rollout"] is False
    assert knobs["use_trainer_do_validate"] is True
    assert knobs["concurrent_samples_per_replica"] == 2
    assert config["data"]["train_batch_size"] == 0  # verl asserts it
    assert config["data"]["gen_batch_size"] == 1
    rollout = config["rollout"]
    assert rollout["nnodes"] * rollout["n_gpus_per_node"] == 4
    assert rollout["n"] == config["actor_rollout_ref"]["rollout"]["n"] == 4
    assert rollout["total_rollout_steps"] == 12 * 16  # versions x (mini-batch 4 x 2 x 2)
    engine = config["actor_rollout_ref"]["rollout"]
    assert (engine["nnodes"], engine["n_gpus_per_node"]) == (rollout["nnodes"], rollout["n_gpus_per_node"])
    assert engine["checkpoint_engine"]["backend"] == "hccl"
    assert engine["free_cache_engine"] is False


def test_one_step_off_keeps_its_train_batch() -> None:
    config = verl_config(mode_scenario("one_step_off", cluster__device="cuda"))
    assert config["data"]["train_batch_size"] == 8
    assert config["rollout"] == {"nnodes": 2, "n_gpus_per_node": 2}
    assert config["actor_rollout_ref"]["rollout"]["checkpoint_engine"]["backend"] == "nccl"


def test_the_hybrid_switch_and_the_batches_ahead() -> None:
    changes = {"hybrid__switch_threshold_ratio": 0.6, "hybrid__adaptive_switch_threshold": False}
    switch = verl_config(mode_scenario("switch", **changes))["trainer"]["v1"]["separate_async"]["hybrid_rollout"]
    assert switch["enable_switch"] is True
    assert switch["switch_threshold_ratio"] == 0.6
    assert switch["adaptive_switch_threshold"] is False
    ahead = verl_config(mode_scenario("colocate_async", sync__warmup_batches=2))["trainer"]["v1"]
    assert ahead["colocate_async"]["num_warmup_batches"] == 2
    assert ahead["separate_async"]["num_warmup_batches"] == 1


def test_the_loggers_are_those_of_the_outputs() -> None:
    config = verl_config(mode_scenario("sync", outputs=("console", "jsonl", "tensorboard", "rl-insight", "chrome-trace")))
    assert config["trainer"]["logger"] == ["console", "file", "tensorboard", "rl_insight"]
    assert config["trainer"]["rollout_data_dir"] is None
    assert verl_config(mode_scenario("sync", outputs=("rollouts",)))["trainer"]["rollout_data_dir"] == "rollouts"


def test_a_value_of_the_scenario_wins_over_that_of_the_mode() -> None:
    config = verl_config(mode_scenario("fully_async", config={"async_training.staleness_threshold": 9, "a.b": 1}))
    assert config["async_training"]["staleness_threshold"] == 9
    assert config["a"]["b"] == 1


@pytest.mark.parametrize(
    ("mode", "changes", "classes"),
    [
        ("fully_async", {"fully_async__staleness_threshold": 0.7}, {"off-policy"}),
        ("fully_async", {"cluster__rollout_nodes": 3}, {"resources"}),
        ("one_step_off", {"cluster__rollout_nodes": 3}, {"resources"}),
        ("separate_async", {"cluster__rollout_nodes": 3}, {"resources"}),
        ("separate_async", {"sync__warmup_batches": 2}, {"work"}),
        ("separate_async", {"trainer__token_budget_per_rank": 30_000}, {"work"}),
        ("colocate_async", {"sync__warmup_batches": 2}, {"work"}),
        ("switch", {"hybrid__switch_threshold_ratio": 0.6}, {"schedule"}),
        ("fully_async", {"hybrid__validates": True}, {"schedule"}),
    ],
)
def test_what_a_scenario_changes_is_of_the_class_that_a_reader_expects(
    mode: str, changes: dict[str, object], classes: set[str]
) -> None:
    before = flat(verl_config(mode_scenario(mode)))
    after = flat(verl_config(mode_scenario(mode, **changes)))
    differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert differing
    assert {VERL_RULES.knob(key).knob_class for key in differing} - {"identity"} == classes
