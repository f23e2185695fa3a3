from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.raw_runs import SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.comparability import Comparability, comparability
from rlreport.comparators.replicates import check_replicates
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.rules import ChangePolicy, Rule, Waiver

KNOWN = {
    "data.seed": 1,
    "environment.hardware": "H800",
    "environment.libraries.torch": "2.8",
    "data.val_files": ["/data/gsm8k/test.parquet"],
}


def _run(
    changed: Mapping[str, Any] | None = None,
    *,
    base: Mapping[str, Any] = SYNC_CONFIG,
    steps: int = 30,
    length: float = 50.0,
    trajectories: int = 8,
    drift: float = 0.0,
    run_id: str = "r",
    **declared: Any,
) -> Run:
    noise = np.random.default_rng(7).normal(0, 0.01, steps)
    rows = {
        step: timed_row(100 * (1 + noise[step - 1]) * (1 + drift * step / steps), length=length, trajectories=trajectories)
        for step in range(1, steps + 1)
    }
    config = {**base, **KNOWN, **(changed or {})} if base else dict(changed or {})
    declared = {"framework_version": "0.8.0", **declared}
    return interpret_run(raw_run(rows, config), RunDeclaration(run_id, **declared))


def _list(
    baseline: Run, variant: Run, declared: Sequence[str] = (), policy: ChangePolicy | None = None, groups: Sequence[Any] = ()
) -> Comparability:
    change = compare_config(baseline, variant, declared=declared, policy=policy or ChangePolicy())
    pair = common_window(baseline, find_steady_state(baseline), variant, find_steady_state(variant))
    throughput = compare_throughput(baseline, variant, *pair, comparable=not change.blocking)
    return comparability(change, throughput, pair, (baseline, variant), groups)


def _standing(found: Comparability, name: str) -> tuple[str, bool]:
    item = found.item(name)
    return item.standing, item.expected


def test_a_fair_pair_fails_in_one_run_an_arm_alone() -> None:
    found = _list(_run(), _run({"trainer.test_freq": 4}), ["schedule"])
    assert [item.name for item in found.of("fails")] == ["replicates"]
    assert found.of("unknown") == ()
    assert found.unexpected == found.of("fails")
    assert len({item.name for item in found.items}) == len(found.items) >= 17
    assert found.item("change").reason == "schedule"
    with pytest.raises(KeyError):
        found.item("nothing")


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"actor_rollout_ref.model.path": "/models/large"}, "model"),
        ({"data.train_files": ["/data/math/train.parquet"]}, "data"),
        ({"data.max_response_length": 128}, "workload"),
        ({"actor_rollout_ref.actor.clip_ratio": 0.3}, "algorithm"),
        ({"actor_rollout_ref.rollout.gpu_memory_utilization": 0.9}, "engine"),
        ({"data.seed": 2}, "seed"),
        ({"trainer.nnodes": 4, "data.train_batch_size": 8, "actor_rollout_ref.actor.ppo_mini_batch_size": 8}, "devices"),
        ({"environment.hardware": "H20"}, "hardware"),
        ({"environment.libraries.torch": "2.9"}, "libraries"),
    ],
)
def test_each_difference_fails_its_own_condition(changed: Mapping[str, Any], name: str) -> None:
    found = _list(_run(), _run(changed))
    assert _standing(found, name) == ("fails", False)
    fixed = {"model", "data", "workload", "algorithm", "engine", "seed", "hardware", "libraries", "devices", "version"}
    assert {item.name for item in found.of("fails")} & fixed == {name}
    assert _standing(found, "change")[0] == "fails"


def test_a_declared_or_waived_difference_is_expected() -> None:
    memory = {"actor_rollout_ref.rollout.gpu_memory_utilization": 0.9}
    declared = _list(_run(), _run(memory), ["engine"])
    assert _standing(declared, "engine") == ("fails", True)
    assert [item.name for item in declared.unexpected] == ["replicates"]
    waived = _list(_run(), _run({"data.seed": 2}), [], ChangePolicy(waivers=(Waiver("data.seed", "replicates"),)))
    assert _standing(waived, "seed") == ("fails", True)
    free = _list(_run(), _run({"data.seed": 2}), [], ChangePolicy((Rule("data.seed", "free"),)))
    assert _standing(free, "seed") == ("fails", True)


def test_what_follows_from_an_undeclared_knob_is_not_expected() -> None:
    separate = _run(base=SEPARATE_CONFIG)
    moved = _run({"trainer.nnodes": 1, "actor_rollout_ref.rollout.nnodes": 3}, base=SEPARATE_CONFIG)
    assert _standing(_list(separate, moved), "devices") == ("fails", False)
    assert _standing(_list(separate, moved, ["resources"]), "devices") == ("fails", True)


def test_nothing_known_is_unknown() -> None:
    bare = _run({"trainer.nnodes": 2, "trainer.n_gpus_per_node": 4}, base={}, framework_version=None)
    found = _list(bare, bare)
    for name in ("model", "data", "workload", "algorithm", "engine", "seed", "hardware", "version", "libraries"):
        assert _standing(found, name) == ("unknown", False), name
    assert _standing(found, "configuration")[0] == "fails"
    empty = _run({}, base={}, framework_version=None)
    found = _list(empty, empty)
    assert found.item("configuration").reason == "nothing is known of the baseline and variant"
    assert _standing(found, "change")[0] == "unknown"
    assert _standing(found, "devices")[0] == "unknown"


