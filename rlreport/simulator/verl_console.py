"""Writes the console log of a simulated verl run: what the driver prints, with Ray's prefixes and colours.

Form of the lines: verl/utils/logger/aggregate_logger.py (metric line), verl/trainer/main_ppo.py (configuration dump),
trainer/ppo/v1/trainer_base.py (validation, progress), trainer/ppo/v1/replay_buffer.py (poll line),
experimental/one_step_off_policy/ray_trainer.py. What fully async prints is in `fully_async_console`. The first line says
that the log is simulated, and so does `trainer.experiment_name`.
"""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from rlreport.simulator.console_line import Actor, Printed, prefix
from rlreport.simulator.fully_async_console import fully_async_lines
from rlreport.simulator.log_call import local_time, metric_line
from rlreport.simulator.log_calls import run_log
from rlreport.simulator.progress_bar import progress_bars
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import Launch
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config import experiment_name, verl_config

#: The actor that runs the Trainer's loop and prints its lines; V1's where nothing else is said.
RUNNERS: Mapping[str, Actor] = {"one_step_off": "OneStepTaskRunner"}

#: Fractions of the start-up at which the configuration and the data loader are printed.
_CONFIG_AT = 0.1
_DATA_AT = 0.2


def marker(scenario: Scenario) -> str:
    """The first line of every simulated log."""
    return f"# simulated by rlreport simulate, scenario {scenario.name}, seed {scenario.seed}"


def console_log(simulation: Simulation) -> str:
    """The whole log of a run that was launched once, one text with a final newline."""
    return launches_log([Launch(simulation, run_log(simulation))])


def launches_log(launches: Sequence[Launch]) -> str:
    """The log of a run that may have been resumed: its launches one after the other, as jobs append to one file."""
    scenario = launches[0].simulation.scenario
    return "\n".join([marker(scenario), *(line for launch in launches for line in _launch_lines(launch))]) + "\n"


def _launch_lines(launch: Launch) -> Iterator[str]:
    """The driver's own lines, then those of its actors in order of time, until the launch was stopped."""
    yield from _driver_lines(launch.simulation.scenario)
    lines = _LINES.get(launch.simulation.scenario.mode, _trainer_lines)
    for line in sorted(lines(launch), key=lambda line: line.at_s):
        if line.at_s <= launch.stopped_s:
            yield from (prefix(line.actor) + part for part in line.text.split("\n"))


def _driver_lines(scenario: Scenario) -> Iterator[str]:
    """What the driver prints before its actor runs: Ray's start, without colours or prefix of an actor."""
    at = scenario.framework.started_at
    yield "ray init kwargs: {'num_cpus': None, 'runtime_env': {'env_vars': {'TOKENIZERS_PARALLELISM': 'true'}}}"
    yield f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}\tINFO worker.py:2003 -- Connected to Ray cluster."


def _trainer_lines(launch: Launch) -> Iterator[Printed]:
    """The lines of the modes in which one actor prints everything."""
    simulation, scenario = launch.simulation, launch.simulation.scenario
    actor = RUNNERS.get(scenario.mode, "TaskRunnerV1")
    polls = (
        (poll.at_s, f"pending: {poll.counts.pending}, running: {poll.counts.running}, finished: {poll.counts.finished}")
        for poll in simulation.polls
    )
    stamped = ((at_s, _stamped(scenario, at_s, f"{text}, failure: 0")) for at_s, text in polls)
    for at_s, text in chain(_start(scenario, launch.resumed_from), stamped, _training(launch)):
        yield Printed(at_s, actor, text)


def _start(scenario: Scenario, resumed_from: int | None) -> Iterator[tuple[float, str]]:
    startup_s = scenario.schedule.startup_s
    yield _CONFIG_AT * startup_s, pprint.pformat(verl_config(scenario))
    for text in _data_lines(scenario):
        yield _DATA_AT * startup_s, text
    folder = f"checkpoints/{scenario.framework.project}/{experiment_name(scenario)}"
    if resumed_from:
        yield startup_s, f"Load from checkpoint folder: {folder}/global_step_{resumed_from}"
        yield startup_s, f"Setting global step to {resumed_from}"
        yield startup_s, f"Resuming from {folder}/global_step_{resumed_from}"
    else:
        yield startup_s, f"Checkpoint tracker file does not exist: {folder}/latest_checkpointed_iteration.txt"
        yield startup_s, "Training from scratch"


def _data_lines(scenario: Scenario) -> Iterator[str]:
    """The data loaders: V1 tells them with the time of day, the older loop of one_step_off without."""
    train, validation = scenario.workload.dataset_prompts, scenario.quality.validation_samples
    total = f"Total training steps: {scenario.steps}"
    if scenario.mode == "one_step_off":
        yield f"Size of train dataloader: {train // scenario.workload.prompts_per_step}, Size of val dataloader: 1"
        yield total
    else:
        at_s = _DATA_AT * scenario.schedule.startup_s
        sizes = f"train dataset size: {train}, val dataset size: {validation}"
        yield _stamped(scenario, at_s, f"train and validate dataloader initialized, {sizes}")
        yield _stamped(scenario, at_s, total)


def _training(launch: Launch) -> Iterator[tuple[float, str]]:
    """Validation before training, a bar and a metric line a step, the closing validation."""
    simulation, log, scenario = launch.simulation, launch.log, launch.simulation.scenario
    calls = list(log.calls)
    if log.initial_validation is not None:
        call = calls.pop(0)
        yield call.at_s, pprint.pformat(f"Initial validation metrics: {log.initial_validation}")
        yield call.at_s, metric_line(call)
    elapsed = [call.at_s - simulation.training_begins_s for call in calls]
    bars = progress_bars("Training Progress", elapsed, scenario.steps, launch.resumed_from or 0)
    for call, bar in zip(calls, bars, strict=True):
        yield call.at_s, f"\r{bar}" * (2 if call.step == scenario.steps else 1)
        yield call.at_s, metric_line(call)
    yield simulation.end_s, pprint.pformat(f"Final validation metrics: {log.final_validation}")


def _stamped(scenario: Scenario, at_s: float, text: str) -> str:
    """A line of verl's stage logger, with the time of day."""
    at = local_time(scenario, at_s)
    return f"INFO:{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}:{text}"


def _asynchronous(launch: Launch) -> Iterator[Printed]:
    return fully_async_lines(launch, verl_config(launch.simulation.scenario))


_LINES: Mapping[str, Callable[[Launch], Iterator[Printed]]] = {"fully_async": _asynchronous}
