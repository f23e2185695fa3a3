from __future__ import annotations

from support.raw_runs import SEPARATE_CONFIG, raw_run, timed_row

from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration

SWITCH = "trainer.v1.separate_async.hybrid_rollout.enable_switch"


def interpreted(switch: bool, **timers: float) -> Run:
    config = {**SEPARATE_CONFIG, SWITCH: switch}
    rows = {step: timed_row(150.0, devices=12, **timers) for step in range(1, 5)}
    return interpret_run(raw_run(rows, config), RunDeclaration("r", framework_version="2026-08-22"))


def lending(run: Run) -> list[str]:
    return [notice.message for notice in run.notices if notice.code == "RR326"]


def test_lent_devices_generate_in_switch_wait_and_idle_in_gen() -> None:
    run = interpreted(True, switch_wait=12.0, switch_to_rollout=1.0)
    (message,) = lending(run)
    assert "in timing_s/switch_wait the Trainer's devices generate" in message
    assert "in timing_s/gen they have been taken back and are idle" in message
    assert "upper bound" not in message
    assert run.steps["time.generate_s"].tolist() == [12.0] * 4
    assert run.steps["time.wait_s"].tolist() == [30.0] * 4
    assert run.steps["time.switch_s"].tolist() == [1.0] * 4


def test_without_the_switch_nothing_is_lent() -> None:
    assert lending(interpreted(False)) == []


def test_the_log_tells_of_lending_where_the_configuration_is_not_known() -> None:
    rows = {1: timed_row(150.0, devices=12, switch_wait=12.0)}
    run = interpret_run(raw_run(rows, SEPARATE_CONFIG), RunDeclaration("r"))
    assert len(lending(run)) == 1
