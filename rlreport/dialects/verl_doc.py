"""The page docs/verl-dialect.md, written from the tables: `python -m rlreport.dialects.verl_doc > docs/verl-dialect.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rlreport.dialects import verl_metrics, verl_modes
from rlreport.dialects.verl_devices import EXTRA_POOLS, HYBRID_SWITCH, ROLLOUT_KEYS
from rlreport.dialects.verl_knob_invariants import INVARIANTS
from rlreport.dialects.verl_knobs import INERT, VERL_RULES
from rlreport.dialects.verl_modes import MODE_MARKS
from rlreport.dialects.verl_versions import COMMITS, MARKS, RELEASES
from rlreport.run.knobs import KnobRow

_INTRODUCTION = """\
# What rlreport understands of verl

This page is written from the tables of `rlreport/dialects`; a test keeps it up to date. To change what a key means, change
the table (`verl_modes.py`, `verl_metrics.py`, `verl_versions.py`, `verl_devices.py`, `verl_knob_rows.py`,
`verl_knob_invariants.py`, `verl_knobs.py`) and write this page again:

    python -m rlreport.dialects.verl_doc > docs/verl-dialect.md

Paths without a repository are in verl-project/verl."""

_MODES = """\
## What a step is

The same key means different things by execution mode and by the date of the code. Declare `framework_version` in the
manifest (a date, a release or a commit) when you know it. Otherwise three observations decide, because they are arithmetic:
whether the seconds of validation, checkpoint and weight sync are within the seconds of the step, which device count the
logged throughput implies, and how many trajectories the logged tokens make. What they leave open is unknown, and a notice
says so. Periods of one mode overlap where the day of a change is not known."""

_METRICS = """\
## What each metric becomes

Timers are seconds, summed over all scopes of that name within a step; where a step is a sync cycle they are sums over the
cycle, as the step time is. Raw keys stay in the run beside the canonical ones.

`quality.accuracy` is the mean over data sources of one `val-core/` key each: of variable `acc` before `reward`, `mean@N`
before other metrics, the largest N; in older logs `val/test_score/` or `test_score/`. A notice names what was averaged.
`work.prompts` and `work.trajectories` come from the configuration (see "prompts" below) and are checked against tokens over
mean length; where these contradict, the measured number is used and told."""

_PROMPTS = """\
Prompts of a step: `data.train_batch_size`, in fully async `ppo_mini_batch_size` x `require_batches` x
`trigger_parameter_sync_step`, in separate async before 2026-07-08 `ppo_mini_batch_size`. Trajectories are prompts x
`actor_rollout_ref.rollout.n`."""

_RECOGNITION = """\
### How a mode is recognised

By the first sign that shows, in this order. Without one, a run that times generation, old log prob and update in turn is
sync, unless it logs keys of the V1 trainer: then its mode is unknown."""

_KNOBS = """\
## Knobs

The most specific pattern decides; `*` is text within one part of a key, `**` any number of parts. Keys that no row lists get
the class of their section, never identity. The training backend and its efficiency settings are engine, parallel sizes
resources; profilers, traces and exporters are environment, because they change speed."""


def markdown_page() -> str:
    """The whole page, ending in a newline."""
    parts = [
        _INTRODUCTION,
        _MODES,
        verl_modes.markdown_table(),
        _PROMPTS,
        _sources(),
        _RECOGNITION,
        _mark_table(),
        "### How the date of the code is bounded\n\nReleases are dated by the newest file in their wheel.",
        _version_tables(),
        _METRICS,
        verl_metrics.markdown_table(),
        "### Keys that are left raw",
        verl_metrics.left_raw_table(),
        "## Devices",
        _device_text(),
        _KNOBS,
        _knob_table(VERL_RULES.rows),
        "### Sections",
        _table(("pattern", "class"), ((f"`{pattern}`", knob_class) for pattern, knob_class in VERL_RULES.sections)),
        "### Parts that may not run\n\nDifferences in them are folded when they run in neither run.",
        _inert_table(),
        "### Invariants\n\nTwo knobs of one invariant that moved together, and keep it, are one coupled change.",
        _invariant_table(),
    ]
    return "\n\n".join(parts) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join(lines)


def _sources() -> str:
    lines = ["Sources of the rows, in order:", ""]
    lines += [f"1. `{row.mode}` ({row.engine}): {row.source}" for row in verl_modes.MODE_ROWS]
    return "\n".join(lines)


def _mark_table() -> str:
    where = {"hint": "log", "key": "metric key", "config": "configuration key", "value": "configuration values"}
    rows = (
        (f"`{mark.mode}`", where[mark.kind], f"`{mark.pattern}`" if mark.pattern else _values(mark.values), mark.why)
        for mark in MODE_MARKS
    )
    return _table(("mode", "where", "sign", "why"), rows)


def _values(values: Sequence[tuple[str, object]]) -> str:
    return ", ".join(f"`{key}` = `{str(value).lower()}`" for key, value in values)


def _version_tables() -> str:
    releases = _table(("release", "date"), ((release.version, release.date) for release in RELEASES))
    commits = _table(("commit", "date"), ((f"`{commit}`", date) for commit, date in COMMITS.items()))
    marks = _table(
        ("sign", "only in code from", "source"), ((f"`{mark.pattern}`", mark.since, mark.source) for mark in MARKS)
    )
    return "\n\n".join((releases, commits, marks))


def _device_text() -> str:
    lines = [
        "Trainer devices are `trainer.nnodes` x `trainer.n_gpus_per_node`. Rollout devices by mode:",
        "",
        *(
            f"* `{mode}`: `{keys[0]}` x `{keys[1]}` (null: the Trainer's number a node)"
            for mode, keys in ROLLOUT_KEYS.items()
        ),
        "* `sync`, `colocate_async`: none; all of the Trainer's devices are hybrid",
        "",
        "The Trainer's devices can generate too (hybrid) where a switch is on: "
        + ", ".join(f"`{mode}`: `{key}`" for mode, key in HYBRID_SWITCH.items())
        + ".",
        "",
        "Pools beside these are told in a notice: "
        + ", ".join(f"{title} (`{switch}`)" for title, switch, _ in EXTRA_POOLS)
        + ". The manifest's `devices` override all of it.",
        "",
        "The implied device count is the median of tokens / (step time x logged throughput). It is a check, not a source: a "
        "notice says when it is not the total, and when the logged number was divided by the Trainer's devices only.",
    ]
    return "\n".join(lines)


def _knob_table(rows: Sequence[KnobRow]) -> str:
    cells = (
        (
            f"`{row.pattern}`",
            row.knob_class,
            row.label + (f" ({row.unit})" if row.unit else ""),
            ", ".join(f"`{_default(value)}`" for value in row.defaults),
        )
        for row in rows
    )
    return _table(("key", "class", "label", "defaults"), cells)


def _default(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _inert_table() -> str:
    rows = (
        (
            part.title,
            ", ".join(f"`{pattern}`" for pattern in part.patterns),
            " and ".join(
                f"`{condition.key}` is {'not ' if condition.negated else ''}"
                + " or ".join(f"`{_default(value)}`" for value in condition.values)
                for condition in part.conditions
            ),
        )
        for part in INERT
    )
    return _table(("part", "keys", "does not run when"), rows)


def _invariant_table() -> str:
    rows = (
        (invariant.name, invariant.kind, ", ".join(invariant.modes), f"`{invariant.expression}`", invariant.source)
        for invariant in INVARIANTS
    )
    return _table(("invariant", "kind", "modes", "expression", "source"), rows)


if __name__ == "__main__":
    sys.stdout.write(markdown_page())
