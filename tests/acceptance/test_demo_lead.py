"""The lead that the demo's reports tell is the truth's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlreport.comparators.bubble_lead import known_lead
from rlreport.comparators.lead import Lead
from rlreport.comparators.lengths import staleness_distribution
from rlreport.comparators.steady_state import find_steady_state
from rlreport.pipeline.load import read_run
from rlreport.run.model import Run, RunDeclaration

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def read(name: str, *files: str) -> Run:
    _, run = read_run([(FOLDER / name / file, None, {}) for file in files], RunDeclaration(run_id="r"), None)
    return run


def lead_and_truth(run: Run, name: str) -> tuple[Lead, float]:
    found = known_lead(run, find_steady_state(run), None)
    assert found is not None
    return found, json.loads((FOLDER / name / "truth.json").read_text())["lead_mini_batches"]["mean"]


@pytest.mark.parametrize("name", ["qwen3.5-35b/s03", "qwen3.5-35b/s05", "qwen3.5-35b/s07"])
def test_a_logged_queue_gives_the_lead_within_a_third_of_a_mini_batch(name: str) -> None:
    run = read(name, "console.log.gz", "rollouts")
    found, truth = lead_and_truth(run, name)
    assert found.basis == "queue" and found.mini_batches == pytest.approx(truth, abs=0.3)
    stale = staleness_distribution(run, run.samples)
    expected = json.loads((FOLDER / name / "truth.json").read_text())["staleness_versions"]["mean"]
    assert stale is not None and (stale.unit, stale.n) == ("samples", 4 * 512)
    assert stale.mean == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    "name", ["qwen3-30b/r48", "qwen3-30b/r32", "qwen3-omni/r8t8", "qwen3-omni/r8t16-wu2", "qwen3-omni/r8t16-wu2-tok30k"]
)
def test_staleness_bounds_the_lead(name: str) -> None:
    found, truth = lead_and_truth(read(name, "console.log.gz"), name)
    assert found.basis == "staleness" and found.low is not None and found.high is not None
    assert found.low <= truth <= found.high
