from __future__ import annotations

import io
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from support.timeline_specs import (
    DRAWINGS,
    GENERATE,
    QUOTA,
    SYNC,
    hostile_timelines,
    lane_figure,
    shares,
    timelines,
)

from rlreport.plotters import style
from rlreport.plotters.style import house_style
from rlreport.plotters.svg import finish_svg
from rlreport.plotters.timeline_raster import DPI, NOTHING, colour, columns_of, stacked
from rlreport.plotters.timeline_style import CAUSE_STYLES, state_style
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_timeline import DeviceBar, DeviceFigure, DevicePart, LanePanel, LaneRow
from rlreport.report.timeline_words import STATES
from rlreport.run.spans import IDLE_CAUSES

SPECS = {**timelines(), **hostile_timelines()}
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


def svg_of(spec: FigureSpec) -> str:
    with house_style():
        out = io.BytesIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        DRAWINGS[type(spec)](spec).savefig(out, format="svg", metadata=metadata)
    return finish_svg(out.getvalue().decode(), spec.title, spec.alt)


@every_spec
def test_no_text_overlaps_another_or_leaves_the_page(spec: FigureSpec) -> None:
    with house_style():
        figure = DRAWINGS[type(spec)](spec)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        texts = [*figure.texts, *(t for axes in figure.axes for t in (*axes.get_xticklabels(), *axes.get_yticklabels()))]
        boxes = [(t.get_text(), *t.get_window_extent(canvas.get_renderer()).extents) for t in texts if t.get_text().strip()]
        width, height = figure.get_size_inches() * 100
    for i, one in enumerate(boxes):
        assert one[1] >= -1 and one[3] <= width + 1 and one[2] >= -1 and one[4] <= height + 1, one
        for other in boxes[:i]:
            wide, tall = min(one[3], other[3]) - max(one[1], other[1]), min(one[4], other[4]) - max(one[2], other[2])
            assert not (wide > 1 and tall > 2.5), (one[0], other[0])


@every_spec
def test_drawn_twice_the_bytes_are_equal(spec: FigureSpec) -> None:
    assert svg_of(spec) == svg_of(spec)


def test_pictures_lie_within_the_file() -> None:
    svg = svg_of(timelines()["lanes"])
    assert "data:image/png;base64," in svg and svg.count("http") == svg.count("http://www.w3.org/")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=12), st.integers(1, 40))
def test_a_column_shows_what_holds_for_most_of_it(parts: list[tuple[int, int]], width: int) -> None:
    edges = np.concatenate([[0], np.cumsum([length for length, _ in parts])]).tolist()
    states = [state for _, state in parts]
    found = columns_of(edges, states, 0, edges[-1], width)
    assert len(found) == width
    for column, state in enumerate(found.tolist()):
        low, high = edges[-1] * column / width, edges[-1] * (column + 1) / width
        held: dict[int, float] = {}
        for start, end, code in zip(edges, edges[1:], states, strict=False):
            held[code] = held.get(code, 0.0) + max(0.0, min(end, high) - max(start, low))
        assert held[state] >= max(held.values()) - 1e-9


def test_nothing_is_shown_where_nothing_is_known() -> None:
    found = columns_of([0.0, 5.0], [2], 0, 10, 10)
    assert found.tolist() == [2] * 5 + [NOTHING] * 5
    assert columns_of([0.0], [], 0, 10, 4).tolist() == [NOTHING] * 4


def test_stacked_shares_have_their_heights() -> None:
    found = stacked([shares(0.25, QUOTA), shares(1.0, QUOTA)], 40, 100)
    left, right = found[:, 0], found[:, -1]
    assert (left == GENERATE).sum() == 25 and (left == QUOTA).sum() == 75
    assert left[-1] == GENERATE and left[0] == QUOTA  # the first state stands below
    assert (right == GENERATE).all()


def test_every_cause_is_told_apart_without_colour() -> None:
    """In grey, any two causes differ by the pattern of their hatch."""
    size = 60
    grey = {}
    for cause in IDLE_CAUSES:
        pixels = colour(np.zeros((size, size), np.int16), [state_style(f"idle:{cause}")], outline=False)
        luminance = pixels[:, :, :3] @ np.array([0.299, 0.587, 0.114])
        grey[cause] = luminance - luminance.mean()
    assert set(CAUSE_STYLES) == set(IDLE_CAUSES)
    for first in IDLE_CAUSES:
        for second in IDLE_CAUSES:
            if first < second:
                assert np.abs(grey[first] - grey[second]).mean() > 3, (first, second)


