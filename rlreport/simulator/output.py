"""`simulate`: a scenario file in, a folder with the log and the truth out."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlreport.run.diagnostics import Diagnostic, Location, RlreportError
from rlreport.simulator.defects import apply_defects
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.randomness import stream
from rlreport.simulator.records import Simulation
from rlreport.simulator.scenario import Noise, Scenario
from rlreport.simulator.scenario_file import load_scenario
from rlreport.simulator.truth import describe
from rlreport.simulator.verl_console import console_log

LOG_NAME = "console.log.gz"
TRUTH_NAME = "truth.json"


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What was written: the scenario, the files in order, and the content of truth.json."""

    scenario: Scenario
    files: tuple[Path, ...]
    truth: dict[str, Any]


def simulate(scenario_path: Path, out: Path) -> SimulationResult:
    """Simulate a scenario file and write `console.log.gz` and `truth.json` into the folder `out`, which is made.

    The same scenario gives the same bytes. Raises RlreportError: RR60x for the scenario, RR605 when the folder cannot be
    written.
    """
    scenario = load_scenario(scenario_path)
    simulation = run_pipeline(scenario)
    truth = describe(simulation, _without_noise(scenario))
    files = {
        LOG_NAME: compressed(log_text(simulation)),
        TRUTH_NAME: (json.dumps(truth, indent=1) + "\n").encode(),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (out / name).write_bytes(content)
    except OSError as error:
        message = f"cannot write the simulated run: {error}"
        raise RlreportError.of(Diagnostic("RR605", message, Location(str(out)), "choose another folder")) from error
    return SimulationResult(scenario, tuple(out / name for name in files), truth)


def log_text(simulation: Simulation) -> str:
    """The console log of a simulation, with the defects that its scenario asks for."""
    scenario = simulation.scenario
    return apply_defects(console_log(simulation), scenario.defects, stream(scenario.seed, "defects"))


def compressed(text: str) -> bytes:
    """Gzip without a time or a name inside, so that only the text decides the bytes (for one version of zlib)."""
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _without_noise(scenario: Scenario) -> Simulation:
    still = Noise(autocorrelation=scenario.noise.autocorrelation)
    return run_pipeline(scenario.model_copy(update={"noise": still}))
