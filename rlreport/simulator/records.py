"""What a simulation hands to its writers: steps, validations, polls and lanes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlreport.simulator.rollouter import Counts
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import Lane
from rlreport.simulator.workload import PromptGroup

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MiniBatch:
    """One optimiser update; the arrays have one entry a trajectory, in order of the groups.

    `tokens` counts prompt and response tokens of all trajectories, as verl's `perf/total_num_tokens` does; `wait_s` is how
    long the Trainer waited for these samples (in sync mode: for its share of the batch).
    """

    tokens: int
    prompt_tokens: IntArray
    response_tokens: IntArray
    first_version: IntArray
    last_version: IntArray
    wait_s: float
    micro_batches: int
    log_prob_s: float
    advantage_s: float
    update_s: float

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
    ) -> MiniBatch:
        """Take what the writers need from the groups, which are then forgotten."""
        samples = len(groups[0].response_tokens)
        return cls(
            tokens=sum(group.tokens for group in groups),
            prompt_tokens=np.repeat(np.array([group.prompt_tokens for group in groups], dtype=np.int64), samples),
            response_tokens=_joined([group.response_tokens for group in groups]),
            first_version=_joined([group.first_versions for group in groups]),
            last_version=_joined([group.last_versions for group in groups]),
            wait_s=wait_s,
            micro_batches=micro_batches,
            log_prob_s=log_prob_s,
            advantage_s=advantage_s,
            update_s=update_s,
        )


def _joined(parts: list[list[int]]) -> IntArray:
    return np.concatenate([np.array(part, dtype=np.int64) for part in parts])


@dataclass(slots=True)
class StepRecord:
    """One training step. `seconds` are its timers by verl's name without `timing_s/`, in the order in which they ran.

    `begin_s` to `end_s` is what `timing_s/step` measures; `testing_s` comes after it; `logged_s` is when the line appears.
    `ready` are the groups in the store whenever the Trainer asked for a mini-batch; `evicted` counts groups dropped for
    their age.
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
class Poll:
    """The Trainer looked for finished samples and had to wait."""

    at_s: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that happened, in simulated seconds since the start of the run.

    `training_begins_s` is when step 1 begins and the progress bar starts; `initial_validation_s` when a validation before
    training ended, None without one. `left_over` are groups that were finished, `unfinished` those that were not, at the
    end.
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
