"""The page of published numbers, as data: section, figure, head and JSON."""

from __future__ import annotations

import json

import pytest
from support.made_runs import make_run
from support.published import results_run, study, study_of, totals

from rlreport.comparators.summary import SummaryStudy
from rlreport.report.figure_data_summary import NO_INTERVAL, ratio_figure, speed_up_figure
from rlreport.report.figures import RatioFigure, figure_json
from rlreport.report.figures_summary import SpeedUpFigure
from rlreport.report.model import Bullets, Callout, Figure, Section, Table, plain
from rlreport.report.section_summary import published_next_section, published_section, published_traps_section
from rlreport.report.verdict_summary import published_badges, published_data, published_facts, published_verdict


def roles(found: SummaryStudy) -> dict[str, int]:
    return {run_id: number for number, run_id in enumerate(found.runs)}


def section(found: SummaryStudy) -> Section:
    return published_section(found, roles(found))


def table(found: Section, table_id: str) -> dict[str, list[str]]:
    (one,) = [block for block in found.blocks if isinstance(block, Table) and block.id == table_id]
    return {plain(row.cells[0]): [plain(cell) for cell in row.cells[1:]] for row in one.rows}


class TestSection:
    def test_it_says_first_that_nothing_is_claimed(self) -> None:
        first = section(study("published-staleness")).blocks[0]
        text = plain(first.text)  # type: ignore[union-attr]
        assert text.startswith("No log stands behind these runs: 36 numbers of 4 runs")
        assert "One published number an arm: no interval." in text

    def test_speed_ups_stand_by_horizon_and_by_window(self) -> None:
        rows = table(section(study("published-horizons-32")), "published-speed-ups")
        assert rows["fully async on 16 + 16, to step 100"] == ["13 h 44 min", "7 h 58 min", "1.72×", "1 to 100", "1.72×"]
        assert rows["fully async on 16 + 16, to step 400"] == ["89 h 05 min", "33 h 26 min", "2.66×", "301 to 400", "3.71×"]

    def test_a_horizon_that_is_not_told_is_not_made_up(self) -> None:
        rows = table(section(study("published-one-step-fsdp")), "published-speed-ups")
        assert rows == {"one-step-off, FSDP2, horizon not told": ["19 h 18 min", "15 h 34 min", "1.24×", "–", "–"]}

    def test_numbers_stand_as_published_with_their_units_and_sources(self) -> None:
        found = section(study("published-horizons-32"))
        rows = table(found, "published-numbers")
        assert rows["step (s)"] == ["790.10", "294.77"]
        assert rows["waiting for samples (s)"] == ["–", "21.26"]
        assert rows["total time, steps 1 to 100"] == ["13 h 44 min", "7 h 58 min"]
        assert rows["speed-up as published (×), steps 1 to 200"] == ["–", "1.70"]
        assert rows["validation accuracy, last"] == ["0.2448", "0.2333"]
        (numbers,) = [block for block in found.blocks if isinstance(block, Table) and block.id == "published-numbers"]
        assert "sync on 32: verl-project/verl@1dda039b9 docs/advance/fully_async.md:357" in plain(numbers.note)

    def test_what_the_numbers_imply_stands_below_them(self) -> None:
        rows = table(section(study("published-v1-modes")), "published-numbers")
        assert rows["implied by tokens/s × total time: tokens"] == ["989 M", "999 M", "956 M"]
        assert rows["tokens/s, all devices, steps 1 to 150"] == ["12,053", "18,852", "18,829"]
        assert "implied by tokens and rate per device: devices" not in rows
        # 128.47 / 231.34, 58.17 / 171.30, 38.88 / 146.11, 33.14 / 150.63
        waits = table(section(study("published-staleness")), "published-numbers")
        assert waits["implied: share of the step spent waiting for samples"] == ["55.5 %", "34.0 %", "26.6 %", "22.0 %"]

    def test_traps_stand_as_boxes_with_their_evidence(self) -> None:
        found = published_traps_section(study("published-v1-modes"))
        assert found is not None
        (box,) = found.blocks
        assert isinstance(box, Callout) and box.title == "Fewest hours is not most tokens/s" and box.tone == "warn"
        assert "−4.4 %" in plain(box.items[1])
        assert published_traps_section(study("published-v1-switch")) is None

    def test_what_would_settle_it_follows_from_the_traps(self) -> None:
        (items,) = published_next_section(study("published-v1-modes")).blocks
        assert isinstance(items, Bullets)
        told = [plain(item) for item in items.items]
        assert told[0].startswith("Step data of both runs")
        assert told[-1] == "Fewest hours is not most tokens/s: response lengths by step, for the ratio at equal length."
        (clean,) = published_next_section(study("published-v1-switch")).blocks
        assert isinstance(clean, Bullets) and len(clean.items) == 2

    def test_beside_a_logged_run_the_results_do_not_speak_for_all(self) -> None:
        runs = {"a": make_run({"time.step_s": [1.0]}, run_id="a"), "b": results_run("b", totals(1))}
        found = study_of(runs, "a")
        first = section(found).blocks[0]
        assert plain(first.text).startswith("Of these runs only results are known: 1 number of 1 run")  # type: ignore[union-attr]

    def test_pairs_of_a_ladder_are_told_with_both_runs(self) -> None:
        runs = {name: results_run(name, totals(hours)) for name, hours in (("a", 3), ("b", 2), ("c", 1))}
        ladder = study_of(runs, "a")
        second = study_of({"b": runs["b"], "c": runs["c"]}, "b").comparisons
        found = SummaryStudy(ladder.runs, (ladder.comparisons[0], *second), alone=True)
        assert list(table(section(found), "published-speed-ups")) == ["b against a, to step 100", "c against b, to step 100"]


