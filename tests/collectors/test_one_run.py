from __future__ import annotations

import pytest
from support.raw_runs import raw_run

from rlreport.collectors import require_one_run
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import ConfigValue, RawRun, SourceTable, StepRow


def job(name: str, *, first: int = 1, format: str = "verl-console", **config: object) -> SourceTable:
    values = {f"key.{index}": ConfigValue(index, name) for index in range(10)}
    values |= {key.replace("__", "."): ConfigValue(value, name) for key, value in config.items()}
    rows = [StepRow(step, {"timing_s/step": 1.0}) for step in range(first, first + 3)]
    return SourceTable(path=name, format=format, rows=rows, config=values)


def run_of(*tables: SourceTable) -> RawRun:
    from dataclasses import replace

    return replace(raw_run({1: {"timing_s/step": 1.0}}), sources=tables)


OTHER = {f"key__{index}": "other" for index in range(8)}


def test_jobs_of_different_configurations_that_train_the_same_steps_are_two_runs() -> None:
    with pytest.raises(RlreportError) as caught:
        require_one_run(run_of(job("a"), job("b", **OTHER)))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, caught.value.exit_code) == ("RR214", 3)
    assert "8 configuration values differ, such as key.0" in diagnostic.message


def test_a_restart_a_continuation_and_another_view_are_one_run() -> None:
    require_one_run(run_of(job("a"), job("b", trainer__experiment_name="again")))
    require_one_run(run_of(job("a"), job("b", first=4, **OTHER)))
    require_one_run(run_of(job("a"), job("b", format="tensorboard", **OTHER)))
