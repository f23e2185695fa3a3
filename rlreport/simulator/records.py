"""What a simulation hands to its writers: everything that happened, in simulated seconds since the start of the run.

`Simulation` is the only thing that writers read. Where a number of the log is an aggregate (verl sums, averages and shifts
what it logs), the parts stand here and the writer aggregates.

What a `StepRecord` is, by mode, and the timers that its `seconds` hold, in order (verl's names without `timing_s/`; those
with a question mark are absent where the step has none):

* sync, colocate_async: one train batch. gen, old_log_prob, adv, update_actor, save_checkpoint?, update_weights.
* separate_async: one sync cycle of `updates_per_step` mini-batches. switch_to_trainer? and switch_wait? (step switching),
  gen, old_log_prob, adv, update_actor, save_checkpoint?, switch_to_rollout?, update_weights.
* one_step_off: one train batch. gen, sync_rollout_weights, old_log_prob, adv, update_actor, save_checkpoint?.
* fully_async: one *round* of `require_batches` mini-batches; `rounds_per_step` rounds make a parameter version. gen,
  old_log_prob, adv, update_actor, param_sync? (the last round of a version), save_checkpoint?.

`seconds` add up to `step_s`, with two exceptions: the first step's extra work is in no timer, and save_checkpoint of
one_step_off and fully_async comes after the step. Validation (`testing_s`) always comes after the step, before that
checkpoint. `nested` holds timers that lie within others or beside the step and add nothing: `generate_async` (how long the
batch of a one_step_off step was generated, in the step before) and `update_weights` (within `sync_rollout_weights`).

A *parameter version* says how many steps the weights of the replicas have been trained (in fully_async: how many versions,
as `current_param_version`). The Trainer of step k trains on samples of version k - 1 when they are fresh; a sample of
version v is k - 1 - v steps stale. In fully_async a sample is `record.version - v` versions stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlreport.simulator.async_events import AsyncFacts
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import Lane
from rlreport.simulator.workload import PromptGroup

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MiniBatch:
    """One optimiser update; the arrays have one entry a trajectory, in order of the groups.

    `tokens` counts prompt and response tokens of all trajectories, as verl's `perf/total_num_tokens` does; `wait_s` is how
    long the Trainer waited for these samples (where it waits for several mini-batches at once: its share). `first_version`
    and `last_version` are the parameter versions that decoded a trajectory's first and last token; `submitted_s` and
    `finished_s` when it was handed out and when its last token was decoded; `taken_s` when the Trainer had its samples.
    """

    tokens: int
    prompt_tokens: IntArray
    response_tokens: IntArray
    first_version: IntArray
    last_version: IntArray
    submitted_s: FloatArray
    finished_s: FloatArray
    wait_s: float
    micro_batches: int
    log_prob_s: float
    advantage_s: float
    update_s: float
    taken_s: float = 0.0

    @property
    def generation_s(self) -> FloatArray:
        """Seconds from submission to the end of every trajectory."""
        return self.finished_s - self.submitted_s

    @classmethod
    def of(
        cls,
        groups: list[PromptGroup],
        *,
        wait_s: float,
        micro_batches: int,
        log_prob_s: float,
        advantage_s: float,
        update_s: float,
        taken_s: float,
    ) -> MiniBatch:
        """Take what the writers need from the groups, which are then forgotten."""
        samples = len(groups[0].response_tokens)
        return cls(
            tokens=sum(group.tokens for group in groups),
            prompt_tokens=np.repeat(np.array([group.prompt_tokens for group in groups], dtype=np.int64), samples),
            response_tokens=_joined([group.response_tokens for group in groups]),
            first_version=_joined([group.first_versions for group in groups]),
            last_version=_joined([group.last_versions for group in groups]),
            submitted_s=np.repeat(np.array([group.submitted_s for group in groups], dtype=np.float64), samples),
            finished_s=np.concatenate([np.array(group.finished_at, dtype=np.float64) for group in groups]),
            wait_s=wait_s,
            micro_batches=micro_batches,
            log_prob_s=log_prob_s,
            advantage_s=advantage_s,
            update_s=update_s,
            taken_s=taken_s,
        )


def _joined(parts: list[list[int]]) -> IntArray:
    return np.concatenate([np.array(part, dtype=np.int64) for part in parts])


@dataclass(frozen=True, slots=True)
class SwitchDecision:
    """What separate_async with step switching decided at the end of a step (`separate_async/switch/*`, `decision/*`).

    `threshold_ratio` is the ratio that the step used; `wait_samples` the samples that were missing when the Trainer asked,
    summed; `idle` whether it waited longer than a poll; then the decision for the next step: samples that can be trained,
    those that are missing to the threshold, whether the Trainer's devices generate, and the estimates behind it (None until
    they are known).
    """

    threshold_ratio: float
    wait_samples: int
    idle: bool
    sampleable_count: int
    remaining: int
    should_switch_to_rollout: bool
    per_sample_s: float | None
    switch_cost_s: float | None


@dataclass(slots=True)
class StepRecord:
    """One training step; what that is depends on the mode (see the module). Steps count from 1.

    `begin_s` to `end_s` is what `timing_s/step` measures; `logged_s` is when the line appears. `version` is the parameter
    version that the replicas held when the step began. `ready` are the finished groups
    in the store or queue whenever the Trainer asked for samples; `evicted` counts groups dropped for their age.
    """

    step: int
    begin_s: float
    end_s: float = 0.0
    logged_s: float = 0.0
    testing_s: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    batches: list[MiniBatch] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    evicted: int = 0
    version: int = 0
    nested: dict[str, float] = field(default_factory=dict)
    switch: SwitchDecision | None = None

    @property
    def step_s(self) -> float:
        """Seconds of the step."""
        return self.end_s - self.begin_s

    @property
    def tokens(self) -> int:
        """Tokens of all mini-batches."""
        return sum(batch.tokens for batch in self.batches)

    def add(self, timer: str, seconds: float) -> None:
        """Add to a timer; entering it twice sums, as verl's marked_timer does."""
        self.seconds[timer] = self.seconds.get(timer, 0.0) + seconds


