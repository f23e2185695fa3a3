from __future__ import annotations

from dataclasses import replace

import pytest
from support.made_findings import context_of, example_run, steady_run

from rlreport.findings.schedule import checkpoint_gaps, checkpoint_stall, divisibility, validation_gaps
from rlreport.run.knobs import Invariant, KnobRules

NAN = float("nan")


def every(period: int, seconds: float, steps: int = 40) -> list[float]:
    return [seconds if (step + 1) % period == 0 else NAN for step in range(steps)]


def test_validation_is_told_with_its_period_and_its_share() -> None:
    # 8 validations of 50 s beside 40 steps of 100 s: 400 of 4,400 s.
    run = steady_run({"time.validate_s": every(5, 50.0)}, {"trainer.test_freq": 5})
    found = validation_gaps(context_of(run))
    assert found is not None and found.action is not None
    assert found.title == "Validation takes 9.1 % of the wall time"
    assert "trainer.test_freq = 5" in found.body
    assert found.action.gain_bound == pytest.approx(4400 / 4000)
    assert "trainer.test_freq=10" in found.fragment


def test_a_short_validation_is_no_finding() -> None:
    assert validation_gaps(context_of(steady_run({"time.validate_s": every(5, 20.0)}))) is None


def test_in_fully_async_mode_the_trainer_can_validate() -> None:
    found = validation_gaps(context_of(example_run("qwen3.5-35b/s05")))
    assert found is not None and found.action is not None
    assert found.action.knob == "async_training.use_trainer_do_validate"
    assert "use_trainer_do_validate=true" in found.fragment


def test_a_stalled_checkpoint_is_found_outside_of_the_window() -> None:
    step_s, checkpoint_s = [100.0] * 40, every(10, 30.0)
    step_s[19], checkpoint_s[19] = 5100.0, 5000.0
    found = checkpoint_stall(context_of(steady_run({"time.step_s": step_s, "time.checkpoint_s": checkpoint_s})))
    assert found is not None and found.action is not None
    assert found.title == "A checkpoint stalled for 1 h 23 min, logged with step 20"
    assert "30.0 s in the middle" in found.body
    assert found.action.gain_bound is None


def test_a_usual_checkpoint_is_no_stall_and_a_long_one_is_a_gap() -> None:
    # Four steps of 200 s with 100 s of checkpoint among 36 of 100 s: 400 of 4,400 s.
    step_s = [200.0 if (step + 1) % 10 == 0 else 100.0 for step in range(40)]
    context = context_of(steady_run({"time.step_s": step_s, "time.checkpoint_s": every(10, 100.0)}))
    assert checkpoint_stall(context) is None
    found = checkpoint_gaps(context)
    assert found is not None and found.action is not None
    assert found.action.gain_bound == pytest.approx(4400 / 4000)


def test_a_stall_is_no_share_of_the_usual_checkpoints() -> None:
    step_s, checkpoint_s = [100.0] * 40, every(10, 30.0)
    step_s[19], checkpoint_s[19] = 5100.0, 5000.0
    assert checkpoint_gaps(context_of(steady_run({"time.step_s": step_s, "time.checkpoint_s": checkpoint_s}))) is None


RULES = KnobRules(
    invariants=(
        Invariant("equal shares of a batch", "check", "batch % replicas == 0", ("sync",), "made", otherwise="some wait"),
    )
)


@pytest.mark.parametrize(("batch", "told"), [(64, False), (65, True), (1601, False)])
def test_what_does_not_divide_is_told_when_it_matters(batch: int, told: bool) -> None:
    # 65 over 16: the fullest has 5 where the mean is 4.06. 1,601 over 16: 101 where the mean is 100.06.
    run = replace(steady_run({}, {"batch": batch, "replicas": 16}, mode="sync"), knob_rules=RULES)
    found = divisibility(context_of(run))
    assert (found is not None) is told
    if found is not None:
        assert "65 mod 16 is 1, not 0: some wait" in found.body
