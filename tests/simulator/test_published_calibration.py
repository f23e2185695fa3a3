"""The published 7B configuration of fully_async: calibrated on two rows of verl's staleness ablation, the others predicted.

Published seconds a parameter version (verl docs/advance/fully_async.md, 128-card stale ablation): step, gen, update_actor.
The length of the responses of a row follows from its update_actor; the two speeds of decoding are those of rows 0 and 0.3.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from rlreport.simulator import Scenario, load_scenario
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.steady import seconds_by_timer, steady_steps

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "verl-7b"

PUBLISHED = {
    "s00": (231.34, 128.47, 98.77),
    "s10": (171.30, 58.17, 109.12),
    "s30": (146.11, 38.88, 103.22),
    "s50": (150.63, 33.14, 113.16),
}
CALIBRATED = ("s00", "s30")
PREDICTED = ("s10", "s50")

#: Other published runs of the same configuration, which the calibration never saw: nodes of a side, require_batches,
#: trigger, then the seconds as above.
OTHERS = {
    "32:32": (4, 4, 4, 189.26, 28.46, 156.98),
    "require_batches 1": (8, 1, 16, 203.47, 30.88, 181.08),
    "require_batches 2": (8, 2, 8, 158.72, 26.32, 128.08),
    "require_batches 4": (8, 4, 4, 124.64, 25.62, 95.06),
}


@lru_cache
def simulated(row: str) -> dict[str, float]:
    return measured(load_scenario(FOLDER / f"{row}.yaml").model_copy(update={"steps": 24}))


def measured(scenario: Scenario) -> dict[str, float]:
    return seconds_by_timer(scenario, steady_steps(run_pipeline(scenario)))


@pytest.mark.parametrize("row", PUBLISHED)
def test_the_length_of_the_responses_gives_the_update(row: str) -> None:
    assert simulated(row)["update_actor"] == pytest.approx(PUBLISHED[row][2], rel=0.01)


@pytest.mark.parametrize("row", CALIBRATED)
def test_the_rows_of_the_calibration_are_met(row: str) -> None:
    step_s, gen_s, _ = PUBLISHED[row]
    assert simulated(row)["step"] == pytest.approx(step_s, rel=0.02)
    assert simulated(row)["gen"] == pytest.approx(gen_s, abs=4)


@pytest.mark.parametrize("row", PREDICTED)
def test_the_other_rows_are_predicted_within_15_percent(row: str) -> None:
    assert simulated(row)["step"] == pytest.approx(PUBLISHED[row][0], rel=0.15)


def test_the_misfit_is_what_the_documentation_says() -> None:
    errors = {row: simulated(row)["step"] / PUBLISHED[row][0] - 1 for row in PUBLISHED}
    assert errors["s10"] == pytest.approx(0.04, abs=0.02)
    assert errors["s50"] == pytest.approx(-0.04, abs=0.02)
    assert simulated("s10")["gen"] > PUBLISHED["s10"][1]
    assert simulated("s50")["gen"] < PUBLISHED["s50"][1]


def test_the_direction_and_the_plateau() -> None:
    step = [simulated(row)["step"] for row in PUBLISHED]
    assert step[0] > step[1] > step[2]
    assert step[3] == pytest.approx(step[2], rel=0.05)  # published: 3 % apart
    gen = [simulated(row)["gen"] for row in PUBLISHED]
    assert gen == sorted(gen, reverse=True)


@pytest.mark.parametrize("name", OTHERS)
def test_runs_that_the_calibration_never_saw(name: str) -> None:
    nodes, require, trigger, step_s, _, update_s = OTHERS[name]
    base = load_scenario(FOLDER / "s50.yaml")
    tokens = 3150 * (update_s / 98.77) * (nodes / 8)  # prompt and response: what the Trainer's devices get done in update_s
    scenario = base.model_copy(
        update={
            "steps": 24,
            "cluster": base.cluster.model_copy(update={"trainer_nodes": nodes, "rollout_nodes": nodes}),
            "workload": base.workload.model_copy(update={"response_tokens_mean": tokens - 150}),
            "fully_async": base.fully_async.model_copy(
                update={"require_batches": require, "trigger_parameter_sync_step": trigger}
            ),
        }
    )
    found = measured(scenario)
    assert found["update_actor"] == pytest.approx(update_s, rel=0.02)
    assert found["step"] == pytest.approx(step_s, rel=0.08)
