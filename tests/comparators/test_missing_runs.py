"""Which runs a change of several classes lacks."""

from __future__ import annotations

from typing import Any

from rlreport.comparators.missing_runs import missing_runs
from rlreport.comparators.results import ABSENT, Change, KnobDifference
from rlreport.run.knobs import KnobClass


def moved(key: str, knob_class: KnobClass, before: Any = 1, after: Any = 2, **more: Any) -> KnobDifference:
    return KnobDifference(key, key.upper(), knob_class, before, after, True, **more)


def change(*differences: KnobDifference) -> Change:
    return Change("confounded", (), differences, differences, (), (), 0, len(differences))


def test_one_class_lacks_nothing() -> None:
    assert missing_runs(change(moved("a", "work"), moved("b", "work")), "r") == ()
    assert missing_runs(change(), "r") == ()


def test_two_classes_lack_the_run_with_the_earlier_one_alone() -> None:
    (missing,) = missing_runs(change(moved("w", "work"), moved("n", "resources", 8, 16)), "r8")
    assert (missing.like, missing.adds, missing.classes) == ("r8", "resources", ("resources",))
    assert [(s.key, s.label, s.before, s.after, s.follows) for s in missing.settings] == [("n", "N", 8, 16, None)]


def test_three_classes_lack_two_runs_each_with_one_class_more() -> None:
    first, second = missing_runs(change(moved("s", "off-policy"), moved("w", "work"), moved("n", "resources")), "r")
    assert (first.adds, second.adds) == ("resources", "work")
    assert [s.key for s in first.settings] == ["n"]
    assert [s.key for s in second.settings] == ["n", "w"]
    assert second.classes == ("resources", "work")


def test_what_follows_moves_with_its_lead_also_across_classes() -> None:
    differences = (
        moved("batch", "work", coupled_by="sync"),
        moved("sync", "sync"),
        moved("copy", "engine", coupled_by="batch"),
        moved("n", "resources"),
    )
    (missing,) = missing_runs(change(*differences), "r")
    assert [s.key for s in missing.settings] == ["n"]
    swapped = (moved("n", "resources"), moved("total", "engine", coupled_by="n"), moved("w", "work"))
    (missing,) = missing_runs(change(*swapped), "r")
    assert [(s.key, s.follows) for s in missing.settings] == [("n", None), ("total", "n")]


def test_knobs_that_follow_each_other_end() -> None:
    differences = (
        moved("a", "work", coupled_by="b"),
        moved("b", "sync", coupled_by="a"),
        moved("n", "resources"),
        moved("s", "off-policy"),
    )
    (missing,) = missing_runs(change(*differences), "r")
    assert [s.key for s in missing.settings] == ["n"]


def test_what_is_waived_stays_as_it_was() -> None:
    assert missing_runs(change(moved("n", "resources", waived="a label"), moved("w", "work")), "r") == ()


def test_a_key_that_goes_away_is_kept_as_absent() -> None:
    (missing,) = missing_runs(change(moved("n", "resources", 1, ABSENT), moved("w", "work")), "r")
    assert missing.settings[0].after is ABSENT
