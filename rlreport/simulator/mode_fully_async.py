"""fully_async: the Trainer takes samples from a message queue, the Rollouter generates as far as its quota allows.

Source: verl/experimental/fully_async_policy/fully_async_trainer.py (`fit_step`). A record is one *round*: wait for
`require_batches` mini-batches (`gen`), train on them, and after `trigger_parameter_sync_step` rounds sync weights
(`param_sync`). Validation and checkpoint come after the timer of the step.
"""

from __future__ import annotations

from rlreport.simulator.async_events import AsyncFacts, RoundFacts, ValidationFacts
from rlreport.simulator.feeder import Feeder
from rlreport.simulator.records import StepRecord, Validation
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.store import MessageQueue
from rlreport.simulator.training import Process, Training, Waiting
from rlreport.simulator.workload import PromptGroup


class FullyAsyncTraining(Training):
    """`scenario.steps` parameter versions of `trigger_parameter_sync_step` rounds."""

    store: MessageQueue

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._quota = scenario.quota
        total = scenario.steps * scenario.workload.prompts_per_step
        self._feeder = Feeder(self.env, self._quota, total, self.rollouter, self.store, lambda: self.submit(1))
        self._rounds: list[RoundFacts] = []
        self.store.on_dropped = self._dropped

    def make_store(self) -> MessageQueue:
        """The message queue, as long as the quota."""
        return MessageQueue(self.env, self.scenario.quota.max_queue_size)

    def train(self) -> Process:
        """Round after round."""
        self._feeder.reset(0, 0.0)
        self.set_idle(self.trainer_lanes, "samples")
        last = self.scenario.fully_async.trigger_parameter_sync_step
        for version in range(1, self.scenario.steps + 1):
            self.draw_noise()
            for place in range(1, last + 1):
                yield from self._round(version, place == last)

    def _round(self, version: int, syncs: bool) -> Process:
        schedule = self.scenario.schedule
        record = self.begin_step(len(self.steps) + 1)
        if record.step == 1:
            yield from self.work("other", self.scenario.trainer.first_step_extra_s)
        groups, wait_s = yield from self._collect(record)
        collected_s, queue_after = self.env.now, len(self.store)
        yield from self.learn(record, self.mini_batches(groups), wait_s)
        if syncs:
            yield from self._sync_parameters(record, version)
        record.end_s = self.env.now
        self._rounds.append(_facts(record, groups[0], collected_s, queue_after, len(self.store)))
        if syncs and schedule.validate_every_steps and version % schedule.validate_every_steps == 0:
            record.testing_s = yield from self.validate(version)
        if syncs and self.due(version, schedule.checkpoint_every_steps):
            yield from self.checkpoint(record)
        record.logged_s = self.env.now

    def _dropped(self, group: PromptGroup) -> None:
        self.steps[-1].evicted += 1
        self.evicted_tokens += group.tokens
        self._feeder.replace_dropped()

    def _collect(self, record: StepRecord) -> Waiting[tuple[list[PromptGroup], float]]:
        """Take samples out of the queue, one by one as they come, until the round has all of its own."""
        begin_s = self.env.now
        record.ready.append(len(self.store))
        self.set_idle(self.trainer_lanes, "samples")
        groups: list[PromptGroup] = []
        while True:
            missing = self._quota.required_samples - len(groups)
            groups.extend(self.store.take(min(missing, len(self.store))))
            if len(groups) == self._quota.required_samples:
                break
            yield self.store.changed()
        yield from self.fetch()
        wait_s = self.env.now - begin_s
        record.add("gen", wait_s)
        return groups, wait_s

    def _sync_parameters(self, record: StepRecord, version: int) -> Process:
        """Running responses are interrupted, or with partial_rollout off waited for; then the quota is reset."""
        begin_s = self.env.now
        if not self.scenario.fully_async.partial_rollout:
            self._feeder.block()
            self.set_idle(self.trainer_lanes, "long_tail")
            yield self._feeder.drained()
        yield from self.send_weights(version, self.env.now - begin_s)
        seconds = self.env.now - begin_s
        self.rollouter.resume(version)
        record.add("param_sync", seconds)
        self._feeder.reset(version, seconds)

    def validate(self, version: int) -> Waiting[float]:
        """On the Rollouters, or with `use_trainer_do_validate` on the Trainer's devices too, which turn there and back."""
        if not self.scenario.hybrid.validates:
            return (yield from super().validate(version))
        begin_s, hybrid = self.env.now, self.scenario.hybrid
        switch_s = yield from self.pass_time(self.trainer_lanes, "switching", hybrid.to_rollout_s)
        replicas = self.scenario.replicas
        yield from self.answer(replicas / (replicas + self.scenario.hybrid_replicas), self.trainer_lanes)
        switch_s += yield from self.pass_time(self.trainer_lanes, "switching", hybrid.to_trainer_s)
        self.validations.append(Validation(version, begin_s, self.env.now, True, switch_s))
        return self.env.now - begin_s

    def async_facts(self) -> AsyncFacts:
        """What the log shows beside the steps."""
        return AsyncFacts(
            rounds=tuple(self._rounds),
            versions=tuple(self._feeder.versions),
            pauses=tuple(self._feeder.pauses),
            validations=tuple(
                ValidationFacts(v.version, v.end_s, v.end_s - v.begin_s - v.switch_s, v.on_trainer) for v in self.validations
            ),
            queue=tuple(self.store.history),
        )


def _facts(record: StepRecord, first: PromptGroup, collected_s: float, queue_after: int, queue_at_end: int) -> RoundFacts:
    status = first.status
    if status is None:
        raise RuntimeError("a sample of fully_async was finished without the Rollouter's counters")
    return RoundFacts(
        version=record.version,
        collected_s=collected_s,
        queue_after=queue_after,
        queue_at_end=queue_at_end,
        active=status.active,
        staleness_samples=status.staleness_samples,
        queued=status.queued,
        generated=status.generated,
        dropped=status.dropped,
    )
