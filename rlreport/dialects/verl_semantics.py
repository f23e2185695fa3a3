"""From the mode table to one run: which rows may hold, what the data decide between them, and what stays unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rlreport.dialects.verl_devices import same_count
from rlreport.dialects.verl_modes import MODE_ROWS, ModeFinding, ModeRow, PromptRule, rows_for
from rlreport.dialects.verl_versions import CodeDate
from rlreport.dialects.verl_work import AGREEMENT, PROMPT_RULES, measured_trajectories, samples_per_prompt
from rlreport.run.diagnostics import Notice
from rlreport.run.metrics import METRICS
from rlreport.run.model import Devices, StepSemantics

if TYPE_CHECKING:
    import pandas as pd

#: Phases that step time held in some versions or modes and not in others.
MOVED_PHASES = ("time.validate_s", "time.checkpoint_s", "time.weight_sync_s")
#: What a step of separate_async holds only with the hybrid switch: the Trainer's devices generate in it (switch_wait).
LENT_PHASE = "time.generate_s"
#: A phase is inside of the step when its steps are longer by at least this share of it, and outside below the other share.
INSIDE, OUTSIDE = 0.8, 0.2
#: A phase decides only where it takes at least this share of its step.
DECISIVE_SHARE = 0.02

UNKNOWN = StepSemantics(
    step_is="not known: the execution mode is not known",
    contains=(),
    excludes=(),
    throughput_denominator="unknown",
    wait_is="not known",
    source="",
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The semantics of a run's step, the prompt rules that may hold, and notices on how they were found."""

    semantics: StepSemantics
    prompts: tuple[PromptRule, ...]
    notices: tuple[Notice, ...]


def decide_meaning(
    finding: ModeFinding, date: CodeDate, columns: Mapping[str, pd.Series], devices: Devices, config: Mapping[str, Any]
) -> Meaning:
    """Choose the rows of the mode table for a run and let its data decide where they disagree.

    Three observations are decisive, because they are arithmetic: whether a phase's seconds are within the step's, which
    device count the logged throughput implies, and how many trajectories the tokens make. What they leave open is unknown.
    """
    if finding.mode == "unknown":
        return Meaning(UNKNOWN, (), ())
    notices: list[Notice] = []
    rows = rows_for(finding, date)
    if not rows:
        rows = tuple(row for row in MODE_ROWS if row.mode == finding.mode)
        message = f"{date.text} had no mode {finding.mode} as the tables know it; all its rows are considered"
        notices.append(Notice("RR306", message))
    if finding.mode == "separate_async" and LENT_PHASE in columns:
        rows = tuple(replace(row, contains=(*row.contains, LENT_PHASE)) for row in rows)
    inside = {phase: phase_is_inside(phase, columns, rows) for phase in MOVED_PHASES}
    fitting = tuple(row for row in rows if _agrees(row, inside))
    if not fitting:
        notices.append(_contradiction(rows, inside, date))
        fitting = rows
    for test in (_denominator_fits(devices), _prompts_fit(columns, config)):
        kept = tuple(row for row in fitting if test(row))
        fitting = kept or fitting
    if len(rows) > 1 and len(fitting) < len(rows):
        notices.append(_decided(rows, fitting))
    semantics, open_notices = _merge(fitting, inside, columns)
    return Meaning(semantics, tuple(dict.fromkeys(row.prompts for row in fitting)), (*notices, *open_notices))


def phase_is_inside(phase: str, columns: Mapping[str, pd.Series], rows: Sequence[ModeRow]) -> bool | None:
    """Whether step time holds a phase, by the steps in which it happened; None where they do not decide.

    The untimed part of a step (step minus the phases that all rows agree on) is larger by the whole phase if it is inside,
    and the same as in other steps if it is outside. The first step of a run says nothing: it warms up, which no timer
    covers, and may be the only one without a weight sync.
    """
    if phase not in columns or "time.step_s" not in columns:
        return None
    certain = set.intersection(*(set(row.contains) for row in rows)) - set(MOVED_PHASES)
    untimed = columns["time.step_s"].copy()
    for name in sorted(certain):
        if name in columns:
            untimed = untimed - columns[name].fillna(0.0)
    seconds = columns[phase].where(columns[phase] > 0)
    others = [columns[name].fillna(0.0) for name in MOVED_PHASES if name != phase and name in columns]
    told = untimed.notna() & (untimed.index != untimed.first_valid_index())
    quiet = told & seconds.isna()
    happened = told & seconds.notna()
    for other in others:
        # A step in which another phase moved too decides nothing, unless every step has that phase.
        if bool((other[untimed.notna()] == 0).any()):
            quiet, happened = quiet & (other == 0), happened & (other == 0)
        else:
            untimed = untimed - other
    if not bool(happened.any()):
        return None
    usual = float(untimed[quiet].median()) if bool(quiet.any()) else 0.0
    share = (seconds[happened] / columns["time.step_s"][happened]).median()
    spread = float((untimed[quiet] - usual).abs().median()) if bool(quiet.any()) else 0.0
    if share < DECISIVE_SHARE or float(seconds[happened].median()) < 3 * spread:
        return None
    fraction = float(((untimed[happened] - usual) / seconds[happened]).median())
    if fraction >= INSIDE:
        return True
    return False if abs(fraction) <= OUTSIDE else None


