"""The words that a report uses for metrics, verdicts and causes: one place, so that every page says the same."""

from __future__ import annotations

from rlreport.comparators.results import ChangeVerdict, QualityVerdict, ThroughputVerdict
from rlreport.report.model import Badge, Tone

METRIC_WORDS = {
    "tokens_per_s_per_device": "tokens/s per device",
    "tokens_per_s": "tokens/s, all devices",
    "prompts_per_s": "prompts/s, all devices",
    "prompts_per_s_per_device": "prompts/s per device",
    "length_adjusted_tokens_per_s_per_device": "tokens/s per device, length-adjusted",
    "length_adjusted_tokens_per_s": "tokens/s, length-adjusted",
    "steps_per_h": "steps/h",
}

THROUGHPUT_BADGES: dict[ThroughputVerdict, tuple[str, Tone]] = {
    "improved": ("▲ faster", "good"),
    "regressed": ("▼ slower", "bad"),
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


def metric_words(metric: str) -> str:
    """A throughput metric in words; an unknown name as it is, with spaces."""
    return METRIC_WORDS.get(metric, metric.replace("_", " "))


def badge(text_and_tone: tuple[str, Tone], more: str = "") -> Badge:
    """A badge of one of the tables above, with a detail after a colon."""
    text, tone = text_and_tone
    return Badge(f"{text}: {more}" if more else text, tone)
