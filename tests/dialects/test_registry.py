from __future__ import annotations

import pytest
from support.raw_runs import SYNC_CONFIG, raw_run, timed_row

from rlreport.dialects import interpret_run
from rlreport.dialects.generic import GenericDialect
from rlreport.dialects.verl import VerlDialect
from rlreport.run.diagnostics import RlreportError
from rlreport.run.model import RunDeclaration
from rlreport.run.raw import SourceFacts

TABLE = {1: {"time.step_s": 10.0, "work.tokens": 500.0, "my/own": 1.0}, 2: {"time.step_s": 11.0, "work.tokens": 600.0}}


def test_a_verl_run_is_recognised() -> None:
    dialect = VerlDialect()
    assert dialect.recognises(raw_run({1: timed_row()}))
    assert dialect.recognises(raw_run({}, dict(SYNC_CONFIG)))
    assert dialect.recognises(raw_run({}, facts=SourceFacts(hints={"actor:TaskRunnerV1"})))
    assert not dialect.recognises(raw_run(TABLE))
    assert not dialect.recognises(raw_run({1: {"actor/pg_loss": 0.1}}))


def test_unrecognised_runs_are_generic() -> None:
    run = interpret_run(raw_run(TABLE), RunDeclaration("r", label="R", trainer_devices=4, rollout_devices=2, group="g"))
    assert (run.framework, run.mode, run.label, run.group) == ("generic", "unknown", "R", "g")
    assert sorted(run.steps.columns) == ["time.step_s", "work.tokens"]
    assert run.steps["work.tokens"].tolist() == [500.0, 600.0]
    assert list(run.steps.index) == [1, 2]
    assert run.steps.index.name == "step"
    assert "my/own" in run.raw.columns
    assert run.devices.total == 6
    assert run.notices == ()


def test_a_table_without_canonical_names_is_told() -> None:
    run = interpret_run(raw_run({1: {"loss": 1.0}}, wall_s={1: 1_785_000_100.0}), RunDeclaration("r"))
    assert [notice.code for notice in run.notices] == ["RR301"]
    assert run.framework == "unknown"
    assert "loss" in run.raw.columns
    assert run.devices.total is None
    assert not GenericDialect().recognises(raw_run({1: {"loss": 1.0}}))


def test_the_declared_framework_is_taken() -> None:
    assert interpret_run(raw_run({1: timed_row()}), RunDeclaration("r", framework="generic")).framework == "generic"
    assert interpret_run(raw_run(TABLE), RunDeclaration("r", framework="verl")).framework == "verl"


def test_a_framework_without_a_dialect_is_one_diagnostic() -> None:
    with pytest.raises(RlreportError) as caught:
        interpret_run(raw_run(TABLE), RunDeclaration("r", framework="vrel"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR302"
    assert diagnostic.hint == "did you mean 'verl'?"


def test_the_first_dialect_that_recognises_a_run_reads_it() -> None:
    class Second(GenericDialect):
        name = "second"

    assert interpret_run(raw_run(TABLE), RunDeclaration("r"), [VerlDialect(), Second()]).framework == "second"
