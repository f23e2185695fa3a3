from __future__ import annotations

from itertools import pairwise
from typing import Any

from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_chain import chain_notices, declared_changes
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration


def _run(**changed: Any) -> Run:
    keys = {key.replace("__", "."): value for key, value in changed.items()}
    return interpret_run(raw_run({1: timed_row()}, {**SYNC_CONFIG, **keys}), RunDeclaration("r"))


def _notices(*runs: Run) -> list[str]:
    changes = [compare_config(before, after, declared=()) for before, after in pairwise(runs)]
    return [notice.message for notice in chain_notices(changes)]


def test_rungs_that_each_move_a_knob_of_their_own_say_nothing() -> None:
    assert _notices(_run(), _run(trainer__nnodes=4), _run(trainer__nnodes=4, trainer__test_freq=10)) == []


def test_a_knob_that_is_moved_back_is_told() -> None:
    up, more, down = _run(trainer__nnodes=4), _run(trainer__nnodes=4, trainer__test_freq=10), _run(trainer__test_freq=10)
    assert _notices(_run(), up, more, down) == [
        "change 3 of the ladder moves trainer.nnodes back to 2, from which change 1 had moved it: the rungs do not add up"
    ]


def test_a_knob_that_two_rungs_move_is_told() -> None:
    (message,) = _notices(_run(), _run(trainer__nnodes=4), _run(trainer__nnodes=8))
    assert message == "changes 1 and 2 of the ladder both move trainer.nnodes: it is no rung of its own"


def test_a_sweep_declares_its_one_knob() -> None:
    assert declared_changes("sweep", ["work"], "rollout.n") == ("rollout.n",)
    assert declared_changes("sweep", ["work"], None) == ("work",)
    assert declared_changes("ladder", ["work"], "rollout.n") == ("work",)
    both = {"actor_rollout_ref__rollout__n": 4, "data__train_batch_size": 8}
    swept = compare_config(_run(), _run(**both), declared=declared_changes("sweep", ["work"], "rollout.n"))
    assert swept.verdict == "undeclared"
    assert compare_config(_run(), _run(**both), declared=["work"]).verdict == "single"
