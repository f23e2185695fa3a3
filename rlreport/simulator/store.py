"""Where finished samples wait for the Trainer: the replay buffer of V1, the message queue of fully_async."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Protocol

import simpy

from rlreport.simulator.workload import PromptGroup


class Store(Protocol):
    """Finished prompt groups that no step has taken."""

    def __len__(self) -> int: ...

    def put(self, group: PromptGroup) -> None:
        """Add a finished group and wake whoever waits for a change."""
        ...

    def take(self, count: int) -> list[PromptGroup]:
        """Remove the next `count` groups; there must be as many."""
        ...

    def changed(self) -> simpy.Event:
        """The event of the next `put`."""
        ...

    def groups(self) -> list[PromptGroup]:
        """What is in the store, in the order in which it would be taken."""
        ...


class SampleStore:
    """Oldest prompts first (verl's replay buffer prefers samples of older versions)."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._ready: list[tuple[int, int, PromptGroup]] = []
        self._changed = env.event()

    def __len__(self) -> int:
        return len(self._ready)

    def put(self, group: PromptGroup) -> None:
        """Add a finished group and wake whoever waits for a change."""
        heapq.heappush(self._ready, (group.submitted_version, group.number, group))
        changed, self._changed = self._changed, self._env.event()
        changed.succeed()

    def take(self, count: int) -> list[PromptGroup]:
        """Remove the oldest `count` groups; there must be as many."""
        return [heapq.heappop(self._ready)[2] for _ in range(count)]

    def drop_older_than(self, version: int) -> list[PromptGroup]:
        """Remove every group that holds a token of an older version than this."""
        if version <= 0:
            return []
        stale = [item for item in self._ready if item[0] < version and min(item[2].first_versions) < version]
        for item in stale:
            self._ready.remove(item)
        heapq.heapify(self._ready)
        return [item[2] for item in stale]

    def changed(self) -> simpy.Event:
        """The event of the next `put`."""
        return self._changed

    def groups(self) -> list[PromptGroup]:
        """What is in the store, oldest first."""
        return [item[2] for item in sorted(self._ready)]


class MessageQueue:
    """First in, first out; a full queue drops its oldest sample for a new one, and tells `on_dropped`.

    Source: verl/experimental/fully_async_policy/message_queue.py. `history` has the time, the samples produced so far and
    the length at every put.
    """

    def __init__(self, env: simpy.Environment, max_size: int) -> None:
        self.on_dropped: Callable[[PromptGroup], None] | None = None
        self._env = env
        self._max_size = max_size
        self._queue: deque[PromptGroup] = deque()
        self._changed = env.event()
        self.history: list[tuple[float, int, int]] = []
        self.produced = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, group: PromptGroup) -> None:
        """Add a finished group and wake whoever waits for a change."""
        if len(self._queue) >= self._max_size:
            oldest = self._queue.popleft()
            self.dropped += 1
            if self.on_dropped is not None:
                self.on_dropped(oldest)
        self._queue.append(group)
        self.produced += 1
        self.history.append((self._env.now, self.produced, len(self._queue)))
        changed, self._changed = self._changed, self._env.event()
        changed.succeed()

    def take(self, count: int) -> list[PromptGroup]:
        """Remove the first `count` groups; there must be as many."""
        return [self._queue.popleft() for _ in range(count)]

    def changed(self) -> simpy.Event:
        """The event of the next `put`."""
        return self._changed

    def groups(self) -> list[PromptGroup]:
        """What is in the queue, first in first."""
        return list(self._queue)
