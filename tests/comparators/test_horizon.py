from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_runs import make_run
from support.made_series import autoregressive

from rlreport.comparators.horizon import Horizon, speed_by_horizon
from rlreport.comparators.horizon_sides import edges_along
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.model import Run


def arm(n: int = 120, *, seed: int = 1, speed: Any = 1.0, cv: float = 0.03, phi: float = 0.0, **more: Any) -> Run:
    """About 100 s, 10,000 tokens and 64 prompts a step."""
    rng = np.random.default_rng(seed)
    time_s = 100 * np.exp(cv * autoregressive(rng, n, phi)) / speed
    columns = {"time.step_s": time_s, "work.tokens": np.full(n, 10_000.0), "work.prompts": np.full(n, 64.0)}
    return make_run({**columns, **more.pop("columns", {})}, **more)


def along(baseline: Run, variant: Run) -> Horizon:
    windows = common_window(baseline, find_steady_state(baseline), variant, find_steady_state(variant))
    found = speed_by_horizon(baseline, variant, compare_throughput(baseline, variant, *windows))
    assert found is not None
    return found


def test_a_constant_speed_up_is_one_number() -> None:
    found = along(arm(), arm(seed=2, speed=1.25))
    assert [(w.begin, w.end) for w in found.windows] == [(0, 30), (30, 60), (60, 90), (90, 120)]
    assert all(w.ci_low is not None and w.ci_low < 1.25 < w.ci_high for w in found.windows)
    assert found.agreement == "agree"
    assert found.notices == ()
    assert "do not differ by more than their noise" in found.sentence
    assert found.last.time_ratio == pytest.approx(1.25, rel=0.01)
    assert found.last.hours_baseline == pytest.approx(120 * 100 / 3600, rel=0.01)
    assert len(found.curve) == 120


def test_a_speed_up_that_grows_is_no_single_number() -> None:
    found = along(arm(), arm(seed=2, speed=np.linspace(1.2, 1.8, 120)))
    assert found.agreement == "differ"
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.sentence.startswith("No single number describes this pair: the ratio is 1.2")
    assert "steps 1 to 30" in found.sentence
    assert "steps 91 to 120" in found.sentence
    assert [notice.code for notice in found.notices] == ["RR465"]
    ratios = [w.ratio for w in found.windows]
    assert ratios == sorted(ratios)


def test_a_difference_at_the_start_alone_is_said_to_be_that() -> None:
    speed = np.where(np.arange(120) < 30, 1.8, 1.25)
    found = along(arm(), arm(seed=2, speed=speed))
    assert found.agreement == "agree after the first"
    assert found.sentence.startswith("The start differs: the ratio is 1.80× in steps 1 to 30")


def test_parts_that_differ_by_less_than_the_margin_are_one_number() -> None:
    found = along(arm(cv=0.001), arm(seed=2, cv=0.001, speed=np.linspace(1.2, 1.22, 120)))
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert found.agreement == "agree"
    assert "less than the margin of 5 %" in found.sentence


def test_few_steps_a_part_have_no_interval_and_no_test() -> None:
    found = along(arm(4, cv=0.0), arm(4, cv=0.0, speed=np.array([1.0, 1.0, 2.0, 2.0])))
    assert [w.ratio for w in found.windows] == pytest.approx([1, 1, 2, 2])
    assert {w.ci_low for w in found.windows} == {None}
    assert (found.agreement, found.p_value) == ("unknown", None)
    assert "in step 1" in found.sentence
    assert "too few steps a window" in found.sentence
    assert found.notices[0].code == "RR465"
    assert along(arm(4, cv=0.0), arm(4, cv=0.0)).notices == ()


def test_parts_of_other_batches_hold_equal_prompts() -> None:
    small = arm(200)
    large = arm(100, columns={"work.prompts": np.full(100, 128.0), "work.tokens": np.full(100, 20_000.0)})
    found = along(small, large)
    assert found.unit == "prompts"
    assert found.windows[-1].end == 12_800
    assert all(abs(w.n_baseline - 2 * w.n_variant) <= 2 for w in found.windows)
    assert found.last.time_ratio == pytest.approx(2.0, rel=0.02)


def test_one_off_steps_leave_the_parts_but_not_the_history() -> None:
    run = arm(cv=0.01)
    stalled = run.steps["time.step_s"].to_numpy().copy()
    stalled[59] = 20_000.0
    other = arm(cv=0.01, columns={"time.step_s": stalled})
    found = along(run, other)
    assert found.windows[1].n_variant == 29
    assert found.windows[1].ratio == pytest.approx(1.0, abs=0.01)
    assert found.windows[1].time_ratio == pytest.approx(3000 / 22_900, rel=0.02)
    assert found.last.ratio == pytest.approx(12_000 / 31_900, rel=0.02)


