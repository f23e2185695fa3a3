from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.made_courses import course_analysis, course_run, courses_of, replicated_of

from rlreport.comparators.course import follow_run
from rlreport.comparators.steady_state import find_steady_state
from rlreport.report.data_course import course_data, replicated_data, run_course_data
from rlreport.report.model import Section, Table, plain
from rlreport.report.section_equal_cost import equal_cost_section, run_signals_section

MARGINS = {"quality.reward_mean": 0.05, "quality.accuracy": 0.05}


def tables(section: Section | None) -> dict[str, list[list[str]]]:
    assert section is not None
    return {
        block.id: [[plain(cell) for cell in row.cells] for row in block.rows]
        for block in section.blocks
        if isinstance(block, Table)
    }


def of(*runs: Any, **options: Any) -> dict[str, list[list[str]]]:
    analysis = course_analysis(*runs)
    return tables(equal_cost_section(analysis, courses_of(analysis, margins=MARGINS, **options)))


def test_quality_at_equal_cost_targets_and_signals() -> None:
    found = of(course_run("a"), course_run("b", seed=2, speed=2.0), targets={"quality.accuracy": 0.5})
    assert list(found) == ["equal-cost-table", "targets", "signals"]
    rows = {row[0]: row[1:] for row in found["equal-cost-table"]}
    assert rows["reward at equal samples"][0] == "120 steps"
    assert rows["reward at equal samples"][-1] == "equivalent (±0.050)"
    assert rows["validation accuracy at equal hours"][1].endswith(" / 120")
    assert found["targets"][0][0] == "validation accuracy 0.500"
    assert found["targets"][1][2] != found["targets"][1][3]  # hours
    assert [row[0] for row in found["targets"]][1:] == ["", ""]
    assert found["signals"][0][0] == "entropy (nats)"
    assert found["signals"][0][1] == "0.79 → 0.41"


def test_a_target_that_is_not_reached_is_a_bound() -> None:
    low = {"quality.accuracy": np.where(np.arange(1, 121) % 10 == 0, 0.2, np.nan)}
    rows = of(course_run("a", **low), course_run("b", seed=2), targets={"quality.accuracy": 0.5})["targets"]
    assert rows[0][2] == "not reached in 7,680"  # prompts
    assert rows[0][4].startswith("at least ")
    never = of(course_run("a", **low), course_run("b", **low), targets={"quality.accuracy": 0.5})["targets"]
    assert {row[4] for row in never} == {"–"}


def test_runs_without_quality_have_no_section() -> None:
    nothing = dict.fromkeys(("quality.reward_mean", "quality.accuracy", "quality.entropy"), np.full(120, np.nan))
    analysis = course_analysis(course_run("a", **nothing), course_run("b", **nothing))
    assert equal_cost_section(analysis, courses_of(analysis)) is None


def test_a_single_run_shows_its_targets_and_signals() -> None:
    run = course_run("a")
    found = follow_run(run, find_steady_state(run), targets={"quality.accuracy": 0.5})
    shown = tables(run_signals_section(found))
    assert shown["targets"][0][1:] != ["–"] * 3
    assert shown["signals"][0][1] == "0.79 → 0.41"
    bare = course_run("b", **{"quality.entropy": np.full(120, np.nan)})
    assert run_signals_section(follow_run(bare, find_steady_state(bare))) is None


def test_the_data_are_json_and_hold_the_numbers() -> None:
    analysis = course_analysis(course_run("a"), course_run("b", seed=2, speed=2.0))
    (course,) = courses_of(analysis, targets={"quality.accuracy": 0.5})
    data = json.loads(json.dumps(course_data(course), allow_nan=False))
    assert data["horizon"]["agreement"] == "agree"
    assert len(data["horizon"]["windows"]) == 4
    assert data["wall_clock"]["time_ratio"] == pytest.approx(data["horizon"]["cumulative"]["time_ratio"], rel=0.05)
    losses = data["wall_clock"]["baseline"]["losses"]
    assert sum(losses.values()) == pytest.approx(data["wall_clock"]["baseline"]["lost_s"])
    assert [budget["basis"] for budget in data["equal_cost"]][:3] == ["samples", "hours", "device-hours"]
    assert data["targets"][0]["target"] == 0.5
    assert "notices" not in data["signals"][0]
    run = analysis.runs["a"].run
    alone = json.loads(json.dumps(run_course_data(follow_run(run, find_steady_state(run))), allow_nan=False))
    assert alone["wall_clock"]["losses"]["validation"] == pytest.approx(480.0)


def test_replicates_are_json_too() -> None:
    found = replicated_of([course_run("a"), course_run("c", seed=3, speed=1.02)], [course_run("b", seed=2, speed=1.5)])
    data = json.loads(json.dumps(replicated_data(found), allow_nan=False))
    assert data["basis"] == "baseline"
    assert data["floor"]["degrees"] == 1
    assert replicated_data(None) is None
