"""The calibration of docs/statistics.md in a small form with fixed seeds, and the page's own tables against the bars.

Bars hold for long runs of the benchmark; here each has the Monte-Carlo error of the few pairs added (two standard errors).
"""

from __future__ import annotations

import importlib
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "statistics.md"
PAIRS = 80


def _load(name: str) -> ModuleType:
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


pairs_of = _load("calibration_pairs")
others = _load("calibration_others")
tables = _load("calibration")


def _error(share: float, count: int) -> float:
    return 2 * math.sqrt(share * (1 - share) / count)


def _table(name: str) -> list[list[str]]:
    """The cells of a table of the page, without its head."""
    text = PAGE.read_text("utf-8")
    part = text[text.index(f"<!-- calibration: {name} -->") : text.index(f"<!-- end of {name} -->")]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return rows[2:]


def _share(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


@pytest.mark.parametrize(
    ("phi", "steps", "coverage", "alarms"),
    [
        (0.0, 30, 0.92, 0.08),
        (0.0, 300, 0.92, 0.08),
        (0.5, 30, 0.92, 0.08),
        (0.5, 100, 0.92, 0.08),
        (0.8, 30, 0.88, 0.10),
        (0.8, 100, 0.88, 0.08),
        (0.8, 300, 0.88, 0.08),
    ],
)
def test_intervals_hold_the_true_ratio(phi: float, steps: int, coverage: float, alarms: float) -> None:
    scenario = pairs_of.autoregressive_scenario(phi)
    for ratio in (1.0, 1.1):
        tally = pairs_of.run_pairs(scenario, steps=steps, ratio=ratio, pairs=PAIRS, seed=7)
        assert tally.made >= PAIRS - 1  # an arm without a level has no interval
        assert tally.coverage >= coverage - _error(coverage, PAIRS)
        if ratio == 1.0:
            assert tally.alarms <= alarms + _error(alarms, PAIRS)
            assert tally.verdicts["improved"] + tally.verdicts["regressed"] <= 0.05 * PAIRS


@pytest.mark.parametrize("scenario", pairs_of.NOISES, ids=lambda scenario: scenario.name)
def test_intervals_hold_under_noise_of_other_kinds(scenario: object) -> None:
    tally = pairs_of.run_pairs(scenario, steps=100, ratio=1.1, pairs=40, seed=7)
    assert tally.made == 40
    assert tally.coverage >= 0.92 - _error(0.92, 40)


@pytest.mark.parametrize(("phi", "missed"), [(0.0, 0.10), (0.5, 0.10), (0.8, 0.30)])
def test_a_drift_is_seldom_called_steady_and_a_flat_series_seldom_drifting(phi: float, missed: float) -> None:
    drifting = pairs_of.steady_states(phi, -0.1, steps=300, series=80, seed=7)
    flat = pairs_of.steady_states(phi, 0.0, steps=300, series=100, seed=7)
    assert 1 - pairs_of.share_of(drifting, "drifting", "none") <= missed + _error(missed, 80)
    assert pairs_of.share_of(flat, "drifting") <= 0.06 + _error(0.06, 100)


@pytest.mark.parametrize("other", others.OTHERS, ids=lambda other: f"{other.statistic}, {other.setting}")
def test_other_statistics_hold_what_the_page_says(other: object) -> None:
    row = next(row for row in _table("others") if row[:2] == [other.statistic, other.setting])  # type: ignore[attr-defined]
    count = 30 if "windows" in row[0] else 60 if "volatility" in row[0] else 200
    found = other.measure(count, 7)  # type: ignore[attr-defined]
    told = min(max(_share(row[3]), 0.01), 0.99)
    assert found == pytest.approx(told, abs=1.5 * _error(told, count) + 1 / count)


def test_the_page_has_every_row_and_every_row_holds_the_bars() -> None:
    grid = {(row[0], int(row[1])): row for row in _table("grid")}
    assert set(grid) == {(f"correlation {phi:g}", n) for phi in tables.CORRELATIONS for n in tables.STEPS}
    for (name, steps), row in grid.items():
        strong = name == "correlation 0.8"
        assert min(_share(row[2]), _share(row[3])) >= (0.88 if strong else 0.92)
        assert _share(row[4]) <= (0.10 if strong and steps == 30 else 0.08)
    noise = _table("noise")
    assert {row[0] for row in noise} == {scenario.name for scenario in pairs_of.NOISES}
    assert len(noise) == len(pairs_of.NOISES) * len(tables.STEPS)
    for row in _table("drift"):
        flat, missed = _share(row[2]), _share(row[3])
        if row[0] == "300":
            assert missed <= (0.30 if row[1] == "0.8" else 0.10)
            assert flat <= 0.06
    assert [row[:2] for row in _table("others")] == [[other.statistic, other.setting] for other in others.OTHERS]


@pytest.mark.parametrize(("name", "steps"), [("correlation 0.5", 100), ("two states, ten steps each on average", 100)])
def test_the_page_says_what_the_functions_give(name: str, steps: int) -> None:
    told = next(row for row in (*_table("grid"), *_table("noise")) if (row[0], row[1]) == (name, str(steps)))
    again = tables.cell(name, steps, pairs=100, seed=3).row().strip("| ").split(" | ")
    assert again[:2] == told[:2]
    for column in (2, 3):
        share = _share(told[column])
        assert _share(again[column]) == pytest.approx(share, abs=1.5 * _error(share, 100))
    assert _share(again[6]) == pytest.approx(_share(told[6]), rel=0.1)


def test_the_page_names_enough_pairs() -> None:
    notes = re.findall(r"([\d,]+) made pairs .* is (\d+\.\d) points", PAGE.read_text("utf-8"))
    assert len(notes) == 4
    for count, error in notes:
        assert float(error) < 1.0
        assert int(count.replace(",", "")) >= 1000


def test_a_table_is_put_between_its_markers() -> None:
    page = "a\n<!-- calibration: x -->\nold\n<!-- end of x -->\nz\n"
    found = tables.replace_table(page, "x", ["| new |"], 1500)
    assert found.startswith("a\n<!-- calibration: x -->\n\n| new |\n\n1,500 made pairs")
    assert found.endswith("\n<!-- end of x -->\nz\n")
    assert "old" not in found
    assert tables.replace_table(found, "x", ["| new |"], 1500) == found
    with pytest.raises(ValueError, match="no markers"):
        tables.replace_table(page, "y", [], 10)
