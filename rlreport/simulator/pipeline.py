"""The discrete-event model of the pipeline: Rollouters and Trainer as SimPy processes, one class a mode."""

from __future__ import annotations

from rlreport.simulator.mode_colocated import ColocatedTraining
from rlreport.simulator.mode_fully_async import FullyAsyncTraining
from rlreport.simulator.mode_one_step_off import OneStepOffTraining
from rlreport.simulator.mode_separate import SeparateAsyncTraining
from rlreport.simulator.records import Simulation
from rlreport.simulator.scenario import Scenario, SimulatedMode
from rlreport.simulator.training import Training

MODES: dict[SimulatedMode, type[Training]] = {
    "sync": ColocatedTraining,
    "colocate_async": ColocatedTraining,
    "separate_async": SeparateAsyncTraining,
    "one_step_off": OneStepOffTraining,
    "fully_async": FullyAsyncTraining,
}


def run_pipeline(scenario: Scenario) -> Simulation:
    """Simulate a scenario from start-up to its last step."""
    return MODES[scenario.mode](scenario).run()
