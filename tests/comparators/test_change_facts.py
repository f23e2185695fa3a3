from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.made_runs import make_run
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_facts import not_known, rules_of, seeds_of
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration


def _run(changed: Mapping[str, Any] | None = None, **declared: Any) -> Run:
    config = {**SYNC_CONFIG, **(changed or {})}
    return interpret_run(raw_run({1: timed_row()}, config), RunDeclaration("r", **declared))


def test_seeds_are_what_somebody_chose() -> None:
    chosen = {"data.seed": 7, "actor_rollout_ref.actor.data_loader_seed": 3}
    silent = {
        "actor_rollout_ref.actor.fsdp_config.seed": 42,  # the framework's default
        "actor_rollout_ref.rollout.seed": None,
        "critic.data_loader_seed": 5,  # grpo has no critic
    }
    assert seeds_of(_run({**chosen, **silent})) == chosen
    assert seeds_of(_run(silent)) == {}
    assert seeds_of(make_run({}, config={"seed": 1, "trainer.random_seed": "2", "seeds": 3})) == {
        "seed": 1,
        "trainer.random_seed": "2",
    }


def test_what_nobody_tells_is_listed_and_never_taken_for_equal() -> None:
    assert not_known(_run(), _run()) == (
        "framework version (neither run)",
        "device model (neither run)",
        "library versions (neither run)",
        "seed (neither run)",
    )
    told = {"environment.hardware": "H800", "environment.libraries.torch": "2.8", "data.seed": 1}
    assert not_known(_run(told, framework_version="0.7"), _run(told)) == ("framework version (not of the variant)",)
    assert not_known(_run(told, framework_version="0.7"), _run(told, framework_version="0.7")) == ()
    assert "device model (not of the baseline)" in not_known(_run(), _run(told))
    assert compare_config(_run(), _run(told), declared=()).not_known == not_known(_run(), _run(told))


def test_what_the_environment_tells_is_compared_in_any_framework() -> None:
    key = "environment.libraries.vllm"
    for make in (_run, lambda changed: make_run({}, config=changed)):
        change = compare_config(make({key: "0.9.1"}), make({key: "0.10.0"}), declared=())
        assert change.classes == ("environment",)
        assert change.blocking == ("the library version changed: 0.9.1 against 0.10.0",)
        devices = compare_config(make({"environment.hardware": "H800"}), make({"environment.hardware": "H20"}), declared=())
        assert devices.blocking == ("the device model changed: H800 against H20",)


def test_what_one_side_only_tells_of_its_environment_is_no_difference() -> None:
    told = {"environment.hardware": "H800", "environment.libraries.torch": "2.8"}
    for pair in ((_run(), _run(told)), (_run(told), _run())):
        change = compare_config(*pair, declared=())
        assert (change.verdict, change.blocking, change.n_differing) == ("identical", (), 0)
        assert any(name.startswith("device model (not of") for name in change.not_known)
    more = compare_config(_run(told), _run({**told, "environment.libraries.vllm": "0.11"}), declared=())
    assert [difference.key for difference in more.differences] == ["environment.libraries.vllm"]


def test_a_dialects_row_goes_before_the_common_one() -> None:
    rules = rules_of(_run())
    assert len({row.pattern for row in rules.rows}) == len(rules.rows)
    assert rules.knob("devices.trainer").label == "Trainer devices"
    assert rules.rank("actor_rollout_ref.actor.strategy") < rules.rank("environment.hardware")
    generic = rules_of(make_run({}))
    assert generic.knob("environment.dataset").knob_class == "workload"
    assert generic.knob("environment.anything").knob_class == "environment"
