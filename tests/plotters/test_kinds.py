"""What each kind of figure shows, read from its artists and texts."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from support.figure_specs import (
    ALL_PHASES_S,
    curve,
    hostile,
    ratio,
    realistic,
    reward_figure,
    row,
    split_bar,
    throughput,
    throughput_series,
    words,
)

from rlreport.plotters import style
from rlreport.plotters.draw import DRAWINGS
from rlreport.report.figures import (
    CurveFigure,
    CurvePanel,
    CurveSeries,
    FigureSpec,
    IntervalFigure,
    TimeSplitFigure,
    TimeSplitPart,
)


def drawn(spec: FigureSpec) -> Figure:
    with style.house_style():
        return DRAWINGS[type(spec)](spec)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def lines(axes: Axes, *, marker: str = "None", colour: str | None = None) -> list[Line2D]:
    """Lines of axes with a marker ("None": those that are lines), of one colour if asked."""
    return [
        line for line in axes.lines if line.get_marker() == marker and (colour is None or to_hex(line.get_color()) == colour)
    ]


def hollow(axes: Axes, marker: str, role: int) -> list[float]:
    """Steps at which a run's hollow markers stand."""
    colour = style.run_style(role).colour
    found = [line for line in axes.lines if line.get_marker() == marker and to_hex(line.get_markeredgecolor()) == colour]
    return [
        float(x)
        for line in found
        if to_hex(line.get_markerfacecolor(), keep_alpha=True)[-2:] == "00"
        for x in line.get_xdata()
    ]