class TestFigure:
    def test_windows_and_horizons_have_no_interval(self) -> None:
        found = study("published-horizons-32")
        figure = speed_up_figure(found, roles(found))
        assert isinstance(figure, SpeedUpFigure)
        (series,) = figure.series
        assert [(p.from_step, p.to_step, p.text) for p in series.windows] == [
            (1, 100, "1.72×"),
            (101, 200, "1.67×"),
            (201, 300, "3.47×"),
            (301, 400, "3.71×"),
        ]
        assert [p.text for p in series.cumulative] == ["1.72×", "1.70×", "2.31×", "2.66×"]
        assert figure.note == NO_INTERVAL and "no interval" in figure.note
        assert figure.caption == (
            "By the steps it is taken over, fully async on 16 + 16 lies between 1.67× and 3.71×: no single number "
            "describes it."
        )
        assert "3.71× (301 to 400)" in figure.alt and "without intervals" in figure.alt
        assert "ci_low" not in json.dumps(figure_json(figure))

    def test_one_series_a_variant_in_its_colour(self) -> None:
        found = study("published-staleness")
        figure = speed_up_figure(found, roles(found))
        assert isinstance(figure, SpeedUpFigure)
        assert [(series.label, series.role) for series in figure.series] == [
            ("staleness 0.1", 1),
            ("staleness 0.3", 2),
            ("staleness 0.5", 3),
        ]
        assert figure.caption.endswith("no single number describes any of them.")

    def test_a_pair_that_keeps_its_ratio_is_not_said_to_change(self) -> None:
        found = study_of({"a": results_run("a", totals(2, 4)), "b": results_run("b", totals(1, 2))}, "a")
        figure = speed_up_figure(found, roles(found))
        assert figure is not None and figure.caption.startswith("The speed-ups hardly depend")

    def test_with_one_horizon_the_ratios_stand_without_intervals(self) -> None:
        found = study("published-v1-modes")
        assert speed_up_figure(found, roles(found)) is None
        figure = ratio_figure(found, roles(found))
        assert isinstance(figure, RatioFigure)
        assert [(row.label, row.text, row.ci_low, row.ci_high) for row in figure.rows] == [
            ("colocate async: by total time, 150 steps", "1.55×  no interval", None, None),
            ("colocate async: by tokens/s", "1.56×  no interval", None, None),
            ("separate async: by total time, 150 steps", "1.62×  no interval", None, None),
            ("separate async: by tokens/s", "1.56×  no interval", None, None),
        ]
        assert figure.margin is None

    def test_without_anything_in_common_there_is_none(self) -> None:
        found = study_of({"a": results_run("a", {"time.ref_s": 1.0}), "b": results_run("b", {"time.ref_s": 1.0})}, "a")
        assert ratio_figure(found, roles(found)) is None and speed_up_figure(found, roles(found)) is None
        assert not [block for block in section(found).blocks if isinstance(block, Figure)]


