"""The head of the page of a ladder or a sweep, and what report.json holds of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.made_chains import BUDGET, DATA, NODES, STALENESS, WARM_UP, analysed, made, omni_ladder, staleness_sweep

from rlreport.comparators.analysis import Analysis
from rlreport.report.data_series import ladder_data, sweep_data
from rlreport.report.model import plain
from rlreport.report.verdict_series import (
    ladder_facts,
    ladder_sentence,
    ladder_tone,
    sweep_facts,
    sweep_sentence,
    sweep_tone,
)
from rlreport.run.model import Run


def ladder(runs: list[Run], *changes: str) -> Analysis:
    return analysed(runs, "ladder", changes or ("resources", "work"))


def sweep(runs: list[Run]) -> Analysis:
    return analysed(runs, "sweep", ("off-policy", "work"))


def facts(found: Any) -> list[tuple[str, str, str]]:
    return [(fact.label, fact.value, fact.note) for fact in found]


def test_a_ladder_in_a_sentence() -> None:
    analysis = ladder(omni_ladder())
    assert plain(ladder_sentence(analysis)) == (
        "Three rungs, from run a to run c: 1.056× the tokens/s per device in total (95 % interval 1.050 to 1.062); rung 2 "
        "changes two classes and cannot be attributed."
    )
    assert ladder_tone(analysis) == "good"


@pytest.mark.parametrize(
    ("last", "said", "tone"),
    [
        ({"rate": 800}, "0.800× the tokens/s per device in total (95 % interval 0.796 to 0.804).", "bad"),
        (
            {"rate": 1000},
            "equivalent within 5 % in total (1.000× tokens/s per device, 95 % interval 0.995 to 1.005).",
            "plain",
        ),
        ({"rate": 1030}, "less than what matters in total (1.030× tokens/s per device, ", "plain"),
        ({"rate": 1100, "noise": 0.6}, "no difference can be claimed in total (", "warn"),
        ({"steps": 5}, "too little data for a total.", "warn"),
        (
            {"config": {DATA: "b.parquet"}},
            "the last rung cannot be compared with the first; rung 2 cannot be compared with the rung before.",
            "bad",
        ),
    ],
)
def test_the_total_in_words(last: dict[str, Any], said: str, tone: str) -> None:
    analysis = ladder([made("a"), made("b", **{"seed": 2, "config": {WARM_UP: 2}, **last})], "work")
    sentence = plain(ladder_sentence(analysis))
    assert sentence.startswith("Two rungs, from run a to run b: ")
    assert said in sentence
    assert ladder_tone(analysis) == tone


def test_rungs_with_the_same_doubt_are_told_together() -> None:
    runs = [made("a"), *(made(name, seed=k + 2, config={WARM_UP: k + 2}) for k, name in enumerate("bc"))]
    assert plain(ladder_sentence(ladder(runs, "schedule"))).endswith("; rungs 2 and 3 moved what was not declared.")
    same = [made("a"), made("b", seed=2)]
    assert plain(ladder_sentence(ladder(same, "work"))).endswith("; rung 2 changed nothing that is known.")


def test_the_strip_of_a_ladder() -> None:
    assert facts(ladder_facts(ladder(omni_ladder()))) == [
        ("Throughput, tokens/s per device", "125 → 132", "1.056× (1.050 to 1.062)"),
        ("Changes of one class, as declared", "1 of 2", "1 run is missing"),
        ("Rollouters' lead", "5.0 → 3.0 → 1.5", "mini-batches, rung by rung"),
        ("Memory free, last rung", "21.9 % of 64.0 GB", "budget up to 46,080 tokens keeps 10 %"),
    ]


def test_what_the_strip_does_not_know_is_unknown() -> None:
    found = facts(ladder_facts(ladder([made("a"), made("b", seed=2, steps=5, config={WARM_UP: 2})], "work")))
    assert found[0][2] == "too little data"
    assert found[1][1:] == ("1 of 1", "no run is missing")
    assert found[2][1:] == ("unknown", "no queue and no staleness is logged")
    assert found[3][1:] == ("unknown", "no budget recommended")


def test_a_sweep_in_a_sentence() -> None:
    analysis = sweep(staleness_sweep())
    assert plain(sweep_sentence(analysis)) == (
        "Staleness threshold from 0.3 to 0.7: throughput stops rising at 0.5; 0.5 is the candidate, to be validated on your "
        "workload: 0.992× (0.986 to 0.997) of the best, 0.7."
    )
    assert sweep_tone(analysis) == "good"


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((1000, 1001, 1002), "throughput is alike within 5 % at all doses; 1000 is the candidate"),
        ((700, 850, 1000), "throughput still rises at the highest dose, 3000; 3000 is the candidate"),
        ((1000, 850, 700), "throughput falls from 1000 on; 1000 is the candidate"),
        ((700, 1000, 700), "throughput is best at 2000 and falls beyond; 2000 is the candidate"),
        ((800, 1000), "throughput is higher at 2000; 2000 is the candidate"),
        ((1000, 800), "throughput is higher at 1000; 1000 is the candidate"),
    ],
)
def test_shapes_in_the_sentence(rates: tuple[float, ...], said: str) -> None:
    runs = [made(f"d{k}", rate=rate, seed=k + 1, config={BUDGET: 1000 * (k + 1)}) for k, rate in enumerate(rates)]
    sentence = plain(sweep_sentence(sweep(runs)))
    assert said in sentence
    assert "to be validated on your workload" in sentence


def test_an_undecided_sweep_says_so() -> None:
    runs = [made("a", rate=960, noise=0.12, config={BUDGET: 1000}), made("b", seed=2, noise=0.12, config={BUDGET: 2000})]
    assert "but where it levels off is not decided; 2000 is the candidate" in plain(sweep_sentence(sweep(runs)))
    assert sweep_tone(sweep(runs)) == "plain"


def test_runs_that_are_no_sweep_say_why() -> None:
    analysis = sweep(staleness_sweep(s7={"config": {STALENESS: 0.7, NODES: 2}}))
    assert plain(sweep_sentence(analysis)) == (
        "These runs are no sweep of staleness threshold: in run s7 Trainer nodes (1 → 2) moved too."
    )
    assert sweep_tone(analysis) == "warn"
    assert facts(sweep_facts(analysis))[0] == ("Candidate", "none", "nothing is concluded")


def test_doses_without_order_and_without_steady_state_have_no_candidate() -> None:
    words = [made("a", config={BUDGET: "small"}), made("b", seed=2, config={BUDGET: "large"})]
    assert "no dose can be named, since the values of tokens of a micro-batch per device have no order" in plain(
        sweep_sentence(sweep(words))
    )
    short = [made("a", steps=5, config={BUDGET: 1}), made("b", seed=2, steps=5, config={BUDGET: 2})]
    assert plain(sweep_sentence(sweep(short))).endswith("since no dose has a steady state to compare.")


def test_the_strip_of_a_sweep() -> None:
    assert facts(sweep_facts(sweep(staleness_sweep()))) == [
        ("Candidate", "0.5", "smallest dose not worse by more than 5 %"),
        ("Tokens/s per device at 0.5", "120.00 ± 0.46", "0.992× (0.986 to 0.997) of the best"),
        ("Trainer waits", "25 → 5.2 → 5.2", "s a step; falls no further from 0.5 on"),
        ("Reward volatility", "2.05×", "0.7 over 0.3; 1.49 to 2.78"),
    ]
    blank = {"columns": {"quality.reward_mean": np.full(120, np.nan)}, "wait": None}
    unknown = facts(sweep_facts(sweep(staleness_sweep(s3=blank, s5=blank, s7=blank))))
    assert unknown[2][1:] == ("unknown", "no timer of it")
    assert unknown[3][1:] == ("unknown", "0.7 over 0.3")


def test_the_data_of_a_ladder() -> None:
    data = ladder_data(ladder(omni_ladder()))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["metric"] == "tokens_per_s_per_device"
    first, second, third = data["rungs"]
    assert (first["to_previous"], first["to_first"], first["attribution"], first["window"]) == (None, None, None, None)
    assert second["attribution"] == "several-classes"
    assert second["missing"] == [
        {
            "like": "a",
            "adds": "resources",
            "classes": ["resources"],
            "settings": [{"knob": NODES, "class": "resources", "before": 1, "after": 2, "absent_in": [], "follows": None}],
        }
    ]
    assert third["to_first"]["ratio"] == pytest.approx(1.056)
    assert third["to_first"]["verdict"] == "improved"
    assert third["lead"]["mini_batches"] == 1.5
    assert third["memory"]["free_fraction"] == pytest.approx(1 - 50 / 64)
    assert data["budget"]["tokens"] == 46_080


def test_a_key_that_goes_away_is_null_and_named_as_absent() -> None:
    runs = [made("a", config={"trainer.test_freq": 5}), made("b", seed=2, config={STALENESS: 0.5})]
    (missing,) = ladder_data(ladder(runs, "schedule", "off-policy"))["rungs"][1]["missing"]
    assert missing["settings"] == [
        {
            "knob": "trainer.test_freq",
            "class": "schedule",
            "before": 5,
            "after": None,
            "absent_in": ["after"],
            "follows": None,
        }
    ]


def test_the_data_of_a_sweep() -> None:
    data = sweep_data(sweep(staleness_sweep()))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["knob"], data["valid"], data["problems"]) == (STALENESS, True, [])
    assert (data["shape"], data["best"], data["candidate"], data["plateau"]) == ("levels-off", "s7", "s5", ["s5", "s7"])
    assert data["wait_levels_off"] == "s5"
    first, second, _ = data["doses"]
    assert (first["run"], first["value"], first["number"], first["standing"]) == ("s3", 0.3, 0.3, "worse")
    assert first["reward_volatility_ratio"]["estimate"] is None
    assert second["to_best"]["ratio"] == pytest.approx(120 / 121)
    assert second["window"] == [2, 121]


def test_the_data_of_runs_that_are_no_sweep() -> None:
    data = sweep_data(sweep([made("a", config={NODES: 1, BUDGET: 1}), made("b", seed=2, config={NODES: 2})]))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["knob"], data["valid"], data["candidate"]) == (None, False, None)
    assert data["moved_besides"][0]["run"] == "b"
    assert data["doses"][0]["value"] is None
