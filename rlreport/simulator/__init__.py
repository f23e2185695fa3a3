"""A discrete-event model of the async RL pipeline that writes logs in the real formats, and the truth beside them."""

from rlreport.simulator.output import SimulationResult, simulate
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.scenario_file import load_scenario

__all__ = ["Scenario", "SimulationResult", "load_scenario", "simulate"]
