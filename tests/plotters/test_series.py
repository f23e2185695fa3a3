"""Figures of ladders and sweeps, read from their artists and texts."""

from __future__ import annotations

import dataclasses
import io
import re
from xml.etree import ElementTree

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from support.series_specs import doses, hostile_series, ladder, panel, realistic_series, rung

from rlreport.plotters import style
from rlreport.plotters.draw import DRAWINGS, draw, drawing_notices
from rlreport.report import figures_series
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_series import DoseFigure, LadderFigure

SPECS = {**realistic_series(), **hostile_series()}
SVG = "{http://www.w3.org/2000/svg}"
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
Box = tuple[str, float, float, float, float]


def drawn(spec: FigureSpec) -> Figure:
    with style.house_style():
        return DRAWINGS[type(spec)](spec)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def text_boxes(spec: FigureSpec) -> list[Box]:
    """Every text with its box in pixels of 100 dpi."""
    with style.house_style():
        figure = DRAWINGS[type(spec)](spec)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        found = [*figure.texts, *(t for axes in figure.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels()))]
        boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in found if t.get_text().strip()]
    return [(text, box.x0, box.y0, box.x1, box.y1) for text, box in boxes]


def bars(axes: Axes) -> list[Rectangle]:
    """The bars of a ladder: its patches that are no band."""
    return [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_height() < 0.5]


def marker(axes: Axes, role: int) -> list[tuple[float, float]]:
    """Where the markers of a run's look stand."""
    look = style.run_style(role)
    lines = [line for line in axes.lines if line.get_marker() == look.marker and to_hex(line.get_color()) == look.colour]
    return [(float(x), float(y)) for line in lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_both_kinds_are_registered() -> None:
    kinds = {found for found in vars(figures_series).values() if isinstance(found, type) and issubclass(found, FigureSpec)}
    assert kinds - {FigureSpec} == {LadderFigure, DoseFigure} <= set(DRAWINGS)
    assert {spec.kind for spec in realistic_series().values()} == {"ladder", "dose"}


@every_spec
def test_svg_is_well_formed_and_finite(spec: FigureSpec) -> None:
    root = ElementTree.fromstring(draw(spec, format="svg"))
    assert root.findtext(f"{SVG}desc") == spec.alt
    for element in root.iter():
        for name in {"d", "x", "y", "transform"} & set(element.attrib):
            assert not re.search("nan|inf", element.attrib[name])


@every_spec
def test_no_text_overlaps_another_or_leaves_the_page(spec: FigureSpec) -> None:
    boxes = text_boxes(spec)
    clashes = [
        (one[0], other[0])
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        if min(one[3], other[3]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[2], other[2]) > 2.5
    ]
    assert clashes == []
    height = drawn(spec).get_size_inches()[1] * 100
    assert all(x0 >= -1 and x1 <= 741 and y0 >= -1 and y1 <= height + 1 for _, x0, y0, x1, y1 in boxes)


@every_spec
def test_no_text_is_smaller_than_7_points_in_print(spec: FigureSpec) -> None:
    figure = drawn(spec)
    found = figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))
    sizes = [text.get_fontsize() for text in found if text.get_text()]
    assert min(sizes, default=style.SMALL_PT) * 7.0 / figure.get_size_inches()[0] >= 7.0


@pytest.mark.parametrize("format_", ["svg", "png"])
def test_drawn_twice_the_bytes_are_equal(format_: str) -> None:
    for spec in realistic_series().values():
        assert draw(spec, format=format_) == draw(dataclasses.replace(spec), format=format_)  # type: ignore[arg-type]


def test_figures_stay_small() -> None:
    assert all(len(draw(spec, format="svg")) < 130_000 for spec in realistic_series().values())
    assert Image.open(io.BytesIO(draw(realistic_series()["ladder"], format="png"))).width == 1110


def test_all_characters_can_be_drawn() -> None:
    assert drawing_notices(tuple(realistic_series().values())) == ()


