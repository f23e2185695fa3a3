"""Published results join the run that a dialect made of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from rlreport.run.model import Mode, Run
from rlreport.run.summary import Summary

#: The configuration key by which a manifest says the execution mode of a run that has no logs to tell it.
MODE_KEY = "execution.mode"

#: Notices of dialects that are about logged steps and their keys: without steps they say nothing.
_ABOUT_STEPS = frozenset({"RR301", "RR307", "RR308", *(f"RR32{digit}" for digit in range(10))})


def with_summaries(run: Run, summaries: Sequence[Summary]) -> Run:
    """The run with its published results; one without steps says so, and takes its mode from `execution.mode`.

    A run with steps keeps everything and has the results beside them. Without results the run stays as it is.
    """
    if not summaries:
        return run
    if len(run.steps):
        return replace(run, summaries=tuple(summaries))
    said = run.value(MODE_KEY)
    mode: Mode = next((mode for mode in get_args(Mode) if mode == said), "unknown") if run.mode == "unknown" else run.mode
    dropped = _ABOUT_STEPS if mode == "unknown" else {*_ABOUT_STEPS, "RR304"}
    return replace(
        run,
        mode=mode,
        status="unknown",
        status_reason="only results are at hand, no log",
        notices=tuple(notice for notice in run.notices if notice.code not in dropped),
        summaries=tuple(summaries),
    )
