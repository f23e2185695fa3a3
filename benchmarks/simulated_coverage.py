"""Is the truth within the interval? Simulate many seeds of a small scenario in each mode, read the logs back, and count.

usage: simulated_coverage.py [--seeds 200] [--steps 60] [--modes sync,separate_async,...]

The truth is the throughput of the same work without noise in the steady steps, as the simulator's truth.json has it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from rlreport.comparators.steady_state import find_steady_state
from rlreport.comparators.throughput import measure_throughput
from rlreport.pipeline.load import read_run
from rlreport.run.model import RunDeclaration
from rlreport.simulator.output import compressed, log_text
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.truth import describe

MODES: dict[str, dict[str, Any]] = {
    "sync": {"cluster": {"devices_per_node": 4, "trainer_nodes": 2, "rollout_nodes": 0}},
    "colocate_async": {"cluster": {"devices_per_node": 4, "trainer_nodes": 2, "rollout_nodes": 0}},
    "separate_async": {},
    "one_step_off": {},
    "fully_async": {"fully_async": {"staleness_threshold": 0.5}},
}


def scenario(mode: str, seed: int, steps: int) -> Scenario:
    """Sixteen devices, 64 prompts of 4 responses a step, 3 % noise on every speed with an autocorrelation of 0.5."""
    return Scenario.model_validate(
        {
            "name": f"{mode.replace('_', '-')}-{seed}",
            "mode": mode,
            "seed": seed,
            "steps": steps,
            "cluster": {"devices_per_node": 4, "trainer_nodes": 2, "rollout_nodes": 2},
            "workload": {
                "prompts_per_step": 64,
                "samples_per_prompt": 4,
                "prompt_tokens_mean": 100,
                "response_tokens_mean": 500,
                "response_tokens_sigma": 0.3,
                "max_response_tokens": 2000,
            },
            "trainer": {"mini_batch_prompts": 16, "update_fixed_s": 1, "update_tokens_per_s_per_device": 300},
            "rollout": {"devices_per_replica": 1, "max_sequences": 64, "decode_tokens_per_s": 40},
            "sync": {"weight_sync_s": 2},
            "schedule": {"startup_s": 60},
            "noise": {"trainer_cv": 0.03, "rollout_cv": 0.03, "autocorrelation": 0.5},
            **MODES[mode],
        }
    )


def held(mode: str, seed: int, steps: int, folder: Path) -> bool | None:
    """Whether the interval holds the truth; None when no interval was given."""
    made = scenario(mode, seed, steps)
    simulation = run_pipeline(made)
    quiet = run_pipeline(made.model_copy(update={"noise": type(made.noise)(autocorrelation=made.noise.autocorrelation)}))
    log = folder / "console.log.gz"
    log.write_bytes(compressed(log_text(simulation)))
    run = read_run([(log, None, {})], RunDeclaration("r", framework_version="2026-08-22"), folder)[1]
    found = measure_throughput(run, find_steady_state(run)).tokens_per_s
    if found.ci_low is None or found.ci_high is None:
        return None
    true = describe(simulation, quiet)["throughput"]["steady_noise_free"]["tokens_per_s"]
    return bool(found.ci_low <= true <= found.ci_high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--modes", default=",".join(MODES))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for mode in asked.modes.split(","):
            answers = [held(mode, seed, asked.steps, Path(folder)) for seed in range(1, asked.seeds + 1)]
            given = [answer for answer in answers if answer is not None]
            share = sum(given) / len(given) if given else float("nan")
            print(f"{mode:16} intervals {len(given)}/{asked.seeds}  truth held {share:.3f}")


if __name__ == "__main__":
    main()
