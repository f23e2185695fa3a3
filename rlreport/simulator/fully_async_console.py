"""What a fully async run prints beside its metric lines: four actors, each with lines of its own.

Forms: verl/experimental/fully_async_policy/fully_async_main.py, fully_async_trainer.py, fully_async_rollouter.py,
message_queue.py. Of the Trainer's lines about single samples, one in 64 is written. The Rollouter's raw history of samples
in generation is the only absolute timeline of it that verl leaves without a tracer.
"""

from __future__ import annotations

import pprint
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rlreport.simulator.async_events import PauseFacts, VersionFacts
from rlreport.simulator.console_line import PIDS, Printed
from rlreport.simulator.fully_async_metrics import async_facts, rollouter_metrics
from rlreport.simulator.fully_async_statistics import SampleCounts, statistics_at
from rlreport.simulator.log_call import LogCall, local_time, metric_line, unix_s
from rlreport.simulator.progress_bar import progress_bars
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import Launch
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config import experiment_name

#: Sample counts after which the Trainer and the queue print a line.
COLLECTED_EVERY = 64
PRODUCED_EVERY = 100
#: Seconds between two statistics of the Rollouter.
STATISTICS_EVERY_S = 60.0
#: Versions of which the Rollouter prints how many samples it generated.
RECENT_VERSIONS = 10

#: Fractions of the start-up at which the parts report.
_BEGIN_AT, _CONFIG_AT, _TRAINER_AT, _ROLLOUTER_AT, _READY_AT = 0.08, 0.1, 0.5, 0.8, 0.95

_ROLLOUTER = "[FullyAsyncRollouter]"
_TRAINER = "[FullyAsyncTrainer]"


def fully_async_lines(launch: Launch, config: Mapping[str, Any]) -> Iterator[Printed]:
    """All lines, in no particular order; those of one moment in the order in which they are printed."""
    simulation, done = launch.simulation, launch.resumed_from or 0
    yield from chain(
        _start(simulation.scenario, config),
        _checkpoint(simulation.scenario, done),
        _rounds(simulation),
        _pauses(simulation),
        _queue(simulation),
        _statistics(simulation),
        _syncs(simulation),
        _validations(simulation),
        _logged(simulation, launch.log.calls, done),
        _end(simulation),
    )


def _start(scenario: Scenario, config: Mapping[str, Any]) -> Iterator[Printed]:
    startup_s, quota = scenario.schedule.startup_s, scenario.quota

    def main(at: float, text: str) -> Printed:
        return Printed(at * startup_s, "FullyAsyncTaskRunner", f"[ASYNC MAIN] {text}")

    yield main(_BEGIN_AT, "Starting fully async PPO training (mode=MQ)...")
    yield main(_BEGIN_AT, f"TaskRunner hostname: simulated, PID: {PIDS['FullyAsyncTaskRunner']}")
    yield Printed(_CONFIG_AT * startup_s, "FullyAsyncTaskRunner", pprint.pformat(dict(config)))
    yield main(_TRAINER_AT, "Trainer created and initialized successfully")
    samples = scenario.steps * scenario.workload.prompts_per_step
    yield Printed(_ROLLOUTER_AT * startup_s, "FullyAsyncRollouter", f"{_ROLLOUTER} Total rollout steps: {samples}")
    limits = (
        f"{_ROLLOUTER} required_samples : {quota.required_samples} max_required_samples: {quota.max_required_samples} "
        f"max_queue_size: {quota.max_queue_size} total_train_steps: {quota.total_train_steps} "
        f"total_rollout_steps: {samples} max_concurrent_samples: {quota.max_concurrent_samples} "
    )
    yield Printed(_ROLLOUTER_AT * startup_s, "FullyAsyncRollouter", limits)
    yield main(_ROLLOUTER_AT, "Rollouter created and initialized successfully")
    yield Printed(_READY_AT * startup_s, "FullyAsyncTaskRunner", f"total_train_steps {quota.total_train_steps}")
    yield main(_READY_AT, f"Creating MessageQueue... max_queue_size {quota.max_queue_size}")
    initialised = f"[MessageQueue] initialized with max_queue_size={quota.max_queue_size}"
    yield Printed(_READY_AT * startup_s, "MessageQueue", initialised)


