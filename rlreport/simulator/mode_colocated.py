"""sync and colocate_async: the Trainer's devices generate and train in turns.

Source: verl/trainer/ppo/v1/trainer_sync.py, trainer_colocate_async.py. A step of sync generates its own batch to the end. In
colocate_async warm-up batches are ahead: as soon as a batch is finished, the rest is aborted, keeps what it has, and goes on
after the weight sync.
"""

from __future__ import annotations

from rlreport.run.spans import IdleCause
from rlreport.simulator.records import StepRecord
from rlreport.simulator.training import Process
from rlreport.simulator.v1_training import V1Training


class ColocatedTraining(V1Training):
    """One batch a step on one set of devices. `gen` is generation, abort and sleep."""

    when_idle: IdleCause = "long_tail"

    def start(self) -> None:
        """The engines are awake; nobody waits for them yet."""
        self.rollouter.resume(self.version)

    def body(self, record: StepRecord) -> Process:
        """Generate until a batch is finished, put the engines to sleep, train."""
        groups, wait_s = yield from self.sample(record, self.scenario.workload.prompts_per_step)
        self.rollouter.pause()
        sleep_s = yield from self.pass_time(self.lanes, "switching", self.scenario.hybrid.to_trainer_s)
        record.add("gen", sleep_s)
        yield from self.warm_kernels(record)
        yield from self.learn(record, self.mini_batches(groups), wait_s + sleep_s)

    def show_waiting(self) -> None:
        """The devices that would wait are those that generate."""