class TestThroughput:
    def test_what_is_left_out_is_hollow_by_cause(self) -> None:
        (axes,) = drawn(throughput(throughput_series("r", 0, n=60))).axes
        assert hollow(axes, style.CAUSE_MARKERS["warm-up"], 0) == [1, 2, 3, 4, 5, 6]
        assert hollow(axes, style.CAUSE_MARKERS["validation"], 0) == [20, 40, 60]

    def test_causes_stand_in_the_legend_with_their_steps(self) -> None:
        found = texts(drawn(throughput(throughput_series("a", 0, n=60), throughput_series("b", 1, n=60))))
        assert "warm-up: steps 1 to 6" in found
        assert "validation: steps 20, 40 … 60 (every 20)" in found

    def test_runs_that_differ_are_counted(self) -> None:
        spec = throughput(throughput_series("a", 0, n=60), throughput_series("b", 1, n=120, outliers={50: 0.8}))
        found = texts(drawn(spec))
        assert "validation: 3 to 6 steps a run" in found
        assert "checkpoint: step 50 (variant 1)" in found

    def test_mean_and_interval_span_the_window(self) -> None:
        series = throughput_series("r", 1, n=60)
        (axes,) = drawn(throughput(series)).axes
        (mean,) = [line for line in lines(axes, colour="#0072b2") if list(line.get_xdata()) == [6.5, 60.5]]
        assert list(mean.get_ydata()) == [series.mean, series.mean]
        (band,) = axes.collections
        box = band.get_datalim(axes.transData)
        assert (box.x0, box.x1) == (6.5, 60.5)
        assert (box.y0, box.y1) == pytest.approx((series.ci_low, series.ci_high))

    def test_a_slow_step_is_an_arrow_with_its_value(self) -> None:
        series = throughput_series("r", 0, n=120, outliers={55: 1 / 90})
        figure = drawn(throughput(series))
        (axes,) = figure.axes
        low, high = axes.get_ylim()
        value = series.values[54]
        assert value is not None
        assert value < low
        (arrow,) = [line for line in axes.lines if line.get_marker() == "v" and list(line.get_xdata()) == [55.0]]
        assert list(arrow.get_ydata()) == [low]
        assert any(text.startswith("step 55: 4.") for text in texts(figure))
        assert any(text.startswith("off the scale: step 55 at 4.") and text.endswith("per device") for text in texts(figure))
        drawn_values = [y for line in lines(axes) for y in line.get_ydata() if math.isfinite(y)]
        assert min(drawn_values) >= low
        assert max(drawn_values) <= high

    def test_arrows_that_stand_close_tell_what_fits(self) -> None:
        figure = drawn(hostile()["outliers"])
        assert sum(text.startswith("step ") and ": " in text for text in texts(figure)) == 5
        assert any(text.startswith("off the scale: 5 steps, the farthest step 77 at 4") for text in texts(figure))

    def test_the_line_outside_the_window_passes_over_single_steps(self) -> None:
        series = throughput_series("r", 0, n=60)
        kept = tuple(keep and step <= 30 for step, keep in zip(series.steps, series.kept, strict=True))
        figure = drawn(throughput(dataclasses.replace(series, kept=kept, window=(7, 30))))
        (axes,) = figure.axes
        known = [
            [x for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True) if math.isfinite(y)] for line in lines(axes)
        ]
        (outside,) = [steps for steps in known if 59.0 in steps]
        assert outside == [*range(1, 7), *(step for step in range(31, 60) if step != 40)]
        assert "outside window: steps 31 to 39, 41 to 59" in texts(figure)

    def test_steps_without_a_pattern_are_counted(self) -> None:
        series = throughput_series("r", 0, n=60, outliers={13: 0.8, 15: 0.8, 31: 0.8, 36: 0.8})
        assert "checkpoint: 4 steps" in texts(drawn(throughput(series)))

    def test_a_run_without_a_window_is_drawn_whole_and_says_so(self) -> None:
        figure = drawn(hostile()["no window"])
        (axes,) = figure.axes
        whole = [line for line in lines(axes, colour="#4b5563") if len(line.get_xdata()) == 120]
        assert len(whole) >= 1
        assert "no steady state" in texts(figure)
        assert len(axes.collections) == 1  # the other run's interval only

    def test_the_gap_of_a_step_left_out_is_bridged_thinly(self) -> None:
        (axes,) = drawn(throughput(throughput_series("r", 0, n=30))).axes
        (bridge,) = [line for line in lines(axes) if list(line.get_xdata())[:2] == [19.0, 21.0]]
        assert bridge.get_linewidth() == 0.5

    def test_nothing_known_is_said(self) -> None:
        assert "no values are known" in texts(drawn(hostile()["nothing known"]))

    def test_labels_stand_level_with_their_means_where_they_can(self) -> None:
        low, high = throughput_series("low run", 0, 400.0), throughput_series("high run", 1, 600.0)
        figure = drawn(throughput(low, high))
        (axes,) = figure.axes
        for series in (low, high):
            (label,) = [text for text in figure.texts if text.get_text() == series.label]
            _x, wanted = axes.transData.transform((0, series.mean or 0.0))
            middle = (label.get_position()[1] + 0.36 * 7.5 / 72) * figure.dpi
            assert middle == pytest.approx(wanted, abs=1.0)


