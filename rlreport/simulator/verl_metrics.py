"""A step in verl's own words: the metric keys of its console line, in its order, with its units and denominators.

Keys: verl/trainer/ppo/metric_utils.py, v1/trainer_base.py (`_compute_metrics`), trainer/ppo/rollout_corr_helper.py. In
separate_async the metrics of the mini-batches of a step are merged as v1/utils.py does: `min`, `max` and totals by name,
`timing_s/*` and `timing_per_token_ms/*` summed, the rest averaged by samples.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

import numpy as np

from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.records import IntArray, MiniBatch, StepRecord
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.trainer import memory_allocated_gb, model_flops_utilisation

Metrics = dict[str, int | float]

#: Since this day `perf/throughput` of separate_async divides by the rollout devices too (verl pull request 7049).
ALL_DEVICES_SINCE = dt.date(2026, 7, 20)

#: The importance weights are truncated here (algorithm.rollout_correction.rollout_is_threshold).
IS_THRESHOLD = 2.0

LEARNING_RATE = 1e-6
RESERVED_OVER_ALLOCATED = 1.09
VALIDATION_SAMPLES_PER_PROMPT = 16


def rounded(value: float) -> float:
    """Ten significant digits: enough for every check, and the same on machines whose `exp` differs in the last bit."""
    return float(f"{value:.10g}")


def throughput_devices(scenario: Scenario) -> int:
    """Devices that verl divides `perf/throughput` by, for the mode and the version of the scenario."""
    if scenario.mode == "separate_async" and scenario.framework.version < ALL_DEVICES_SINCE:
        return scenario.trainer_devices
    return scenario.total_devices


def step_metrics(scenario: Scenario, record: StepRecord, curves: LearningCurves, accuracy: float | None) -> Metrics:
    """All values of a step's line in order. `accuracy` is the validation's, None when the step had none."""
    staleness = _joined(record, "last_version", record.step - 1)
    statistics = curves.statistics(record.step, float(staleness.mean()))
    reward = curves.reward(record.step, float(staleness.mean()))
    metrics: Metrics = {}
    metrics.update(_sequence_lengths(scenario, record))
    metrics.update(_policy(scenario, record, statistics))
    if accuracy is not None:
        metrics.update(validation_metrics(scenario, accuracy))
    metrics["training/global_step"] = record.step
    metrics["training/epoch"] = (record.step - 1) * scenario.workload.prompts_per_step // scenario.workload.dataset_prompts
    metrics.update(_scores(scenario, reward))
    metrics.update(_lengths(scenario, record))
    metrics.update(_times(scenario, record))
    metrics.update(_off_policy(record, staleness))
    return {key: rounded(value) if isinstance(value, float) else value for key, value in metrics.items()}


def validation_metrics(scenario: Scenario, accuracy: float) -> Metrics:
    """The keys of a validation (`process_validation_metrics`): the headline under val-core, the rest under val-aux.

    Best, worst and majority of k answers follow the mean by plain powers of k: an assumption, no data of their own.
    """
    source, most = scenario.quality.validation_source, VALIDATION_SAMPLES_PER_PROMPT
    values = {f"acc/mean@{most}": accuracy, f"acc/std@{most}": _spread(accuracy)}
    for k in (2, 4, 8, most):
        for kind, level in (
            ("best", 1.0 - (1.0 - accuracy) * k**-0.35),
            ("maj", min(1.0, accuracy + 0.015 * math.log2(k))),
            ("worst", accuracy * k**-0.6),
        ):
            values |= {f"acc/{kind}@{k}/mean": level, f"acc/{kind}@{k}/std": _spread(level)}
    metrics: Metrics = {f"{_validation_section(name)}/{source}/{name}": rounded(value) for name, value in values.items()}
    return metrics | {f"val-aux/num_turns/{name}": 2 for name in ("min", "max")} | {"val-aux/num_turns/mean": 2.0}


def _validation_section(name: str) -> str:
    headline = f"@{VALIDATION_SAMPLES_PER_PROMPT}" in name and name.startswith(("acc/mean", "acc/maj", "acc/best"))
    return "val-core" if headline else "val-aux"


def _spread(level: float) -> float:
    return 0.4 * math.sqrt(level * (1.0 - level))


def _joined(record: StepRecord, name: str, minus_from: int) -> IntArray:
    """`minus_from` minus a version of every trajectory of the step: its staleness."""
    versions: IntArray = np.concatenate([getattr(batch, name) for batch in record.batches])
    return minus_from - versions


def _rounds(scenario: Scenario, record: StepRecord) -> Sequence[Sequence[MiniBatch]]:
    """What one round of the controller trains: a mini-batch in separate_async, the whole batch in sync."""
    if scenario.mode == "separate_async":
        return [[batch] for batch in record.batches]
    return [record.batches]


def _sequence_lengths(scenario: Scenario, record: StepRecord) -> Metrics:
    """Tokens of a data-parallel rank, before and after balancing (`log_seqlen_unbalance`)."""
    ranks = scenario.data_parallel_ranks
    lowest, highest, even = [], [], []
    for batches in _rounds(scenario, record):
        lengths = np.concatenate([batch.prompt_tokens + batch.response_tokens for batch in batches])
        sums = [int(part.sum()) for part in np.array_split(lengths, ranks)]
        lowest.append(min(sums))
        highest.append(max(sums))
        even.append(sum(sums) / ranks)
    return {
        "global_seqlen/min": float(min(lowest)),
        "global_seqlen/max": float(max(highest)),
        "global_seqlen/minmax_diff": float(np.mean([high - low for high, low in zip(highest, lowest, strict=True)])),
        "global_seqlen/balanced_min": float(math.floor(min(even))),
        "global_seqlen/balanced_max": float(math.ceil(max(even))),
        "global_seqlen/mean": float(np.mean(even)),
    }


def _policy(scenario: Scenario, record: StepRecord, statistics: dict[str, float]) -> Metrics:
    """The actor's statistics, its memory, and how far sampler and Trainer agree."""
    s = statistics
    per_update = max(batch.tokens for batch in record.batches)
    allocated = memory_allocated_gb(scenario, per_update)
    reserved = min(scenario.cluster.device_memory_gb, allocated * RESERVED_OVER_ALLOCATED)
    rollout_log_ppl = s["rollout_corr/training_log_ppl"] - s["rollout_corr/log_ppl_diff"]
    update_s = sum(batch.update_s for batch in record.batches)
    metrics: Metrics = {"actor/entropy": s["actor/entropy"]}
    metrics["training/rollout_probs_diff_valid"] = 1.0
    metrics.update({key: value for key, value in s.items() if key.startswith("training/")})
    metrics.update({key: value for key, value in s.items() if key.startswith("rollout_corr/")})
    metrics["rollout_corr/rollout_is_max"] = IS_THRESHOLD
    metrics["rollout_corr/training_ppl"] = math.exp(s["rollout_corr/training_log_ppl"])
    metrics["rollout_corr/rollout_log_ppl"] = rollout_log_ppl
    metrics["rollout_corr/rollout_ppl"] = math.exp(rollout_log_ppl)
    metrics["rollout_corr/ppl_ratio"] = math.exp(s["rollout_corr/log_ppl_diff"])
    metrics.update({key: value for key, value in s.items() if key.startswith("actor/") and key != "actor/entropy"})
    metrics["actor/loss"] = s["actor/pg_loss"]
    metrics["actor/lr"] = LEARNING_RATE
    metrics["actor/perf/max_memory_allocated_gb"] = allocated
    metrics["actor/perf/max_memory_reserved_gb"] = reserved
    metrics["perf/mfu/actor"] = model_flops_utilisation(scenario, record.tokens, update_s)
    return metrics


