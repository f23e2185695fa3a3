from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_runs import make_run

from rlreport.comparators.course import Course, follow_course, follow_run
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.model import Run


def run(seed: int, *, speed: float = 1.0, **columns: Any) -> Run:
    rng = np.random.default_rng(seed)
    time_s = 100 * np.exp(0.03 * rng.normal(size=80)) / speed
    base = {
        "time.step_s": time_s,
        "clock.wall_s": 100 + np.cumsum(time_s + 5),
        "work.tokens": np.full(80, 10_000.0),
        "work.prompts": np.full(80, 64.0),
        "quality.reward_mean": np.linspace(0.1, 0.8, 80) + 0.01 * rng.normal(size=80),
        "quality.entropy": np.linspace(1.0, 0.1, 80),
    }
    return make_run({**base, **columns}, run_id=f"r{seed}", label=f"r{seed}")


def follow(baseline: Run, variant: Run, **options: Any) -> Course:
    windows = common_window(baseline, find_steady_state(baseline), variant, find_steady_state(variant))
    return follow_course(baseline, variant, compare_throughput(baseline, variant, *windows), **options)


def test_a_course_has_every_part_that_the_logs_tell() -> None:
    found = follow(run(1), run(2, speed=1.5), margins={"quality.reward_mean": 0.02}, targets={"quality.reward_mean": 0.5})
    assert found.horizon is not None
    assert found.wall_clock is not None
    assert [budget.basis for budget in found.budgets] == ["samples", "hours", "device-hours"]
    assert {budget.margin for budget in found.budgets} == {0.02}
    assert [target.baseline.target for target in found.targets] == [0.5]
    assert found.targets[0].hours_ratio == pytest.approx(1.5, rel=0.05)
    assert [signal.metric for signal in found.signals] == ["quality.entropy"]
    assert [notice.code for notice in found.notices] == ["RR466", "RR468", "RR479", "RR479"]


def test_a_course_of_runs_that_tell_nothing_is_empty() -> None:
    bare = make_run({"time.step_s": [10.0] * 12})
    found = follow(bare, bare)
    assert found.wall_clock is None
    assert found.budgets == found.targets == found.signals == ()
    assert found.horizon is not None  # steps per hour
    nothing = make_run({})
    assert follow(nothing, nothing) == Course()


def test_a_single_run_is_followed_too() -> None:
    found = follow_run(one := run(1), find_steady_state(one), targets={"quality.reward_mean": 2.0})
    assert found.wall_clock is not None
    assert found.wall_clock.losses["start-up"] == pytest.approx(105.0)
    assert not found.targets[0].reached
    assert len(found.signals) == 1
    nothing = make_run({})
    assert follow_run(nothing, find_steady_state(nothing)).wall_clock is None
