from __future__ import annotations

import math
from typing import Any

import pytest
from support.made_runs import make_run

from rlreport.comparators.idle import measure_idle
from rlreport.comparators.results import SteadyState

WINDOW = SteadyState("flat", 1, 2, (1, 2), None, ())


def columns(**more: list[float]) -> dict[str, Any]:
    return {"time.step_s": [10.0, 30.0, 5.0], **{name.replace("__", "."): values for name, values in more.items()}}


def test_trainer_idle_is_a_ratio_of_sums_over_the_window() -> None:
    idle = measure_idle(make_run(columns(time__wait_s=[1.0, 9.0, 5.0])), WINDOW)
    assert idle.trainer.fraction == pytest.approx(10 / 40)
    assert idle.rollout.fraction is None
    assert idle.owner == "unknown"
    assert [notice.code for notice in idle.notices] == ["RR431"]


@pytest.mark.parametrize(
    ("reported", "owner"), [([0.6, 0.6], "rollout"), ([0.0, 0.1], "trainer"), ([0.25, 0.27], "neither")]
)
def test_the_owner_is_the_side_that_idles_more(reported: list[float], owner: str) -> None:
    run = make_run(columns(time__wait_s=[1.0, 9.0, 5.0], idle__rollout_reported=[*reported, math.nan]))
    assert measure_idle(run, WINDOW).owner == owner


def test_sides_on_the_same_devices_own_no_bubble() -> None:
    idle = measure_idle(make_run(columns(time__generate_s=[1.0, 9.0, 5.0]), mode="sync"), WINDOW)
    assert (idle.trainer.fraction, idle.rollout.fraction, idle.owner) == (None, None, "neither")


def test_an_unknown_mode_knows_only_a_wait_that_is_declared_as_such() -> None:
    silent = measure_idle(make_run(columns(time__generate_s=[1.0, 9.0, 5.0]), mode="unknown"), WINDOW)
    assert (silent.trainer.fraction, silent.owner) == (None, "unknown")
    declared = measure_idle(make_run(columns(time__wait_s=[1.0, 9.0, 5.0]), mode="unknown"), WINDOW)
    assert declared.trainer.fraction == pytest.approx(10 / 40)
    assert declared.owner == "unknown"


def test_an_empty_window_is_not_a_missing_timer() -> None:
    nothing = SteadyState("none", None, None, (), None, ())
    idle = measure_idle(make_run(columns(time__wait_s=[1.0, 9.0, 5.0])), nothing)
    assert idle.trainer.source == "no step lies in the window"


def test_without_a_timer_the_wait_is_unknown() -> None:
    assert measure_idle(make_run(columns()), WINDOW).trainer.fraction is None
