"""The section of a sweep: the response in words, the candidate, its price, and runs that are no sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_chains import BUDGET, NODES, STALENESS, analysed, made, staleness_sweep

from rlreport.comparators.analysis import Analysis
from rlreport.report.figures_series import DoseFigure
from rlreport.report.model import Bullets, Callout, Figure, Paragraph, Section, Table, plain
from rlreport.report.section_sweep import sweep_section
from rlreport.run.model import Run


def sweep(runs: list[Run], **request: Any) -> Analysis:
    return analysed(runs, "sweep", ("off-policy", "work"), **request)


def section(analysis: Analysis) -> Section:
    found = sweep_section(analysis)
    assert found is not None
    return found


def blocks(of: Section, kind: type) -> list[Any]:
    return [block for block in of.blocks if isinstance(block, kind)]


def cells(table: Table) -> list[list[str]]:
    return [[plain(cell) for cell in row.cells] for row in table.rows]


def figure(of: Section) -> DoseFigure:
    (found,) = blocks(of, Figure)
    assert isinstance(found.spec, DoseFigure)
    return found.spec


def budgets(*values: Any, rates: tuple[float, ...] = (800, 1000, 1001, 1002)) -> list[Run]:
    return [
        made(f"b{place}", rate=rates[place], seed=place + 1, config={BUDGET: value}) for place, value in enumerate(values)
    ]


def test_only_a_sweep_has_the_section() -> None:
    assert sweep_section(analysed(staleness_sweep(), "ab", ("off-policy",))) is None
    assert section(sweep(staleness_sweep())).id == "sweep"


def test_the_response_and_the_candidate_in_words() -> None:
    response, cost = (plain(block.text) for block in blocks(section(sweep(staleness_sweep())), Paragraph))
    assert response == (
        "Throughput (tokens/s per device) rises with the dose and levels off. The smallest dose that is shown not to be "
        "worse than the best by more than 5 % is 0.5 (0.992× (0.986 to 0.997) of the best, 0.7): the candidate, to be "
        "validated on your workload. Waiting falls from 25.0 to 5.22 s a step at 0.5, and no further."
    )
    assert cost.startswith(
        "The reward's step-to-step volatility grows with the dose: 2.05× from 0.3 to 0.7 (95 % interval 1."
    )
    assert cost.endswith("Accuracy still rises at the end of every run.")


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((1000, 1001, 1002), "does not depend on the dose by more than the margin"),
        ((700, 850, 1000), "still rises at the highest dose. The smallest dose"),
        ((1000, 850, 700), "falls from the smallest dose on"),
        ((1000, 850, 700), "is 10,000 (the best dose, and the smallest)"),
        ((700, 850, 1000), "is 30,000 (the best dose; 20,000 is worse, 0.850× (0.845 to 0.855))"),
        ((800, 1000), "is higher at the higher of two doses"),
        ((1000, 800), "is higher at the smaller of two doses"),
    ],
)
def test_shapes_in_words(rates: tuple[float, ...], said: str) -> None:
    found = section(sweep(budgets(*(10_000 * (k + 1) for k in range(len(rates))), rates=rates)))
    assert said in plain(blocks(found, Paragraph)[0].text)


def test_an_undecided_neighbour_is_said() -> None:
    runs = [made("a", rate=960, noise=0.12, config={BUDGET: 1000}), made("b", seed=2, noise=0.12, config={BUDGET: 2000})]
    said = plain(blocks(section(sweep(runs)), Paragraph)[0].text)
    assert "is not known well enough to say where it levels off" in said
    assert "whether 1000 is worse" in said


def test_all_responses_stand_in_the_figure() -> None:
    spec = figure(section(sweep(staleness_sweep())))
    assert [panel.title for panel in spec.panels] == [
        "tokens/s per device",
        "waiting, share of step time (%)",
        "waiting, seconds a step",
        "reward, step-to-step volatility",
        "reward, difference to the first dose",
        "validation accuracy, last evaluations",
    ]
    assert spec.doses == ("0.3", "0.5", "0.7")
    assert spec.positions == pytest.approx((0.0, 0.5, 1.0))
    assert (spec.candidate, spec.candidate_text) == (1, "candidate: 0.5, to be validated")
    assert spec.panels[0].band == pytest.approx((121 / 1.05, 121))
    assert [point.estimate for point in spec.panels[1].points] == pytest.approx([20.0, 5.0, 5.0], rel=0.01)
    assert [point.role for point in spec.panels[0].points] == [0, 1, 2]
    first, *others = spec.panels[4].points
    assert (first.estimate, first.ci_low) == (0.0, None)
    assert all(point.ci_low is not None and point.ci_low < 0 < (point.ci_high or 0) for point in others)
    assert all(panel.band is None for panel in spec.panels[1:])
    assert "(steps 2 to 121)" in spec.how_to_read
    assert "Tokens/s per device: 100 at 0.3, 120 at 0.5, 121 at 0.7." in spec.alt


@pytest.mark.parametrize(
    ("values", "positions", "words"),
    [
        ((1000, 2000, 3000, 4000), (0, 1 / 3, 2 / 3, 1), "at their values"),
        ((1, 10, 100, 1000), (0, 1 / 3, 2 / 3, 1), "on a logarithmic axis"),
        ((0, 1, 1000), (0, 0.5, 1), "evenly, not at their values"),
        ((-5, -4, 5), (0, 0.1, 1), "evenly, not at their values"),
    ],
)
def test_where_doses_stand(values: tuple[int, ...], positions: tuple[float, ...], words: str) -> None:
    spec = figure(section(sweep(budgets(*values))))
    if words.startswith("evenly"):
        positions = tuple(k / (len(values) - 1) for k in range(len(values)))
    assert spec.positions == pytest.approx(positions)
    assert f"Doses stand {words}." in spec.how_to_read


def test_doses_out_of_order_keep_their_runs_looks() -> None:
    first, second, third = staleness_sweep()
    spec = figure(section(sweep([second, third, first])))
    assert spec.doses == ("0.3", "0.5", "0.7")
    assert [point.role for point in spec.panels[0].points] == [2, 0, 1]


def test_the_tables_name_the_candidate() -> None:
    speed, quality = blocks(section(sweep(staleness_sweep())), Table)
    assert [row.marked for row in speed.rows] == [False, True, False]
    assert [row[:6] for row in cells(speed)] == [
        ["0.3", "run s3", "120", "100.00 ± 0.37", "0.826× (0.822 to 0.831)", "worse"],
        ["0.5", "run s5", "120", "120.00 ± 0.46", "0.992× (0.986 to 0.997)", "not worse: candidate"],
        ["0.7", "run s7", "120", "121.00 ± 0.46", "1", "best"],
    ]
    assert cells(quality)[0][:5] == ["0.3", "0", "0.0097 ± 0.0025", "1", "0.479 ± 0.039"]
    assert cells(quality)[2][3] == "2.05× (1.49 to 2.78)"
    assert [row[6] for row in cells(quality)] == ["still rising"] * 3


def test_runs_that_are_no_sweep_name_no_candidate_and_say_what_moved() -> None:
    found = section(sweep(staleness_sweep(s7={"config": {STALENESS: 0.7, NODES: 2}})))
    (callout,) = blocks(found, Callout)
    assert callout.title == "Not a sweep of staleness threshold"
    assert plain(callout.items[0]) == "In run s7 Trainer nodes (1 → 2) moved too."
    spec = figure(found)
    assert (spec.candidate, spec.candidate_text, spec.panels[0].band) == (None, "", None)
    assert blocks(found, Paragraph) == []
    assert not any(row.marked for table in blocks(found, Table) for row in table.rows)


def test_a_knob_that_cannot_be_told_leaves_the_runs_by_name() -> None:
    runs = [made("a", config={NODES: 1, BUDGET: 1}), made("b", seed=2, config={NODES: 2, BUDGET: 2})]
    found = section(sweep(runs))
    assert blocks(found, Callout)[0].title == "Not a sweep"
    spec = figure(found)
    assert (spec.doses, spec.x_label) == (("run a", "run b"), "run")
    assert "Doses stand side by side." in spec.how_to_read


def test_missing_metrics_leave_out_their_panels_and_are_said() -> None:
    blank = {"columns": {"quality.reward_mean": np.full(120, np.nan)}, "wait": None, "accuracy": None}
    found = section(sweep(staleness_sweep(s3=blank, s5=blank, s7=blank)))
    assert [panel.title for panel in figure(found).panels] == ["tokens/s per device"]
    response, cost = (plain(block.text) for block in blocks(found, Paragraph))
    assert "Waiting" not in response
    assert cost == (
        "The reward's volatility is not known at both ends of the sweep. Too few evaluations are logged to tell whether "
        "accuracy still changes."
    )
    assert cells(blocks(found, Table)[0])[0][6:] == ["–", "–"]


def test_accuracy_that_goes_different_ways_is_told_by_dose() -> None:
    falling = {"accuracy": [0.6 - 0.02 * k + 0.003 * (-1) ** k for k in range(12)]}
    short = {"accuracy": [0.3, 0.4]}
    cost = plain(blocks(section(sweep(staleness_sweep(s5=short, s7=falling))), Paragraph)[1].text)
    assert cost.endswith("Accuracy late in training: still rising at 0.3, not known at 0.5, falling at 0.7.")


def test_notices_stand_below() -> None:
    (bullets,) = blocks(section(sweep(budgets(1000, 2000))), Bullets)
    assert [plain(item) for item in bullets.items] == [
        "Two doses show a difference, not a response: a plateau needs three doses at least.",
        "The best dose is the highest one tried: a higher one may be better still.",
    ]
