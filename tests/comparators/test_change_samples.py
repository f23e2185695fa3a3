from __future__ import annotations

from pathlib import Path

from support.sample_runs import sample_run

from rlreport.comparators.change import compare_config


def test_the_real_pair_is_confounded_and_its_list_for_a_reader_is_short(samples: Path) -> None:
    fsdp, megatron = (sample_run(samples, f"verl-grpo-{name}-h800") for name in ("fsdp", "megatron"))
    change = compare_config(fsdp, megatron, declared=["actor.strategy"])
    assert change.verdict == "confounded"
    assert change.classes == ("work", "engine", "workload", "algorithm")
    short = {difference.key: (difference.baseline, difference.variant) for difference in change.short_list}
    assert len(short) <= 12
    assert next(iter(short)) == "actor_rollout_ref.actor.strategy"
    assert short["actor_rollout_ref.actor.strategy"] == ("fsdp", "megatron")
    assert [len(files) for files in short["data.train_files"]] == [2, 1]
    assert short["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"] == (16, 4)
    assert change.blocking[0] == "the dataset changed: two train files against one"
    backend = change.folded[0]
    assert backend.title == "keys of one training backend only (fsdp in the baseline, megatron in the variant)"
    assert 165 <= len(backend.keys) <= 175
    assert 180 <= change.n_differing <= 195
    model = "actor_rollout_ref.model.path"
    assert model not in {difference.key for difference in change.differences}
    assert model in next(notice.message for notice in change.notices if notice.code == "RR407")


def test_the_two_directions_agree(samples: Path) -> None:
    fsdp, megatron = (sample_run(samples, f"verl-grpo-{name}-h800") for name in ("fsdp", "megatron"))
    there = compare_config(fsdp, megatron, declared=["engine"])
    back = compare_config(megatron, fsdp, declared=["engine"])
    assert there.verdict == back.verdict
    assert there.classes == back.classes
    assert (there.n_equal, there.n_differing) == (back.n_equal, back.n_differing)
    assert {(d.key, str(d.baseline), str(d.variant)) for d in there.differences if " / " not in d.key} == {
        (d.key, str(d.variant), str(d.baseline)) for d in back.differences if " / " not in d.key
    }
    assert back.blocking[0] == "the dataset changed: one train file against two"


def test_a_real_run_against_itself_is_identical(samples: Path) -> None:
    run = sample_run(samples, "verl-separate-async-npu")
    change = compare_config(run, run, declared=())
    assert change.verdict == "identical"
    assert change.n_equal == len(run.config)
    assert not change.folded


def test_the_smoke_test_differs_from_its_full_run_in_length_and_bookkeeping(samples: Path) -> None:
    full, smoke = (sample_run(samples, f"verl-{name}") for name in ("separate-async-npu", "one-step-smoke"))
    change = compare_config(full, smoke, declared=())
    moved = {difference.key for difference in change.differences}
    assert "trainer.total_training_steps" not in moved  # the learning rate is constant
    assert change.blocking == ()
