"""separate_async: the Trainer updates once a mini-batch while Rollouters on devices of their own generate.

Source: verl/trainer/ppo/v1/trainer_separate_async.py. The Trainer's devices carry hybrid engines. With `hybrid.validates`
they take part in validations, as they always do in verl; with `hybrid.enable_switch` they also help to generate at the begin
of a step until enough samples are finished. In both cases they are lent after start-up too, and taken back in the next step.
"""

from __future__ import annotations

from rlreport.simulator.records import StepRecord, Validation
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.switching import SwitchPolicy
from rlreport.simulator.training import Process, Waiting
from rlreport.simulator.v1_training import V1Training


class SeparateAsyncTraining(V1Training):
    """`lent`: the Trainer's devices belong to the Rollouters."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.policy = SwitchPolicy(scenario) if scenario.hybrid.enable_switch else None
        self.lent = scenario.hybrid_replicas > 0
        for replica in self.rollouter.hybrid:
            replica.set_idle_cause("samples")

    def start(self) -> None:
        """Both kinds of engines are awake."""
        super().start()
        if self.policy:
            self.rollouter.join()
            self.rollouter.resume_hybrid(self.version)

    def begin(self, record: StepRecord) -> Process:
        """Take the devices back: at once, or when the threshold of the switch is reached."""
        yield from self.warm_kernels(record)
        threshold = 0
        if self.policy:
            record.add("switch_wait", 0.0)
            threshold = self.policy.begin()
        if self.lent and len(self.store) >= threshold:
            yield from self._take_back(record)
        self.submit(self.scenario.workload.prompts_per_step)
        if self.lent:
            begin_s = self.env.now
            yield from self.wait_for(record, threshold)
            record.add("switch_wait", self.env.now - begin_s)
            yield from self._take_back(record)

    def show_waiting(self) -> None:
        """While they are lent, the devices that would wait generate."""
        if not self.lent:
            super().show_waiting()

    def body(self, record: StepRecord) -> Process:
        """Sample and update, one mini-batch after the other."""
        size = self.scenario.trainer.mini_batch_prompts
        for _ in range(self.scenario.updates_per_step):
            missing = size - len(self.store)
            groups, wait_s = yield from self.sample(record, size)
            if self.policy:
                self.policy.waited(wait_s, missing)
            yield from self.learn(record, [groups], wait_s)

    def end(self, record: StepRecord) -> Process:
        """Decide whether the Trainer's devices help in the next step, then sync weights."""
        if not self.policy:
            yield from super().end(record)
            return
        record.switch = self.policy.decide(record.step, len(self.store))
        lend = record.switch.should_switch_to_rollout
        if lend:
            record.add("switch_to_rollout", 0.0)
            self.rollouter.pause()
            self.rollouter.join()
        yield from super().end(record)
        if lend:
            record.add("switch_to_rollout", (yield from self._lend()))

    def validate(self, version: int) -> Waiting[float]:
        """Validate on all engines; without hybrid ones the Trainer waits."""
        if not self.scenario.hybrid.validates:
            return (yield from self._validate_alone(version))
        begin_s, switch_s = self.env.now, 0.0
        if not self.lent:
            self.rollouter.pause()
            self.rollouter.join()
            self.rollouter.resume(self.version)
            switch_s = yield from self._lend()
        replicas, hybrid = self.scenario.replicas, self.scenario.hybrid_replicas
        yield from self.answer(replicas / (replicas + hybrid), self.trainer_lanes)
        self.set_idle(self.trainer_lanes, "samples")
        self.rollouter.resume_hybrid(self.version)
        self.validations.append(Validation(version, begin_s, self.env.now, True, switch_s))
        return self.env.now - begin_s

    def _validate_alone(self, version: int) -> Waiting[float]:
        seconds = yield from super().validate(version)
        if self.lent:
            self.set_idle(self.trainer_lanes, "samples")
            self.rollouter.resume_hybrid(self.version)
        return seconds

    def _lend(self) -> Waiting[float]:
        """The Trainer's devices load the weights and wake their engines. Gives the seconds."""
        seconds = yield from self.pass_time(self.trainer_lanes, "switching", self.scenario.hybrid.to_rollout_s)
        self.lent = True
        self.set_idle(self.trainer_lanes, "samples")
        self.rollouter.resume_hybrid(self.version)
        if self.policy:
            self.policy.to_rollout_s.append(seconds)
        return seconds

    def _take_back(self, record: StepRecord) -> Process:
        """The engines on the Trainer's devices stop; the others go on with what these had."""
        self.rollouter.leave()
        self.lent = False
        seconds = yield from self.pass_time(self.trainer_lanes, "switching", self.scenario.hybrid.to_trainer_s)
        record.add("switch_to_trainer", seconds)
        if self.policy:
            self.policy.to_trainer_s.append(seconds)
