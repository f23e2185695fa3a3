"""Where the time of a step goes: each phase's share of the window's step time, with the remainder that no timer covers."""

from __future__ import annotations

import math

from rlreport.comparators.results import SteadyState, TimeSplit
from rlreport.run.diagnostics import Notice
from rlreport.run.format import percent
from rlreport.run.metrics import METRICS, PHASES
from rlreport.run.model import Run

#: Timers that overlap by more than this share of the step are told: their sum then exceeds the step.
OVERLAP_TOLERANCE = 0.005
#: A remainder below this share of the step is what rounding leaves: the timers cover the step.
ROUNDING = 1e-6
#: An untimed remainder above this share is worth a reader's attention.
UNTIMED_NOTICE = 0.05


def split_time(run: Run, window: SteadyState) -> TimeSplit:
    """Split the window's step time into phases: sum of a phase over sum of the step, steps in seconds on average.

    A phase that a run logs only in some steps (a checkpoint) counts as no time in the others; a phase that the run never
    logs is absent. Phases outside of the step's time (validation in most modes) are left out: they are no part of it.
    """
    frame = run.trained_steps
    rows = frame.loc[frame.index.isin(window.kept)]
    if rows.empty:
        return TimeSplit({}, {}, None, (Notice("RR421", "no step lies in the window, so its time cannot be split"),))
    total_s = float(rows["time.step_s"].sum())
    n = len(rows)
    seconds: dict[str, float] = {}
    for phase in PHASES[:-1]:
        if phase in rows.columns and phase not in run.semantics.excludes and bool(rows[phase].notna().any()):
            seconds[phase] = float(rows[phase].sum()) / n
    step_s = total_s / n
    if not seconds or step_s <= 0:
        return TimeSplit({}, {}, step_s, (Notice("RR422", "no timer within the step is logged: its time cannot be split"),))
    remainder_s = step_s - math.fsum(seconds.values())
    if abs(remainder_s) < ROUNDING * step_s:
        remainder_s = 0.0
    notices: list[Notice] = []
    if remainder_s < -OVERLAP_TOLERANCE * step_s:
        notices.append(
            Notice(
                "RR423", f"the timers in a step add up to {percent(-remainder_s / step_s)} more than the step: some overlap"
            )
        )
    seconds["time.other_s"] = max(remainder_s, 0.0)
    fractions = {phase: value / step_s for phase, value in seconds.items()}
    if fractions["time.other_s"] > UNTIMED_NOTICE:
        notices.append(Notice("RR424", f"{percent(fractions['time.other_s'])} of the step is covered by no timer"))
    return TimeSplit(fractions, seconds, step_s, tuple(notices))


def largest_phase(split: TimeSplit) -> tuple[str, float] | None:
    """The canonical name and share of the phase that takes most of a step, or None when the split is not known."""
    if not split.fractions:
        return None
    return max(split.fractions.items(), key=lambda item: (item[1], METRICS[item[0]].label))
