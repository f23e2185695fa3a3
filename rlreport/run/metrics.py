"""The catalogue of canonical metrics: a name with its unit, what it means, and how it may be summed.

A dialect maps a framework's raw keys to these names; everything after the dialects knows only these. The catalogue is the
contract of design section 5: extend it by adding a row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """One canonical metric: dotted name, unit ("" for a plain number), one-line meaning, a label for axes and tables."""

    name: str
    unit: str
    label: str
    meaning: str


_ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("time.step_s", "s", "step", "time of one step as the framework defines it; see the run's step semantics"),
    ("time.wait_s", "s", "waiting for samples", "the Trainer waits for samples from the Rollouters"),
    ("time.generate_s", "s", "generation", "generation on the Trainer's own devices, within the step"),
    ("time.reward_s", "s", "reward", "computing rewards within the step"),
    ("time.old_log_prob_s", "s", "old log prob", "recomputing log-probabilities under the sampling policy"),
    ("time.ref_s", "s", "reference log prob", "log-probabilities under the reference policy"),
    ("time.values_s", "s", "values", "the critic's forward pass"),
    ("time.advantage_s", "s", "advantage", "advantage computation"),
    ("time.update_actor_s", "s", "actor update", "forward, backward and optimiser of the actor"),
    ("time.update_critic_s", "s", "critic update", "forward, backward and optimiser of the critic"),
    ("time.weight_sync_s", "s", "weight sync", "sending new weights to the inference engines"),
    ("time.switch_s", "s", "engine switch", "hybrid engines changing between training and generation"),
    ("time.checkpoint_s", "s", "checkpoint", "saving a checkpoint"),
    ("time.validate_s", "s", "validation", "evaluating on the validation set"),
    ("time.other_s", "s", "untimed", "the remainder of the step that no timer covers"),
    ("clock.wall_s", "s", "wall clock", "seconds since the run's first known moment, when the step was logged"),
    ("work.tokens", "tokens", "tokens", "prompt and response tokens of the step's samples"),
    ("work.prompts", "prompts", "prompts", "prompts of the step"),
    ("work.trajectories", "trajectories", "trajectories", "responses of the step (prompts times samples per prompt)"),
    ("length.response_mean", "tokens", "response length, mean", "mean response length of the step's samples"),
    ("length.response_max", "tokens", "response length, longest", "longest response of the step"),
    ("length.response_p99", "tokens", "response length, 99th percentile", "99th percentile of response length"),
    ("length.prompt_mean", "tokens", "prompt length, mean", "mean prompt length"),
    ("length.clip_ratio", "", "responses at the length limit", "share of responses cut at the length limit"),
    ("length.aborted_ratio", "", "aborted responses", "share of responses aborted before they ended"),
    ("quality.reward_mean", "", "reward, mean of a batch", "mean reward of the step's samples, after penalties"),
    ("quality.score_mean", "", "score, mean of a batch", "mean raw score of the step's samples, before penalties"),
    ("quality.accuracy", "", "validation accuracy", "headline validation metric, mean over data sources"),
    ("quality.entropy", "nats", "entropy", "mean token entropy of the policy"),
    ("quality.grad_norm", "", "gradient norm", "gradient norm before clipping"),
    ("quality.kl", "nats", "KL", "estimated KL between the policy and its sampling or reference policy"),
    ("staleness.mean", "versions", "staleness, mean", "mean parameter versions between sampling and training"),
    (
        "staleness.max",
        "versions",
        "staleness, highest",
        "largest staleness of the step, by the newest version of a trajectory",
    ),
    ("staleness.worst", "versions", "staleness, worst", "largest staleness by the oldest version within a trajectory"),
    ("staleness.dropped", "samples", "samples dropped as stale", "samples evicted for being too stale"),
    ("correction.is_mean", "", "importance weight, mean", "mean importance weight of the rollout correction"),
    ("correction.is_max", "", "importance weight, largest", "largest importance weight of the rollout correction"),
    (
        "correction.ess_fraction",
        "",
        "effective samples of the weights",
        "effective sample size of the weights, as a fraction",
    ),
    ("correction.masked_fraction", "", "samples rejected", "share of samples masked by rejection sampling"),
    ("correction.kl", "nats", "KL, trainer to sampler", "KL between the Trainer's and the sampler's probabilities"),
    ("correction.clip_fraction", "", "clipped share", "share of tokens whose ratio was clipped"),
    ("idle.trainer_reported", "", "Trainer idle as logged", "the framework's own idle ratio of the Trainer"),
    ("idle.rollout_reported", "", "Rollouter idle as logged", "the framework's own idle ratio of the Rollouters"),
    ("queue.samples", "samples", "queue", "samples waiting in the queue"),
    ("memory.allocated_gb", "GB", "memory allocated", "largest memory allocated on a device"),
    ("memory.reserved_gb", "GB", "memory reserved", "largest memory reserved on a device"),
    ("perf.mfu", "", "MFU of the actor", "model FLOPs utilisation of the actor update"),
    ("perf.throughput_reported", "tokens/s/device", "throughput as logged", "the framework's own tokens/s per device"),
)

METRICS: dict[str, Metric] = {row[0]: Metric(*row) for row in _ROWS}

#: The parts of a step, in the order in which a stacked bar shows them. `time.other_s` closes the sum.
PHASES: tuple[str, ...] = (
    "time.wait_s",
    "time.generate_s",
    "time.reward_s",
    "time.old_log_prob_s",
    "time.ref_s",
    "time.values_s",
    "time.advantage_s",
    "time.update_actor_s",
    "time.update_critic_s",
    "time.weight_sync_s",
    "time.switch_s",
    "time.checkpoint_s",
    "time.validate_s",
    "time.other_s",
)


def phase_key(metric: str) -> str:
    """The short name of a phase in report.json: `time.update_actor_s` is `update_actor`."""
    return metric.removeprefix("time.").removesuffix("_s")
