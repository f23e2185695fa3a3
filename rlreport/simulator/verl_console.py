"""Writes the console log of a simulated verl run: what the driver prints, with Ray's prefixes and colours.

Form of the lines: verl/utils/logger/aggregate_logger.py (metric line), verl/trainer/main_ppo.py (configuration dump),
trainer/ppo/v1/trainer_base.py (validation, progress), trainer/ppo/v1/replay_buffer.py (poll line). The first line says that
the log is simulated, and so does `trainer.experiment_name`.
"""

from __future__ import annotations

import datetime as dt
import pprint
from collections.abc import Iterator
from dataclasses import dataclass

from rlreport.simulator.progress_bar import progress_bars
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config import experiment_name, verl_config
from rlreport.simulator.verl_metrics import Metrics, step_metrics, validation_metrics

#: verl runs the V1 trainer in this Ray actor.
RUNNER = "TaskRunnerV1"
RUNNER_PID = 41873

#: Fractions of the start-up at which the configuration and the data loader are printed.
_CONFIG_AT = 0.1
_DATA_AT = 0.2


@dataclass(frozen=True, slots=True)
class _Line:
    """A printed text and when; it may hold several lines."""

    at_s: float
    text: str


def marker(scenario: Scenario) -> str:
    """The first line of every simulated log."""
    return f"# simulated by rlreport simulate, scenario {scenario.name}, seed {scenario.seed}"


def console_log(simulation: Simulation) -> str:
    """The whole log, one text with a final newline."""
    lines = sorted(_printed(simulation), key=lambda line: line.at_s)
    prefix = f"\x1b[36m({RUNNER} pid={RUNNER_PID})\x1b[0m "
    parts = [marker(simulation.scenario), *_driver_lines(simulation.scenario)]
    for line in lines:
        parts.extend(prefix + part for part in line.text.split("\n"))
    return "\n".join(parts) + "\n"


def metric_line(step: int, metrics: Metrics) -> str:
    """One step as verl's LocalLogger prints it."""
    return f"step:{step} - " + " - ".join(f"{key}:{pprint.pformat(value)}" for key, value in metrics.items())


def _driver_lines(scenario: Scenario) -> Iterator[str]:
    """What the driver prints before its actor runs: Ray's start, without colours or prefix of an actor."""
    at = scenario.framework.started_at
    yield "ray init kwargs: {'num_cpus': None, 'runtime_env': {'env_vars': {'TOKENIZERS_PARALLELISM': 'true'}}}"
    yield f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}\tINFO worker.py:2003 -- Connected to Ray cluster."


def _printed(simulation: Simulation) -> Iterator[_Line]:
    yield from _start(simulation)
    for poll in simulation.polls:
        c = poll.counts
        text = f"pending: {c.pending}, running: {c.running}, finished: {c.finished}, failure: 0"
        yield _Line(poll.at_s, _stamped(simulation.scenario, poll.at_s, text))
    yield from _training(simulation)


def _start(simulation: Simulation) -> Iterator[_Line]:
    scenario = simulation.scenario
    startup_s = scenario.schedule.startup_s
    yield _Line(_CONFIG_AT * startup_s, pprint.pformat(verl_config(scenario)))
    data_at = _DATA_AT * startup_s
    train, validation = scenario.workload.dataset_prompts, scenario.quality.validation_samples
    sizes = f"train dataset size: {train}, val dataset size: {validation}"
    yield _Line(data_at, _stamped(scenario, data_at, f"train and validate dataloader initialized, {sizes}"))
    yield _Line(data_at, _stamped(scenario, data_at, f"Total training steps: {scenario.steps}"))
    folder = f"checkpoints/{scenario.framework.project}/{experiment_name(scenario)}"
    yield _Line(startup_s, f"Checkpoint tracker file does not exist: {folder}/latest_checkpointed_iteration.txt")
    yield _Line(startup_s, "Training from scratch")


def _training(simulation: Simulation) -> Iterator[_Line]:
    """Validation before training, a bar and a metric line a step, the closing validation."""
    scenario = simulation.scenario
    curves = LearningCurves(scenario)
    if simulation.initial_validation_s is not None:
        metrics = validation_metrics(scenario, curves.accuracy(0))
        yield _Line(simulation.initial_validation_s, pprint.pformat(f"Initial validation metrics: {metrics}"))
        yield _Line(simulation.initial_validation_s, metric_line(0, metrics))
    elapsed = [record.logged_s - simulation.training_begins_s for record in simulation.steps]
    bars = progress_bars("Training Progress", elapsed, scenario.steps)
    last: Metrics | None = None
    for record, bar in zip(simulation.steps, bars, strict=True):
        accuracy = None if record.testing_s is None else curves.accuracy(record.step)
        last = None if accuracy is None else validation_metrics(scenario, accuracy)
        ends = record is simulation.steps[-1]
        yield _Line(record.logged_s, f"\r{bar}" * (2 if ends else 1))
        yield _step_line(scenario, record, curves, accuracy)
    yield _Line(simulation.end_s, pprint.pformat(f"Final validation metrics: {last}"))


def _step_line(scenario: Scenario, record: StepRecord, curves: LearningCurves, accuracy: float | None) -> _Line:
    return _Line(record.logged_s, metric_line(record.step, step_metrics(scenario, record, curves, accuracy)))


def _stamped(scenario: Scenario, at_s: float, text: str) -> str:
    """A line of verl's stage logger, with the time of day."""
    at = scenario.framework.started_at + dt.timedelta(seconds=round(at_s, 3))
    return f"INFO:{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}:{text}"
