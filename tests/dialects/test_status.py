from __future__ import annotations

import pytest
from support.raw_runs import raw_run

from rlreport.dialects.status import judge_status
from rlreport.run.raw import SourceFacts

ROWS = {step: {"timing_s/step": 1.0} for step in range(1, 6)}  # lines 10 to 14


def test_planned_steps_reached_in_spite_of_tracebacks_and_exit_code() -> None:
    facts = SourceFacts(tracebacks=2, first_error=(99, "RuntimeError: DataLoader worker is killed"), exit_code=1)
    status, reason = judge_status(raw_run(ROWS, facts=facts), 5)
    assert status == "completed"
    assert "step 5 of 5" in reason
    assert "exit code 1 came after" in reason
    assert "2 tracebacks" in reason


@pytest.mark.parametrize(
    "facts", [SourceFacts(progress=(870, 870)), SourceFacts(final_validation=True), SourceFacts(exit_code=0)]
)
def test_each_sign_of_an_end_is_enough(facts: SourceFacts) -> None:
    assert judge_status(raw_run(ROWS, facts=facts), None)[0] == "completed"


def test_an_exit_code_that_is_not_zero_is_a_crash() -> None:
    facts = SourceFacts(exit_code=1, progress=(5, 9), first_error=(99, "ValueError: x"))
    status, reason = judge_status(raw_run(ROWS, facts=facts), None)
    assert status == "crashed"
    assert "step logged is 5 of 9" in reason
    assert "ValueError: x" in reason


@pytest.mark.parametrize(("code", "word"), [(137, "SIGKILL"), (143, "SIGTERM"), (124, "time limit"), (130, "SIGINT")])
def test_a_signal_is_a_kill(code: int, word: str) -> None:
    status, reason = judge_status(raw_run(ROWS, facts=SourceFacts(exit_code=code)), 9)
    assert status == "killed"
    assert word in reason


def test_an_error_after_the_last_step_is_a_crash() -> None:
    assert judge_status(raw_run(ROWS, facts=SourceFacts(first_error=(15, "OOM"))), 9)[0] == "crashed"


def test_an_error_before_the_last_step_was_survived() -> None:
    status, reason = judge_status(raw_run(ROWS, facts=SourceFacts(first_error=(12, "OOM"))), 9)
    assert status == "killed"
    assert "first error at line 12" in reason


def test_an_error_without_any_step_is_a_crash() -> None:
    status, reason = judge_status(raw_run({}, facts=SourceFacts(first_error=(3, "ValueError: bad"), tracebacks=9)), None)
    assert status == "crashed"
    assert reason == "no step was logged; first error at line 3: ValueError: bad"


def test_a_cut_tail_is_a_kill() -> None:
    status, reason = judge_status(raw_run(ROWS, partial_steps={5: "cut at byte 4096"}), None)
    assert status == "killed"
    assert "its line is cut" in reason


def test_steps_missing_from_the_plan_are_a_kill() -> None:
    assert judge_status(raw_run(ROWS, facts=SourceFacts(progress=(5, 125))), None)[0] == "killed"


def test_silence_is_no_success() -> None:
    assert judge_status(raw_run(ROWS), None)[0] == "unknown"
    assert judge_status(raw_run({}, facts=SourceFacts(exit_code=0)), None)[0] == "unknown"