class TestRatio:
    def test_rows_reference_and_margin_are_drawn(self) -> None:
        figure = drawn(realistic()["ratio"])
        (axes,) = figure.axes
        assert list(lines(axes)[0].get_xdata()) == [1.0, 1.0]
        spans = [list(line.get_xdata()) for line in lines(axes) if line.get_linewidth() > 1]
        assert [pytest.approx(span) for span in spans] == [[1.239, 1.263], [1.233, 1.261], [0.991, 1.011]]
        points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() in {"o", "s"}]
        assert points == [1.251, 1.247, 1.001]
        (band,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.95, 1.05))

    def test_two_columns_of_text_are_aligned(self) -> None:
        figure = drawn(realistic()["ratio"])
        lefts = {text.get_position()[0] for text in figure.texts if re.fullmatch(r"[\d.]+ to [\d.]+", text.get_text())}
        assert len(lefts) == 1
        assert {"1.25×", "1.001×", "1.24 to 1.26", "0.991 to 1.011"} <= set(texts(figure))

    def test_the_headline_is_bold(self) -> None:
        figure = drawn(realistic()["ratio"])
        bold = {text.get_text() for text in figure.texts if text.get_fontweight() == "bold"}
        assert bold == {"tokens/s per device", "1.25×", "1.24 to 1.26"}

    def test_a_small_difference_looks_small(self) -> None:
        (axes,) = drawn(ratio(row("r", 1, 1.001, 0.0005, "1.001×"), margin=None)).axes
        low, high = axes.get_xlim()
        assert low < 0.95
        assert high > 1.05

    def test_a_hopelessly_wide_interval_leaves_with_an_arrow(self) -> None:
        narrow = [row(str(i), 1, 1.02 + i / 100, 0.01, "") for i in range(4)]
        wide = dataclasses.replace(narrow[0], ci_low=1.0, ci_high=900.0)
        (axes,) = drawn(ratio(*narrow, wide)).axes
        high = axes.get_xlim()[1]
        assert high < 3
        assert [list(line.get_xdata()) for line in axes.lines if line.get_marker() == ">"] == [[high]]

    def test_an_unknown_ratio_is_told_by_its_text(self) -> None:
        figure = drawn(hostile()["no ratio"])
        (axes,) = figure.axes
        assert "insufficient data" in texts(figure)
        assert not [line for line in axes.lines if line.get_marker() != "None"]

    def test_both_directions_are_named(self) -> None:
        assert {"← slower", "faster →"} <= set(texts(drawn(realistic()["ratio"])))
        silent = dataclasses.replace(realistic()["ratio"], lower_text="", higher_text="")  # type: ignore[call-arg]
        assert not [text for text in texts(drawn(silent)) if "←" in text or "→" in text]


def test_interval_figure_shows_runs_in_their_looks() -> None:
    rows = tuple(row(f"run {role}", role, 100.0 + role, 1.0, "") for role in range(6))
    (axes,) = drawn(IntervalFigure(**words("i"), rows=rows, x_label="tokens/s", reference=100.0)).axes
    points = [line for line in axes.lines if line.get_marker() != "None"]
    assert [(to_hex(p.get_color()), p.get_marker()) for p in points] == [(s.colour, s.marker) for s in style.RUN_STYLES]


class TestTimeSplit:
    def test_segments_follow_one_another(self) -> None:
        (axes,) = drawn(realistic()["time-split"]).axes
        bars = [(patch.get_x(), patch.get_width()) for patch in axes.patches if isinstance(patch, Rectangle)]
        lengths = [55.2 / 146.7, 27.4 / 146.7, 63.7 / 146.7, 0.4 / 146.7]  # in the order of the phases
        starts = [sum(lengths[:i]) for i in range(4)]
        assert bars == [pytest.approx(pair) for pair in zip(starts, lengths, strict=True)]

    def test_waiting_and_nothing_else_is_hatched(self) -> None:
        bars = (split_bar("r", 0, ALL_PHASES_S, sum(ALL_PHASES_S.values())),)
        (axes,) = drawn(TimeSplitFigure(**words("s"), bars=bars)).axes
        hatched = [bool(patch.get_hatch()) for patch in axes.patches]
        assert hatched == [True] + [False] * (len(ALL_PHASES_S) - 1)

    def test_a_phase_too_small_for_its_text_is_told_in_the_legend(self) -> None:
        found = texts(drawn(realistic()["time-split"]))
        assert "37.6 %, 55.2 s" in found
        assert "untimed: 0.3 %" in found
        assert "weight sync" in found
        assert "147 s a step" in found

    def test_seconds_make_bars_of_different_length(self) -> None:
        one, other = split_bar("a", 0, {"update_actor": 30.0}, 30.0), split_bar("b", 1, {"update_actor": 20.0}, 20.0)
        (axes,) = drawn(TimeSplitFigure(**words("s"), bars=(one, other), basis="seconds")).axes
        assert [patch.get_width() for patch in axes.patches] == [30.0, 20.0]

    def test_unknown_parts_are_left_out_and_an_unknown_bar_says_so(self) -> None:
        assert "not known" in texts(drawn(hostile()["no phases"]))
        bar = split_bar("r", 0, {"wait": 1.0, "update_actor": 1.0}, 2.0)
        parts = (*bar.parts, TimeSplitPart(label="lost", key="other", fraction=None))
        (axes,) = drawn(TimeSplitFigure(**words("s"), bars=(dataclasses.replace(bar, parts=parts),))).axes
        assert len(axes.patches) == 2

    def test_phases_without_a_row_in_the_style_differ(self) -> None:
        (axes,) = drawn(hostile()["unnamed phases"]).axes
        assert len({to_hex(patch.get_facecolor()) for patch in axes.patches}) == 3


