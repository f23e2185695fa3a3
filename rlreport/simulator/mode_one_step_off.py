"""one_step_off: while the Trainer trains a batch, the Rollouters generate the next one with the weights from before.

Source: verl/experimental/one_step_off_policy/ray_trainer.py (`fit_step`, `_fit_generate`): wait for the batch that is being
generated (`gen`), sync weights (`sync_rollout_weights`), start the next generation, train. Validation and checkpoint come
after the step's timer. The weights of a sync have been trained one step less than the step that follows it; so a batch is
always one step stale, except for the first.
"""

from __future__ import annotations

from rlreport.simulator.scenario import Scenario
from rlreport.simulator.training import Process, Training
from rlreport.simulator.workload import PromptGroup


class OneStepOffTraining(Training):
    """Exactly one batch ahead. A replica that is done waits for the longest response, then for the next batch."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.rollouter.on_finished = self._finished

    def train(self) -> Process:
        """One step after the other."""
        self._generate()
        for step in range(1, self.scenario.steps + 1):
            self.draw_noise()
            yield from self._step(step)

    def _step(self, step: int) -> Process:
        schedule = self.scenario.schedule
        record = self.begin_step(step)
        if step == 1:
            yield from self.work("other", self.scenario.trainer.first_step_extra_s)
        begin_s = self.env.now
        record.ready.append(len(self.store))
        batch = self.scenario.workload.prompts_per_step
        self.set_idle(self.trainer_lanes, "samples")
        while len(self.store) < batch:
            yield self.store.changed()
        yield from self.fetch()
        wait_s = self.env.now - begin_s
        record.add("gen", wait_s)
        groups = self.store.take(batch)
        record.nested["generate_async"] = max(group.finished_s for group in groups) - groups[0].submitted_s
        sync_s = yield from self.send_weights(step - 1)
        self.rollouter.resume(self.version)
        record.add("sync_rollout_weights", sync_s)
        record.nested["update_weights"] = sync_s
        if step < self.scenario.steps:
            self._generate()
        yield from self.learn(record, self.mini_batches(groups), wait_s)
        record.end_s = self.env.now
        if self.due(step, schedule.validate_every_steps):
            record.testing_s = yield from self.validate(step)
        if self.due(step, schedule.checkpoint_every_steps):
            yield from self.checkpoint(record)
        record.logged_s = self.env.now

    def _generate(self) -> None:
        self.rollouter.set_idle_cause("long_tail")
        self.submit(self.scenario.workload.prompts_per_step)

    def _finished(self, _: PromptGroup) -> None:
        if not self.rollouter.active:
            self.rollouter.set_idle_cause("quota")
