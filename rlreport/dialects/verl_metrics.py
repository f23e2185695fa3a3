"""What verl's metric keys mean: raw key -> canonical metric, by mode where the meaning changes.

To extend it, add a row. Keys that are read specially (validation accuracy, work) have modules of their own; keys that must
not be read as what their name says are listed in `LEFT_RAW` with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.model import Mode

if TYPE_CHECKING:
    import pandas as pd

#: How several raw keys become one metric. "synonyms": the same value under several names, filled from left to right.
#: "first": different quantities, the first that the run logs is taken throughout. "sum": parts that add up. "increase":
#: a running total, of which the growth since the step before is taken.
Combine = Literal["synonyms", "first", "sum", "increase"]

_COLOCATED: tuple[Mode, ...] = ("sync", "colocate_async")
_SEPARATE: tuple[Mode, ...] = ("separate_async", "one_step_off", "fully_async")


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One rule: the canonical metric, its raw keys in order of preference, how they combine, and in which modes.

    `modes` empty means every mode, also an unknown one. `source` cites the verl file that gives the key its meaning; `note`
    says what a reader may get wrong.
    """

    metric: str
    keys: tuple[str, ...]
    source: str
    combine: Combine = "synonyms"
    modes: tuple[Mode, ...] = ()
    note: str = ""


def _timer(metric: str, name: str, note: str = "") -> MetricRow:
    return MetricRow(metric, (f"timing_s/{name}", f"timing/{name}"), _TRAINER, note=note)


_TRAINER = "verl/trainer/ppo/ray_trainer.py, v1/trainer_base.py"
_METRICS = "verl/trainer/ppo/metric_utils.py"
_CORRECTION = "verl/trainer/ppo/rollout_corr_helper.py"
_FULLY = "verl/experimental/fully_async_policy/detach_utils.py"
_V1 = "verl/trainer/ppo/v1/trainer_base.py:1867"

