"""What a fully async run leaves behind beside its steps, as the writers read it. The model fills it, nothing else does.

A *round* is one pass of the Trainer: it takes `require_batches` mini-batches from the queue and trains on them (verl's
micro-step: `global_steps`). `trigger` rounds make a parameter version. A `StepRecord` of fully async is one round; `records`
says what its timers are.
Source: verl/experimental/fully_async_policy/fully_async_trainer.py (`fit_step`), fully_async_rollouter.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PauseReason = Literal["staleness", "queue_full"]


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """What the Trainer saw in one round, beside its timers.

    `version` is the parameter version that the Trainer held while it trained (0 before the first sync); `collected_s` when
    the last sample was there; `queue_after` the samples left in the queue then, `queue_at_end` those at the end of the
    round. The Rollouter's counters are those at the moment when the first sample of the batch was finished: samples in
    generation, samples counted as stale, samples in the queue, samples generated and samples dropped since the start.
    """

    version: int
    collected_s: float
    queue_after: int
    queue_at_end: int
    active: int
    staleness_samples: int
    queued: int
    generated: int
    dropped: int


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A weight sync: `version` serves from `at_s` on; version 0 is the sync before training.

    `param_sync_s` is how long it took, `staleness_samples` what counts as stale after it (in generation + in the queue),
    `generated` the samples finished since the version before, `drained_s` when the last pause since then had drained
    (None: it never idled), `active` every change of the samples in generation since then as (seconds, active, possible).
    """

    version: int
    at_s: float
    param_sync_s: float
    staleness_samples: int
    generated: int
    drained_s: float | None
    active: tuple[tuple[float, int, int], ...]


@dataclass(frozen=True, slots=True)
class PauseFacts:
    """The Rollouter stopped handing out samples at `at_s`, because `value` had reached `limit`.

    `resumed_s` is when it went on (None: never), `left` how many samples were still in generation then.
    """

    at_s: float
    reason: PauseReason
    value: int
    limit: int
    resumed_s: float | None
    left: int


@dataclass(frozen=True, slots=True)
class ValidationFacts:
    """A validation after `version`, which took `seconds` and ended at `ended_s`; `on_trainer`: hybrid replicas helped."""

    version: int
    ended_s: float
    seconds: float
    on_trainer: bool


@dataclass(frozen=True, slots=True)
class AsyncFacts:
    """All of it, in order of time. `queue` holds (seconds, samples produced so far, samples in the queue) at every put.

    When training has ended, verl syncs once more if validations are due every N versions and the last version is none of
    those (`fit`): then `versions` ends with a second entry of the last version. Without it, the last round of a run is in no
    line of the log.
    """

    rounds: tuple[RoundFacts, ...]
    versions: tuple[VersionFacts, ...]
    pauses: tuple[PauseFacts, ...]
    validations: tuple[ValidationFacts, ...]
    queue: tuple[tuple[float, int, int], ...]