def _scores(scenario: Scenario, reward: float) -> Metrics:
    """Scores, rewards and advantages of a batch: answers are right (1) or wrong (0), advantages are GRPO's."""
    n = scenario.workload.samples_per_prompt
    largest = (n - 1) / math.sqrt(n) if n > 1 else 0.0
    centre = (0.5 - reward) * 0.05
    metrics: Metrics = {}
    for name, mean, high, low in (
        ("score", reward, 1.0, 0.0),
        ("rewards", reward, 1.0, 0.0),
        ("advantages", centre, largest, -largest),
        ("returns", centre, largest, -largest),
    ):
        metrics |= {f"critic/{name}/mean": mean, f"critic/{name}/max": high, f"critic/{name}/min": low}
    return metrics


def _lengths(scenario: Scenario, record: StepRecord) -> Metrics:
    responses: IntArray = np.concatenate([batch.response_tokens for batch in record.batches])
    prompts: IntArray = np.concatenate([batch.prompt_tokens for batch in record.batches])
    w = scenario.workload
    metrics: Metrics = {}
    for name, lengths, cap in (
        ("response_length", responses, w.max_response_tokens),
        ("response_length_non_aborted", responses, w.max_response_tokens),
        ("prompt_length", prompts, w.max_prompt_tokens),
    ):
        metrics[f"{name}/mean"] = float(lengths.mean())
        metrics[f"{name}/max"] = float(lengths.max())
        metrics[f"{name}/min"] = float(lengths.min())
        metrics[f"{name}/clip_ratio"] = float((lengths >= cap).mean())
        if name == "response_length_non_aborted":
            metrics["response/aborted_ratio"] = 0.0
    return metrics


