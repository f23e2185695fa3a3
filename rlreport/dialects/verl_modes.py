"""What a step of verl is, by execution mode and date of the code: the table, and how a mode is recognised.

To extend it, add a row to `MODE_ROWS` or a mark to `MODE_MARKS`. A row holds for code of the half-open period
[since, until); periods of rows of one mode may overlap where the day of a change is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rlreport.dialects.verl_versions import CodeDate
from rlreport.run.knobs import matches
from rlreport.run.model import Mode
from rlreport.run.raw import RawRun

#: Who is in the divisor of perf/throughput.
Denominator = Literal["all devices", "Trainer devices only"]
#: How many prompts a step takes, as a name of `verl_work.PROMPT_RULES`.
PromptRule = Literal["train batch", "mini-batch", "required samples x trigger"]
#: The loop that wrote the log: the older trainer, the V1 trainer, or the experimental ones.
Engine = Literal["v0", "v1", "experimental"]

_TRAINING = (
    "time.reward_s",
    "time.old_log_prob_s",
    "time.ref_s",
    "time.values_s",
    "time.advantage_s",
    "time.update_critic_s",
    "time.update_actor_s",
)


@dataclass(frozen=True, slots=True)
class ModeRow:
    """The meaning of a step for one mode, trainer and period.

    `contains` and `excludes` are canonical phases inside and outside of `timing_s/step`; `wait_key` is the raw key of the
    Trainer's waiting, None where training and generation take turns; `source` cites verl files, commits and pull requests.
    """

    mode: Mode
    engine: Engine
    since: str | None
    until: str | None
    step_is: str
    prompts: PromptRule
    contains: tuple[str, ...]
    excludes: tuple[str, ...]
    denominator: Denominator
    wait_key: str | None
    source: str

    @property
    def wait_is(self) -> str:
        """Which raw key is waiting, in words."""
        if self.wait_key is None:
            return "none: training and generation take turns on the same devices"
        return f"{self.wait_key}: the Trainer waits for samples"


_BATCH = "one train batch: generation and all of its optimiser updates"
_CYCLE = "one weight-sync cycle: parameter_sync_step mini-batches, together one train batch"
_GENERATES = ("time.generate_s", *_TRAINING)
_WAITS = ("time.wait_s", *_TRAINING)
_OUT_2 = ("time.validate_s", "time.checkpoint_s")
_V1_COLOCATED = (*_GENERATES, "time.weight_sync_s", "time.switch_s", "time.checkpoint_s")
_V1_SEPARATE = (*_WAITS, "time.weight_sync_s", "time.switch_s", "time.checkpoint_s")

MODE_ROWS: tuple[ModeRow, ...] = (
    ModeRow(
        "sync",
        "v0",
        None,
        "2025-08-19",
        _BATCH,
        "train batch",
        (*_GENERATES, "time.validate_s", "time.checkpoint_s"),
        (),
        "all devices",
        None,
        "verl/trainer/ppo/ray_trainer.py before afd759789 (PR 3117)",
    ),
    ModeRow(
        "sync",
        "v0",
        "2025-08-19",
        "2026-03-16",
        _BATCH,
        "train batch",
        _GENERATES,
        _OUT_2,
        "all devices",
        None,
        "verl/trainer/ppo/ray_trainer.py since afd759789 (PR 3117), as in releases 0.6.0 to 0.7.0",
    ),
    ModeRow(
        "sync",
        "v0",
        "2026-01-05",
        None,
        _BATCH,
        "train batch",
        (*_GENERATES, "time.checkpoint_s", "time.weight_sync_s"),
        ("time.validate_s",),
        "all devices",
        None,
        "verl/trainer/ppo/ray_trainer.py as in release 0.7.1 and at 1dda039b9; not yet in release 0.7.0",
    ),
    ModeRow(
        "sync",
        "v1",
        "2026-06-12",
        None,
        _BATCH,
        "train batch",
        _V1_COLOCATED,
        ("time.validate_s",),
        "all devices",
        None,
        "verl/trainer/ppo/v1/trainer_base.py:449, :646",
    ),
    ModeRow(
        "colocate_async",
        "v1",
        "2026-06-12",
        None,
        "one train batch; its generation began before the step did",
        "train batch",
        _V1_COLOCATED,
        ("time.validate_s",),
        "all devices",
        None,
        "verl/trainer/ppo/v1/trainer_base.py:449, trainer_colocate_async.py",
    ),
    ModeRow(
        "separate_async",
        "v1",
        "2026-06-12",
        "2026-07-08",
        "one mini-batch: one optimiser update, every parameter_sync_step of them followed by a weight sync",
        "mini-batch",
        _V1_SEPARATE,
        ("time.validate_s",),
        "Trainer devices only",
        "timing_s/gen",
        "verl/trainer/ppo/v1/trainer_separate_async.py before PR 6977",
    ),
    ModeRow(
        "separate_async",
        "v1",
        "2026-07-08",
        "2026-07-20",
        _CYCLE,
        "train batch",
        _V1_SEPARATE,
        ("time.validate_s",),
        "Trainer devices only",
        "timing_s/gen",
        "verl/trainer/ppo/v1/trainer_separate_async.py since PR 6977, before 32bb33d7c (PR 7049)",
    ),
    ModeRow(
        "separate_async",
        "v1",
        "2026-07-20",
        None,
        _CYCLE,
        "train batch",
        _V1_SEPARATE,
        ("time.validate_s",),
        "all devices",
        "timing_s/gen",
        "verl/trainer/ppo/v1/trainer_separate_async.py:362 since 32bb33d7c (PR 7049); docs/advance/v1_async_trainer.md:212",
    ),
    ModeRow(
        "one_step_off",
        "experimental",
        None,
        "2026-02-26",
        "one train batch, generated while the batch before it was trained on",
        "train batch",
        (*_WAITS, "time.weight_sync_s"),
        _OUT_2,
        "all devices",
        "timing_s/gen",
        "one_step_off_policy/ray_trainer.py before 9c75bfe01 (PR 5029)",
    ),
    ModeRow(
        "one_step_off",
        "experimental",
        "2026-02-26",
        None,
        "one train batch, generated while the batch before it was trained on",
        "train batch",
        (*_WAITS, "time.weight_sync_s"),
        _OUT_2,
        "Trainer devices only",
        "timing_s/gen",
        "verl/experimental/separation/ray_trainer.py:735 since 9c75bfe01 (PR 5029); one_step_off_policy/ray_trainer.py:345",
    ),
    ModeRow(
        "fully_async",
        "experimental",
        None,
        None,
        "one parameter version: trigger_parameter_sync_step rounds of require_batches mini-batches, then a weight sync; "
        "a line's rounds begin with the last one of the version before",
        "required samples x trigger",
        (*_WAITS, "time.generate_s", "time.weight_sync_s"),
        _OUT_2,
        "all devices",
        "timing_s/gen",
        "verl/experimental/fully_async_policy/fully_async_trainer.py:172, :559; detach_utils.py:353",
    ),
)


@dataclass(frozen=True, slots=True)
class ModeMark:
    """A sign of a mode. `kind` says where to look: "hint" of the log, "key" of a metric, "config" key, or "value".

    A "value" mark asks for configuration keys with given values (`values`), all of them.
    """

    mode: Mode
    engine: Engine
    kind: Literal["hint", "key", "config", "value"]
    pattern: str
    why: str
    values: tuple[tuple[str, Any], ...] = ()


def _v1(mode: Mode) -> ModeMark:
    why = f"trainer.use_v1 is on and trainer.v1.trainer_mode is {mode}"
    return ModeMark(mode, "v1", "value", "", why, (("trainer.use_v1", True), ("trainer.v1.trainer_mode", mode)))


#: In the order in which they are tried. Experimental trainers come first: their configuration carries V1's defaults too.
MODE_MARKS: tuple[ModeMark, ...] = (
    ModeMark("fully_async", "experimental", "hint", "actor:FullyAsync*", "actors of the fully async trainer wrote the log"),
    ModeMark("fully_async", "experimental", "hint", "main:**fully_async**", "the fully async main program was started"),
    ModeMark(
        "fully_async", "experimental", "hint", "marker:ASYNC MAIN", "the fully async main program printed its settings"
    ),
    ModeMark("fully_async", "experimental", "hint", "job:fully_async*", "Hydra names the fully async main program"),
    ModeMark("one_step_off", "experimental", "hint", "actor:OneStep*", "the one-step-off task runner wrote the log"),
    ModeMark("one_step_off", "experimental", "hint", "main:**one_step_off**", "the one-step-off main program was started"),
    ModeMark("fully_async", "experimental", "key", "fully_async/**", "metrics named fully_async/ are logged"),
    ModeMark("one_step_off", "experimental", "key", "timing_s/sync_rollout_weights", "sync_rollout_weights is timed"),
    ModeMark("one_step_off", "experimental", "key", "timing_s/generate_async", "generate_async is timed"),
    ModeMark("fully_async", "experimental", "config", "async_training.**", "the configuration has async_training"),
    ModeMark(
        "one_step_off", "experimental", "config", "rollout.nnodes", "the configuration has a rollout section of its own"
    ),
    ModeMark("separate_async", "v1", "key", "separate_async/**", "metrics named separate_async/ are logged"),
    _v1("separate_async"),
    _v1("colocate_async"),
    _v1("sync"),
)

#: Keys that every V1 mode logs: without a configuration they do not tell which mode it was.
V1_KEYS: tuple[str, ...] = ("training/off_policy/**",)


@dataclass(frozen=True, slots=True)
class ModeFinding:
    """The mode of a run, the trainer that wrote it (None when not known), and why it was taken for that."""

    mode: Mode
    engine: Engine | None
    why: str


def find_mode(raw: RawRun, config: Mapping[str, Any]) -> ModeFinding:
    """Recognise the execution mode by the marks, in their order.

    Without a mark a run is sync when it times generation, old_log_prob (unless bypass mode is on) and update_actor; V1 logs
    its asynchronous modes with the same keys, so a run with V1's keys and no configuration stays unknown.
    """
    keys = [str(key) for key in raw.frame.columns if raw.frame[key].notna().any()]
    hints = sorted(raw.facts.hints)
    for mark in MODE_MARKS:
        if _shows(mark, keys, config, hints):
            return ModeFinding(mark.mode, mark.engine, mark.why)
    if any(matches(pattern, key) for pattern in V1_KEYS for key in keys) or "actor:TaskRunnerV1" in hints:
        return ModeFinding("unknown", "v1", "it is a run of the V1 trainer, but trainer.v1.trainer_mode is not known")
    if _turns_on_one_pool(keys, config):
        return ModeFinding("sync", "v0", "it times generation and training in turn and shows no sign of another mode")
    return ModeFinding("unknown", None, "neither its configuration nor its keys tell the execution mode")


def _shows(mark: ModeMark, keys: Sequence[str], config: Mapping[str, Any], hints: Sequence[str]) -> bool:
    if mark.kind == "value":
        return all(config.get(key) == value for key, value in mark.values)
    names = {"hint": hints, "key": keys, "config": [key for key in config if config[key] is not None]}[mark.kind]
    return any(matches(mark.pattern, name) for name in names)


def _turns_on_one_pool(keys: Sequence[str], config: Mapping[str, Any]) -> bool:
    bypass = config.get("algorithm.rollout_correction.bypass_mode") is True
    for prefix in ("timing_s/", "timing/"):
        needed = [f"{prefix}gen", f"{prefix}update_actor"] + ([] if bypass else [f"{prefix}old_log_prob"])
        if all(key in keys for key in needed):
            return True
    return False


def rows_for(finding: ModeFinding, date: CodeDate) -> tuple[ModeRow, ...]:
    """The rows that may hold for a run: of its mode, of its trainer where that is known, of the time of its code."""
    return tuple(
        row
        for row in MODE_ROWS
        if row.mode == finding.mode
        and (finding.engine is None or row.engine == finding.engine)
        and date.overlaps(row.since, row.until)
    )


def markdown_table() -> str:
    """The mode table as Markdown, one row a mode, trainer and period."""
    titles = (
        "mode",
        "trainer",
        "code from",
        "until",
        "a step is",
        "step time contains",
        "excludes",
        "throughput per",
        "waiting",
    )
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    for row in MODE_ROWS:
        cells = (
            f"`{row.mode}`",
            row.engine,
            row.since or "the beginning",
            row.until or "now",
            row.step_is,
            _phases(row.contains),
            _phases(row.excludes) or "nothing that is timed",
            row.denominator,
            f"`{row.wait_key}`" if row.wait_key else "none",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _phases(names: Sequence[str]) -> str:
    return ", ".join(name.removeprefix("time.").removesuffix("_s").replace("_", " ") for name in names)
