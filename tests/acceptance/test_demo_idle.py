"""The idle shares of the demo's simulated runs, against the truth of each simulation over the time that its trace covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlreport.comparators.steady_state import find_steady_state
from rlreport.comparators.timeline import measure_timeline
from rlreport.manifest.load import load_manifest
from rlreport.pipeline.load import load_runs
from rlreport.simulator import load_scenario
from rlreport.simulator.log_call import unix_s
from rlreport.simulator.restart import launches_of
from rlreport.simulator.spans import device_seconds

ROOT = Path(__file__).parents[2]
#: One point of device time.
POINT = 0.01
SIMULATED = {
    "r48": "qwen3-30b/r48",
    "r32": "qwen3-30b/r32",
    "omni-r8t8": "qwen3-omni/r8t8",
    "omni-r8t16": "qwen3-omni/r8t16-wu2",
    "omni-30k": "qwen3-omni/r8t16-wu2-tok30k",
    "s03": "qwen3.5-35b/s03",
    "s05": "qwen3.5-35b/s05",
    "s07": "qwen3.5-35b/s07",
}


@pytest.mark.parametrize("run_id", SIMULATED)
def test_idle_shares_and_largest_causes_are_the_truth(run_id: str) -> None:
    scenario = load_scenario(ROOT / f"examples/{SIMULATED[run_id]}.yaml")
    lanes = launches_of(scenario)[0].simulation.lanes
    run = load_runs(load_manifest(ROOT / "experiments.yaml"), [run_id], lambda text: None).runs[run_id]
    timeline = measure_timeline(run, find_steady_state(run))
    assert timeline is not None
    assert timeline.trace is not None
    zero_unix_ns = run.spans[0].zero_unix_ns
    assert zero_unix_ns is not None
    begin_s = (timeline.trace.scene.course.begin_ns + zero_unix_ns) / 1e9 - unix_s(scenario, 0.0)
    stretch = (begin_s + timeline.window.start_s, begin_s + timeline.window.end_s)
    for side in ("trainer", "rollout"):
        truth = device_seconds(lanes, side, [stretch])
        account = timeline.window.side(side)
        assert account is not None
        assert account.total_s == pytest.approx(truth.total, rel=1e-3)
        assert account.idle_fraction == pytest.approx(sum(truth.idle.values()) / truth.total, abs=POINT)
        assert account.largest is not None
        largest = max(truth.idle.values()) / truth.total
        assert truth.idle[account.largest[0]] / truth.total > largest - POINT / 2
