"""`simulate`: a scenario file in, a folder with the logs and the truth out."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlreport.run.diagnostics import Diagnostic, Location, RlreportError
from rlreport.simulator.chrome_trace import chrome_text
from rlreport.simulator.defects import apply_defects
from rlreport.simulator.file_logger import jsonl_text
from rlreport.simulator.output_names import OutputName
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.randomness import stream
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import Launch, joined, launch_truth, launches_of
from rlreport.simulator.rollout_dumps import rollout_texts
from rlreport.simulator.scenario import Noise, Scenario
from rlreport.simulator.scenario_file import load_scenario
from rlreport.simulator.summary_events import summary_text
from rlreport.simulator.tensorboard_events import event_bytes, event_file_name
from rlreport.simulator.truth import describe
from rlreport.simulator.verl_console import console_log, launches_log

TRUTH_NAME = "truth.json"

#: The share of the last call that is in a file when the process died while it logged.
_WRITTEN = 0.45

_METRIC_LINE = re.compile(r"(?<![\w/])step:\d+ - ")

Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What was written: the scenario, the files in order, and the content of truth.json."""

    scenario: Scenario
    files: tuple[Path, ...]
    truth: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as its writers see it. `died`: the process was killed while it made the last call of the last launch."""

    scenario: Scenario
    launches: tuple[Launch, ...]
    console: str
    died: bool


def simulate(scenario_path: Path, out: Path) -> SimulationResult:
    """Simulate a scenario file and write what its `outputs` ask for, and `truth.json`, into the folder `out`.

    The folder is made. The same scenario gives the same bytes. Raises RlreportError: RR60x for the scenario, RR605 when the
    folder cannot be written.
    """
    scenario = load_scenario(scenario_path)
    run = _run(scenario, launches_of(scenario))
    truth = _truth(run)
    files = {**_files(run), TRUTH_NAME: (json.dumps(truth, indent=1) + "\n").encode()}
    try:
        for name, content in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(content)
    except OSError as error:
        message = f"cannot write the simulated run: {error}"
        raise RlreportError.of(Diagnostic("RR605", message, Location(str(out)), "choose another folder")) from error
    return SimulationResult(scenario, tuple(out / name for name in files), truth)


def output_files(scenario: Scenario, launches: Sequence[Launch]) -> dict[str, bytes]:
    """Everything that the scenario's `outputs` ask for, by path below the output folder."""
    return _files(_run(scenario, launches))


def _files(run: _Run) -> dict[str, bytes]:
    return {name: content for output in run.scenario.outputs for name, content in WRITERS[output](run)}


def log_text(simulation: Simulation) -> str:
    """The console log of a simulation, with the defects that its scenario asks for."""
    return _damaged(console_log(simulation), simulation.scenario)


def compressed(text: str) -> bytes:
    """Gzip without a time or a name inside, so that only the text decides the bytes (for one version of zlib)."""
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _damaged(log: str, scenario: Scenario) -> str:
    return apply_defects(log, scenario.defects, stream(scenario.seed, "defects"))


def _run(scenario: Scenario, launches: Sequence[Launch]) -> _Run:
    """The run with its damaged console log. If it was killed, it made only the calls in there, the last of them in part."""
    run = _Run(scenario, tuple(launches), _damaged(launches_log(launches), scenario), died=False)
    if "killed" not in scenario.defects:
        return run
    left = len(_METRIC_LINE.findall(run.console))
    begun: list[Launch] = []
    for launch in run.launches:
        calls = launch.log.calls[:left]
        left -= len(calls)
        if calls:
            ended = len(calls) < len(launch.log.calls)
            stopped_s = math.nextafter(calls[-1].at_s, 0.0) if ended else launch.stopped_s
            begun.append(replace(launch, log=replace(launch.log, calls=calls), stopped_s=stopped_s))
    return replace(run, launches=tuple(begun), died=True)


def _truth(run: _Run) -> dict[str, Any]:
    """The truth of what was trained and logged. Where a run was stopped, what became of other prompts is not told."""
    twin = _without_noise(run.scenario)
    if len(run.launches) == 1 and not run.died:
        return describe(run.launches[0].simulation, twin)
    truth = describe(joined(run.launches), twin)
    truth["tokens"] = {"trained": truth["tokens"]["trained"]}
    return truth | {"launches": [launch_truth(launch) for launch in run.launches]}


def _console(run: _Run) -> Files:
    yield "console.log.gz", compressed(run.console)


def _jsonl(run: _Run) -> Files:
    """FileLogger opens its file anew: only the last launch is in it."""
    text = jsonl_text(run.launches[-1].log.calls, _WRITTEN if run.died else 0.0)
    yield "metrics.jsonl.gz", compressed(text)


def _tensorboard(run: _Run) -> Files:
    """Every launch has a file of its own."""
    for launch in run.launches:
        scenario = launch.simulation.scenario
        cut = run.died and launch is run.launches[-1]
        begins_s = scenario.schedule.startup_s
        content = event_bytes(scenario, launch.log.calls, begins_s, _WRITTEN if cut else 0.0)
        yield f"tensorboard/{event_file_name(scenario, begins_s)}", content


def _summary_events(run: _Run) -> Files:
    yield "rl-insight/summary_event.json.gz", compressed(summary_text(run.launches))


def _chrome_trace(run: _Run) -> Files:
    yield "chrome-trace.json.gz", compressed(chrome_text(run.launches))


def _rollouts(run: _Run) -> Files:
    for launch in run.launches:
        for name, text in rollout_texts(launch):
            yield f"rollouts/{name}.jsonl.gz", compressed(text)


#: What writes an output.
WRITERS: Mapping[OutputName, Callable[[_Run], Files]] = {
    "console": _console,
    "jsonl": _jsonl,
    "tensorboard": _tensorboard,
    "rl-insight": _summary_events,
    "chrome-trace": _chrome_trace,
    "rollouts": _rollouts,
}


def _without_noise(scenario: Scenario) -> Simulation:
    still = Noise(autocorrelation=scenario.noise.autocorrelation)
    return run_pipeline(scenario.model_copy(update={"noise": still}))
