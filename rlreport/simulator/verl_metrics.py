"""A step in verl's own words: the metric keys of its console line, in its order, with its units and denominators.

Keys: verl/trainer/ppo/metric_utils.py, v1/trainer_base.py (`_compute_metrics`), trainer/ppo/rollout_corr_helper.py,
experimental/separation/ray_trainer.py (`_fit_collect_metrics`, for one_step_off). In separate_async the metrics of the
mini-batches of a step are merged as v1/utils.py does: `min`, `max` and totals by name, `timing_s/*` and
`timing_per_token_ms/*` summed, the rest averaged by samples. A line of fully_async is put together in
`fully_async_metrics`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence

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

#: The model's timers that verl logs under another name; fully async writes the prefix `timing_s/` twice.
TIMER_KEYS: Mapping[str, str] = {"param_sync": "timing_s/param_sync"}

LEARNING_RATE = 1e-6
RESERVED_OVER_ALLOCATED = 1.09
VALIDATION_SAMPLES_PER_PROMPT = 16


def rounded(value: float) -> float:
    """Ten significant digits: enough for every check, and the same on machines whose `exp` differs in the last bit."""
    return float(f"{value:.10g}")


def throughput_devices(scenario: Scenario) -> int:
    """Devices that verl divides `perf/throughput` by, for the mode and the version of the scenario.

    The resource pools of one_step_off hold the Trainer's devices only (verl pull request 5029), and so did those of
    separate_async before 32bb33d7c.
    """
    trainer_only = {"one_step_off": True, "separate_async": scenario.framework.version < ALL_DEVICES_SINCE}
    return scenario.trainer_devices if trainer_only.get(scenario.mode, False) else scenario.total_devices


def step_metrics(scenario: Scenario, record: StepRecord, curves: LearningCurves, accuracy: float | None) -> Metrics:
    """All values of a step's line in order. `accuracy` is the validation's, None when the step had none."""
    staleness = versions_behind(record, "last_version", record.step - 1)
    statistics = curves.statistics(record.step, float(staleness.mean()))
    reward = curves.reward(record.step, float(staleness.mean()))
    validation = {} if accuracy is None else validation_metrics(scenario, accuracy)
    order = _ORDERS.get(scenario.mode, _v1_line)
    return rounded_metrics(order(scenario, record, statistics, reward, validation))


def rounded_metrics(metrics: Metrics) -> Metrics:
    """Every float with ten significant digits; counts stay whole."""
    return {key: rounded(value) if isinstance(value, float) else value for key, value in metrics.items()}


def _v1_line(
    scenario: Scenario, record: StepRecord, statistics: dict[str, float], reward: float, validation: Metrics
) -> Metrics:
    metrics = sequence_metrics(scenario, record)
    metrics |= policy_metrics(scenario, record, statistics)
    metrics |= validation
    metrics["training/global_step"] = record.step
    metrics["training/epoch"] = (record.step - 1) * scenario.workload.prompts_per_step // scenario.workload.dataset_prompts
    metrics |= score_metrics(scenario, reward)
    metrics |= length_metrics(scenario, record)
    metrics |= time_metrics(scenario, record, throughput_devices(scenario))
    metrics |= _off_policy(record)
    metrics |= _switching(record)
    return metrics


def _one_step_off_line(
    scenario: Scenario, record: StepRecord, statistics: dict[str, float], reward: float, validation: Metrics
) -> Metrics:
    metrics: Metrics = {"training/global_step": record.step, "training/epoch": 0}
    metrics |= sequence_metrics(scenario, record)
    metrics |= policy_metrics(scenario, record, statistics)
    metrics |= validation
    metrics |= score_metrics(scenario, reward)
    metrics |= length_metrics(scenario, record)
    metrics |= turn_metrics("num_turns")
    metrics |= time_metrics(scenario, record, throughput_devices(scenario))
    return metrics


_Line = Callable[[Scenario, StepRecord, dict[str, float], float, Metrics], Metrics]

#: What a line holds, by mode; V1's line where nothing else is said.
_ORDERS: Mapping[str, _Line] = {"one_step_off": _one_step_off_line}

#: Modes in which bypassing the old log-probabilities leaves no timer of them (experimental/separation/ray_trainer.py).
_NO_BYPASS_TIMER = ("one_step_off", "fully_async")

#: Statistics that come from recomputed log-probabilities, so bypass mode has none of them.
_FROM_OLD_LOG_PROB = ("actor/entropy", "training/rollout_")


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


def turn_metrics(prefix: str) -> Metrics:
    """Turns of a conversation: always the prompt and one answer."""
    return {f"{prefix}/mean": 2.0, f"{prefix}/max": 2, f"{prefix}/min": 2}


def _validation_section(name: str) -> str:
    headline = f"@{VALIDATION_SAMPLES_PER_PROMPT}" in name and name.startswith(("acc/mean", "acc/maj", "acc/best"))
    return "val-core" if headline else "val-aux"


def _spread(level: float) -> float:
    return 0.4 * math.sqrt(level * (1.0 - level))


def versions_behind(record: StepRecord, name: str, version: int) -> IntArray:
    """How many versions before `version` every trajectory of the step has its `first_version` or `last_version`."""
    versions: IntArray = np.concatenate([getattr(batch, name) for batch in record.batches])
    return version - versions


def _rounds(scenario: Scenario, record: StepRecord) -> Sequence[Sequence[MiniBatch]]:
    """What one round of the controller trains: a mini-batch in separate_async, the whole batch in sync."""
    if scenario.mode == "separate_async":
        return [[batch] for batch in record.batches]
    return [record.batches]


def sequence_metrics(scenario: Scenario, record: StepRecord) -> Metrics:
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


def policy_metrics(scenario: Scenario, record: StepRecord, statistics: dict[str, float]) -> Metrics:
    """The actor's statistics, its memory, and how far sampler and Trainer agree."""
    s = statistics
    if not scenario.trainer.recompute_old_log_prob:
        s = {key: value for key, value in s.items() if not key.startswith(_FROM_OLD_LOG_PROB)}
    per_update = max(batch.tokens for batch in record.batches)
    allocated = memory_allocated_gb(scenario, per_update)
    reserved = min(scenario.cluster.device_memory_gb, allocated * RESERVED_OVER_ALLOCATED)
    rollout_log_ppl = s["rollout_corr/training_log_ppl"] - s["rollout_corr/log_ppl_diff"]
    update_s = sum(batch.update_s for batch in record.batches)
    metrics: Metrics = {}
    if scenario.trainer.recompute_old_log_prob:
        metrics["actor/entropy"] = s["actor/entropy"]
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