METRIC_ROWS: tuple[MetricRow, ...] = (
    MetricRow("time.step_s", ("timing_s/step", "perf/time_per_step", "timing/step"), _TRAINER),
    MetricRow(
        "time.wait_s",
        ("timing_s/gen", "timing/gen"),
        "docs/advance/v1_async_trainer.md:212; one_step_off_policy/ray_trainer.py; fully_async_trainer.py",
        modes=_SEPARATE,
        note="generation runs on other devices: this timer is the Trainer's waiting",
    ),
    MetricRow(
        "time.generate_s",
        ("timing_s/gen", "timing/gen"),
        _TRAINER,
        modes=_COLOCATED,
        note="real generation on the same devices; in colocate_async with aborting and putting the engine to sleep",
    ),
    MetricRow(
        "time.generate_s",
        ("timing_s/wait_for_enough_samples",),
        "verl/experimental/fully_async_policy/fully_async_trainer.py:567",
        modes=("fully_async",),
        note="dynamic scheduling: the Trainer's devices generate until enough samples are there",
    ),
    MetricRow(
        "time.generate_s",
        ("timing_s/switch_wait",),
        "docs/advance/v1_async_trainer.md; verl/trainer/ppo/v1/trainer_separate_async.py",
        modes=("separate_async",),
        note="hybrid switch: the Trainer's devices generate until enough samples are there; not idle, unlike in gen",
    ),
    _timer("time.reward_s", "reward"),
    _timer("time.old_log_prob_s", "old_log_prob", "absent where algorithm.rollout_correction.bypass_mode is on"),
    _timer("time.ref_s", "ref"),
    _timer("time.values_s", "values"),
    _timer("time.advantage_s", "adv"),
    _timer("time.update_actor_s", "update_actor"),
    _timer("time.update_critic_s", "update_critic"),
    MetricRow(
        "time.weight_sync_s",
        (
            "timing_s/sync_rollout_weights",
            "timing_s/timing_s/param_sync",
            "timing_s/param_sync",
            "timing_s/update_weights",
            "console/param_sync_s",
        ),
        "one_step_off_policy/ray_trainer.py; fully_async_trainer.py:729; v1/trainer_separate_async.py",
        combine="first",
        note="sync_rollout_weights holds update_weights, so the two are never added; fully async writes its prefix twice",
    ),
    MetricRow(
        "time.switch_s",
        ("timing_s/switch_to_rollout", "timing_s/switch_to_trainer"),
        "verl/trainer/ppo/v1/trainer_separate_async.py:326",
        combine="sum",
        note="the two transitions; what the devices generate between them is timing_s/switch_wait",
    ),
    _timer("time.checkpoint_s", "save_checkpoint"),
    MetricRow(
        "time.validate_s",
        ("timing_s/testing", "timing/testing", "rollouter/validate_time", "timing_s/rollouter/validate_time"),
        _TRAINER + "; fully_async_rollouter.py:651",
    ),
    MetricRow("work.tokens", ("perf/total_num_tokens",), _METRICS),
    MetricRow("length.response_mean", ("response_length/mean",), _METRICS),
    MetricRow("length.response_max", ("response_length/max",), _METRICS),
    MetricRow("length.prompt_mean", ("prompt_length/mean",), _METRICS),
    MetricRow("length.clip_ratio", ("response_length/clip_ratio",), _METRICS),
    MetricRow("length.aborted_ratio", ("response/aborted_ratio",), _METRICS),
    MetricRow("quality.reward_mean", ("critic/rewards/mean",), _METRICS, note="logged also where there is no critic"),
    MetricRow("quality.score_mean", ("critic/score/mean",), _METRICS, note="the reward curve, also without a critic"),
    MetricRow("quality.entropy", ("actor/entropy", "actor/entropy_loss"), _TRAINER),
    MetricRow("quality.grad_norm", ("actor/grad_norm",), "verl/workers/actor/dp_actor.py"),
    MetricRow(
        "quality.kl",
        ("actor/ppo_kl", "actor/kl_loss"),
        "verl/trainer/ppo/core_algos.py",
        combine="first",
        note="ppo_kl is against the sampling policy, kl_loss against the reference; one of them is taken throughout",
    ),
    MetricRow(
        "staleness.mean",
        ("training/off_policy/trajectory_staleness/mean",),
        _V1,
        note="by the newest version of a trajectory: a lower bound. sync: 0; one_step_off: 1 by design, neither is logged",
    ),
    MetricRow("staleness.max", ("training/off_policy/trajectory_staleness/max",), _V1, note="a lower bound too"),
    MetricRow("staleness.worst", ("training/off_policy/trajectory_staleness_worst/max",), _V1),
    MetricRow(
        "staleness.dropped", ("training/off_policy/evicted_samples",), _V1, modes=("separate_async", "colocate_async")
    ),
    MetricRow(
        "staleness.dropped",
        ("fully_async/count/dropped_stale_samples",),
        _FULLY,
        combine="increase",
        modes=("fully_async",),
        note="the framework logs a running total",
    ),
    MetricRow("correction.is_mean", ("rollout_corr/rollout_is_mean",), _CORRECTION),
    MetricRow("correction.is_max", ("rollout_corr/rollout_is_max",), _CORRECTION),
    MetricRow("correction.ess_fraction", ("rollout_corr/rollout_is_eff_sample_size",), _CORRECTION),
    MetricRow(
        "correction.masked_fraction",
        ("rollout_corr/rollout_rs_seq_masked_fraction", "rollout_corr/rollout_rs_masked_fraction"),
        _CORRECTION,
        combine="first",
        note="of sequences where logged, else of tokens",
    ),
    MetricRow("correction.kl", ("rollout_corr/kl",), _CORRECTION),
    MetricRow("correction.clip_fraction", ("actor/pg_clipfrac",), "verl/trainer/ppo/core_algos.py"),
    MetricRow(
        "idle.trainer_reported",
        ("fully_async/trainer/idle_ratio", "trainer/idle_ratio"),
        _FULLY + ":358",
        note="gen over step; the weight sync is not counted as idle",
    ),
    MetricRow(
        "idle.rollout_reported",
        ("fully_async/rollouter/idle_ratio", "rollouter/idle_ratio", "console/rollout_idle_ratio"),
        "verl/experimental/fully_async_policy/fully_async_rollouter.py; verl issue 6693, PR 6069",
        note="counts the time after the last drain of a window: shorter pauses are not in it, a validation may be",
    ),
    MetricRow(
        "queue.samples",
        ("fully_async/monitor/queue/mq_queue_size", "dynamic_resource/mq_size", "console/queue_samples"),
        "verl/experimental/fully_async_policy/fully_async_rollouter.py",
        combine="first",
    ),
    MetricRow(
        "memory.allocated_gb",
        ("actor/perf/max_memory_allocated_gb", "perf/max_memory_allocated_gb"),
        "verl/workers/engine_workers.py:218",
        note="with the prefix actor/ from the newer engine",
    ),
    MetricRow(
        "memory.reserved_gb",
        ("actor/perf/max_memory_reserved_gb", "perf/max_memory_reserved_gb"),
        "verl/workers/engine_workers.py",
    ),
    MetricRow("perf.mfu", ("perf/mfu/actor",), "verl/workers/engine_workers.py"),
    MetricRow(
        "perf.throughput_reported",
        ("perf/throughput",),
        _METRICS + ":655",
        note="per device; by which devices it is divided depends on mode and version, see the mode table",
    ),
)


