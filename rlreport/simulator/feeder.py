"""The Rollouter's side of fully_async: hands out one prompt after the other, as far as the staleness quota allows.

Source: verl/experimental/fully_async_policy/fully_async_rollouter.py (`_processor_worker`, `_should_pause_generation`,
`reset_staleness`, `_async_monitor_loop`). Every prompt that is taken counts as stale until the next weight sync sets the
count to what is in generation and in the queue. At `max_required_samples` the Rollouter pauses until that sync. It also
pauses at a full queue, and looks every ten seconds whether there is room again.

The queue is as long as the quota, so it hardly ever fills first. It can: a prompt that was taken and waits for a free slot
during a weight sync is not counted after it (verl forgets it too), so one sample more may be out than the quota says. A
sample that a full queue drops is made up for by a new prompt; verl would end the run short of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

import simpy

from rlreport.run.spans import IdleCause
from rlreport.simulator.async_events import PauseFacts, PauseReason, VersionFacts
from rlreport.simulator.quotas import FullyAsyncQuota
from rlreport.simulator.rollouter import Rollouter
from rlreport.simulator.store import MessageQueue
from rlreport.simulator.workload import PromptGroup, RolloutStatus

#: The monitor looks this often whether a pause is over.
MONITOR_INTERVAL_S = 10.0

_PAUSE_CAUSES: Mapping[PauseReason, IdleCause] = {"staleness": "quota", "queue_full": "queue_full"}


class Feeder:
    """`hand_out` submits one prompt; `total` is how many there are in the whole run."""

    def __init__(
        self,
        env: simpy.Environment,
        quota: FullyAsyncQuota,
        total: int,
        rollouter: Rollouter,
        queue: MessageQueue,
        hand_out: Callable[[], None],
    ) -> None:
        self._env = env
        self._quota = quota
        self._left = total
        self._rollouter = rollouter
        self._queue = queue
        self._hand_out = hand_out
        self._held = False
        self._blocked = True
        self._generated_before = 0
        self._drained_s: float | None = None
        self._drained = env.event()
        self._active: list[tuple[float, int, int]] = []
        self.staleness_samples = 0
        self.pauses: list[PauseFacts] = []
        self.versions: list[VersionFacts] = []
        rollouter.on_finished = self._finished

    @property
    def paused(self) -> bool:
        """Whether the quota is used up."""
        return bool(self.pauses) and self.pauses[-1].resumed_s is None

    def block(self) -> None:
        """Hand out nothing until the next reset: a weight sync waits for what runs."""
        self._blocked = True
        self._rollouter.set_idle_cause("long_tail")

    def drained(self) -> simpy.Event:
        """The event of the moment when nothing is in generation."""
        self._drained = self._env.event()
        if not self._rollouter.active:
            self._drained.succeed()
        return self._drained

    def replace_dropped(self) -> None:
        """The queue dropped a sample: one prompt more."""
        self._left += 1
        self._feed()

    def reset(self, version: int, param_sync_s: float) -> None:
        """A weight sync is done: what counts as stale is what is in generation or in the queue, and generation goes on."""
        self._end_pause()
        self.staleness_samples = self._rollouter.active + len(self._queue)
        self._note()
        self.versions.append(
            VersionFacts(
                version=version,
                at_s=self._env.now,
                param_sync_s=param_sync_s,
                staleness_samples=self.staleness_samples,
                generated=self._queue.produced - self._generated_before,
                drained_s=self._drained_s,
                active=tuple(self._active),
            )
        )
        self._generated_before = self._queue.produced
        self._drained_s = None
        self._active.clear()
        self._note()
        self._blocked = False
        self._rollouter.set_idle_cause("long_tail")
        self._feed()

    def _feed(self) -> None:
        """Take prompts and hand them out while the quota and the concurrency allow."""
        while not self._blocked and not self.paused:
            if not self._held:
                reason = self._reason_to_pause()
                if reason:
                    self._pause(*reason)
                    return
                if not self._left:
                    self._rollouter.set_idle_cause("quota")
                    return
                self._left -= 1
                self._held = True
                self.staleness_samples += 1
            if self._rollouter.active >= self._quota.max_concurrent_samples:
                return
            self._held = False
            self._hand_out()
            self._note()

    def _reason_to_pause(self) -> tuple[PauseReason, int, int] | None:
        queued = len(self._queue)
        if queued >= self._quota.max_queue_size:
            return "queue_full", queued, self._quota.max_queue_size
        if self.staleness_samples >= self._quota.max_required_samples:
            return "staleness", self.staleness_samples, self._quota.max_required_samples
        return None

    def _pause(self, reason: PauseReason, value: int, limit: int) -> None:
        self.pauses.append(PauseFacts(self._env.now, reason, value, limit, None, self._rollouter.active))
        self._rollouter.set_idle_cause(_PAUSE_CAUSES[reason])
        if not self._rollouter.active:
            self._drained_s = self._env.now
        if reason == "queue_full":
            self._env.process(self._monitor(len(self.pauses)))

    def _end_pause(self) -> None:
        if self.paused:
            self.pauses[-1] = replace(self.pauses[-1], resumed_s=self._env.now, left=self._rollouter.active)

    def _monitor(self, pause: int) -> Generator[simpy.Event, Any, None]:
        """Ends a pause by itself when its reason is gone."""
        while True:
            yield self._env.timeout(MONITOR_INTERVAL_S - self._env.now % MONITOR_INTERVAL_S)
            if len(self.pauses) != pause or not self.paused:
                return
            if self._reason_to_pause() is None:
                self._end_pause()
                self._rollouter.set_idle_cause("long_tail")
                self._feed()
                return

    def _finished(self, group: PromptGroup) -> None:
        """A sample is done and in the queue; verl counts right before that."""
        active, queue = self._rollouter.active, self._queue
        group.status = RolloutStatus(active + 1, self.staleness_samples, len(queue) - 1, queue.produced - 1, queue.dropped)
        self._note()
        if not active:
            if self.paused:
                self._drained_s = self._env.now
            if not self._drained.triggered:
                self._drained.succeed()
        self._feed()

    def _note(self) -> None:
        self._active.append((self._env.now, self._rollouter.active, self._quota.max_concurrent_samples))
