"""How long the simulation of a day takes: the published 7B run on 128 devices, the busiest example, on one core.

usage: python benchmarks/simulated_day.py [HOURS]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rlreport.simulator import load_scenario
from rlreport.simulator.pipeline import run_pipeline

SCENARIO = Path(__file__).resolve().parents[1] / "examples" / "verl-7b" / "s50.yaml"
SECONDS_A_VERSION = 145


def main() -> None:
    """Simulate some hours (a day unless told otherwise) and print the seconds of CPU."""
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 24.0
    scenario = load_scenario(SCENARIO).model_copy(update={"steps": round(3600 * hours / SECONDS_A_VERSION)})
    begin_s = time.process_time()
    simulation = run_pipeline(scenario)
    spent_s = time.process_time() - begin_s
    sequences = scenario.steps * scenario.workload.prompts_per_step * scenario.workload.samples_per_prompt
    print(f"{simulation.end_s / 3600:.1f} h of {scenario.total_devices} devices, {sequences:,} responses: {spent_s:.1f} s")


if __name__ == "__main__":
    main()
