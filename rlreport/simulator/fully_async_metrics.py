"""The lines of a fully async run: every round's metrics, and verl's aggregation of them over a parameter version.

Keys of a round: verl/experimental/fully_async_policy/fully_async_trainer.py (`fit_step`, `_collect_metrics_from_samples`),
detach_utils.py (`assemble_batch_from_rollout_samples`). Aggregation: detach_utils.py, `MetricsAggregator`. A version has up
to three calls of the logger: the Rollouter's numbers when the weights arrive, the validation, and the aggregate. The
aggregate is made before the version's last round is added, so the line of version v holds the last round of version v - 1
and all but the last round of its own; with one round a version, version 1 has no such line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from rlreport.simulator.async_events import AsyncFacts, RoundFacts, ValidationFacts, VersionFacts
from rlreport.simulator.fully_async_statistics import PENDING_QUEUE
from rlreport.simulator.log_call import LogCall
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_metrics import (
    Metrics,
    length_metrics,
    policy_metrics,
    rounded_metrics,
    score_metrics,
    sequence_metrics,
    time_metrics,
    turn_metrics,
    validation_metrics,
    versions_behind,
)

#: How a key is aggregated where its name is listed.
AGGREGATED_AS: Mapping[str, str] = {
    "perf/time_per_step": "sum",
    "timing_s/agent_loop/tool_calls/min": "min",
    "timing_s/agent_loop/tool_calls/mean": "mean",
    "timing_s/agent_loop/tool_calls/max": "max",
    "fully_async/count/total_generated_samples": "last",
    "fully_async/count/stale_trajectory_processed": "last",
    "fully_async/count/current_param_version": "last",
    "fully_async/count/dropped_stale_samples": "last",
    "training/global_step": "last",
    "dynamic_resource/mq_size": "last",
    "dynamic_resource/train_compute_time_s": "sum",
    "dynamic_resource/train_allocated_time_s": "sum",
}

#: How it is aggregated by what its name contains; the first that fits. Everything else is averaged.
AGGREGATED_BY_PART: tuple[tuple[tuple[str, ...], str], ...] = (
    (("timing_s/",), "sum"),
    (("mean", "avg", "average"), "mean"),
    (("max", "maximum"), "max"),
    (("min", "minimum"), "min"),
    (("sum", "total"), "sum"),
)

#: Timers that count as the Trainer's computing.
COMPUTE_TIMERS: tuple[str, ...] = ("reward", "old_log_prob", "ref", "values", "adv", "update_critic", "update_actor")


def fully_async_calls(simulation: Simulation, curves: LearningCurves, initial: Metrics | None) -> Iterator[LogCall]:
    """Every call of the logger in order of time."""
    scenario, facts = simulation.scenario, async_facts(simulation)
    begun = facts.versions[0]
    yield LogCall(begun.at_s, begun.version, rollouter_metrics(begun, 0.0))
    validations = {validation.version: validation for validation in facts.validations}
    if initial is not None:
        yield LogCall(validations[0].ended_s, 0, _validation(validations[0], initial))
    windows = pairwise(facts.versions)
    waiting: list[Metrics] = []
    stale = 0
    for record, seen in zip(simulation.steps, facts.rounds, strict=True):
        stale += int((versions_behind(record, "last_version", seen.version) >= 1).sum())
        if "param_sync" in record.seconds:
            before, now = next(windows)
            rollouter = rollouter_metrics(now, before.at_s)
            yield LogCall(now.at_s, now.version, rollouter)
            if now.version in validations:
                metrics = validation_metrics(scenario, curves.accuracy(now.version))
                validation = validations[now.version]
                yield LogCall(validation.ended_s, now.version, _validation(validation, metrics))
            if waiting:
                yield LogCall(record.logged_s, now.version, aggregate(scenario, waiting, rollouter))
                waiting = []
        waiting.append(round_metrics(scenario, record, seen, curves, stale))
    for before, now in windows:
        rollouter = rollouter_metrics(now, before.at_s)
        yield LogCall(now.at_s, now.version, rollouter)
        yield LogCall(now.at_s, now.version, aggregate(scenario, waiting, rollouter))


def async_facts(simulation: Simulation) -> AsyncFacts:
    """What the run left behind beside its steps. Raises ValueError for a simulation of another mode."""
    if simulation.async_facts is None:
        raise ValueError(f"the simulation of {simulation.scenario.name} holds no facts of a fully async run")
    return simulation.async_facts


def _validation(validation: ValidationFacts, metrics: Metrics) -> Metrics:
    return rounded_metrics({"rollouter/validate_time": validation.seconds, **metrics})


def rollouter_metrics(version: VersionFacts, since_s: float) -> Metrics:
    """What the Rollouter tells when a version begins to serve; `since_s` is when the one before did."""
    version_s = max(version.at_s - since_s, 1e-6)
    active_s = version_s if version.drained_s is None else version.drained_s - since_s
    return rounded_metrics(
        {
            "fully_async/rollouter/active_time": active_s,
            "fully_async/rollouter/version_time": version_s,
            "fully_async/rollouter/idle_ratio": 1.0 - active_s / version_s,
            "fully_async/rollouter/step_generated_samples": version.generated,
            "dynamic_resource/rollout_resource_utilization": occupancy(version.active),
        }
    )


def occupancy(history: Sequence[tuple[float, int, int]]) -> float:
    """Samples in generation over possible ones, weighted by time and by what is possible; 0 when no time passes."""
    used = possible = 0.0
    for (start_s, active, most), (end_s, _, _) in pairwise(history):
        if most > 0:
            used += (end_s - start_s) * min(active, most)
            possible += (end_s - start_s) * most
    return used / possible if possible > 0 else 0.0


def round_metrics(
    scenario: Scenario, record: StepRecord, seen: RoundFacts, curves: LearningCurves, stale_trajectories: int
) -> Metrics:
    """The metrics of one round, in verl's order. `stale_trajectories` counts those trained so far, this round's included."""
    staleness = float(versions_behind(record, "last_version", seen.version).mean())
    statistics = curves.statistics(seen.version + 1, staleness)
    reward = curves.reward(seen.version + 1, staleness)
    metrics: Metrics = {
        "training/global_step": record.step,
        "training/epoch": 0,
        "fully_async/count/stale_trajectory_processed": stale_trajectories,
        "fully_async/count/current_param_version": seen.version,
    }
    metrics |= _samples(scenario, record, seen)
    metrics["fully_async/total_wait_time"] = record.seconds["gen"]
    metrics |= sequence_metrics(scenario, record)
    metrics |= policy_metrics(scenario, record, statistics)
    metrics["dynamic_resource/train_compute_time_s"] = sum(record.seconds.get(name, 0.0) for name in COMPUTE_TIMERS)
    metrics["dynamic_resource/train_allocated_time_s"] = record.step_s
    metrics |= score_metrics(scenario, reward)
    metrics |= length_metrics(scenario, record)
    metrics |= turn_metrics("num_turns")
    metrics |= time_metrics(scenario, record, scenario.trainer_devices)
    metrics["dynamic_resource/mq_size"] = seen.queue_at_end
    return metrics


def _samples(scenario: Scenario, record: StepRecord, seen: RoundFacts) -> Metrics:
    """What the samples carry: how long they took, the Rollouter's counters, versions within one trajectory."""
    seconds = np.concatenate([batch.generation_s for batch in record.batches])
    spans = np.concatenate([batch.last_version - batch.first_version for batch in record.batches])
    partial = int((spans > 0).sum())
    quota = scenario.quota
    return {
        "fully_async/processing_time/avg": float(seconds.mean()),
        "fully_async/processing_time/max": float(seconds.max()),
        "fully_async/processing_time/min": float(seconds.min()),
        "fully_async/processing_time/tp50": float(np.percentile(seconds, 50)),
        "fully_async/processing_time/tp99": float(np.percentile(seconds, 99)),
        "fully_async/processing_time/tp95": float(np.percentile(seconds, 95)),
        "fully_async/monitor/active_tasks_size": seen.active,
        "fully_async/monitor/queue/pending_queue_size": PENDING_QUEUE,
        "fully_async/monitor/queue/mq_queue_size": seen.queued,
        "fully_async/count/total_generated_samples": seen.generated,
        "fully_async/count/staleness_samples": seen.staleness_samples,
        "fully_async/count/dropped_stale_samples": seen.dropped,
        "fully_async/static/max_required_samples": quota.max_required_samples,
        "fully_async/static/required_samples": quota.required_samples,
        "fully_async/static/staleness_threshold": scenario.fully_async.staleness_threshold,
        "fully_async/static/max_queue_size": quota.max_queue_size,
        "fully_async/static/max_concurrent_samples": quota.max_concurrent_samples,
        "fully_async/partial/total_partial_num": partial,
        "fully_async/partial/partial_ratio": partial / len(spans),
        "fully_async/partial/max_partial_span": int(spans.max()),
        "timing_s/agent_loop/tool_calls/max": 0.0,
        "timing_s/agent_loop/tool_calls/min": 0.0,
        "timing_s/agent_loop/tool_calls/mean": 0.0,
    }


