from __future__ import annotations

import numpy as np
import pytest
from support.made_courses import course_analysis, course_run, courses_of

from rlreport.report.figures_horizon import HorizonFigure, HorizonTrack
from rlreport.report.model import Bullets, Figure, Paragraph, Section, Table, plain
from rlreport.report.section_horizon import horizon_section, wall_clock_section


def section_of(*runs, **options) -> Section:
    analysis = course_analysis(*runs)
    found = horizon_section(analysis, courses_of(analysis), **options)
    assert found is not None
    return found


def figure_of(section: Section) -> HorizonFigure:
    return next(b.spec for b in section.blocks if isinstance(b, Figure) and isinstance(b.spec, HorizonFigure))


def tables_of(section: Section) -> dict[str, Table]:
    return {block.id: block for block in section.blocks if isinstance(block, Table)}


def cells(table: Table) -> list[list[str]]:
    return [[plain(cell) for cell in row.cells] for row in table.rows]


def test_a_pair_has_a_sentence_a_figure_the_reward_and_two_tables() -> None:
    found = section_of(course_run("a"), course_run("b", seed=2, speed=np.linspace(1.2, 1.6, 120)))
    assert isinstance(found.blocks[0], Paragraph)
    assert plain(found.blocks[0].text).startswith("No single number describes this pair")
    assert [b.spec.id for b in found.blocks if isinstance(b, Figure)] == ["horizon", "reward"]
    assert list(tables_of(found)) == ["horizon-parts", "wall-clock"]
    assert "no single number" in figure_of(found).caption
    without = section_of(course_run("a"), course_run("b", seed=2), reward=False)
    assert [b.spec.id for b in without.blocks if isinstance(b, Figure)] == ["horizon"]


def test_the_table_says_what_the_parts_and_the_start_give() -> None:
    found = section_of(course_run("a"), course_run("b", seed=2, speed=2.0))
    rows = cells(tables_of(found)["horizon-parts"])
    assert [row[0] for row in rows] == ["steps 1 to 30", "steps 31 to 60", "steps 61 to 90", "steps 91 to 120"]
    assert rows[0][1] == "30 / 30"
    assert all(row[2].startswith(("1.9", "2.0")) for row in rows)
    # 120 steps of 100 s and 12 validations of 40 s by the wall clock; 120 of 50 s and the same validations
    assert rows[-1][5].startswith("3.4")
    assert rows[-1][7] == "1.000×"


def test_the_wall_clock_adds_up_on_the_page() -> None:
    found = section_of(course_run("a"), course_run("b", seed=2, speed=2.0))
    table = tables_of(found)["wall-clock"]
    rows = {row[0]: row[1:] for row in cells(table)}
    assert rows["Validation"] == ["8 min 0 s", "3.8 %", "8 min 0 s", "7.1 %"]
    assert rows["Start-up, before the first step"][0] == "5 min 0 s"
    assert rows["Wall clock, steps 1 to 120"][1] == "100.0 %"
    assert "Ratio in steady state 2.0" in plain(table.note)
    assert "by the wall clock 1.8" in plain(table.note)


def test_several_pairs_share_the_figure_and_a_short_table() -> None:
    found = section_of(course_run("a"), course_run("b", seed=2, speed=1.2), course_run("c", seed=3, speed=1.5))
    assert isinstance(found.blocks[0], Bullets)
    assert len(found.blocks[0].items) == 2
    assert [track.role for track in figure_of(found).tracks] == [1, 2]
    rows = cells(tables_of(found)["wall-clock"])
    assert [row[0] for row in rows] == ["run b against run a", "run c against run a"]
    assert rows[0][5].startswith("Validation: ")
    assert cells(tables_of(found)["horizon-parts"])[0][0] == "run b: steps 1 to 30"


def test_other_batches_are_told_in_prompts() -> None:
    large = course_run("b", seed=2, n=60, **{"work.prompts": np.full(60, 128.0), "work.tokens": np.full(60, 20_000.0)})
    found = figure_of(section_of(course_run("a"), large))
    assert found.x_label == "thousand prompts trained"
    assert found.tracks[0].parts[-1].end == pytest.approx(7.68)


def test_without_clocks_and_with_few_steps_what_is_known_is_shown() -> None:
    found = section_of(course_run("a", n=4, clock=False), course_run("b", n=4, clock=False, speed=2.0))
    assert list(tables_of(found)) == ["horizon-parts"]
    rows = cells(tables_of(found)["horizon-parts"])
    assert [row[3] for row in rows] == ["–"] * 4
    assert "with 95 % interval" not in figure_of(found).part_text


def test_a_pair_without_a_course_has_no_section() -> None:
    analysis = course_analysis(course_run("a", n=1, clock=False), course_run("b", n=1, clock=False))
    assert horizon_section(analysis, courses_of(analysis)) is None
    assert wall_clock_section("a", None) is None


def test_a_track_needs_a_value_a_place() -> None:
    with pytest.raises(ValueError, match="same length"):
        HorizonTrack(label="r", role=1, parts=(), places=(1.0,), cumulative=())
