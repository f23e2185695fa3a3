from __future__ import annotations

import math

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support.figure_specs import LONG_LABELS, words
from support.published import study

from rlreport.plotters import style
from rlreport.plotters.summary import draw_speed_up
from rlreport.report.figure_data_summary import speed_up_figure
from rlreport.report.figures_summary import SpeedUpFigure, SpeedUpPoint, SpeedUpSeries


def point(first: int, last: int, ratio: float | None) -> SpeedUpPoint:
    return SpeedUpPoint(from_step=first, to_step=last, ratio=ratio, text="–" if ratio is None else f"{ratio:.2f}×")


def series(label: str, role: int, *ratios: float | None) -> SpeedUpSeries:
    windows = tuple(point(100 * i + 1, 100 * (i + 1), ratio) for i, ratio in enumerate(ratios))
    cumulative = tuple(point(1, 100 * (i + 1), ratio) for i, ratio in enumerate(ratios))
    return SpeedUpSeries(label=label, role=role, windows=windows, cumulative=cumulative)


def figure(*all_series: SpeedUpSeries) -> SpeedUpFigure:
    return SpeedUpFigure(**words("speed-up"), series=all_series, note="hollow: one published number an arm, no interval")


def drawn(spec: SpeedUpFigure) -> Figure:
    with style.house_style():
        return draw_speed_up(spec)


def texts(found: Figure) -> list[str]:
    return [text.get_text() for text in found.texts]


def marks(found: Figure, panel: int, role: int) -> list[tuple[float, float]]:
    look = style.run_style(role)
    (line,) = [one for one in found.axes[panel].lines if one.get_marker() == look.marker]
    assert to_hex(line.get_markerfacecolor()) == style.PAPER  # hollow
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_windows_are_bars_over_their_steps_and_horizons_are_points() -> None:
    found = drawn(figure(series("b", 1, 1.72, 1.67)))
    assert len(found.axes) == 2
    colour = style.run_style(1).colour
    bars = [line for line in found.axes[0].lines if to_hex(line.get_color()) == colour and line.get_marker() == "None"]
    assert [[float(x) for x in bar.get_xdata()] for bar in bars] == [[0, 100], [100, 200]]
    assert marks(found, 0, 1) == [(50, 1.72), (150, 1.67)]
    assert marks(found, 1, 1) == [(100, 1.72), (200, 1.67)]
    assert texts(found).count("1.72×") == 2


def test_nothing_looks_like_an_interval() -> None:
    found = drawn(figure(series("b", 1, 1.72, 1.67), series("c", 2, 1.1, 1.3)))
    assert "hollow: one published number an arm, no interval" in texts(found)
    for axes in found.axes:
        assert not axes.collections and not axes.patches  # no bands
        verticals = [line for line in axes.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) > 1]
        assert verticals == []


def test_markers_of_equal_pairs_stand_beside_each_other() -> None:
    found = drawn(figure(series("b", 1, 1.5), series("c", 2, 1.5), series("d", 3, 1.5)))
    assert [marks(found, 0, role)[0][0] for role in (1, 2, 3)] == [25, 50, 75]
    assert "1.50×" not in texts(found)  # three pairs: the table has the values


def test_one_is_always_on_the_axis_and_marked() -> None:
    found = drawn(figure(series("b", 1, 3.4, 3.7)))
    low, high = found.axes[0].get_ylim()
    assert low < 1 and high > 3.7
    assert found.axes[0].get_ylim() == found.axes[1].get_ylim()
    assert "as fast as the baseline" in texts(found)
    assert [text.get_text() for text in found.axes[0].get_xticklabels()] == ["0", "100", "200"]


def test_the_published_pair_is_drawn_with_its_numbers() -> None:
    of = study("published-horizons-32")
    spec = speed_up_figure(of, {run_id: number for number, run_id in enumerate(of.runs)})
    assert isinstance(spec, SpeedUpFigure)
    found = texts(drawn(spec))
    assert {"1.67×", "3.47×", "3.71×", "1.70×", "2.31×", "2.66×", "fully async on 16 + 16"} <= set(found)


@pytest.mark.parametrize(
    "spec",
    [
        figure(),
        figure(series("nothing known", 1, None, None)),
        figure(series("beyond", 1, 0.0, math.inf, math.nan, 1e9, -1.0)),
        figure(series("equal", 1, 1.0)),
        figure(*(series(label, role, 1.0 + role, 2.0) for role, label in enumerate(LONG_LABELS))),
        figure(series("many", 1, *(1 + i / 10 for i in range(40)))),
        figure(SpeedUpSeries(label="none", role=1, windows=(), cumulative=())),
    ],
    ids=["no series", "unknown", "beyond", "one equal", "long labels", "many windows", "no points"],
)
def test_hostile_figures_are_drawn_within_the_page(spec: SpeedUpFigure) -> None:
    found = drawn(spec)
    width, height = found.get_size_inches()
    assert width == style.WIDTH_IN and 1.5 < height < 6
    renderer = found.canvas.get_renderer() if hasattr(found.canvas, "get_renderer") else None
    for text in found.texts:
        box = text.get_window_extent(renderer).transformed(found.dpi_scale_trans.inverted())
        assert box.x0 > -0.01 and box.x1 < width + 0.01 and box.y0 > -0.01 and box.y1 < height + 0.01, text.get_text()


def test_the_same_figure_is_drawn_in_the_same_way() -> None:
    spec = figure(series("b", 1, 1.72, 1.67))
    first, second = drawn(spec), drawn(spec)
    assert texts(first) == texts(second) and marks(first, 0, 1) == marks(second, 0, 1)
