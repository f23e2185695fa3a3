"""Which part of a run traces and rollout dumps show: the scenario's `traced_steps`, or all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.spans import Lane, Span


def logged_step(simulation: Simulation, record: StepRecord) -> int:
    """The step under which a record is logged: its own number, in fully async the version that its round belongs to."""
    if simulation.scenario.mode != "fully_async":
        return record.step
    return (record.step - 1) // simulation.scenario.rounds_per_step + 1


def traced_records(simulation: Simulation, until_s: float = math.inf) -> list[StepRecord]:
    """The steps that are traced, of those that were logged until a moment."""
    first, last = simulation.scenario.traced_steps or (0, simulation.scenario.steps)
    return [
        record
        for record in simulation.steps
        if first <= logged_step(simulation, record) <= last and record.logged_s <= until_s
    ]


def traced_spans(simulation: Simulation, until_s: float = math.inf) -> Iterator[tuple[Lane, Span]]:
    """Every span that begins while a traced step runs, with its lane; without `traced_steps` every span.

    Spans of one lane come in order. None that begins at `until_s` or later, when the run was stopped.
    """
    begin_s, end_s = 0.0, until_s
    if simulation.scenario.traced_steps is not None:
        records = traced_records(simulation)
        begin_s, end_s = (records[0].begin_s, min(records[-1].logged_s, until_s)) if records else (0.0, 0.0)
    for lane in simulation.lanes:
        for span in lane.spans:
            if begin_s <= span.start_s < end_s:
                yield lane, span
