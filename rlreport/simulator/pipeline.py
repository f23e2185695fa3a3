"""The discrete-event model of the pipeline: Rollouters and Trainer as SimPy processes, one method a mode.

The order of events within a step is verl's V1 trainer's (verl/trainer/ppo/v1/trainer_base.py, `fit` and `step`):
hand out a batch of prompts, wait for samples (`gen`), old log-probabilities, advantages, update, checkpoint, weight sync.
The step's timer ends here; validation follows outside of it. separate_async goes through sampling and update once a
mini-batch, sync once a step (trainer_separate_async.py, trainer_sync.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy

from rlreport.simulator.quotas import warmup_prompts
from rlreport.simulator.randomness import AutocorrelatedNoise, stream
from rlreport.simulator.records import MiniBatch, Poll, Simulation, StepRecord
from rlreport.simulator.rollouter import Rollouter
from rlreport.simulator.scenario import Scenario, SimulatedMode
from rlreport.simulator.spans import IdleCause, Lane, Side
from rlreport.simulator.trainer import log_prob_seconds, micro_batches, update_seconds
from rlreport.simulator.workload import PromptGroup, Workload

Process = Generator[simpy.Event, Any, None]


def run_pipeline(scenario: Scenario) -> Simulation:
    """Simulate a scenario from start-up to its last step."""
    return _Pipeline(scenario).run()


class _Pipeline:
    """The state of one simulation while it runs."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._env = simpy.Environment()
        self._workload = Workload(scenario)
        side: Side = "trainer" if scenario.mode == "sync" else "rollout"
        size = scenario.rollout.devices_per_replica
        self._replica_lanes = [Lane(f"replica_{index}", side, size) for index in range(scenario.replicas)]
        self._trainer_lanes = self._replica_lanes
        if scenario.mode != "sync":
            self._trainer_lanes = [Lane("trainer", "trainer", scenario.trainer_devices)]
        self._rollouter = Rollouter(self._env, scenario, self._replica_lanes)
        noise = scenario.noise
        phi = noise.autocorrelation
        self._trainer_noise = AutocorrelatedNoise(stream(scenario.seed, "trainer-speed"), noise.trainer_cv, phi)
        self._rollout_noise = AutocorrelatedNoise(stream(scenario.seed, "rollout-speed"), noise.rollout_cv, phi)
        self._event_noise = AutocorrelatedNoise(stream(scenario.seed, "events"), noise.event_cv, 0.0)
        self._trainer_factor = 1.0
        self._version = 0
        self._steps: list[StepRecord] = []
        self._polls: list[Poll] = []
        self._submitted_tokens = 0
        self._evicted_tokens = 0
        self._initial_validation_s: float | None = None
        self._training_begins_s = 0.0

    def run(self) -> Simulation:
        """Run to the end of the last step and close the books."""
        self._env.run(until=self._env.process(self._train()))
        lanes = {id(lane): lane for lane in (*self._trainer_lanes, *self._replica_lanes)}
        for lane in lanes.values():
            lane.close(self._env.now)
        return Simulation(
            scenario=self._scenario,
            lanes=tuple(lanes.values()),
            steps=tuple(self._steps),
            polls=tuple(self._polls),
            initial_validation_s=self._initial_validation_s,
            training_begins_s=self._training_begins_s,
            end_s=self._env.now,
            left_over=tuple(self._rollouter.store.groups()),
            unfinished=tuple(self._rollouter.unfinished()),
            submitted_tokens=self._submitted_tokens,
            evicted_tokens=self._evicted_tokens,
        )

    # --- the life of a run ---------------------------------------------------------------------------------------------

    def _train(self) -> Process:
        schedule = self._scenario.schedule
        yield self._env.timeout(schedule.startup_s)
        self._rollouter.resume(self._version)
        for lane in self._trainer_lanes:
            lane.idle(self._env.now, "long_tail" if self._scenario.mode == "sync" else "samples")
        if schedule.validate_before_training:
            yield from self._validate()
            self._initial_validation_s = self._env.now
        self._training_begins_s = self._env.now
        if self._scenario.mode == "separate_async":
            count = warmup_prompts(self._scenario.sync.warmup_batches, self._scenario.workload.prompts_per_step)
            self._submit(count)
        for step in range(1, self._scenario.steps + 1):
            yield from self._step(step)

    def _step(self, step: int) -> Process:
        self._trainer_factor = self._trainer_noise.factor()
        self._rollouter.set_factor(self._rollout_noise.factor())
        record = StepRecord(step, self._env.now)
        self._steps.append(record)
        if step == 1:
            yield from self._work("first_step", self._scenario.trainer.first_step_extra_s)
        self._submit(self._scenario.workload.prompts_per_step)
        yield from _BODIES[self._scenario.mode](self, record)
        schedule = self._scenario.schedule
        if self._due(step, schedule.checkpoint_every_steps):
            yield from self._checkpoint(record)
        yield from self._sync_weights(record)
        record.end_s = self._env.now
        if self._due(step, schedule.validate_every_steps):
            begin_s = self._env.now
            yield from self._validate()
            record.testing_s = self._env.now - begin_s
        record.logged_s = self._env.now

    def _due(self, step: int, every: int) -> bool:
        return every > 0 and (step % every == 0 or step == self._scenario.steps)

    # --- the bodies of a step, by mode ---------------------------------------------------------------------------------

    def _separate_async(self, record: StepRecord) -> Process:
        for _ in range(self._scenario.updates_per_step):
            groups, wait_s = yield from self._sample(record, self._scenario.trainer.mini_batch_prompts)
            yield from self._learn(record, [groups], wait_s)

    def _sync(self, record: StepRecord) -> Process:
        groups, wait_s = yield from self._sample(record, self._scenario.workload.prompts_per_step)
        size = self._scenario.trainer.mini_batch_prompts
        yield from self._learn(record, [groups[start : start + size] for start in range(0, len(groups), size)], wait_s)

    # --- what happens within a step ------------------------------------------------------------------------------------

    def _submit(self, prompts: int) -> None:
        groups = self._workload.draw(prompts, self._version)
        self._submitted_tokens += sum(group.tokens for group in groups)
        self._rollouter.submit(groups)

    def _sample(self, record: StepRecord, count: int) -> Generator[simpy.Event, Any, tuple[list[PromptGroup], float]]:
        """Wait until `count` groups are finished, looking every poll interval; give the oldest and the seconds it took."""
        begin_s = self._env.now
        store, speed = self._rollouter.store, self._scenario.rollout
        record.ready.append(len(store))
        while True:
            self._evict(record)
            if len(store) >= count:
                break
            self._wait_for_samples()
            if speed.poll_interval_s:
                self._polls.append(Poll(self._env.now, self._rollouter.counts()))
                yield self._env.timeout(speed.poll_interval_s)
            else:
                yield store.changed()
        if speed.fetch_s:
            self._wait_for_samples()
            yield self._env.timeout(speed.fetch_s * self._trainer_factor)
        wait_s = self._env.now - begin_s
        record.add("gen", wait_s)
        return store.take(count), wait_s

    def _wait_for_samples(self) -> None:
        """In sync mode the Trainer's devices generate, and their lanes belong to the replicas meanwhile."""
        if self._scenario.mode != "sync":
            self._set_idle(self._trainer_lanes, "samples")

    def _evict(self, record: StepRecord) -> None:
        """Drop finished groups that are too stale to train (strategy drop), and hand out as many new prompts."""
        oldest = self._version - self._scenario.sync.max_off_policy_threshold
        stale = self._rollouter.store.drop_older_than(oldest)
        if stale:
            record.evicted += len(stale)
            self._evicted_tokens += sum(group.tokens for group in stale)
            self._submit(len(stale))

    def _learn(self, record: StepRecord, parts: list[list[PromptGroup]], wait_s: float) -> Process:
        """Old log-probabilities, advantages and updates of mini-batches that were waited for together."""
        batches = [self._mini_batch(groups, wait_s / len(parts)) for groups in parts]
        record.batches.extend(batches)
        timers = (
            ("old_log_prob", sum(batch.log_prob_s for batch in batches)),
            ("adv", sum(batch.advantage_s for batch in batches)),
            ("update_actor", sum(batch.update_s for batch in batches)),
        )
        for timer, seconds in timers:
            yield from self._work(timer, seconds)
            record.add(timer, seconds)

    def _mini_batch(self, groups: list[PromptGroup], wait_s: float) -> MiniBatch:
        tokens = sum(group.tokens for group in groups)
        factor = self._trainer_factor
        return MiniBatch.of(
            groups,
            wait_s=wait_s,
            micro_batches=micro_batches(self._scenario, tokens),
            log_prob_s=factor * log_prob_seconds(self._scenario, tokens),
            advantage_s=factor * self._scenario.trainer.advantage_s,
            update_s=factor * update_seconds(self._scenario, tokens),
        )

    def _work(self, state: str, seconds: float) -> Process:
        for lane in self._trainer_lanes:
            lane.work(self._env.now, state)
        yield self._env.timeout(seconds)

    def _checkpoint(self, record: StepRecord) -> Process:
        seconds = self._scenario.schedule.checkpoint_s * self._event_noise.factor()
        self._set_idle(self._trainer_lanes, "checkpoint")
        yield self._env.timeout(seconds)
        record.add("save_checkpoint", seconds)

    def _sync_weights(self, record: StepRecord) -> Process:
        """Both sides stop; running sequences keep their tokens and go on with the new version."""
        seconds = self._scenario.sync.weight_sync_s * self._event_noise.factor()
        self._rollouter.pause()
        self._set_idle(self._trainer_lanes, "weight_sync")
        self._set_idle(self._replica_lanes, "weight_sync")
        yield self._env.timeout(seconds)
        self._version = record.step
        self._rollouter.resume(self._version)
        record.add("update_weights", seconds)

    def _validate(self) -> Process:
        seconds = self._scenario.schedule.validation_s * self._event_noise.factor()
        self._rollouter.pause()
        self._set_idle(self._trainer_lanes, "validation")
        for lane in self._replica_lanes:
            lane.work(self._env.now, "validate")
        yield self._env.timeout(seconds)
        self._rollouter.resume(self._version)

    def _set_idle(self, lanes: list[Lane], cause: IdleCause) -> None:
        for lane in lanes:
            lane.idle(self._env.now, cause)


#: The body of a step by mode: everything between handing out prompts and the checkpoint.
_BODIES: dict[SimulatedMode, Callable[[_Pipeline, StepRecord], Process]] = {
    "separate_async": _Pipeline._separate_async,
    "sync": _Pipeline._sync,
}
