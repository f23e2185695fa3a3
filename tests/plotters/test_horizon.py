from __future__ import annotations

import dataclasses

import pytest
from matplotlib.figure import Figure
from support.figure_specs import LONG_LABELS, words

from rlreport.plotters import style
from rlreport.plotters.horizon import draw_horizon
from rlreport.report.figures import figure_json, figure_texts
from rlreport.report.figures_horizon import HorizonFigure, HorizonPart, HorizonTrack


def track(
    role: int = 1, *, label: str = "32 Rollout nodes", ratios: tuple[float | None, ...] = (1.2, 1.3, 1.25)
) -> HorizonTrack:
    parts = tuple(
        HorizonPart(
            begin=50.0 * place,
            end=50.0 * (place + 1),
            ratio=ratio,
            ci_low=None if ratio is None else ratio - 0.05,
            ci_high=None if ratio is None else ratio + 0.05,
        )
        for place, ratio in enumerate(ratios)
    )
    places = tuple(float(step) for step in range(1, 50 * len(ratios) + 1))
    cumulative = tuple(1.25 - 0.5 / place for place in places)
    return HorizonTrack(label=label, role=role, parts=parts, places=places, cumulative=cumulative, end_text="1.25× over all")


def spec(*tracks: HorizonTrack, margin: tuple[float, float] | None = (0.95, 1.05)) -> HorizonFigure:
    return HorizonFigure(
        **words("horizon"),
        tracks=tracks or (track(),),
        margin=margin,
        margin_text="differences that do not matter: ±5 %",
        x_label="step",
        y_label="ratio to baseline, tokens/s per device",
        part_text="part of training (50 steps or more, with 95 % interval)",
        cumulative_text="cumulative, since the start",
    )


def drawn(figure: HorizonFigure) -> Figure:
    with style.house_style():
        return draw_horizon(figure)


def bars(figure: Figure) -> list[tuple[list[float], list[float]]]:
    """The ends of lines as wide as a part's bar."""
    lines = [line for line in figure.axes[0].lines if line.get_linewidth() == 2.4]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in lines]


def test_every_part_is_a_bar_with_the_band_of_its_interval() -> None:
    figure = drawn(spec())
    assert bars(figure) == [([0.0, 50.0], [1.2, 1.2]), ([50.0, 100.0], [1.3, 1.3]), ([100.0, 150.0], [1.25, 1.25])]
    bands = [patch.get_paths()[0].vertices for patch in figure.axes[0].collections]
    assert len(bands) == 3
    assert (bands[0][:, 1].min(), bands[0][:, 1].max()) == pytest.approx((1.15, 1.25))


def test_the_axis_holds_1_and_the_margin_but_not_the_jumps_of_the_first_steps() -> None:
    low, high = drawn(spec()).axes[0].get_ylim()
    assert 0.75 < low < 0.95  # the cumulative ratio of step 1 is 0.75
    assert 1.35 < high < 1.5


def test_a_hopeless_interval_leaves_the_axis_with_an_arrow() -> None:
    wide = dataclasses.replace(track(), parts=(HorizonPart(begin=0, end=150, ratio=1.2, ci_low=0.1, ci_high=90.0),))
    axes = drawn(spec(wide)).axes[0]
    assert axes.get_ylim()[1] < 3
    assert sorted(line.get_marker() for line in axes.lines if line.get_marker() not in ("None", None)) == ["^", "v"]


def test_several_pairs_have_rules_instead_of_bands() -> None:
    figure = drawn(spec(track(1), track(2, label="other", ratios=(1.1, 1.0, 0.9))))
    assert len(bars(figure)) == 6
    assert not figure.axes[0].collections
    assert sum(line.get_linewidth() == 0.9 for line in figure.axes[0].lines) == 6


def test_what_is_not_known_is_left_out() -> None:
    figure = drawn(spec(track(ratios=(None, 1.3, None))))
    assert bars(figure) == [([50.0, 100.0], [1.3, 1.3])]
    empty = HorizonTrack(label="r", role=1, parts=(), places=(), cumulative=())
    texts = [text.get_text() for text in drawn(spec(empty)).texts]
    assert "no values are known" in texts
    assert "not known" in texts


@pytest.mark.parametrize("label", LONG_LABELS)
def test_long_and_foreign_labels_stay_on_the_page(label: str) -> None:
    figure = drawn(spec(track(label=label), margin=None))
    figure.canvas.draw()
    width = figure.get_size_inches()[0] * figure.dpi
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= -1
        assert box.x1 <= width + 1


def test_the_specification_is_json_and_tells_its_texts() -> None:
    data = figure_json(spec())
    assert data["kind"] == "horizon"
    assert data["tracks"][0]["parts"][1]["ratio"] == 1.3
    assert "1.25× over all" in figure_texts(spec())
