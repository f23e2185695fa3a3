"""The five sentences of a tuning study, made from results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_chains import DATA, NODES, STALENESS, WARM_UP, analysed, made, omni_ladder, staleness_sweep

from rlreport.comparators.analysis import Analysis
from rlreport.findings.rules import find
from rlreport.report.model import Bullets, Strong, plain
from rlreport.report.section_steps import steps_section
from rlreport.run.model import Run


def sentences(analysis: Analysis, *, findings: bool = False) -> dict[str, str]:
    """The sentences by the name of their step."""
    section = steps_section(analysis, find(analysis) if findings else ())
    assert section is not None
    (bullets,) = section.blocks
    assert isinstance(bullets, Bullets)
    found = {}
    for item in bullets.items:
        name, sentence = item
        assert isinstance(name, Strong)
        found[name.text.removesuffix(".")] = plain((sentence,)).strip()
    return found


def pair(variant: dict[str, Any], *changes: str, baseline: dict[str, Any] | None = None, **request: Any) -> Analysis:
    runs = [made("a", **(baseline or {})), made("b", **{"seed": 2, "config": {NODES: 2}, **variant})]
    return analysed(runs, "ab", changes or ("resources",), **request)


def test_a_profile_has_no_steps() -> None:
    assert steps_section(analysed([made("a")], "profile"), ()) is None


def test_the_five_steps_of_a_pair() -> None:
    found = sentences(pair({"rate": 1250}, margins={"reward": 0.02}))
    assert list(found) == ["Baseline", "Bottleneck", "Change", "Comparison", "Conclusion"]
    assert found["Baseline"] == "run a: 125.00 ± 0.46 tokens/s per device on 8 devices, steady over steps 2 to 121."
    assert found["Change"] == "From run a to run b: Trainer nodes 1 → 2 (single change)."
    assert found["Comparison"] == "run b: 1.250× (1.243 to 1.257) the tokens/s per device (improved), 125 to 156."
    assert found["Conclusion"] == "The data speak for the change; reward is equivalent (±0.020)."


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        (
            {"wait": 0.4},
            "during 40.0 % of a step; whether the Rollouters are slow or paused is not known (their idle time is not",
        ),
        ({"wait": 0.004}, "The Trainer waits only 0.4 % of a step, so it is the slower side"),
        ({"wait": 0.05}, "so the slower side is not known."),
        ({"wait": 0.05, "columns": {"idle.rollout_reported": np.full(120, 0.3)}}, "the Rollouters idle 30.0 %, as logged"),
        ({"wait": None}, "Where its time goes is not logged."),
        ({"mode": "sync", "wait": 0.4}, "which side waits for the other is not told"),
    ],
)
def test_the_bottleneck_follows_waiting_and_idle_time(baseline: dict[str, Any], said: str) -> None:
    assert said in sentences(pair({}, baseline=baseline))["Bottleneck"]


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ({"rate": 800}, "The data speak against the change."),
        ({"rate": 1001}, "The change makes no difference to throughput that matters"),
        ({"rate": 1030}, "a smaller one than matters"),
        ({"rate": 1100, "noise": 0.6}, "The data do not decide; longer windows or a second run an arm would."),
        ({"rate": 1250, "config": {NODES: 2, WARM_UP: 2}}, "cannot be laid to the declared change alone"),
        ({"rate": 1250, "config": {DATA: "b.parquet"}}, "Nothing is concluded: no fair pair."),
        ({"steps": 5}, "There is too little data to conclude anything."),
    ],
)
def test_the_conclusion_follows_the_verdicts(variant: dict[str, Any], said: str) -> None:
    assert said in sentences(pair(variant))["Conclusion"]


def test_a_gain_is_weighed_against_reward() -> None:
    worse = {"columns": {"quality.reward_mean": 0.3 + 0.02 * np.random.default_rng(5).standard_normal(120)}}
    assert sentences(pair({"rate": 1250, **worse}, margins={"reward": 0.02}))["Conclusion"].endswith("reward is worse.")
    assert "that reward is unchanged is not shown" in sentences(pair({"rate": 1250}))["Conclusion"]


def test_the_next_finding_closes_the_conclusion() -> None:
    found = sentences(pair({"rate": 1250, "wait": 0.4}), findings=True)
    assert found["Conclusion"].endswith("Next in sight, in run b: the Trainer waits for samples during 40.1 % of a step.")


def test_several_variants_are_told_one_by_one() -> None:
    runs = [made("a"), made("b", seed=2, rate=1250, config={NODES: 2}), made("c", seed=3, rate=800, config={NODES: 3})]
    found = sentences(analysed(runs, "ab", ("resources",)))
    assert "run b: the data speak for the change" in found["Conclusion"]
    assert "run c: the data speak against the change" in found["Conclusion"]
    assert found["Change"].count("From run a to") == 2


def test_a_baseline_without_steady_state_says_so() -> None:
    assert (
        "no steps in steady state" in sentences(pair({}, baseline={"columns": {"time.step_s": [np.nan] * 120}}))["Baseline"]
    )


def test_a_baseline_without_tokens_is_told_in_steps() -> None:
    blank = {"columns": {"work.tokens": np.full(120, np.nan)}}
    assert "36.00 ± 0.13 steps/h" in sentences(pair(blank, baseline=blank))["Baseline"]


def test_the_steps_of_a_ladder() -> None:
    found = sentences(analysed(omni_ladder(), "ladder", ("resources", "work")))
    assert found["Change"] == (
        "Rung 2 moves Trainer nodes 1 → 2 and batches generated ahead 1 → 2; rung 3 moves tokens of a micro-batch per "
        "device 10,240 → 30,720."
    )
    assert found["Comparison"] == (
        "In tokens/s per device, rung 2 has 0.960× (0.955 to 0.965) of the rung before (within noise); rung 3 has 1.100× "
        "(1.094 to 1.106) of the rung before (improved); the last has 1.056× (1.050 to 1.062) of the first (improved)."
    )
    assert found["Conclusion"] == (
        "Together the changes are worth keeping as far as throughput goes; how much of it rung 2 brought to which class of "
        "knobs is not known until 1 missing run is made."
    )


def test_a_ladder_without_doubts_and_one_without_data() -> None:
    clean = [made("a"), made("b", seed=2, rate=900, config={WARM_UP: 2})]
    assert sentences(analysed(clean, "ladder", ("work",)))["Conclusion"] == "Together the changes cost throughput."
    short: list[Run] = [made("a"), made("b", seed=2, steps=5, config={WARM_UP: 2})]
    found = sentences(analysed(short, "ladder", ("work",)))
    assert "rung 2 has no ratio to the rung before" in found["Comparison"]
    assert found["Conclusion"] == "What the changes bring together cannot be said."


def test_the_steps_of_a_sweep() -> None:
    found = sentences(analysed(staleness_sweep(), "sweep", ("off-policy",)))
    assert found["Change"] == "Staleness threshold was set to 0.3, 0.5 and 0.7, and nothing else moved."
    assert found["Comparison"] == (
        "In tokens/s per device, 0.7 is highest; against it 0.826× (0.822 to 0.831) at 0.3 (worse) and 0.992× (0.986 to "
        "0.997) at 0.5 (not worse)."
    )
    assert found["Conclusion"] == (
        "0.5 is the candidate, to be validated on your workload. The reward's step-to-step volatility grows with the dose."
    )


def test_the_steps_of_runs_that_are_no_sweep() -> None:
    runs = staleness_sweep(s7={"config": {STALENESS: 0.7, NODES: 2}})
    found = sentences(analysed(runs, "sweep", ("off-policy",)))
    assert found["Change"] == "No single knob was dosed: in run s7 Trainer nodes (1 → 2) moved too."
    assert found["Comparison"].startswith("The runs differ in more than the dose")
    assert found["Conclusion"] == "No dose is a candidate."