@dataclass(frozen=True, slots=True)
class Counts:
    """Prompts by state, as the replay buffer's poll line counts them."""

    pending: int
    running: int
    finished: int


@dataclass(frozen=True, slots=True)
class Poll:
    """The Trainer looked for finished samples and had to wait (V1 modes)."""

    at_s: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class GaugeSample:
    """What a scrape of the engines and of the store would show at one moment.

    `store` are finished groups that no step has taken (replay buffer or message queue), `active` prompts handed out and not
    finished; `running` and `waiting` sequences by replica, in the order of `Lane.replica`.
    """

    at_s: float
    store: int
    active: int
    running: tuple[int, ...]
    waiting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WeightSync:
    """The weights of `version` reached the replicas at `end_s`; `drain_s` of the time waited for running responses."""

    version: int
    begin_s: float
    end_s: float
    drain_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation after step (in fully_async: version) `version`, 0 before training; with `on_trainer` the Trainer helped.

    `begin_s` to `end_s` includes `switch_s`, in which the Trainer's devices turned to generation, and in fully_async back.
    """

    version: int
    begin_s: float
    end_s: float
    on_trainer: bool = False
    switch_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that happened. All times in simulated seconds since the start of the run.

    `lanes` hold the spans of all devices; `steps` the training steps; `polls`, `gauges`, `syncs` and `validations` are in
    order of time. `training_begins_s` is when step 1 begins and the progress bar starts; `initial_validation_s` when a
    validation before training ended, None without one. `left_over` are groups that were finished, `unfinished` those that
    were not, at the end. `async_facts` is what fully_async prints beside its steps, None in the other modes.
    """

    scenario: Scenario
    lanes: tuple[Lane, ...]
    steps: tuple[StepRecord, ...]
    polls: tuple[Poll, ...]
    initial_validation_s: float | None
    training_begins_s: float
    end_s: float
    left_over: tuple[PromptGroup, ...]
    unfinished: tuple[PromptGroup, ...]
    submitted_tokens: int
    evicted_tokens: int
    gauges: tuple[GaugeSample, ...] = ()
    syncs: tuple[WeightSync, ...] = ()
    validations: tuple[Validation, ...] = ()
    async_facts: AsyncFacts | None = None
