"""A Chrome trace of a simulated run: every lane with everything that it did and waited for, for viewers and for tests.

No framework writes this file: it is the truth as a timeline. Form: the Trace Event Format, complete events (`ph` "X", times
in microseconds) from the start of the run, which `baseTimeNanoseconds` ties to Unix time as torch's profiler does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rlreport.simulator.log_call import unix_s
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import Launch
from rlreport.simulator.spans import CAUSE_ACTIVITY, Side
from rlreport.simulator.traced_window import traced_spans

#: One process a side.
PIDS: dict[Side, int] = {"trainer": 1, "rollout": 2}
#: The name of an idle span whose cause has no activity of its own.
WAIT = "wait"


def chrome_trace(launches: Sequence[Launch]) -> dict[str, Any]:
    """The trace as JSON-able values: metadata first, then spans by launch, lane and time."""
    scenario = launches[0].simulation.scenario
    return {
        "baseTimeNanoseconds": round(1e9 * unix_s(scenario, 0.0)),
        "displayTimeUnit": "ms",
        "otherData": {"scenario": scenario.name, "simulated": True},
        "traceEvents": [*_names(launches[0].simulation), *(span for launch in launches for span in _spans(launch))],
    }


def chrome_text(launches: Sequence[Launch]) -> str:
    """The file."""
    return json.dumps(chrome_trace(launches), separators=(",", ":")) + "\n"


def _names(simulation: Simulation) -> Iterator[dict[str, Any]]:
    for side, pid in PIDS.items():
        if any(lane.side == side for lane in simulation.lanes):
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": side}}
    for number, lane in enumerate(simulation.lanes):
        yield {"ph": "M", "name": "thread_name", "pid": PIDS[lane.side], "tid": number, "args": {"name": lane.name}}


def _spans(launch: Launch) -> Iterator[dict[str, Any]]:
    numbers = {lane.name: number for number, lane in enumerate(launch.simulation.lanes)}
    for lane, span in traced_spans(launch.simulation, launch.stopped_s):
        args: dict[str, Any] = {"devices": span.devices, "version": span.version}
        if span.cause is not None:
            args["cause"] = span.cause
        yield {
            "ph": "X",
            "name": span.state if span.cause is None else CAUSE_ACTIVITY.get(span.cause, WAIT),
            "cat": "busy" if span.cause is None else "idle",
            "pid": PIDS[lane.side],
            "tid": numbers[lane.name],
            "ts": round(1e6 * (launch.launched_s + span.start_s), 3),
            "dur": round(1e6 * (span.end_s - span.start_s), 3),
            "args": args,
        }