def test_versions_are_compared_where_both_are_given() -> None:
    assert _standing(_list(_run(), _run(framework_version="0.9.0")), "version") == ("fails", False)
    assert _list(_run(), _run(framework_version=None)).item("version").reason == "no version is given for the variant"
    commit = {"environment.commit": "1dda039b9"}
    told = _list(_run(commit, framework_version=None), _run(commit, framework_version=None))
    assert _standing(told, "version") == ("holds", False)


def test_modes_with_other_steps_are_told() -> None:
    fully = {"trainer.v1.trainer_mode": "separate_async", "trainer.use_v1": True, "trainer.nnodes": 1}
    more = {"actor_rollout_ref.rollout.nnodes": 1, "trainer.v1.separate_async.parameter_sync_step": 2}
    found = _list(_run(), _run({**fully, **more}), ["schedule"])
    item = found.item("step")
    assert (item.standing, item.expected) == ("fails", True)
    assert " in the baseline, " in item.reason


def test_windows_are_compared_by_prompts_and_not_by_steps() -> None:
    baseline = _run(steps=40)
    half = {"data.train_batch_size": 2, "actor_rollout_ref.actor.ppo_mini_batch_size": 2}
    variant = _run(half, steps=80, trajectories=4)
    found = _list(baseline, variant, ["work"])
    assert _standing(found, "samples") == ("holds", False)
    windows = (find_steady_state(baseline), find_steady_state(variant))
    change = compare_config(baseline, variant, declared=["work"])
    short = replace(windows[1], kept=windows[1].kept[:20], last_step=windows[1].kept[19])
    throughput = compare_throughput(baseline, variant, *windows)
    item = comparability(change, throughput, (windows[0], short), (baseline, variant)).item("samples")
    assert item.standing == "fails"
    # 40 steps of 4 prompts against 21 steps of 2, after one step of warm-up.
    assert item.reason == "prompts 4 to 160 against 2 to 42"


def test_prompts_that_are_not_known_leave_the_samples_unknown() -> None:
    run = _run()
    blind = replace(run, steps=run.steps.drop(columns=["work.prompts"]))
    assert _standing(_list(blind, blind), "samples") == ("unknown", False)


def test_drift_and_short_windows_are_no_steady_state() -> None:
    drifting = _list(_run(steps=120), _run(steps=120, drift=0.5))
    item = drifting.item("steady")
    assert item.standing == "fails"
    assert item.reason.startswith("the variant drifts by −")
    assert (
        _list(_run(steps=4), _run()).item("steady").reason
        == "the baseline has 3 usable steps and the variant has 3 usable steps"
    )


def test_runs_without_logged_steps_leave_measurements_unknown() -> None:
    run = _run()
    blank = replace(run, steps=run.steps.iloc[:0], raw=run.raw.iloc[:0])
    found = _list(run, blank)
    assert found.item("steady").reason == "no steps with a time are logged for the variant"
    for name in ("steady", "samples", "length"):
        assert _standing(found, name) == ("unknown", False)


def test_response_length_is_measured_over_the_windows() -> None:
    assert _standing(_list(_run(), _run(length=50.9)), "length") == ("holds", False)
    longer = _list(_run(), _run(length=60.0)).item("length")
    assert (longer.standing, longer.reason) == ("fails", "50.0 and 60.0 tokens: 20.0 % longer in the variant")
    run = _run()
    silent = replace(run, steps=run.steps.drop(columns=["length.response_mean"]))
    assert _standing(_list(run, silent), "length") == ("unknown", False)


def test_a_configuration_that_contradicts_itself_is_told() -> None:
    found = _list(_run(), _run({"actor_rollout_ref.actor.ppo_mini_batch_size": 3}), ["work"]).item("invariants")
    assert found.standing == "fails"
    assert found.reason.startswith("variant, whole mini-batches in a batch: 4 mod 3 is 1, not 0")


def test_rules_are_a_condition_only_where_there_are_some() -> None:
    assert "rules" not in {item.name for item in _list(_run(), _run()).items}
    pinned = ChangePolicy((Rule("rollout.n", "pinned", has_value=True, value=2),))
    assert _standing(_list(_run(), _run(), [], pinned), "rules") == ("holds", False)
    broken = ChangePolicy((Rule("rollout.n", "pinned", has_value=True, value=3),))
    assert _standing(_list(_run(), _run(), [], broken), "rules") == ("fails", False)
    nowhere = ChangePolicy((Rule("nothing.there", "pinned"),))
    assert _standing(_list(_run(), _run(), [], nowhere), "rules") == ("unknown", False)


def test_replicates_of_both_arms_hold() -> None:
    arms = [
        [_run({"data.seed": seed, "trainer.test_freq": freq}, run_id=f"r{freq}{seed}", group=f"g{freq}") for seed in (1, 2)]
        for freq in (2, 4)
    ]
    groups = [check_replicates(arm) for arm in arms]
    found = _list(arms[0][0], arms[1][0], ["schedule"], groups=groups)
    assert _standing(found, "replicates") == ("holds", False)
    assert found.unexpected == ()
    one_arm = _list(arms[0][0], arms[1][0], ["schedule"], groups=groups[:1]).item("replicates")
    assert one_arm.reason.startswith("one run of the variant")