def test_the_wall_clock_is_used_when_both_runs_have_it() -> None:
    def clocked(speed: float, gap: float, seed: int) -> Run:
        run = arm(cv=0.01, speed=speed, seed=seed)
        wall = np.cumsum(run.steps["time.step_s"].to_numpy() + gap) - 50.0
        return arm(cv=0.01, speed=speed, seed=seed, columns={"clock.wall_s": wall})

    found = along(clocked(1.0, 0.0, 1), clocked(2.0, 50.0, 2))
    assert found.clock == "wall clock"
    assert found.windows[1].ratio == pytest.approx(2.0, rel=0.02)
    assert found.windows[1].time_ratio == pytest.approx(1.0, rel=0.02)
    assert found.last.ratio == pytest.approx(1.0, rel=0.03)
    assert along(clocked(1.0, 0.0, 1), arm(speed=2.0)).clock == "sum of step times"


def test_steps_that_were_not_logged_count_as_typical_ones() -> None:
    run = arm(cv=0.0)
    thinned = run.steps.iloc[::2]
    sparse = make_run({"time.step_s": [1.0]}, run_id="sparse")
    sparse = type(sparse)(**{**{f: getattr(run, f) for f in run.__slots__}, "steps": thinned, "raw": thinned})
    found = along(run, sparse)
    assert found.last.time_ratio == pytest.approx(1.0, rel=1e-6)
    assert found.windows[0].n_variant == 15


def test_longer_responses_are_told_beside_the_ratio() -> None:
    found = along(
        arm(columns={"length.response_mean": np.full(120, 1000.0)}),
        arm(columns={"length.response_mean": np.full(120, 956.0)}),
    )
    assert {w.length_ratio for w in found.windows} == {0.956}
    assert along(arm(), arm()).windows[0].length_ratio is None


def test_less_time_is_not_more_tokens_a_second() -> None:
    # responses of 95.6 %: as many prompts in 1/1.044 of the time are 0.998 of the tokens a second
    short = {"work.tokens": np.full(120, 9_560.0), "length.response_mean": np.full(120, 956.0)}
    found = along(
        arm(cv=0.0, columns={"length.response_mean": np.full(120, 1000.0)}), arm(cv=0.0, speed=1.044, columns=short)
    )
    assert found.last.time_ratio == pytest.approx(1.044)
    assert found.last.ratio == pytest.approx(0.998, abs=0.0005)
    assert found.length_sentence == (
        "The variant needs less time for the same training (the baseline takes 1.044× as long) but makes fewer tokens/s "
        "(0.998×): its responses are 4.4 % shorter."
    )
    assert [notice.code for notice in found.notices] == ["RR469"]
    assert along(arm(), arm(seed=2, speed=1.2)).length_sentence == ""


def test_fewer_devices_are_no_matter_of_length() -> None:
    lengths = {"length.response_mean": np.full(120, 1000.0)}
    found = along(arm(columns=lengths), arm(seed=2, speed=0.9, trainer=2, rollout=2, columns=lengths))
    assert found.last.ratio == pytest.approx(1.8, rel=0.02)
    assert found.length_sentence == ""


def test_runs_without_a_course_have_no_horizon() -> None:
    one = arm(1)
    windows = find_steady_state(one), find_steady_state(one)
    assert speed_by_horizon(one, one, compare_throughput(one, one, *windows)) is None
    late = arm(20, first_step=101)
    early = arm(20)
    apart = find_steady_state(early), find_steady_state(late)
    assert speed_by_horizon(early, late, compare_throughput(early, late, *apart)) is None


@pytest.mark.parametrize(
    ("end", "steps", "edges"),
    [
        (300.0, 300, (0, 50, 100, 150, 200, 250, 300)),
        (125.0, 125, (0, 25, 50, 75, 100, 125)),
        (211.0, 211, (0, 40, 80, 120, 160, 211)),
        (30.0, 30, (0, 10, 20, 30)),
        (4.0, 4, (0, 1, 2, 3, 4)),
        (153_600.0, 300, (0, 30_000, 60_000, 90_000, 120_000, 153_600)),
    ],
)
def test_parts_have_round_edges_and_no_short_last_one(end: float, steps: int, edges: tuple[float, ...]) -> None:
    assert edges_along(0.0, end, steps) == edges


def test_parts_of_a_run_that_begins_late_begin_where_it_does() -> None:
    # 50 lies too near to the beginning: the first part would be shorter than half of 25
    assert edges_along(40.0, 140.0, 100) == (40.0, 75.0, 100.0, 125.0, 140.0)


def test_the_published_pair_is_four_numbers(samples: Path) -> None:
    tables = json.loads((samples / "published" / "published_tables.json").read_text("utf-8"))
    rows = next(table for table in tables if table["id"] == "fully_async_7b")["rows"]
    arms = []
    for row in rows[:2]:
        totals = [row[f"t{steps}_s"] for steps in (100, 200, 300, 400)]
        arms.append(
            make_run({"time.step_s": np.diff([0.0, *totals]), "work.prompts": [51_200.0] * 4}, trainer=32, rollout=0)
        )
    found = along(*arms)
    assert [round(w.cumulative.time_ratio, 2) for w in found.windows] == [1.72, 1.70, 2.31, 2.66]
    assert [round(w.ratio or 0, 2) for w in found.windows] == [1.72, 1.67, 3.47, 3.71]
    assert found.sentence.startswith("No single number describes this pair")
