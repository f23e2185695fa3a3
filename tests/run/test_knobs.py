from __future__ import annotations

from rlreport.run.knobs import Condition, Invariant, KnobRow, KnobRules

RULES = KnobRules(
    rows=(
        KnobRow("trainer.nnodes", "resources", "nodes", "nodes", defaults=(1,)),
        KnobRow("data.**", "workload", "data", kind="files"),
        KnobRow("**.size", "work", "size"),
    )
)


def test_an_added_row_wins_where_both_are_as_specific() -> None:
    rules = RULES.with_rows([KnobRow("**.SIZE".lower(), "sync", "")])
    assert rules.knob("a.size").knob_class == "sync"
    other = RULES.with_rows([KnobRow("a.b.si*", "sync", "mine")])
    assert other.knob("a.b.size").label == "mine"
    assert RULES.knob("a.b.size").label == "size"
    assert other.knob("c.size").knob_class == "work"


def test_a_known_pattern_is_replaced_in_its_place_and_keeps_what_is_not_given() -> None:
    rules = RULES.with_rows([KnobRow("trainer.nnodes", "identity", ""), KnobRow("data.**", "engine", "files")])
    assert [row.pattern for row in rules.rows] == [row.pattern for row in RULES.rows]
    assert rules.rows[0] == KnobRow("trainer.nnodes", "identity", "nodes", "nodes", defaults=(1,))
    assert rules.rows[1] == KnobRow("data.**", "engine", "files", kind="files")


def test_a_new_row_without_a_label_is_called_by_the_end_of_its_key() -> None:
    rules = RULES.with_rows([KnobRow("my.trainer.prefetch", "work", "")])
    assert rules.knob("my.trainer.prefetch").label == "trainer.prefetch"
    assert rules.rank("my.trainer.prefetch") < rules.rank("trainer.nnodes")
    assert RULES.with_rows([]) == RULES


def test_an_invariant_speaks_of_its_modes_and_conditions() -> None:
    invariant = Invariant("n", "check", "a == b", ("sync",), "s", (Condition("kind", ("x", None)),))
    assert invariant.speaks_of({"kind": "x"}, "sync")
    assert invariant.speaks_of({}, "sync")
    assert not invariant.speaks_of({"kind": "y"}, "sync")
    assert not invariant.speaks_of({"kind": "x"}, "fully_async")