def score_metrics(scenario: Scenario, reward: float) -> Metrics:
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


def length_metrics(scenario: Scenario, record: StepRecord) -> Metrics:
    """Lengths of responses and prompts in tokens, over all trajectories of the step."""
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


def time_metrics(scenario: Scenario, record: StepRecord, devices: int) -> Metrics:
    """Timers in seconds, milliseconds a token, and verl's throughput, divided by this number of devices."""
    bypassed = scenario.mode in _NO_BYPASS_TIMER and not scenario.trainer.recompute_old_log_prob
    timers = {name: s for name, s in record.seconds.items() if not (bypassed and name == "old_log_prob")} | record.nested
    metrics: Metrics = {f"timing_s/{TIMER_KEYS.get(name, name)}": seconds for name, seconds in timers.items()}
    metrics["timing_s/step"] = record.step_s
    if record.testing_s is not None and scenario.mode != "fully_async":
        metrics["timing_s/testing"] = record.testing_s
    rounds = _rounds(scenario, record)
    for name in ("adv", "update_actor", "gen"):
        metrics[f"timing_per_token_ms/{name}"] = 1000.0 * sum(_seconds_per_token(name, batches) for batches in rounds)
    metrics["perf/total_num_tokens"] = record.tokens
    metrics["perf/time_per_step"] = record.step_s
    metrics["perf/throughput"] = record.tokens / (record.step_s * devices)
    return metrics


def _seconds_per_token(name: str, batches: Sequence[MiniBatch]) -> float:
    """`gen` counts response tokens, the others prompt and response tokens (`compute_timing_metrics`)."""
    if name == "gen":
        return sum(b.wait_s for b in batches) / sum(int(b.response_tokens.sum()) for b in batches)
    seconds = sum(b.advantage_s if name == "adv" else b.update_s for b in batches)
    return seconds / sum(b.tokens for b in batches)


def _off_policy(record: StepRecord) -> Metrics:
    """Versions within a trajectory, and versions between sampling and training, by its newest and its oldest token."""
    staleness = versions_behind(record, "last_version", record.step - 1)
    worst = versions_behind(record, "first_version", record.step - 1)
    metrics = turn_metrics("training/num_turns")
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


def _switching(record: StepRecord) -> Metrics:
    """What step switching measured and decided (verl/trainer/ppo/v1/trainer_separate_async.py, `on_step_end`)."""
    switch = record.switch
    if switch is None:
        return {}
    metrics: Metrics = {
        "separate_async/switch/threshold_ratio": switch.threshold_ratio,
        "separate_async/switch/wait_samples": float(switch.wait_samples),
        "separate_async/switch/idle": float(switch.idle),
        "separate_async/decision/sampleable_count": float(switch.sampleable_count),
        "separate_async/decision/remaining": float(switch.remaining),
        "separate_async/decision/should_switch_to_rollout": float(switch.should_switch_to_rollout),
    }
    if switch.per_sample_s is not None:
        metrics["separate_async/decision/per_sample_time_seconds"] = switch.per_sample_s
    if switch.switch_cost_s is not None:
        metrics["separate_async/decision/effective_switch_cost_seconds"] = switch.switch_cost_s
    return metrics
