"""What all modes share: the life of a run, and what can happen within a step.

A mode is a subclass that says in which order things happen (`train`). Everything that takes time is a generator that
SimPy runs; the devices' spans are entered where the time is spent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeVar

import simpy

from rlreport.run.spans import IdleCause
from rlreport.simulator.async_events import AsyncFacts
from rlreport.simulator.randomness import AutocorrelatedNoise, stream
from rlreport.simulator.records import GaugeSample, MiniBatch, Poll, Simulation, StepRecord, Validation, WeightSync
from rlreport.simulator.rollouter import Rollouter
from rlreport.simulator.scenario import COLOCATED_MODES, Scenario
from rlreport.simulator.spans import Lane, Work
from rlreport.simulator.store import SampleStore, Store
from rlreport.simulator.trainer import log_prob_seconds, micro_batches, update_seconds
from rlreport.simulator.workload import PromptGroup, Workload

T = TypeVar("T")
Waiting = Generator[simpy.Event, Any, T]
Process = Waiting[None]

#: Gauges of engines and stores are scraped this often (RL-Insight's Prometheus: every 10 s).
GAUGE_INTERVAL_S = 10.0

#: The work that a timer of the Trainer stands for.
_TIMER_WORK: dict[str, Work] = {"old_log_prob": "old_log_prob", "adv": "advantage", "update_actor": "update_actor"}


class Training(ABC):
    """The state of one simulation while it runs."""

    #: Why a replica without work idles.
    when_idle: IdleCause = "quota"

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.env = simpy.Environment()
        self.workload = Workload(scenario)
        self.replica_lanes, self.trainer_lanes = _lanes(scenario)
        self.lanes = list(dict.fromkeys((*self.trainer_lanes, *self.replica_lanes), None))
        self.store = self.make_store()
        hybrid = self.trainer_lanes if scenario.hybrid.enable_switch else []
        self.rollouter = Rollouter(self.env, scenario, self.replica_lanes, self.store, self.when_idle, hybrid)
        noise, phi = scenario.noise, scenario.noise.autocorrelation
        self._trainer_noise = AutocorrelatedNoise(stream(scenario.seed, "trainer-speed"), noise.trainer_cv, phi)
        self._rollout_noise = AutocorrelatedNoise(stream(scenario.seed, "rollout-speed"), noise.rollout_cv, phi)
        self._event_noise = AutocorrelatedNoise(stream(scenario.seed, "events"), noise.event_cv, 0.0)
        self._trainer_factor = 1.0
        self.version = 0
        self.steps: list[StepRecord] = []
        self.polls: list[Poll] = []
        self.gauges: list[GaugeSample] = []
        self.syncs: list[WeightSync] = []
        self.validations: list[Validation] = []
        self.submitted_tokens = 0
        self.evicted_tokens = 0
        self._initial_validation_s: float | None = None
        self._training_begins_s = 0.0

    # --- what a mode says ----------------------------------------------------------------------------------------------

    def make_store(self) -> Store:
        """Where finished samples wait."""
        return SampleStore(self.env)

    def start(self) -> None:
        """The models are loaded: replicas may generate, the Trainer waits."""
        self.set_idle(self.trainer_lanes, "samples")
        self.rollouter.resume(self.version)

    @abstractmethod
    def train(self) -> Process:
        """All steps, after start-up and a validation before training."""

    def async_facts(self) -> AsyncFacts | None:
        """What fully_async prints beside its steps."""
        return None

    # --- the life of a run ---------------------------------------------------------------------------------------------

    def run(self) -> Simulation:
        """Run to the end of the last step and close the books."""
        self.env.process(self._scrape())
        self.env.run(until=self.env.process(self._live()))
        for lane in self.lanes:
            lane.close(self.env.now)
        return Simulation(
            scenario=self.scenario,
            lanes=tuple(self.lanes),
            steps=tuple(self.steps),
            polls=tuple(self.polls),
            initial_validation_s=self._initial_validation_s,
            training_begins_s=self._training_begins_s,
            end_s=self.env.now,
            left_over=tuple(self.store.groups()),
            unfinished=tuple(self.rollouter.unfinished()),
            submitted_tokens=self.submitted_tokens,
            evicted_tokens=self.evicted_tokens,
            gauges=tuple(self.gauges),
            syncs=tuple(self.syncs),
            validations=tuple(self.validations),
            async_facts=self.async_facts(),
        )

    def _live(self) -> Process:
        schedule = self.scenario.schedule
        yield self.env.timeout(schedule.startup_s)
        self.start()
        if schedule.validate_before_training:
            yield from self.validate(0)
            self._initial_validation_s = self.env.now
        self._training_begins_s = self.env.now
        yield from self.train()

    def _scrape(self) -> Process:
        while True:
            yield self.env.timeout(GAUGE_INTERVAL_S)
            replicas = self.rollouter.replicas
            self.gauges.append(
                GaugeSample(
                    self.env.now,
                    len(self.store),
                    self.rollouter.active,
                    tuple(replica.running_sequences for replica in replicas),
                    tuple(replica.waiting_sequences for replica in replicas),
                )
            )

    def begin_step(self, step: int) -> StepRecord:
        """Open the record of a step."""
        record = StepRecord(step, self.env.now, version=self.version)
        self.steps.append(record)
        return record

    def draw_noise(self) -> None:
        """The speed of both sides until the next draw."""
        self._trainer_factor = self._trainer_noise.factor()
        self.rollouter.set_factor(self._rollout_noise.factor())

    def due(self, number: int, every: int) -> bool:
        """Whether something that happens every so many steps happens after this one; the last step always counts."""
        return every > 0 and (number % every == 0 or number == self.scenario.steps)

    # --- what happens within a step ------------------------------------------------------------------------------------

    def submit(self, prompts: int) -> None:
        """Hand out new prompts."""
        groups = self.workload.draw(prompts, self.version, self.env.now)
        self.submitted_tokens += sum(group.tokens for group in groups)
        self.rollouter.submit(groups)

    def learn(self, record: StepRecord, parts: Sequence[list[PromptGroup]], wait_s: float) -> Process:
        """Old log-probabilities, advantages and updates of mini-batches that were waited for together."""
        batches = [self._mini_batch(groups, wait_s / len(parts)) for groups in parts]
        record.batches.extend(batches)
        timers = (
            ("old_log_prob", sum(batch.log_prob_s for batch in batches)),
            ("adv", sum(batch.advantage_s for batch in batches)),
            ("update_actor", sum(batch.update_s for batch in batches)),
        )
        for timer, seconds in timers:
            yield from self.work(_TIMER_WORK[timer], seconds)
            record.add(timer, seconds)

    def _mini_batch(self, groups: list[PromptGroup], wait_s: float) -> MiniBatch:
        tokens = sum(group.tokens for group in groups)
        factor = self._trainer_factor
        return MiniBatch.of(
            groups,
            wait_s=wait_s,
            micro_batches=micro_batches(self.scenario, tokens),
            log_prob_s=factor * log_prob_seconds(self.scenario, tokens),
            advantage_s=factor * self.scenario.trainer.advantage_s,
            update_s=factor * update_seconds(self.scenario, tokens),
            taken_s=self.env.now,
        )

    def mini_batches(self, groups: list[PromptGroup]) -> list[list[PromptGroup]]:
        """Cut what was fetched at once into the mini-batches of its updates."""
        size = self.scenario.trainer.mini_batch_prompts
        return [groups[start : start + size] for start in range(0, len(groups), size)]

    def work(self, state: Work, seconds: float) -> Process:
        """The Trainer works."""
        for lane in self.trainer_lanes:
            lane.work(self.env.now, state)
        yield self.env.timeout(seconds)

    def fetch(self) -> Process:
        """Fetching samples that are ready."""
        if self.scenario.rollout.fetch_s:
            yield self.env.timeout(self.scenario.rollout.fetch_s * self._trainer_factor)

    def checkpoint(self, record: StepRecord) -> Process:
        """Save a checkpoint; the Rollouters go on."""
        seconds = yield from self.pass_time(self.trainer_lanes, "checkpoint", self.scenario.schedule.checkpoint_s)
        record.add("save_checkpoint", seconds)

    def send_weights(self, version: int, drain_s: float = 0.0) -> Waiting[float]:
        """The weights of `version` for all replicas; both sides stop. Gives the seconds; the caller resumes the replicas."""
        begin_s = self.env.now
        self.rollouter.pause()
        seconds = yield from self.pass_time(self.lanes, "weight_sync", self.scenario.sync.weight_sync_s)
        self.version = version
        for lane in self.lanes:
            lane.version = self.version
        self.syncs.append(WeightSync(version, begin_s - drain_s, self.env.now, drain_s))
        return seconds

    def validate(self, version: int) -> Waiting[float]:
        """Validate on the replicas, which do nothing else meanwhile; the Trainer waits. Gives the seconds."""
        begin_s = self.env.now
        self.set_idle(self.trainer_lanes, "validation")
        yield from self.answer(1.0)
        self.validations.append(Validation(version, begin_s, self.env.now))
        return self.env.now - begin_s

    def answer(self, share: float, helpers: Iterable[Lane] = ()) -> Process:
        """Generate the answers of a validation in `share` of the time that the Rollouters need alone."""
        self.rollouter.pause()
        for lane in (*self.replica_lanes, *helpers):
            lane.work(self.env.now, "validate")
        yield from self.pass_time((), "validation", self.scenario.schedule.validation_s * share)
        self.rollouter.resume(self.version)

    def pass_time(self, lanes: Iterable[Lane], cause: IdleCause, seconds: float) -> Waiting[float]:
        """Lanes wait for an event of about so many seconds. Gives the seconds that it took."""
        taken_s = seconds * self._event_noise.factor()
        self.set_idle(lanes, cause)
        yield self.env.timeout(taken_s)
        return taken_s

    def set_idle(self, lanes: Iterable[Lane], cause: IdleCause) -> None:
        """Lanes wait from now on."""
        for lane in lanes:
            lane.idle(self.env.now, cause)


def _lanes(scenario: Scenario) -> tuple[list[Lane], list[Lane]]:
    """The lanes of the replicas, and those of the Trainer: the same where the Trainer's devices generate.

    verl numbers replicas on the Trainer's devices before the Rollouters' own (`start_rank` in trainer_separate_async.py).
    """
    size = scenario.rollout.devices_per_replica
    if scenario.mode in COLOCATED_MODES:
        shared = [Lane(f"replica_{number}", "trainer", size, number * size, number) for number in range(scenario.replicas)]
        return shared, shared
    first = scenario.hybrid_replicas
    replicas = [
        Lane(f"replica_{first + place}", "rollout", size, place * size, first + place) for place in range(scenario.replicas)
    ]
    if not scenario.hybrid.enable_switch:
        return replicas, [Lane("trainer", "trainer", scenario.trainer_devices)]
    return replicas, [Lane(f"trainer_{place}", "trainer", size, place * size, place) for place in range(first)]
