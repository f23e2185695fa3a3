"""Where a run's steps lie along training, so that equal positions mean equal training in several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.window import column_array
from rlreport.run.diagnostics import Notice
from rlreport.run.format import number
from rlreport.run.model import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Unit = Literal["prompts", "steps"]

#: Samples a step that differ by less than this fraction count as equal.
SAME_SAMPLES = 0.02


@dataclass(frozen=True, slots=True)
class Places:
    """Where each logged step of a run begins and ends, by step number."""

    begin: dict[int, float]
    end: dict[int, float]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The places of several runs' steps on one axis.

    `unit` is what the axis counts: prompts trained, or steps, where all runs train on equally many prompts a step (then a
    step number means the same in all) or where that is not known. `equal_steps` says which of the two.
    """

    places: tuple[Places, ...]
    unit: Unit
    equal_steps: bool
    notices: tuple[Notice, ...]


def align(runs: Sequence[Run], names: Sequence[str] = ()) -> Alignment:
    """Put the steps of runs on one axis: step numbers where all train on equally many prompts a step, else prompts trained.

    Where a run's prompts are not known, step numbers are used for all, which a notice says; `names` are what notices call
    the runs (their labels by default).
    """
    called = list(names) or [run.label for run in runs]
    prompts = [prompts_a_step(run) for run in runs]
    known = [value for value in prompts if value is not None]
    if len(known) < len(runs):
        every = "both arms" if len(runs) == 2 else "all runs"
        notice = Notice("RR451", f"prompts a step are not known for {every}: windows are aligned by step number")
        return Alignment(tuple(_by_step(run) for run in runs), "steps", False, (notice,))
    if max(known) <= min(known) * (1 + SAME_SAMPLES):
        return Alignment(tuple(_by_step(run) for run in runs), "steps", True, ())
    counts = [f"one of the {name} on {number(value)}" for name, value in zip(called, known, strict=True)]
    first = f"a step of the {called[0]} trains on {number(known[0])} prompts"
    message = (
        f"{', '.join([first, *counts[1:]])}: windows are aligned by prompts trained, not by step number; equal step numbers "
        "are other samples and other parameter versions"
    )
    places = tuple(_by_prompts(run, value) for run, value in zip(runs, known, strict=True))
    return Alignment(places, "prompts", False, (Notice("RR452", message),))


def prompts_a_step(run: Run) -> float | None:
    """The median number of prompts that a step trains on, None when not known."""
    import numpy as np

    prompts = column_array(run, "work.prompts")
    known = prompts[np.isfinite(prompts) & (prompts > 0)]
    return float(np.median(known)) if known.size else None


def _by_step(run: Run) -> Places:
    steps = [int(step) for step in run.steps.index]
    return Places({step: step - 1.0 for step in steps}, {step: float(step) for step in steps})


def _by_prompts(run: Run, typical: float) -> Places:
    """Prompts trained before and after each logged step; steps that were not logged count as typical ones."""
    trained = {int(step) for step in run.trained_steps.index}
    logged = dict(zip((int(step) for step in run.steps.index), column_array(run, "work.prompts"), strict=True))
    begin: dict[int, float] = {}
    end: dict[int, float] = {}
    total = 0.0
    for step in range(min(1, *trained), max(trained) + 1) if trained else ():
        known = float(logged.get(step, typical))
        prompts = 0.0 if step in logged and step not in trained else known if known > 0 else typical
        begin[step] = total
        total += prompts
        end[step] = total
    return Places(begin, end)
