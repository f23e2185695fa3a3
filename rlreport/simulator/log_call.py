"""One call of verl's logger, its line, and the clock that its backends share."""

from __future__ import annotations

import datetime as dt
import pprint
from dataclasses import dataclass

from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_metrics import Metrics


@dataclass(frozen=True, slots=True)
class LogCall:
    """`Tracking.log(data=values, step=step)` (verl/utils/tracking.py), `at_s` seconds after the start of the run."""

    at_s: float
    step: int
    values: Metrics


def local_time(scenario: Scenario, at_s: float) -> dt.datetime:
    """The time of day at a moment of the run, to the millisecond, as the log prints it."""
    return scenario.framework.started_at + dt.timedelta(seconds=round(at_s, 3))


def unix_s(scenario: Scenario, at_s: float) -> float:
    """The same moment in Unix seconds; the run's local time is taken for UTC."""
    return scenario.framework.started_at.replace(tzinfo=dt.UTC).timestamp() + at_s


def metric_line(call: LogCall) -> str:
    """A call as verl's LocalLogger prints it."""
    items = " - ".join(f"{key}:{pprint.pformat(value)}" for key, value in call.values.items())
    return f"step:{call.step} - {items}"