class TestHead:
    def test_the_verdict_claims_nothing_and_gives_the_ratios_with_their_steps(self) -> None:
        assert plain(published_verdict(study("published-horizons-32"))) == (
            "No claim can be made (one published number an arm: no interval). Against sync on 32, the numbers of fully "
            "async on 16 + 16 give 2.66× by total time over 400 steps and 1.67× to 3.71× by window. No single number "
            "describes this pair."
        )

    def test_several_pairs_are_told_together(self) -> None:
        text = plain(published_verdict(study("published-staleness")))
        assert "the numbers of staleness 0.1, staleness 0.3 and staleness 0.5 give 1.30×, 1.49× and 1.49×" in text
        assert "0.922× to 1.95×, 1.10× to 1.91× and 1.30× to 1.67× by window" in text

    def test_without_totals_step_time_and_rate_stand(self) -> None:
        text = plain(published_verdict(study("published-metax")))
        assert text.endswith("give 1.37× by mean step time and 1.094× by tokens/s.")

    def test_runs_that_cannot_be_compared_say_so_first(self) -> None:
        runs = {
            name: results_run(name, totals(1, 2), config={"actor_rollout_ref.model.path": name})
            for name in ("model-a", "model-b")
        }
        assert plain(published_verdict(study_of(runs, "model-a"))).startswith("These runs cannot be compared: ")

    def test_a_run_alone_and_a_pair_without_a_common_quantity(self) -> None:
        alone = study_of({"a": results_run("a", totals(1))}, "a")
        assert plain(published_verdict(alone)).endswith(" What is published of a stands below.")
        nothing = study_of({"a": results_run("a", {"time.ref_s": 1.0}), "b": results_run("b", {"time.ref_s": 2.0})}, "a")
        assert plain(published_verdict(nothing)).endswith("Against a, the numbers of b have no quantity in common.")

    def test_badges_tell_what_the_data_are(self) -> None:
        texts = [badge.text for badge in published_badges(study("published-v1-modes"))]
        assert texts[:2] == ["published numbers only", "no interval"]
        assert "? too little data: separate async" in texts and texts[-1] == "1 trap in these numbers"
        assert all("trap" not in badge.text for badge in published_badges(study("published-v1-switch")))

    def test_the_strip_holds_four_facts_of_one_pair(self) -> None:
        facts = published_facts(study("published-horizons-32"))
        assert [(fact.label, fact.value, fact.note) for fact in facts] == [
            ("Total time, 400 steps", "89.1 → 33.4 h", "2.66×, no interval"),
            ("Speed-up by window", "1.67× to 3.71×", "4 windows"),
            ("Mean step time", "790 s → 295 s", "2.68×, no interval"),
            ("Accuracy, last", "0.245 → 0.233", "best 0.331 and 0.330"),
        ]
        assert published_facts(study("published-staleness")) == ()


class TestData:
    def test_every_number_has_its_source_and_no_interval(self) -> None:
        data = json.loads(json.dumps(published_data(study("published-metax"))))
        assert data["reason"] == "one published number an arm: no interval"
        first = data["runs"]["before"][0]
        assert (first["quantity"], first["value"], first["from_step"], first["where"]) == (
            "time.step_s",
            1268.49,
            3,
            "metax-8b.csv:2",
        )
        assert first["source"].startswith("MetaX C550")
        (pair,) = data["comparisons"]
        assert pair["tokens_per_s"]["ratio"] == pytest.approx(1.0943, abs=1e-4)
        assert pair["cumulative"] == [] and pair["verdict"] == "insufficient-data"
        assert data["implied"]["before"]["devices"] == pytest.approx(8, rel=1e-4)
        assert [trap["id"] for trap in data["traps"]] == ["less-work"]

    @pytest.mark.parametrize("report", ["published-staleness", "published-horizons-32", "published-v1-modes"])
    def test_no_interval_stands_anywhere(self, report: str) -> None:
        def ends(value: object) -> list[object]:
            if isinstance(value, dict):
                own = [value[key] for key in ("ci_low", "ci_high") if key in value]
                return own + [end for inner in value.values() for end in ends(inner)]
            return [end for inner in value for end in ends(inner)] if isinstance(value, list) else []

        found = ends(published_data(study(report)))
        assert found and set(found) == {None}
