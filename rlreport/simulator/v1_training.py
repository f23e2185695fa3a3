"""The step of verl's V1 trainers (verl/trainer/ppo/v1/trainer_base.py, `fit` and `step`).

Hand out a batch of prompts, wait for samples (`gen`), old log-probabilities, advantages, update, checkpoint, weight sync.
The step's timer ends here; validation follows outside of it.
"""

from __future__ import annotations

from abc import abstractmethod

from rlreport.simulator.quotas import warmup_prompts
from rlreport.simulator.records import Poll, StepRecord
from rlreport.simulator.store import SampleStore
from rlreport.simulator.training import Process, Training, Waiting
from rlreport.simulator.workload import PromptGroup


class V1Training(Training):
    """A V1 mode says what happens at the begin of a step, in its body and at its end."""

    store: SampleStore

    def begin(self, record: StepRecord) -> Process:
        """Before and while prompts are handed out."""
        self.submit(self.scenario.workload.prompts_per_step)
        yield from ()

    @abstractmethod
    def body(self, record: StepRecord) -> Process:
        """Sampling and training."""

    def end(self, record: StepRecord) -> Process:
        """The weight sync; running sequences keep their tokens and go on with the new version."""
        seconds = yield from self.send_weights(record.step)
        self.rollouter.resume(self.version)
        record.add("update_weights", seconds)

    def train(self) -> Process:
        """Warm-up prompts, then one step after the other."""
        if self.scenario.mode != "sync":
            self.submit(warmup_prompts(self.scenario.sync.warmup_batches, self.scenario.workload.prompts_per_step))
        for step in range(1, self.scenario.steps + 1):
            yield from self._step(step)

    def _step(self, step: int) -> Process:
        self.draw_noise()
        schedule = self.scenario.schedule
        record = self.begin_step(step)
        yield from self.begin(record)
        yield from self.body(record)
        if self.due(step, schedule.checkpoint_every_steps):
            yield from self.checkpoint(record)
        yield from self.end(record)
        record.end_s = self.env.now
        if self.due(step, schedule.validate_every_steps):
            record.testing_s = yield from self.validate(step)
        record.logged_s = self.env.now

    def warm_kernels(self, record: StepRecord) -> Process:
        """The extra work of step 1, in no timer but the step's."""
        if record.step == 1:
            yield from self.work("other", self.scenario.trainer.first_step_extra_s)

    def sample(self, record: StepRecord, count: int) -> Waiting[tuple[list[PromptGroup], float]]:
        """Wait until `count` groups are finished, looking every poll interval; give the oldest and the seconds it took."""
        begin_s = self.env.now
        record.ready.append(len(self.store))
        yield from self.wait_for(record, count)
        if self.scenario.rollout.fetch_s:
            self.show_waiting()
            yield from self.fetch()
        wait_s = self.env.now - begin_s
        record.add("gen", wait_s)
        return self.store.take(count), wait_s

    def wait_for(self, record: StepRecord, count: int) -> Process:
        """Wait until `count` groups are finished; meanwhile drop those that are too stale to train (strategy drop)."""
        interval_s = self.scenario.rollout.poll_interval_s
        while True:
            self._evict(record)
            if len(self.store) >= count:
                return
            self.show_waiting()
            if interval_s:
                self.polls.append(Poll(self.env.now, self.rollouter.counts()))
                yield self.env.timeout(interval_s)
            else:
                yield self.store.changed()

    def show_waiting(self) -> None:
        """The Trainer waits for samples."""
        self.set_idle(self.trainer_lanes, "samples")

    def _evict(self, record: StepRecord) -> None:
        """Hand out a new prompt for every finished group that is dropped for its age."""
        stale = self.store.drop_older_than(self.version - self.scenario.sync.max_off_policy_threshold)
        if stale:
            record.evicted += len(stale)
            self.evicted_tokens += sum(group.tokens for group in stale)
            self.submit(len(stale))
