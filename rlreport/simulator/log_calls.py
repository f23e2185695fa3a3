"""What a simulated run hands to verl's logger: every call with its time, the same for all of the logger's backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rlreport.simulator.fully_async_metrics import fully_async_calls
from rlreport.simulator.log_call import LogCall
from rlreport.simulator.quality import LearningCurves
from rlreport.simulator.records import Simulation
from rlreport.simulator.verl_metrics import Metrics, step_metrics, validation_metrics


@dataclass(frozen=True, slots=True)
class RunLog:
    """All calls in order of time, and the validations before the first step and after the last; None without one."""

    calls: tuple[LogCall, ...]
    initial_validation: Metrics | None
    final_validation: Metrics | None


def run_log(simulation: Simulation) -> RunLog:
    """Turn the records of a run into calls of the logger. Quality is drawn here, in the order of the calls."""
    curves = LearningCurves(simulation.scenario)
    initial = None
    if simulation.initial_validation_s is not None:
        initial = validation_metrics(simulation.scenario, curves.accuracy(0))
    made = _CALLS.get(simulation.scenario.mode, _calls_by_step)(simulation, curves, initial)
    calls = tuple(sorted(made, key=lambda call: call.at_s))
    last = calls[-1].values if calls else {}
    final = {key: value for key, value in last.items() if key.startswith(("val-core/", "val-aux/"))}
    return RunLog(calls, initial, final or None)


def _calls_by_step(simulation: Simulation, curves: LearningCurves, initial: Metrics | None) -> Iterator[LogCall]:
    """One call a step, validation included; a validation before training has a call of its own, with step 0."""
    if initial is not None and simulation.initial_validation_s is not None:
        yield LogCall(simulation.initial_validation_s, 0, initial)
    for record in simulation.steps:
        accuracy = None if record.testing_s is None else curves.accuracy(record.step)
        yield LogCall(record.logged_s, record.step, step_metrics(simulation.scenario, record, curves, accuracy))


_CALLS: Mapping[str, Callable[[Simulation, LearningCurves, Metrics | None], Iterator[LogCall]]] = {
    "fully_async": fully_async_calls,
}