@dataclass(frozen=True, slots=True)
class LeftRaw:
    """Raw keys (a pattern) that become no canonical metric although their names suggest one, and why."""

    pattern: str
    why: str
    modes: tuple[Mode, ...] = ()


LEFT_RAW: tuple[LeftRaw, ...] = (
    LeftRaw(
        "timing_per_token_ms/*",
        "in V1 the sum over the inner updates of a sync cycle: four updates log four times the value of a sync run "
        "(v1/utils.py)",
        ("separate_async",),
    ),
    LeftRaw(
        "timing_per_token_ms/*",
        'the smallest of the rounds of a version: keys are aggregated by what their name contains, "timing" contains "min" '
        "(detach_utils.py:206)",
        ("fully_async",),
    ),
    LeftRaw(
        "timing_s/agent_loop/**",
        "all timing_s/ keys are summed over a sync cycle, so a mean is a sum of means; /slowest/*_length are no seconds",
        ("separate_async", "fully_async"),
    ),
    LeftRaw("timing_s/agent_loop/**", "times within workers that overlap the generation timer"),
    LeftRaw("timing_s/generate_sequences", "a worker's share of the generation timer"),
    LeftRaw("timing_s/reshard", "happens within the generation timer"),
    LeftRaw("timing_s/generate_async", "overlaps training, may be longer than the step"),
    LeftRaw("timing_s/gen_max", "the second generation of a REMAX baseline; it stays within the untimed remainder"),
    LeftRaw("fully_async/count/*", "running totals, or samples in flight: none is a staleness in versions"),
    LeftRaw("fully_async/partial/*", "versions within one interrupted trajectory: no staleness either"),
    LeftRaw("rollout_corr/chi2_seq", "explodes with sequence length; no threshold on it means anything"),
    LeftRaw("critic/lr(*)", "scaled by the factor within the brackets"),
)

#: Metrics that are fractions by meaning: values outside of [0, 1] are wrong and are dropped.
FRACTIONS: tuple[str, ...] = ("idle.trainer_reported", "idle.rollout_reported")