class TestCurves:
    def test_panels_with_one_label_share_their_axis(self) -> None:
        left, right = drawn(reward_figure("a", "b")).axes
        assert left.get_ylim() == right.get_ylim()
        assert any(label.get_text() for label in left.get_yticklabels())
        assert not any(label.get_text() for label in right.get_yticklabels())

    def test_panels_with_two_labels_do_not(self) -> None:
        one = CurvePanel(x_label="step", y_label="reward", series=(curve("a", 0),))
        other = CurvePanel(
            x_label="step", y_label="length", series=(CurveSeries(label="a", role=0, x=(0.0, 1.0), y=(5.0, 9.0)),)
        )
        left, right = drawn(CurveFigure(**words("c"), panels=(one, other))).axes
        assert left.get_ylim()[1] < 1 < right.get_ylim()[0]
        assert any(label.get_text() for label in right.get_yticklabels())

    def test_measured_is_thin_and_smoothed_thick(self) -> None:
        figure = drawn(
            CurveFigure(**words("c"), panels=(CurvePanel(x_label="step", y_label="reward", series=(curve("a", 1),)),))
        )
        (axes,) = figure.axes
        assert [line.get_linewidth() for line in lines(axes)] == [0.5, 1.5]
        assert {"as measured", "smoothed for the eye"} <= set(texts(figure))

    def test_runs_have_one_entry_each_over_all_panels(self) -> None:
        found = texts(drawn(reward_figure("first run", "second run")))
        assert found.count("first run") == found.count("second run") == 1

    def test_points_are_markers_without_a_line(self) -> None:
        panel = CurvePanel(x_label="step", y_label="accuracy", series=(curve("a", 2, 8, smoothed=False, points=True),))
        (axes,) = drawn(CurveFigure(**words("c"), panels=(panel,))).axes
        (points,) = axes.lines
        assert points.get_linestyle() == "None"
        assert points.get_marker() == style.run_style(2).marker
        assert len(points.get_xdata()) == 8

    def test_an_outlier_is_an_arrow_with_its_value_and_unit(self) -> None:
        figure = drawn(hostile()["one panel"])
        (axes,) = figure.axes
        high = axes.get_ylim()[1]
        assert high < 1000
        assert [
            (x, y)
            for line in axes.lines
            if line.get_marker() == "^"
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        ] == [(20.0, high)]
        assert {"81,000", "off the scale: 81,000 tokens", "not known"} <= set(texts(figure))

    def test_a_last_panel_alone_is_as_wide_as_two(self) -> None:
        left, right, last = drawn(hostile()["three panels"]).axes
        assert last.get_position().x0 == pytest.approx(left.get_position().x0)
        assert last.get_position().x1 == pytest.approx(right.get_position().x1)

    def test_one_value_between_gaps_is_a_dot(self) -> None:
        series = CurveSeries(label="a", role=0, x=(0.0, 1.0, 2.0, 3.0, 4.0), y=(1.0, 1.0, None, 2.0, None))
        panel = CurvePanel(x_label="step", y_label="reward", series=(series,))
        (axes,) = drawn(CurveFigure(**words("c"), panels=(panel,))).axes
        assert [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"] == [[3.0]]
