from __future__ import annotations

from support.made_runs import make_run
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_table import with_knobs
from rlreport.dialects import interpret_run
from rlreport.run.knobs import KnobRow
from rlreport.run.model import RunDeclaration


def test_a_key_of_ones_own_gets_a_class_in_any_framework() -> None:
    rows = (KnobRow("my.prefetch", "work", "prefetched batches"), KnobRow("my.note", "identity", ""))
    left, right = (make_run({}, config={"my.prefetch": value, "my.note": f"n{value}"}) for value in (1, 2))
    assert compare_config(left, right, declared=["work"]).classes == ("algorithm",)  # strictly read without a table
    known = [with_knobs(run, rows) for run in (left, right)]
    change = compare_config(*known, declared=["work"])
    assert change.verdict == "single"
    assert [d.label for d in change.differences] == ["prefetched batches"]
    assert [d.key for d in change.identity] == ["my.note"]
    assert list(known[0].knobs) == ["my.prefetch"]


def test_a_known_key_can_get_another_class() -> None:
    run = interpret_run(raw_run({1: timed_row()}, SYNC_CONFIG), RunDeclaration("r"))
    assert with_knobs(run, ()) is run
    moved = with_knobs(run, [KnobRow("trainer.save_freq", "identity", "")])
    assert "trainer.save_freq" in run.knobs
    assert "trainer.save_freq" not in moved.knobs
    assert moved.knob_rules.knob("trainer.save_freq").label == run.knob_rules.knob("trainer.save_freq").label