def map_metrics(raw: pd.DataFrame, mode: Mode) -> tuple[dict[str, pd.Series], tuple[Notice, ...]]:
    """Give the raw columns their canonical names for a mode.

    Returns one float series a canonical metric, indexed as `raw`, for those that have at least one value; and notices
    about values that were dropped because they cannot be what they claim.
    """
    columns: dict[str, pd.Series] = {}
    notices: list[Notice] = []
    for row in METRIC_ROWS:
        if row.modes and mode not in row.modes:
            continue
        series = _combined(raw, row)
        if series is not None and row.metric not in columns:
            columns[row.metric] = series
    # A column that the manifest mapped to a canonical name says what it is, and stands over what the framework logs.
    columns.update({str(key): raw[key].astype(float) for key in raw.columns if str(key) in METRICS})
    for metric in FRACTIONS:
        if metric in columns:
            columns[metric], dropped = _within_unit(columns[metric])
            notices += dropped
    if mode == "unknown" and any(_has(raw, key) for key in ("timing_s/gen", "timing/gen")):
        message = (
            "timing_s/gen is waiting in some modes and generation in others; the mode is not known, so it is left unread. "
            "Declare the mode by config: {trainer.use_v1: true, trainer.v1.trainer_mode: ...}"
        )
        notices.append(Notice("RR329", message))
    return {name: series for name, series in columns.items() if bool(series.notna().any())}, tuple(notices)


def _has(raw: pd.DataFrame, key: str) -> bool:
    return key in raw.columns and bool(raw[key].notna().any())


def _combined(raw: pd.DataFrame, row: MetricRow) -> pd.Series | None:
    present = [key for key in row.keys if _has(raw, key)]
    if not present:
        return None
    series: pd.Series = raw[present[0]].astype(float)
    if row.combine == "synonyms":
        for key in present[1:]:
            series = series.fillna(raw[key])
    elif row.combine == "sum":
        series = raw[present].astype(float).sum(axis=1, min_count=1)
    elif row.combine == "increase":
        logged = series.dropna()
        growth = logged.diff()
        # A total that falls has been restarted with the process: what it counts since then is the growth.
        series = growth.where(~(growth < 0), logged).reindex(series.index)
    return series


def _within_unit(series: pd.Series) -> tuple[pd.Series, list[Notice]]:
    outside = series.notna() & ~series.between(0.0, 1.0)
    if not bool(outside.any()):
        return series, []
    side = "Trainer" if series.name is not None and "trainer" in str(series.name) else "Rollouter"
    values = series[outside]
    message = (
        f"the {side}'s idle ratio as logged lies outside of 0 to 1 in {len(values)} of {int(series.notna().sum())} steps "
        f"({values.min():.3g} to {values.max():.3g}); such values are dropped (a defect of verl before 2026-04-20, PR 6069)"
    )
    return series.mask(outside), [Notice("RR321", message)]


def markdown_table() -> str:
    """The metric table as Markdown, one row a rule."""
    lines = ["| canonical metric | raw keys | modes | how | note | source |", "|" + " --- |" * 6]
    how = {
        "synonyms": "the same value under several names",
        "first": "the first that the run logs",
        "sum": "added",
        "increase": "growth of a running total",
    }
    for row in METRIC_ROWS:
        cells = (
            f"`{row.metric}`",
            ", ".join(f"`{key}`" for key in row.keys),
            ", ".join(row.modes) or "all",
            how[row.combine] if len(row.keys) > 1 or row.combine == "increase" else "as it is",
            row.note,
            row.source,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def left_raw_table() -> str:
    """The keys that are left raw, with the reason, as Markdown."""
    lines = ["| raw keys | modes | why they become no canonical metric |", "| --- | --- | --- |"]
    lines += [f"| `{row.pattern}` | {_modes(row.modes)} | {row.why} |" for row in LEFT_RAW]
    return "\n".join(lines)


def _modes(modes: Sequence[Mode]) -> str:
    return ", ".join(modes) or "all"