def _times(scenario: Scenario, record: StepRecord) -> Metrics:
    """Timers in seconds, milliseconds a token, and verl's throughput with the denominator of mode and version."""
    metrics: Metrics = {f"timing_s/{name}": seconds for name, seconds in record.seconds.items()}
    metrics["timing_s/step"] = record.step_s
    if record.testing_s is not None:
        metrics["timing_s/testing"] = record.testing_s
    rounds = _rounds(scenario, record)
    for name in ("adv", "update_actor", "gen"):
        metrics[f"timing_per_token_ms/{name}"] = 1000.0 * sum(_seconds_per_token(name, batches) for batches in rounds)
    metrics["perf/total_num_tokens"] = record.tokens
    metrics["perf/time_per_step"] = record.step_s
    metrics["perf/throughput"] = record.tokens / (record.step_s * throughput_devices(scenario))
    return metrics


def _seconds_per_token(name: str, batches: Sequence[MiniBatch]) -> float:
    """`gen` counts response tokens, the others prompt and response tokens (`compute_timing_metrics`)."""
    if name == "gen":
        return sum(b.wait_s for b in batches) / sum(int(b.response_tokens.sum()) for b in batches)
    seconds = sum(b.advantage_s if name == "adv" else b.update_s for b in batches)
    return seconds / sum(b.tokens for b in batches)


def _off_policy(record: StepRecord, staleness: IntArray) -> Metrics:
    """Versions within a trajectory, and versions between sampling and training, by its newest and its oldest token."""
    worst = _joined(record, "first_version", record.step - 1)
    metrics: Metrics = {"training/num_turns/mean": 2.0, "training/num_turns/max": 2, "training/num_turns/min": 2}
    for name, values in (
        ("trajectory_spans", worst - staleness + 1),
        ("trajectory_staleness", staleness),
        ("trajectory_staleness_worst", worst),
    ):
        metrics[f"training/off_policy/{name}/mean"] = float(values.mean())
        metrics[f"training/off_policy/{name}/max"] = int(values.max())
        metrics[f"training/off_policy/{name}/min"] = int(values.min())
    if record.evicted:
        metrics["training/off_policy/evicted_samples"] = record.evicted
    return metrics
