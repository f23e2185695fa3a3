from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlreport.plotters import style
from rlreport.plotters.layout import Entry, Key, flow, new_figure, spread


def test_blocks_with_room_stay_where_they_want() -> None:
    assert spread([1.0, 3.0], [0.5, 0.5], 0.0, 5.0) == [1.0, 3.0]


def test_two_blocks_at_one_place_part_evenly() -> None:
    # 0.4 high each with a gap of 0.1: middles 0.5 apart, around 2
    assert spread([2.0, 2.0], [0.4, 0.4], 0.0, 5.0, gap=0.1) == pytest.approx([1.75, 2.25])


def test_blocks_at_an_edge_are_pushed_inwards() -> None:
    assert spread([5.0, 5.0], [1.0, 1.0], 0.0, 5.0, gap=0.0) == pytest.approx([3.5, 4.5])
    assert spread([0.0, 0.2], [1.0, 1.0], 0.0, 5.0, gap=0.0) == pytest.approx([0.5, 1.5])


def test_a_third_block_pushes_two_that_touch() -> None:
    # 0, 0 and 0.5 want to be within 1.5: all three touch, their lower ends at the mean of -0.5, -1.5, -2.0 held at 0
    assert spread([0.0, 0.0, 0.5], [1.0, 1.0, 1.0], 0.0, 9.0, gap=0.0) == pytest.approx([0.5, 1.5, 2.5])


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 1.0)), min_size=1, max_size=8))
def test_no_two_blocks_overlap_and_their_order_is_kept(blocks: list[tuple[float, float]]) -> None:
    centres, heights = [c for c, _h in blocks], [h for _c, h in blocks]
    placed = spread(centres, heights, 0.0, 10.0, gap=0.05)
    order = sorted(range(len(blocks)), key=lambda i: (centres[i], i))
    for below, above in itertools.pairwise(order):
        assert placed[above] - placed[below] >= (heights[above] + heights[below]) / 2 + 0.05 - 1e-9
    assert placed[order[0]] - heights[order[0]] / 2 >= -1e-9
    assert placed[order[-1]] + heights[order[-1]] / 2 <= 10.0 + 1e-9


def test_a_legend_breaks_into_rows() -> None:
    with style.house_style():
        entries = [Entry(Key("line", "#000000"), f"entry number {i}") for i in range(8)]
        narrow, wide = flow(entries, 2.5), flow(entries, 100.0)
    assert len(wide.rows) == 1
    assert len(narrow.rows) > 2
    assert [entry for row in narrow.rows for _x, entry, _lines in row] == entries
    assert narrow.height_in == pytest.approx(len(narrow.rows) * wide.height_in)


def test_a_legend_without_entries_takes_no_room() -> None:
    assert flow([], 5.0).height_in == 0


def test_figures_have_one_width() -> None:
    assert list(new_figure(2.5).get_size_inches()) == [7.4, 2.5]