class TestLadder:
    def test_a_bar_reaches_from_the_rung_before_to_this_one(self) -> None:
        (axes,) = drawn(realistic_series()["ladder"]).axes
        ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars(axes)]
        assert ends == [pytest.approx((1.0, 1.2)), pytest.approx((1.2, 1.32))]

    def test_what_cannot_be_attributed_is_hatched_and_explained(self) -> None:
        figure = drawn(realistic_series()["ladder"])
        (axes,) = figure.axes
        assert [bar.get_hatch() for bar in bars(axes)] == [style.IDLE_HATCH, None]
        assert "unclear" in texts(figure)
        assert "two classes" in texts(figure)
        clear = drawn(ladder(rung(1, 1.0, None), rung(2, 1.2, 1.0)))
        assert "unclear" not in texts(clear)

    def test_points_stand_at_the_ratio_with_their_interval(self) -> None:
        (axes,) = drawn(realistic_series()["ladder"]).axes
        assert [x for role in (0, 1, 2) for x, _ in marker(axes, role)] == [1.0, 1.2, 1.32]
        colour = style.run_style(2).colour
        (interval,) = [line for line in axes.lines if line.get_marker() == "None" and to_hex(line.get_color()) == colour]
        assert list(interval.get_xdata()) == pytest.approx([1.30, 1.34])

    def test_rungs_stand_from_top_to_bottom(self) -> None:
        (axes,) = drawn(realistic_series()["ladder"]).axes
        heights = [y for role in (0, 1, 2) for _, y in marker(axes, role)]
        assert heights == sorted(heights, reverse=True)

    def test_a_falling_rung_has_its_bar_to_the_left(self) -> None:
        (axes,) = drawn(ladder(rung(1, 1.0, None), rung(2, 0.9, 1.0))).axes
        (bar,) = bars(axes)
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((0.9, 1.0))

    def test_an_unknown_rung_has_words_and_no_bar(self) -> None:
        figure = drawn(ladder(rung(1, 1.0, None), rung(2, None, 1.0)))
        (axes,) = figure.axes
        assert bars(axes) == []
        assert marker(axes, 1) == []
        assert texts(figure).count("no steady state") == 2

    def test_a_hopeless_interval_leaves_the_axis_with_an_arrow(self) -> None:
        (axes,) = drawn(ladder(rung(1, 1.0, None), rung(2, 1.1, 1.0, half=1.0999))).axes
        low, high = axes.get_xlim()
        assert low > 0.3
        assert high > 1.1
        assert [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "<"] == [low]

    def test_knobs_beyond_four_are_counted(self) -> None:
        found = texts(drawn(ladder(rung(1, 1.0, None), rung(2, 1.1, 1.0, detail=tuple("abcdefg")))))
        assert [text for text in found if text in "abcdefg"] == ["a", "b", "c"]
        assert "and 4 more knobs" in found


class TestDoses:
    def test_all_panels_share_the_axis_of_doses(self) -> None:
        figure = drawn(realistic_series()["doses"])
        assert len(figure.axes) == 6
        assert {axes.get_xlim() for axes in figure.axes} == {(-0.09, 1.09)}
        for axes in figure.axes:
            assert [label.get_text() for label in axes.get_xticklabels()] == ["0.3", "0.5", "0.7"]
            assert list(axes.get_xticks()) == [0.0, 0.5, 1.0]

    def test_points_carry_their_intervals_and_looks(self) -> None:
        first = drawn(realistic_series()["doses"]).axes[0]
        assert [marker(first, role) for role in (0, 1, 2)] == [[(0.0, 100.0)], [(0.5, 120.0)], [(1.0, 121.0)]]
        vertical = [list(line.get_ydata()) for line in first.lines if list(line.get_xdata()) == [0.5, 0.5]]
        assert [119.5, 120.5] in vertical

    def test_the_candidate_is_marked_in_every_panel_and_named(self) -> None:
        figure = drawn(realistic_series()["doses"])
        for axes in figure.axes:
            assert [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "--"] == [[0.5, 0.5]]
        assert "candidate: 0.5, to be validated" in texts(figure)
        without = drawn(doses(panel("a", 1.0, 2.0, 3.0)))
        assert not any(line.get_linestyle() == "--" for line in without.axes[0].lines)

    def test_the_band_of_doses_that_do_as_well(self) -> None:
        figure = drawn(realistic_series()["doses"])
        (band,) = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
        assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((121 / 1.05, 121.0))
        assert all(not axes.patches for axes in figure.axes[1:])

    def test_what_hardly_depends_on_the_dose_looks_like_it(self) -> None:
        (axes,) = drawn(doses(panel("a", 100.0, 100.1, 100.2, half=0.05))).axes
        low, high = axes.get_ylim()
        assert low < 91
        assert high > 110

    def test_a_panel_without_values_says_so(self) -> None:
        assert texts(drawn(hostile_series()["two panels"])).count("no values are known") == 1

    @pytest.mark.parametrize(("count", "places"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3)])
    def test_panels_in_rows(self, count: int, places: int) -> None:
        figure = drawn(doses(*(panel(f"p{k}", 1.0, 2.0, 3.0) for k in range(count))))
        assert len({round(axes.get_position().x0, 4) for axes in figure.axes}) == places

    def test_dose_texts_that_would_touch_are_left_out(self) -> None:
        (axes,) = drawn(hostile_series()["many doses"]).axes
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert len(shown) == 9
        assert shown[0] == "1,024 tokens"
        assert "" in shown


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        doses(panel("a", 1.0), positions=(0.0,))
    with pytest.raises(ValueError, match="at least one panel"):
        doses()
    with pytest.raises(ValueError, match="candidate 3"):
        doses(panel("a", 1.0), candidate=3)