def _agrees(row: ModeRow, inside: Mapping[str, bool | None]) -> bool:
    return all(flag is None or (phase in row.contains) == flag for phase, flag in inside.items())


def _contradiction(rows: Sequence[ModeRow], inside: Mapping[str, bool | None], date: CodeDate) -> Notice:
    told = [
        f"{METRICS[phase].label} is {'inside' if flag else 'outside'} of step time"
        for phase, flag in inside.items()
        if flag is not None and all((phase in row.contains) != flag for row in rows)
    ]
    seen = " and ".join(told) or "no row of the mode table fits"
    message = f"the step times show that {seen}, unlike {date.text}; the data decide"
    return Notice("RR308", message)


def _denominator_fits(devices: Devices) -> Any:
    decisive = bool(devices.rollout) and devices.total is not None and devices.implied is not None

    def test(row: ModeRow) -> bool:
        count = devices.total if row.denominator == "all devices" else devices.trainer
        return not decisive or same_count(devices.implied, count)

    return test


def _prompts_fit(columns: Mapping[str, pd.Series], config: Mapping[str, Any]) -> Any:
    measured, n = measured_trajectories(columns), samples_per_prompt(config)
    typical = None if measured is None else float(measured.median())

    def test(row: ModeRow) -> bool:
        prompts = PROMPT_RULES[row.prompts](config)
        if typical is None or n is None or prompts is None:
            return True
        return abs(prompts * n - typical) <= AGREEMENT * typical

    return test


def _decided(rows: Sequence[ModeRow], fitting: Sequence[ModeRow]) -> Notice:
    periods = "; ".join(f"from {row.since or 'the beginning'} to {row.until or 'now'} ({row.source})" for row in fitting)
    return Notice("RR307", f"verl's step had {len(rows)} possible meanings over time; this run's data fit {periods}")


def _merge(
    rows: Sequence[ModeRow], inside: Mapping[str, bool | None], columns: Mapping[str, pd.Series]
) -> tuple[StepSemantics, tuple[Notice, ...]]:
    contains = [phase for phase in rows[0].contains if all(phase in row.contains for row in rows)]
    excludes = [phase for phase in rows[0].excludes if all(phase in row.excludes for row in rows)]
    for phase, flag in inside.items():
        if flag is None:
            continue
        right, wrong = (contains, excludes) if flag else (excludes, contains)
        if phase in wrong:
            wrong.remove(phase)
        if phase not in right:
            right.append(phase)
    open_phases = [phase for phase in MOVED_PHASES if phase in columns and phase not in contains and phase not in excludes]
    notices: list[Notice] = []
    if open_phases and len(rows) > 1:
        labels = " and ".join(METRICS[phase].label for phase in open_phases)
        message = f"whether step time holds {labels} depends on the version of verl: declare framework_version"
        notices.append(Notice("RR307", message))
    steps = tuple(dict.fromkeys(row.step_is for row in rows))
    denominators = tuple(dict.fromkeys(row.denominator for row in rows))
    if len(steps) > 1:
        message = f"a step is {' or '.join(steps)}, by the version of verl: declare framework_version"
        notices.append(Notice("RR307", message))
    return (
        StepSemantics(
            step_is=steps[0] if len(steps) == 1 else f"not known: {' or '.join(steps)}",
            contains=tuple(contains),
            excludes=tuple(excludes),
            throughput_denominator=denominators[0] if len(denominators) == 1 else "unknown",
            wait_is=rows[0].wait_is,
            source="; ".join(dict.fromkeys(row.source for row in rows)),
        ),
        tuple(notices),
    )