def test_idle_time_is_paler_than_work() -> None:
    def luminance(name: str) -> float:
        pixels = colour(np.zeros((40, 40), np.int16), [state_style(name)], outline=False)
        return float((pixels[:, :, :3] @ np.array([0.299, 0.587, 0.114])).mean())

    darkest_idle = min(luminance(f"idle:{cause}") for cause in IDLE_CAUSES)
    assert darkest_idle > luminance("generate") and darkest_idle > luminance("update_actor")


def dense(spans: int, rows: int) -> LanePanel:
    """A window with so many spans in so many rows."""
    each = spans // rows
    edges = tuple(float(n) for n in range(each + 1))
    states = tuple((GENERATE, QUOTA, SYNC)[n % 3] for n in range(each))
    made = tuple(LaneRow(label=f"replica {n}", group="rollout", edges=edges, states=states, note="") for n in range(rows))
    return LanePanel(title="dense", detail="", rows=made, begin=0, end=float(each))


@pytest.mark.parametrize("rows", [20, 60])
def test_fifty_thousand_spans_draw_in_a_second_and_stay_small(rows: int) -> None:
    spec = lane_figure(dense(50_000, rows))
    svg_of(lane_figure(dense(200, 2)))  # fonts and imports
    begin = time.perf_counter()
    svg = svg_of(spec)
    assert time.perf_counter() - begin < 2.0  # a second on an idle machine
    assert len(svg) < 600_000


def test_pictures_are_sharp_enough_for_print() -> None:
    assert DPI >= 150
    assert len({state.name for state in STATES}) == len(STATES)


def test_a_row_needs_one_edge_more_than_states() -> None:
    with pytest.raises(ValueError, match="2 states need 3 edges, not 2"):
        LaneRow(label="r", group="g", edges=(0, 1), states=(1, 2))


def words_of(spec: FigureSpec) -> list[str]:
    with house_style():
        return [text.get_text() for text in DRAWINGS[type(spec)](spec).texts]


def test_of_many_rows_the_number_stands_alone() -> None:
    words = words_of(lane_figure(dense(400, 24)))
    assert [w for w in words if w.startswith("replica")] == ["replica 0", "replica 10", "replica 20"]
    assert {str(n) for n in range(24) if n % 10} <= set(words)
    very = words_of(lane_figure(dense(400, 60)))
    assert [w for w in very if w.startswith("replica")] == [f"replica {n}" for n in range(0, 60, 10)]
    assert {"5", "15", "55"} <= set(very) and not {"3", "7", "11", "59"} & set(very)
    assert len([w for w in words_of(lane_figure(dense(400, 12))) if w.startswith("replica")]) == 12


def test_words_leave_the_hatch_of_a_part_to_be_seen() -> None:
    def bar(idle: float) -> DeviceFigure:
        states = tuple(state for state in STATES if state.name in ("generate", "idle:samples"))
        parts = (DevicePart(state=0, value=100 - idle, text=""), DevicePart(state=1, value=idle, text="waiting for samples"))
        bars = (DeviceBar(group="a", role=0, label="Trainer", parts=parts),)
        return DeviceFigure(
            id="d", title="t", caption="", how_to_read="", alt="a.", bars=bars, states=states, x_label="device-hours"
        )

    assert "waiting for samples" in words_of(bar(60.0))
    small = words_of(bar(10.0))
    assert "waiting for" not in " ".join(w for w in small if not w.startswith("idle"))


def test_waiting_for_samples_looks_the_same_in_every_figure() -> None:
    look = CAUSE_STYLES["samples"]
    assert look.fill == style.PHASE_STYLES["wait"].colour and look.ink == style.WAIT_HATCH_COLOUR
    assert set(style.WAIT_HATCH) == {look.hatch}
    assert [cause for cause, other in CAUSE_STYLES.items() if other.hatch == look.hatch] == ["samples"]
    assert all(other.ink != style.IDLE_HATCH_COLOUR or other.hatch != "/" for other in CAUSE_STYLES.values())
