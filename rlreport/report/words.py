"""The words that a report uses for metrics, verdicts and causes: one place, so that every page says the same."""

from __future__ import annotations

from rlreport.comparators.results import ChangeVerdict, QualityVerdict, ThroughputVerdict
from rlreport.report.model import Badge, Tone
from rlreport.run.estimate import Estimate

METRIC_WORDS = {
    "tokens_per_s_per_device": "tokens/s per device",
    "tokens_per_s": "tokens/s, all devices",
    "prompts_per_s": "prompts/h, all devices",
    "prompts_per_s_per_device": "prompts/h per device",
    "length_adjusted_per_device": "tokens/s per device at equal length",
    "length_adjusted": "tokens/s at equal length",
    "steps_per_h": "steps/h",
}

THROUGHPUT_BADGES: dict[ThroughputVerdict, tuple[str, Tone]] = {
    "improved": ("▲ improved", "good"),
    "regressed": ("▼ regressed", "bad"),
    "equivalent": ("= equivalent", "plain"),
    "within-noise": ("≈ within the margin", "plain"),
    "inconclusive": ("? inconclusive", "warn"),
    "insufficient-data": ("? too little data", "warn"),
    "no-steady-state": ("? no steady state", "warn"),
    "not-comparable": ("✕ not comparable", "bad"),
}

CHANGE_BADGES: dict[ChangeVerdict, tuple[str, Tone]] = {
    "identical": ("no change found", "warn"),
    "single": ("single change", "good"),
    "coupled": ("coupled change", "good"),
    "undeclared": ("undeclared change", "warn"),
    "confounded": ("confounded change", "bad"),
    "unknown": ("change unknown", "warn"),
}

QUALITY_WORDS: dict[QualityVerdict, str] = {
    "better": "better",
    "worse": "worse",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
    "insufficient-data": "too little data",
    "not-comparable": "not comparable",
}

STEADY_WORDS = {
    "flat": "steady",
    "warm-up": "steady after a warm-up",
    "slowdown": "steady after a slowdown",
    "drifting": "drifting",
    "none": "no steady state",
}

KIND_WORDS = {
    "ab": "Tuning report: one baseline, one change",
    "ladder": "Tuning report: a ladder of changes",
    "sweep": "Tuning report: doses of one knob",
    "profile": "Tuning report: profile of one run",
}

MODE_WORDS = {
    "sync": "sync",
    "colocate_async": "colocate async",
    "separate_async": "separate async",
    "one_step_off": "one-step-off",
    "fully_async": "fully async",
    "unknown": "unknown mode",
}


#: Keys that a reader looks for in any comparison: resources, schedule, work, sync, off-policy, workload.
HELD_KNOBS = (
    "trainer.nnodes",
    "actor_rollout_ref.rollout.nnodes",
    "rollout.nnodes",
    "trainer.test_freq",
    "trainer.save_freq",
    "data.train_batch_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
    "actor_rollout_ref.rollout.n",
    "trainer.v1.separate_async.num_warmup_batches",
    "trainer.v1.separate_async.parameter_sync_step",
    "async_training.trigger_parameter_sync_step",
    "async_training.require_batches",
    "async_training.staleness_threshold",
    "trainer.v1.sampler.max_off_policy_threshold",
    "data.train_files",
    "data.max_response_length",
    "actor_rollout_ref.model.path",
    "actor_rollout_ref.actor.optim.lr",
)


def shown_estimate(metric: str, estimate: Estimate) -> Estimate:
    """The estimate in the unit that `metric_words` names: prompts are told by the hour, since a second has few."""
    if not metric.startswith("prompts_per_s"):
        return estimate
    values = (estimate.estimate, estimate.ci_low, estimate.ci_high)
    middle, low, high = (None if value is None else value * 3600 for value in values)
    return Estimate(middle, low, high, metric_words(metric))


def metric_words(metric: str) -> str:
    """A throughput metric in words; an unknown name as it is, with spaces."""
    return METRIC_WORDS.get(metric, metric.replace("_", " "))


def badge(text_and_tone: tuple[str, Tone], more: str = "") -> Badge:
    """A badge of one of the tables above, with a detail after a colon."""
    text, tone = text_and_tone
    return Badge(f"{text}: {more}" if more else text, tone)