def _checkpoint(scenario: Scenario, done: int) -> Iterator[Printed]:
    """What a launch resumes from; both sides look for it."""
    at_s = _READY_AT * scenario.schedule.startup_s
    folder = f"checkpoints/{scenario.framework.project}/{experiment_name(scenario)}/global_step_{done}"
    if done:
        rounds, samples = done * scenario.rounds_per_step, done * scenario.workload.prompts_per_step
        yield _trainer(at_s, f"Load from checkpoint folder: {folder}")
        yield _trainer(at_s, f"Setting global step to {rounds + 1}, current_param_version to {done}")
        yield _trainer(at_s, f"Resuming from  {folder}")
        yield _rollouter(at_s, f" Setting global_steps to {samples + 1}")
    else:
        yield _rollouter(at_s, " Training from scratch (no checkpoint found)")
    yield Printed(at_s, "FullyAsyncTaskRunner", "[ASYNC MAIN] Param sync before fit..")


def _rounds(simulation: Simulation) -> Iterator[Printed]:
    """The Trainer asks, collects and finishes a round."""
    scenario, facts = simulation.scenario, async_facts(simulation)
    required, trigger = scenario.quota.required_samples, scenario.rounds_per_step
    puts = [at_s for at_s, _, _ in facts.queue]
    for record, seen in zip(simulation.steps, facts.rounds, strict=True):
        asked_s = seen.collected_s - record.seconds["gen"]
        yield _trainer(asked_s, f"Requesting {required} samples from queue")
        arriving = puts[bisect_right(puts, asked_s) : bisect_right(puts, seen.collected_s)]
        yield from _collected(asked_s, record.ready[0], required, arriving)
        waited = f"total wait time: {record.seconds['gen']:.2f} seconds. mq_len: {seen.queue_after}"
        yield _trainer(seen.collected_s, f"Loop collection completed: {required}/{required} samples, {waited}")
        trained_s = record.end_s - record.seconds.get("param_sync", 0.0)
        at = local_time(scenario, trained_s)
        clock = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"
        position = f"local_trigger_step: {(record.step - 1) % trigger + 1} trigger_parameter_sync_step: {trigger}"
        yield _trainer(trained_s, f"global_steps: {record.step} {position} {clock}")


def _collected(asked_s: float, stored: int, required: int, arriving: Sequence[float]) -> Iterator[Printed]:
    """Every 64th sample of a round: at once while the queue has some, then as they are put into it."""
    for count in range(COLLECTED_EVERY, required + 1, COLLECTED_EVERY):
        at_s, left = (asked_s, stored - count) if count <= stored else (arriving[count - stored - 1], 0)
        yield _trainer(at_s, f"sample collected {count}/{required}. mq_len: {left}")
        yield _trainer(at_s, f"Collected {count}/{required} samples. mq_len: {left}")


def _pauses(simulation: Simulation) -> Iterator[Printed]:
    for pause in async_facts(simulation).pauses:
        yield _rollouter(pause.at_s, f"[ShouldPause] {_reason(pause)}")
        waiting = "Received pause signal, waiting for remaining tasks to return..."
        yield _rollouter(pause.at_s, f"[Processor] {waiting}")
        if pause.resumed_s is not None and pause.left:
            resumed = f"resuming generation early (active tasks remaining: {pause.left})"
            yield _rollouter(pause.resumed_s, f"[Processor] Drain interrupted by resume signal, {resumed}")


def _reason(pause: PauseFacts) -> str:
    if pause.reason == "queue_full":
        return f" due to full queue: size={pause.value}, max={pause.limit}"
    return f"due to staleness_samples {pause.value} >= max_required_samples {pause.limit} "


def _queue(simulation: Simulation) -> Iterator[Printed]:
    for at_s, produced, queued in async_facts(simulation).queue:
        if produced % PRODUCED_EVERY == 0:
            yield Printed(at_s, "MessageQueue", f"MessageQueue stats: produced={produced}, queue_size={queued}")


def _statistics(simulation: Simulation) -> Iterator[Printed]:
    """The Rollouter's counters every minute, over several lines."""
    counts = SampleCounts(simulation, async_facts(simulation))
    at_s = simulation.training_begins_s + STATISTICS_EVERY_S
    while at_s < simulation.end_s:
        values = pprint.pformat(statistics_at(simulation.scenario, counts, at_s))
        yield _rollouter(at_s, f"[MonitorLoop][Statistics] {values}")
        at_s += STATISTICS_EVERY_S


