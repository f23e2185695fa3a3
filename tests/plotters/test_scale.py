from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.plotters.scale import (
    Limits,
    decimate,
    padded,
    robust_limits,
    thin_points,
    tick_texts,
    ticks,
    to_array,
    within,
)


def test_unknown_values_become_nan() -> None:
    array = to_array([1.0, None, math.nan, math.inf, -math.inf, 1e200, 0.0])
    assert np.isnan(array).tolist() == [False, True, True, True, True, True, False]


def test_limits_are_the_data_when_nothing_is_far() -> None:
    assert robust_limits([to_array([400, 420, 410])], [to_array([380.0])]) == Limits(380.0, 420.0)


def test_limits_of_nothing() -> None:
    assert robust_limits([to_array([None])]) == Limits(0.0, 1.0)


def test_a_step_left_out_that_took_90_times_as_long_is_clipped() -> None:
    kept = to_array([400.0 + 2 * (i % 10) for i in range(100)])
    limits = robust_limits([kept], [to_array([400 / 90, 380.0])])
    assert limits == Limits(380.0, 418.0, clips_low=True)


def test_an_outlier_within_the_core_is_clipped() -> None:
    values = [900.0 + i % 7 for i in range(60)]
    values[20] = 81_000.0
    assert robust_limits([to_array(values)]) == Limits(900.0, 906.0, clips_high=True)


def test_many_far_values_are_part_of_the_story() -> None:
    kept = to_array([400.0 + i % 10 for i in range(50)])
    left_out = to_array([40.0 + i for i in range(10)])  # a sixth of all
    assert robust_limits([kept], [left_out]) == Limits(40.0, 409.0)


def test_a_curve_that_rises_once_is_not_clipped() -> None:
    rising = to_array([i / 20 for i in range(20)] + [1.0] * 1100)  # the rise is 2 % of the values
    assert robust_limits([rising]) == Limits(0.0, 1.0)


def test_how_far_an_outlier_must_be_can_be_asked_for() -> None:
    values = to_array([0.2, *(0.7 + i / 1000 for i in range(60))])  # the accuracy before training, and after
    assert robust_limits([values]) == Limits(0.7, pytest.approx(0.759), clips_low=True)
    # the gap of 0.5 is 6.6 times the height of the rest, a tenth of its level
    assert robust_limits([values], gap=7.0, reach=7.0) == Limits(0.2, pytest.approx(0.759))


def test_few_values_are_never_clipped() -> None:
    assert robust_limits([to_array([1.0, 2.0, 100.0])]) == Limits(1.0, 100.0)


def test_both_levels_of_two_runs_are_shown() -> None:
    low, high = to_array([100.0 + i % 3 for i in range(50)]), to_array([900.0 + i % 3 for i in range(50)])
    assert robust_limits([low, high]) == Limits(100.0, 902.0)


def test_a_flat_line_gets_a_range() -> None:
    limits = padded(Limits(412.0, 412.0))
    assert limits.low == pytest.approx(412 * 0.95 - 0.06 * 41.2)
    assert limits.high == pytest.approx(412 * 1.05 + 0.06 * 41.2)
    assert padded(Limits(0.0, 0.0)).high > 0


def test_data_above_zero_get_no_negative_axis() -> None:
    assert padded(Limits(1.0, 100.0)).low == 0.0
    assert padded(Limits(-1.0, 100.0)).low < -1.0


def test_room_is_made_for_arrows_below() -> None:
    plain, room = padded(Limits(10.0, 20.0)), padded(Limits(10.0, 20.0), low_share=0.1)
    assert plain.low - room.low == pytest.approx(1.0)


def test_values_beyond_the_limits_become_gaps() -> None:
    assert np.isnan(within(to_array([1.0, 5.0, 9.0, None]), Limits(2.0, 8.0))).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ("0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        (286.0, 610.0, ("300", "400", "500", "600")),
        (0.0, 81_000.0, ("0", "20 k", "40 k", "60 k", "80 k")),
        (-0.012, 0.01, ("−0.010", "−0.005", "0", "0.005", "0.010")),
        (0.0, 2.2e-6, ("0", "5e−07", "1e−06", "1.5e−06", "2e−06")),
    ],
)
def test_ticks_are_round_and_alike(low: float, high: float, texts: tuple[str, ...]) -> None:
    assert ticks(low, high, 5).texts == texts


def test_steps_have_whole_ticks() -> None:
    assert ticks(0.5, 3.5, 8, whole=True).texts == ("1", "2", "3")
    assert ticks(0.5, 1.5, 8, whole=True).texts == ("1",)


def test_thousands_have_separators_and_nothing_is_nothing() -> None:
    assert tick_texts((1000.0, 1500.0)) == ("1,000", "1,500")
    assert tick_texts(()) == ()


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_lie_within_and_differ(low: float, height: float) -> None:
    marks = ticks(low, low + height, 5)
    assert all(low - 1e-6 * height <= value <= low + height * (1 + 1e-6) for value in marks.values)
    if height > 1e-3 * abs(low):
        assert len(set(marks.texts)) == len(marks.texts)


def test_short_lines_are_not_thinned() -> None:
    x, y = np.arange(10.0), np.arange(10.0)
    assert decimate(x, y, 0.0, 9.0, 100)[0] is x


@given(st.integers(0, 10_000), st.integers(500, 1500), st.integers(20, 100), st.sampled_from([0.0, 0.1, 0.9]))
def test_thinning_keeps_the_extremes_of_every_column(seed: int, n: int, columns: int, unknown: float) -> None:
    random = np.random.default_rng(seed)
    x, y = np.arange(float(n)) + 1 / math.pi, random.normal(size=n)  # no point lies on the border of two columns
    y[random.random(n) < unknown] = math.nan
    thin_x, thin_y = decimate(x, y, 0.0, float(n), columns)
    assert thin_x.size <= 4 * columns
    for column in range(columns):
        low, high = column * n / columns, (column + 1) * n / columns
        whole = y[(x >= low) & (x < high) & np.isfinite(y)]
        kept = thin_y[(thin_x >= low) & (thin_x < high) & np.isfinite(thin_y)]
        if whole.size:
            assert kept.min() == whole.min()
            assert kept.max() == whole.max()
        else:
            assert kept.size == 0


def test_thinning_keeps_an_empty_column_as_a_gap() -> None:
    y = np.ones(1000)
    y[300:400] = math.nan
    thin_x, thin_y = decimate(np.arange(1000.0), y, 0.0, 1000.0, 100)
    gaps = thin_x[np.isnan(thin_y)]
    assert gaps.min() == 300.0
    assert gaps.max() == 390.0


def test_markers_that_hide_each_other_are_drawn_once() -> None:
    x, y = to_array([0.0, 0.1, 0.2, 5.0]), to_array([0.0, 0.1, 0.2, None])
    assert thin_points(x, y, 1.0, 1.0).tolist() == [0, 2]  # the first of the cell and the highest; the unknown one never
