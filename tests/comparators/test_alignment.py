from __future__ import annotations

import numpy as np
from support.made_runs import make_run

from rlreport.comparators.alignment import align, prompts_a_step
from rlreport.run.model import Run

NAN = float("nan")


def run(*prompts: float, first_step: int = 1, label: str = "a") -> Run:
    return make_run(
        {"time.step_s": np.full(len(prompts), 10.0), "work.prompts": prompts}, first_step=first_step, label=label
    )


def test_equal_batches_are_aligned_by_step() -> None:
    found = align([run(64, 64, 64), run(64, 65, 64)])
    assert (found.unit, found.equal_steps, found.notices) == ("steps", True, ())
    assert found.places[0].begin == {1: 0.0, 2: 1.0, 3: 2.0}
    assert found.places[0].end == {1: 1.0, 2: 2.0, 3: 3.0}


def test_other_batches_are_aligned_by_prompts() -> None:
    found = align([run(64, 64), run(128, 128)], ("baseline", "variant"))
    assert (found.unit, found.equal_steps) == ("prompts", False)
    assert found.places[0].end == {1: 64.0, 2: 128.0}
    assert found.places[1].end == {1: 128.0, 2: 256.0}
    message = found.notices[0].message
    assert message.startswith("a step of the baseline trains on 64.0 prompts, one of the variant on 128: ")
    assert "other parameter versions" in message


def test_a_log_that_starts_late_has_typical_steps_before_it() -> None:
    found = align([run(64, 64), run(128, 128, first_step=4)])
    assert found.places[1].begin[4] == 3 * 128
    assert found.places[1].end[5] == 5 * 128


def test_unknown_prompts_are_aligned_by_step_for_all() -> None:
    found = align([run(64), run(NAN), run(128)])
    assert (found.unit, found.equal_steps) == ("steps", False)
    assert found.notices[0].message.startswith("prompts a step are not known for all runs")


def test_the_typical_step_ignores_what_is_missing() -> None:
    assert prompts_a_step(run(64, NAN, 0, 64, 512)) == 64
    assert prompts_a_step(run(NAN)) is None