def _syncs(simulation: Simulation) -> Iterator[Printed]:
    """New weights: the Rollouter's history and numbers, then the Trainer's line."""
    scenario, facts = simulation.scenario, async_facts(simulation)
    recent: list[tuple[int, int]] = []
    steps = 1
    begins = (0.0, *(version.at_s for version in facts.versions))
    for since_s, version in zip(begins, facts.versions, strict=False):
        if version.generated:
            steps += 1
            recent = [*recent, (steps, version.generated)][-RECENT_VERSIONS:]
        yield _rollouter(
            version.at_s, f"[RolloutResourceUtilization] raw active_count_history {_history(scenario, version)}"
        )
        metrics = rollouter_metrics(version, since_s)
        numbers = (
            f"reset staleness_samples to: {version.staleness_samples} "
            f"idle_ratio: {metrics['fully_async/rollouter/idle_ratio']:.4f} "
            f"step_generated_samples(this_step): {version.generated} "
            f"rollout_resource_utilization: {metrics['dynamic_resource/rollout_resource_utilization']:.4f} "
            f"recent_history(last {RECENT_VERSIONS} steps): {recent}"
        )
        yield _rollouter(version.at_s, f"[Public][reset_staleness] {numbers}")
        synced = f"timing_s/param_sync: {version.param_sync_s:.4f} seconds self.current_param_version: {version.version}"
        yield _trainer(version.at_s, f"_fit_update_weights, {synced}")


def _history(scenario: Scenario, version: VersionFacts) -> str:
    """Every change of the samples in generation, with its absolute time to the millisecond."""
    changes = [(round(unix_s(scenario, at_s), 3), active, most) for at_s, active, most in version.active]
    return f"(timestamp, active_count, max_concurrent): {changes}"


def _validations(simulation: Simulation) -> Iterator[Printed]:
    """Only a validation in which the Trainer's devices take part has lines of its own."""
    for validation in simulation.validations:
        if validation.on_trainer:
            yield _trainer(validation.begin_s, "_trainer_side_validate === START ===")
            total_s = validation.end_s - validation.begin_s
            yield _trainer(validation.end_s, f"_trainer_side_validate === END === (total: {total_s:.2f}s)")


def _logged(simulation: Simulation, calls: Sequence[LogCall], done: int) -> Iterator[Printed]:
    """The metric lines, and the progress bar after every version."""
    for call in calls:
        if "timing_s/step" in call.values:
            yield Printed(call.at_s, "FullyAsyncTrainer", "aggregated metrics done. cost 0.0021 seconds.")
        yield Printed(call.at_s, "FullyAsyncTrainer", metric_line(call))
    versions = [record.logged_s for record in simulation.steps if "param_sync" in record.seconds]
    opened_s = _READY_AT * simulation.scenario.schedule.startup_s
    elapsed = [at_s - opened_s for at_s in versions]
    bars = progress_bars("Training Progress", elapsed, simulation.scenario.steps, done)
    for at_s, bar in zip(versions, bars, strict=True):
        yield Printed(at_s, "FullyAsyncTrainer", f"\r{bar}")


def _end(simulation: Simulation) -> Iterator[Printed]:
    startup_s, end_s = simulation.scenario.schedule.startup_s, simulation.end_s
    most = simulation.scenario.quota.max_concurrent_samples
    yield Printed(startup_s, "FullyAsyncTaskRunner", "[ASYNC MAIN] Starting Rollouter and Trainer...")
    yield _rollouter(startup_s, f" Start streaming mode, maximum concurrent samples: {most}")
    yield _trainer(end_s, "Training stopped by queue termination signal")
    yield Printed(end_s, "FullyAsyncTaskRunner", "[ASYNC MAIN] One component completed successfully")
    yield Printed(end_s, "FullyAsyncTaskRunner", "[ASYNC MAIN] Training completed or interrupted")


def _trainer(at_s: float, text: str) -> Printed:
    return Printed(at_s, "FullyAsyncTrainer", f"{_TRAINER} {text}")


def _rollouter(at_s: float, text: str) -> Printed:
    """A line of the Rollouter; what stands in brackets follows its name without a space."""
    return Printed(at_s, "FullyAsyncRollouter", f"{_ROLLOUTER}{text}")
