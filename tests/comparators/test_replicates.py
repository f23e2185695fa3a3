from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.made_runs import make_run
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.replicates import check_groups, check_replicates
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.rules import ChangePolicy, Waiver


def _run(run_id: str, changed: Mapping[str, Any] | None = None, group: str | None = "g") -> Run:
    config = {**SYNC_CONFIG, **(changed or {})}
    return interpret_run(raw_run({1: timed_row()}, config), RunDeclaration(run_id, group=group))


def test_runs_that_differ_in_the_seed_only_are_replicates() -> None:
    seeds = ({"data.seed": 1}, {"data.seed": 2, "trainer.experiment_name": "two"}, {"data.seed": 3})
    check = check_replicates([_run(f"r{place}", seed) for place, seed in enumerate(seeds)])
    assert check.accepted == ("r0", "r1", "r2")
    assert check.are_replicates
    assert check.seeds_known
    assert (check.refused, check.notices, check.group) == ({}, (), "g")


def test_two_runs_with_the_same_seed_are_refused() -> None:
    check = check_replicates([_run("a", {"data.seed": 1}), _run("b", {"data.seed": "1"}), _run("c", {"data.seed": 2})])
    assert check.accepted == ("a", "c")
    assert check.refused == {"b": "it has the same seed as a (data.seed = 1): it repeats that run and is no replicate"}
    (notice,) = check.notices
    assert (notice.code, notice.message[:22]) == ("RR435", "group g: b is refused:")
    alone = check_replicates([_run("a", {"data.seed": 1}), _run("b", {"data.seed": 1})])
    assert not alone.are_replicates


def test_one_seed_of_several_is_enough_to_differ() -> None:
    loader = "actor_rollout_ref.actor.data_loader_seed"
    check = check_replicates([_run("a", {"data.seed": 1, loader: 5}), _run("b", {"data.seed": 1, loader: 6})])
    assert check.are_replicates


def test_a_run_that_differs_in_more_than_the_seed_is_refused() -> None:
    check = check_replicates([_run("a", {"data.seed": 1}), _run("b", {"data.seed": 2, "trainer.test_freq": 7})])
    assert check.accepted == ("a",)
    assert check.refused["b"] == "it differs from a in more than the seed: trainer.test_freq 2 against 7"
    waived = ChangePolicy(waivers=(Waiver("trainer.test_freq", "never reached"),))
    runs = [_run("a", {"data.seed": 1}), _run("b", {"data.seed": 2, "trainer.test_freq": 7})]
    assert check_replicates(runs, waived).are_replicates


def test_unknown_seeds_are_said() -> None:
    check = check_replicates([_run("a"), _run("b", {"data.seed": None, "actor_rollout_ref.actor.fsdp_config.seed": 42})])
    assert check.are_replicates
    assert not check.seeds_known
    (notice,) = check.notices
    assert notice.code == "RR436"
    assert "no seed of a and b is known" in notice.message
    half = check_replicates([_run("a", {"data.seed": 1}), _run("b")])
    assert half.are_replicates
    assert "no seed of b is known" in half.notices[0].message


def test_a_run_without_configuration_may_differ_in_anything() -> None:
    check = check_replicates([_run("a"), make_run({}, run_id="b", group="g")])
    assert check.accepted == ("a",)
    assert check.refused == {"b": "the configuration of b is not known, so that it may differ in anything"}


def test_groups_of_one_are_no_matter_and_none_is_no_group() -> None:
    runs = {
        "a": _run("a", {"data.seed": 1}, "x"),
        "b": _run("b", {"data.seed": 2}, "x"),
        "c": _run("c", group="y"),
        "d": _run("d", group=None),
        "e": _run("e", group=None),
    }
    assert [check.group for check in check_groups(runs)] == ["x"]
    assert check_replicates([runs["c"]]).accepted == ("c",)
    with pytest.raises(ValueError, match="one run at least"):
        check_replicates([])
