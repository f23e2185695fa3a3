"""RL-Insight's summary events of a simulated run: what its instrumentation of verl sees, and no more.

Form: a JSON array of objects with `name`, `role`, `domain`, `start_time_ms`, `end_time_ms`, `duration_ms`, `rank_id`, `tid`
(RL-Insight docs/recipe/data/data_specification.md). Generation has the role `agent_loop_rollout_replica_<i>`, with one event
for each device of the replica (`rank_id` counts within it); log-probabilities and updates have the role of the worker's
method, with one event a rank. Weight syncs, validations, checkpoints, waiting and the driver's advantages are not traced:
they are gaps. Times are Unix milliseconds, to the microsecond.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlreport.simulator.log_call import unix_s
from rlreport.simulator.restart import Launch
from rlreport.simulator.spans import Lane, Span
from rlreport.simulator.traced_window import traced_spans

#: Work of a Trainer's lane -> the worker method that RL-Insight times (verl/workers/engine_workers.py).
TRAINER_ROLES: Mapping[str, str] = {"old_log_prob": "actor_compute_log_prob", "update_actor": "actor_update"}
ROLLOUT_ROLE = "agent_loop_rollout_replica_{replica}"

#: Thread ids are made up: the first of the Trainer's ranks and the first of the replicas' devices.
_TRAINER_TID = 100_000
_ROLLOUT_TID = 500_000


def summary_events(launches: Sequence[Launch]) -> list[dict[str, Any]]:
    """All events of all launches, by start, then role, then rank."""
    events = [
        event
        for launch in launches
        for lane, span in traced_spans(launch.simulation, launch.stopped_s)
        for event in _events(lane, span, unix_s(launch.simulation.scenario, 0.0))
    ]
    return sorted(events, key=lambda event: (event["start_time_ms"], event["role"], event["rank_id"]))


def summary_text(launches: Sequence[Launch]) -> str:
    """The file: one event a line, so that it can be read and compared."""
    lines = (json.dumps(event, separators=(",", ":")) for event in summary_events(launches))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _events(lane: Lane, span: Span, zero_s: float) -> Iterator[dict[str, Any]]:
    if span.state in TRAINER_ROLES:
        for rank in range(lane.first_device, lane.first_device + lane.devices):
            yield _event(TRAINER_ROLES[span.state], rank, _TRAINER_TID + rank, span, zero_s)
    elif span.state == "generate" and lane.replica is not None:
        role = ROLLOUT_ROLE.format(replica=lane.replica)
        for device in range(lane.devices):
            yield _event(role, device, _ROLLOUT_TID + lane.replica * lane.devices + device, span, zero_s)


def _event(role: str, rank: int, tid: int, span: Span, zero_s: float) -> dict[str, Any]:
    return {
        "name": role,
        "role": role,
        "domain": "default",
        "start_time_ms": round(1000.0 * (zero_s + span.start_s), 3),
        "end_time_ms": round(1000.0 * (zero_s + span.end_s), 3),
        "duration_ms": round(1000.0 * (span.end_s - span.start_s), 3),
        "rank_id": rank,
        "tid": tid,
    }
