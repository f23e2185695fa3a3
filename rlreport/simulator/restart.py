"""A run that was stopped and resumed: a second launch that goes on from the last checkpoint.

The job is stopped right after a step, loses what was trained since the checkpoint, and is launched again. The second launch
starts its engines anew, warms up again, and trains the lost steps a second time with other samples: so both launches log
them, with different values. The model itself knows nothing of it: the second launch is a simulation of its own with other
random numbers, renumbered to go on from the checkpoint.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rlreport.simulator.async_events import AsyncFacts
from rlreport.simulator.log_calls import RunLog, run_log
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.randomness import stream
from rlreport.simulator.records import Simulation, StepRecord
from rlreport.simulator.scenario import Scenario

#: Seconds between the end of a job and the start of the next: queueing (an assumption).
GAP_S = 240.0

#: The share of the steps after which a job is stopped.
_STOPPED_FROM, _STOPPED_UNTIL = 0.45, 0.75

#: Added to the seed for the second launch.
_OTHER_SEED = 1_000_003


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a run: what happened and what was logged.

    Times of the simulation count from the launch; its scenario's `started_at` is when that was, `launched_s` counts from the
    first launch. `resumed_from` is the step that it goes on from (None: it began the run), `stopped_s` when it was stopped
    (infinite: it ended by itself); the simulation knows nothing of that and goes on.
    """

    simulation: Simulation
    log: RunLog
    launched_s: float = 0.0
    resumed_from: int | None = None
    stopped_s: float = math.inf


def launches_of(scenario: Scenario) -> tuple[Launch, ...]:
    """Simulate a scenario: one launch, or two with the defect `resumed`."""
    first = run_pipeline(scenario)
    if "resumed" not in scenario.defects:
        return (Launch(first, run_log(first)),)
    stopped_after = _stop_step(scenario)
    every = scenario.schedule.checkpoint_every_steps
    checkpoint = stopped_after // every * every if every else 0
    log = run_log(first)
    calls = tuple(call for call in log.calls if call.step <= stopped_after)
    stopped_s = max(call.at_s for call in calls)
    launched_s = stopped_s + GAP_S
    second = _renumbered(run_pipeline(_remaining(scenario, checkpoint)), scenario, checkpoint, launched_s)
    return (
        Launch(first, RunLog(calls, log.initial_validation, None), stopped_s=stopped_s),
        Launch(second, run_log(second), launched_s, checkpoint),
    )


def _stop_step(scenario: Scenario) -> int:
    """The last step before the job is stopped; never a step with a checkpoint, so that something is lost."""
    draw = float(stream(scenario.seed, "defects").random())
    step = max(1, int(scenario.steps * (_STOPPED_FROM + (_STOPPED_UNTIL - _STOPPED_FROM) * draw)))
    every = scenario.schedule.checkpoint_every_steps
    return step - 1 if every > 1 and step % every == 0 else step


def _remaining(scenario: Scenario, done: int) -> Scenario:
    """What is left to train: responses are as long as they have become, everything else starts anew."""
    w = scenario.workload
    grown = 1.0 + w.response_growth_per_step * done
    workload = w.model_copy(
        update={
            "response_tokens_mean": w.response_tokens_mean * grown,
            "response_growth_per_step": w.response_growth_per_step / grown,
        }
    )
    schedule = scenario.schedule.model_copy(update={"validate_before_training": False})
    return scenario.model_copy(
        update={
            "seed": scenario.seed + _OTHER_SEED,
            "steps": scenario.steps - done,
            "workload": workload,
            "schedule": schedule,
        }
    )


def _renumbered(simulation: Simulation, scenario: Scenario, done: int, after_s: float) -> Simulation:
    """The simulation of the remaining steps as a part of the whole run, launched `after_s` after the first launch."""
    framework = scenario.framework.model_copy(
        update={"started_at": scenario.framework.started_at + dt.timedelta(seconds=round(after_s, 3))}
    )
    shown = scenario.model_copy(update={"framework": framework, "seed": scenario.seed + _OTHER_SEED})
    rounds = done * scenario.rounds_per_step if scenario.mode == "fully_async" else done
    for lane in simulation.lanes:
        lane.spans[:] = [replace(span, version=span.version + done) for span in lane.spans]
    return replace(
        simulation,
        scenario=shown,
        steps=tuple(_shifted(record, rounds, done) for record in simulation.steps),
        syncs=tuple(replace(sync, version=sync.version + done) for sync in simulation.syncs),
        validations=tuple(replace(item, version=item.version + done) for item in simulation.validations),
        async_facts=None if simulation.async_facts is None else _shifted_facts(simulation.async_facts, done),
    )


def _shifted(record: StepRecord, steps: int, versions: int) -> StepRecord:
    batches = [
        replace(batch, first_version=batch.first_version + versions, last_version=batch.last_version + versions)
        for batch in record.batches
    ]
    return replace(record, step=record.step + steps, version=record.version + versions, batches=batches)


def _shifted_facts(facts: AsyncFacts, versions: int) -> AsyncFacts:
    return replace(
        facts,
        rounds=tuple(replace(seen, version=seen.version + versions) for seen in facts.rounds),
        versions=tuple(replace(version, version=version.version + versions) for version in facts.versions),
        validations=tuple(replace(item, version=item.version + versions) for item in facts.validations),
    )


def joined(launches: Sequence[Launch]) -> Simulation:
    """The run as one simulation: the steps that count, and what every device did in both launches, for the truth."""
    first = launches[0].simulation
    steps: list[StepRecord] = []
    lanes = [replace(lane, spans=[]) for lane in first.lanes]
    for launch in launches:
        shift_s = launch.launched_s
        begins = launch.simulation.steps[0].step
        steps = [record for record in steps if record.step < begins]
        steps += [_later(record, shift_s) for record in launch.simulation.steps if record.logged_s <= launch.stopped_s]
        for lane, ran in zip(lanes, launch.simulation.lanes, strict=True):
            idle_s = lane.spans[-1].end_s if lane.spans else 0.0
            if idle_s < shift_s:
                lane.spans.append(replace(ran.spans[0], state="idle", cause="startup", start_s=idle_s, end_s=shift_s))
            lane.spans += [
                replace(span, start_s=span.start_s + shift_s, end_s=min(span.end_s, launch.stopped_s) + shift_s)
                for span in ran.spans
                if span.start_s < launch.stopped_s
            ]
    last = launches[-1]
    return replace(
        last.simulation,
        scenario=first.scenario,
        lanes=tuple(lanes),
        steps=tuple(steps),
        training_begins_s=first.training_begins_s,
        end_s=min(last.simulation.end_s, last.stopped_s) + last.launched_s,
    )


def launch_truth(launch: Launch) -> dict[str, float | int | None]:
    """When a launch began and was stopped, in seconds since the first (None: it ended by itself), and its steps.

    `first_step` and `last_step` are those whose lines were logged whole.
    """
    calls = [call for call in launch.log.calls if call.at_s <= launch.stopped_s and "timing_s/step" in call.values]
    return {
        "launched_s": round(launch.launched_s, 6),
        "stopped_s": None if launch.stopped_s == math.inf else round(launch.launched_s + launch.stopped_s, 6),
        "resumed_from": launch.resumed_from,
        "first_step": calls[0].step if calls else None,
        "last_step": calls[-1].step if calls else None,
    }


def _later(record: StepRecord, seconds: float) -> StepRecord:
    return replace(
        record, begin_s=record.begin_s + seconds, end_s=record.end_s + seconds, logged_s=record.logged_s + seconds
    )