def aggregate(scenario: Scenario, rounds: Sequence[Metrics], rollouter: Metrics) -> Metrics:
    """One line from several rounds; `rollouter` are the values of `rollouter_metrics` of the same version."""
    keys = list(dict.fromkeys(key for metrics in rounds for key in metrics))
    line: Metrics = {key: _aggregated(key, [float(m[key]) for m in rounds if key in m]) for key in keys}
    line["global_seqlen/minmax_diff"] = line["global_seqlen/max"] - line["global_seqlen/min"]
    line["perf/throughput"] = line["perf/total_num_tokens"] / (line["perf/time_per_step"] * scenario.total_devices)
    line["fully_async/trainer/idle_ratio"] = line["timing_s/gen"] / line["timing_s/step"]
    computing = line["dynamic_resource/train_compute_time_s"] / line["dynamic_resource/train_allocated_time_s"]
    generating = rollouter["dynamic_resource/rollout_resource_utilization"]
    trainer, rollout = scenario.trainer_devices, scenario.rollout_devices
    line["dynamic_resource/train_resource_utilization"] = computing
    line["dynamic_resource/rollout_resource_utilization"] = generating
    line["dynamic_resource/resource_utilization"] = (trainer * computing + rollout * generating) / (trainer + rollout)
    return rounded_metrics(line)


def aggregation_of(key: str) -> str:
    """How a key is aggregated: sum, mean, max, min or last."""
    if key in AGGREGATED_AS:
        return AGGREGATED_AS[key]
    name = key.lower()
    return next((how for parts, how in AGGREGATED_BY_PART if any(part in name for part in parts)), "mean")


def _aggregated(key: str, values: Sequence[float]) -> float:
    how = aggregation_of(key)
    if how == "last":
        return values[-1]
    if how == "max":
        return max(values)
    if how == "min":
        return min(values)
    total = sum(values)
    return total if how == "sum" else total / len(values)
