"""The committed examples: what they show, and that they can be made again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rlreport.simulator import load_scenario
from rlreport.simulator.output import log_text
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.truth import describe

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "qwen3-30b"
ARMS = ("r48", "r32")


def truth(arm: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / arm / "truth.json").read_text())
    return result


def idle(arm: str, side: str) -> dict[str, Any]:
    result: dict[str, Any] = truth(arm)["device_time"]["steady_steps"][side]
    return result


@pytest.mark.parametrize("arm", ARMS)
def test_the_log_can_be_made_again(arm: str) -> None:
    """Texts are compared, not compressed bytes: these also depend on the zlib that Python was built with."""
    simulation = run_pipeline(load_scenario(FOLDER / f"{arm}.yaml"))
    assert log_text(simulation) == gzip.decompress((FOLDER / arm / "console.log.gz").read_bytes()).decode()
    expected = truth(arm)
    expected["throughput"]["steady_noise_free"] = None  # the twin without noise would cost as much again
    assert describe(simulation, None) == expected


@pytest.mark.parametrize("arm", ARMS)
def test_the_log_is_small_and_says_that_it_is_simulated(arm: str) -> None:
    packed = (FOLDER / arm / "console.log.gz").read_bytes()
    assert len(packed) < 200 * 1024
    assert gzip.decompress(packed).startswith(b"# simulated by rlreport simulate, scenario qwen3-30b-" + arm.encode())


def test_the_case_is_what_the_report_says() -> None:
    base, variant = (truth(arm)["throughput"]["steady"] for arm in ARMS)
    assert variant["tokens_per_s"] == pytest.approx(base["tokens_per_s"], rel=0.01)
    assert variant["tokens_per_s_per_device"] / base["tokens_per_s_per_device"] == pytest.approx(1.25, rel=0.01)
    assert truth("r48")["devices"]["total"] / truth("r32")["devices"]["total"] == 1.25
    assert all(idle(arm, "trainer")["idle_fraction_by_cause"]["samples"] < 0.02 for arm in ARMS)
    assert 0.40 < idle("r48", "rollout")["idle_fraction"] < 0.45
    assert 0.15 < idle("r32", "rollout")["idle_fraction"] < 0.20
    assert all(truth(arm)["bubble_owner"] == "rollout" for arm in ARMS)


def test_the_arms_differ_in_rollout_nodes_and_in_nothing_else_but_name_and_seed() -> None:
    base, variant = (load_scenario(FOLDER / f"{arm}.yaml").model_dump() for arm in ARMS)
    assert base.pop("seed") != variant.pop("seed")
    for scenario in (base, variant):
        del scenario["name"], scenario["description"]
    assert (base["cluster"].pop("rollout_nodes"), variant["cluster"].pop("rollout_nodes")) == (48, 32)
    assert base == variant
