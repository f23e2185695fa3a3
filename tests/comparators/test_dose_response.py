"""Waiting and accuracy of a dose, and where waiting stops falling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_chains import made
from support.made_series import balanced

from rlreport.comparators.dose_response import Waiting, accuracy_course, levels_off, measure_waiting
from rlreport.comparators.results import SteadyState
from rlreport.run.estimate import Estimate
from rlreport.stats.means import Mean


def window(first: int, last: int) -> SteadyState:
    return SteadyState("flat", first, last, tuple(range(first, last + 1)), None, ())


def test_waiting_is_a_ratio_of_sums_and_a_mean() -> None:
    rng = np.random.default_rng(5)
    wait, step = 20 + 2 * balanced(rng, 60), 100 + 5 * balanced(rng, 60)
    run = made("r", steps=60, columns={"time.wait_s": wait, "time.step_s": step})
    found = measure_waiting(run, window(2, 61))
    assert found.share.estimate == pytest.approx(wait.sum() / step.sum())
    assert found.seconds.estimate == pytest.approx(wait.mean())
    half = stats.t.ppf(0.975, 59) * wait.std(ddof=1) / math.sqrt(60)
    assert (found.seconds.ci_low, found.seconds.ci_high) == pytest.approx((wait.mean() - half, wait.mean() + half))
    assert found.share.ci_low is not None and found.share.ci_low < 0.2 < (found.share.ci_high or 0)
    assert found.step_s == pytest.approx(step.mean())


def test_only_steps_of_the_window_that_log_waiting_count() -> None:
    wait = np.full(60, 10.0)
    wait[:20] = 90.0
    wait[30] = np.nan
    run = made("r", steps=60, noise=0.0, columns={"time.wait_s": wait})
    assert measure_waiting(run, window(22, 61)).seconds.estimate == pytest.approx(10.0)


@pytest.mark.parametrize("more", [{"wait": None}, {"mode": "sync"}, {"mode": "unknown"}])
def test_waiting_that_is_not_logged_is_unknown(more: dict[str, Any]) -> None:
    found = measure_waiting(made("r", steps=60, **more), window(2, 61))
    assert (found.share.estimate, found.seconds.estimate, found.mean) == (None, None, None)


def test_no_waiting_and_few_steps_have_no_interval() -> None:
    never = measure_waiting(made("r", steps=60, columns={"time.wait_s": np.zeros(60)}), window(2, 61))
    assert (never.share, never.seconds) == (Estimate(0.0, None, None, ""), Estimate(0.0, None, None, "s"))
    few = measure_waiting(made("r", steps=60), window(2, 5))
    assert few.share.estimate is not None
    assert few.share.ci_low is None


def waits(*means: float, error: float = 0.1, step_s: float = 100.0) -> list[Waiting]:
    blank = Estimate.unknown("s")
    return [Waiting(blank, blank, Mean(mean, error, 100.0), step_s) for mean in means]


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ((25.0, 5.0, 5.1), "b"),  # falls to b, then no further
        ((25.0, 5.0, 3.0), "b"),  # 2 s of a step of 100 s are less than the margin of 5 %
        ((25.0, 15.0, 5.0), None),  # still falls
        ((25.0, 15.0, 5.0, 5.0), "c"),
        ((5.0, 5.0, 5.0), None),  # never fell
        ((5.0, 8.0, 8.0), None),  # rises
        ((25.0, 5.0), None),  # two doses show no level
    ],
)
def test_waiting_levels_off_where_no_higher_dose_waits_less(means: tuple[float, ...], expected: str | None) -> None:
    assert levels_off(waits(*means), "abcd"[: len(means)], 0.05) == expected  # type: ignore[arg-type]


def test_levelling_off_is_decided_by_interval() -> None:
    # From b to c waiting falls by 3 s at most by estimate, but by 3 + 1.98 x sqrt(2) x 1.5 = 7.2 s by interval.
    assert levels_off(waits(25.0, 5.0, 2.0, error=1.5), "abc", 0.05) is None
    assert levels_off(waits(25.0, 5.0, 2.0, error=0.5), "abc", 0.05) == "b"


def test_an_unknown_dose_leaves_the_level_unknown() -> None:
    unknown = Waiting(Estimate.unknown(""), Estimate.unknown("s"), None, None)
    assert levels_off([*waits(25.0, 5.0), unknown], "abc", 0.05) is None


@pytest.mark.parametrize(
    ("late", "course"), [(0.02, "rising"), (-0.02, "falling"), (0.0, "no-trend")], ids=["rising", "falling", "flat"]
)
def test_accuracy_is_judged_by_its_second_half(late: float, course: str) -> None:
    wobble = [0.002 * (-1) ** k for k in range(12)]
    values = [0.1 + 0.05 * min(k, 6) + late * max(k - 6, 0) + wobble[k] for k in range(12)]
    assert accuracy_course(made("r", accuracy=values), window(2, 121)) == course


def test_few_evaluations_or_none_tell_no_course() -> None:
    assert accuracy_course(made("r"), window(2, 121)) == "unknown"
    rising = [0.1 + 0.05 * k for k in range(12)]
    assert accuracy_course(made("r", accuracy=rising), window(2, 61)) == "unknown"  # six of them lie in the window
    assert accuracy_course(made("r", accuracy=rising), SteadyState("none", None, None, (), None, ())) == "unknown"
