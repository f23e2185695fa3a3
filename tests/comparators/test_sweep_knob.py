"""Which knob a sweep doses, its doses in order, and whether anything else moved."""

from __future__ import annotations

from typing import Any

import pytest
from support.made_chains import BUDGET, MINI_BATCH, NODES, RULES, STALENESS, SYNC_STEP, WARM_UP, analysed, made

from rlreport.comparators.results import ABSENT
from rlreport.comparators.sweep_knob import DosedKnob, find_dosed_knob
from rlreport.run.knobs import Invariant, KnobRules


def dosed(*configs: dict[str, Any], knob: str | None = None, changes: tuple[str, ...] = ("off-policy", "work")) -> DosedKnob:
    runs = [made(f"r{place}", steps=12, seed=place + 1, config=config) for place, config in enumerate(configs)]
    return find_dosed_knob(analysed(runs, "sweep", changes), knob)


def test_the_one_knob_that_differs_is_the_dose() -> None:
    found = dosed({STALENESS: 0.5}, {STALENESS: 0.7}, {STALENESS: 0.3})
    assert (found.key, found.label, found.ordered, found.problems) == (STALENESS, "staleness threshold", True, ())
    assert [(dose.run_id, dose.value, dose.number) for dose in found.doses] == [
        ("r2", 0.3, 0.3),
        ("r0", 0.5, 0.5),
        ("r1", 0.7, 0.7),
    ]


@pytest.mark.parametrize("name", [STALENESS, "staleness_threshold", "async_training.*"])
def test_a_declared_knob_may_be_the_end_of_a_key_or_a_pattern(name: str) -> None:
    assert dosed({STALENESS: 0.3}, {STALENESS: 0.5}, knob=name).key == STALENESS


def test_doses_written_as_text_are_numbers() -> None:
    found = dosed({STALENESS: "0.3"}, {STALENESS: "1e-1"})
    assert [dose.number for dose in found.doses] == [0.1, 0.3]


def test_another_knob_that_moved_is_told_with_its_run() -> None:
    found = dosed({STALENESS: 0.3}, {STALENESS: 0.5}, {STALENESS: 0.7, NODES: 2}, knob="staleness_threshold")
    assert found.key == STALENESS
    assert [(entry.run_id, [d.key for d in entry.differences]) for entry in found.besides] == [("r2", [NODES])]
    assert found.problems == ("in run r2 Trainer nodes (1 → 2) moved too",)


def test_without_a_declared_knob_the_one_that_moves_everywhere_is_meant() -> None:
    found = dosed({STALENESS: 0.3}, {STALENESS: 0.5}, {STALENESS: 0.7, NODES: 2})
    assert found.key == STALENESS
    assert len(found.problems) == 1


def test_changes_may_name_the_knob() -> None:
    found = dosed({STALENESS: 0.3, NODES: 1}, {STALENESS: 0.5, NODES: 2}, changes=("staleness_threshold",))
    assert found.key == STALENESS
    assert found.problems == ("in run r1 Trainer nodes (1 → 2) moved too",)


def test_two_knobs_that_move_together_leave_the_dose_unknown() -> None:
    found = dosed({STALENESS: 0.3, NODES: 1}, {STALENESS: 0.5, NODES: 2})
    assert (found.key, found.label, found.ordered) == (None, None, False)
    (problem,) = found.problems
    assert STALENESS in problem
    assert NODES in problem
    assert "name it as `knob`" in problem


def test_nothing_that_differs_is_no_sweep() -> None:
    assert dosed({}, {}).problems == ("no knob differs between the runs",)


def test_a_declared_knob_that_nobody_has_is_told() -> None:
    found = dosed({STALENESS: 0.3}, {STALENESS: 0.5}, knob="no.such.knob")
    assert found.key is None
    assert "'no.such.knob'" in found.problems[0]


def test_a_declared_knob_that_did_not_move_is_told() -> None:
    found = dosed({STALENESS: 0.3}, {STALENESS: 0.3, WARM_UP: 2}, knob="staleness_threshold")
    assert found.key == STALENESS
    assert [dose.number for dose in found.doses] == [0.3, 0.3]
    assert found.problems == ("in run r1 batches generated ahead (1 → 2) moved too", "run r0 and run r1 have the same dose")


def test_an_unknown_configuration_is_told() -> None:
    blank = made("b", steps=12)
    object.__setattr__(blank, "config", {})
    found = find_dosed_knob(analysed([made("a", steps=12), blank], "sweep", ("work",)))
    assert len(found.problems) == 1
    assert "run b" in found.problems[0]


def test_words_have_no_order() -> None:
    found = dosed({STALENESS: "nccl"}, {STALENESS: "naive"})
    assert found.key == STALENESS
    assert not found.ordered
    assert [dose.value for dose in found.doses] == ["nccl", "naive"]


def test_a_dose_that_is_not_set_is_absent_and_has_no_number() -> None:
    found = dosed({}, {STALENESS: 0.5})
    assert [(dose.value, dose.number) for dose in found.doses] == [(ABSENT, None), (0.5, 0.5)]
    assert not found.ordered


def test_booleans_are_no_numbers() -> None:
    assert [dose.number for dose in dosed({STALENESS: True}, {STALENESS: False}).doses] == [None, None]


def test_what_follows_from_the_dose_belongs_to_it() -> None:

    tie = Invariant(
        "train batch", "holds", f"{SYNC_STEP} * {MINI_BATCH} == data.train_batch_size", ("separate_async",), "made"
    )
    rules = KnobRules(rows=RULES.rows, invariants=(tie,))
    runs = [
        made(f"r{step}", steps=12, config={SYNC_STEP: step, "data.train_batch_size": 16 * step, BUDGET: 10_240})
        for step in (2, 4, 8)
    ]
    for run in runs:
        object.__setattr__(run, "knob_rules", rules)
    for knob in (SYNC_STEP, "data.train_batch_size"):
        found = find_dosed_knob(analysed(runs, "sweep", (knob,)), knob)
        assert (found.key, found.problems) == (knob, ())
