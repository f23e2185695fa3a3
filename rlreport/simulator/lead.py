"""How far the Rollouters are ahead of the Trainer, and how old what it trains is.

The *lead* is the number of finished PPO mini-batches that no step has taken: the samples in the replay buffer or in the
message queue, over the samples of a mini-batch. It is counted whenever the Trainer asks for samples (`mean`, `min`, `max`),
and also averaged over time (`time_average`). 1 is just in time for a Trainer that takes one mini-batch at once.

`trajectory_wait` is what the staleness of trajectories can tell of it: how many mini-batches the Trainer took between the
end of a trajectory and its own. A trajectory ends while the Trainer works on the mini-batch before these: with u updates a
version its staleness is (`trajectory_wait` + 1) / u, and the lead when asked about staleness x u - 1/2, if trajectories end
at any time of a step alike. Where all of a batch ends early in a step, staleness x u itself is closer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from rlreport.simulator.records import IntArray, Simulation, StepRecord
from rlreport.simulator.scenario import COLOCATED_MODES


def lead(simulation: Simulation, records: Sequence[StepRecord]) -> dict[str, float | None] | None:
    """The lead over some records, in mini-batches; None where generation and training take turns.

    The average over time is that of the gauge samples between the begin and the end of the records; None without any.
    """
    scenario = simulation.scenario
    if scenario.mode in COLOCATED_MODES or not records:
        return None
    size = scenario.trainer.mini_batch_prompts
    ready = [count / size for record in records for count in record.ready]
    times = [sample.at_s for sample in simulation.gauges]
    window = simulation.gauges[bisect_left(times, records[0].begin_s) : bisect_left(times, records[-1].end_s)]
    average = sum(sample.store for sample in window) / len(window) / size if window else None
    return {
        "mean": sum(ready) / len(ready),
        "min": min(ready),
        "max": max(ready),
        "time_average": average,
        "trajectory_wait": _trajectory_wait(simulation, records),
    }


def _trajectory_wait(simulation: Simulation, records: Sequence[StepRecord]) -> float:
    """Mini-batches taken from the end of a trajectory until before its own, averaged over all trajectories."""
    taken_s = np.array([batch.taken_s for record in simulation.steps for batch in record.batches])
    waited = [
        np.searchsorted(taken_s, batch.taken_s, "left") - np.searchsorted(taken_s, batch.finished_s, "left")
        for record in records
        for batch in record.batches
    ]
    return float(np.maximum(np.concatenate(waited), 0).mean())


def versions_behind(simulation: Simulation, record: StepRecord, versions: IntArray) -> IntArray:
    """How many versions behind the Trainer's policy these are, when the record trains on them."""
    at = record.version if simulation.scenario.mode == "fully_async" else record.step - 1
    return at - versions


def staleness(simulation: Simulation, records: Sequence[StepRecord]) -> dict[str, float] | None:
    """Of all trajectories: mean versions behind by the last and by the first token, and the share that is not fresh."""
    last = [versions_behind(simulation, record, batch.last_version) for record in records for batch in record.batches]
    first = [versions_behind(simulation, record, batch.first_version) for record in records for batch in record.batches]
    if not last:
        return None
    newest, oldest = np.concatenate(last), np.concatenate(first)
    return {
        "mean": float(newest.mean()),
        "mean_worst": float(oldest.mean()),
        "most": float(oldest.max()),
        "stale_share": float((oldest > 0).mean()),
        "spans_versions_share": float((oldest > newest).mean()),
    }
