"""The Rollouters: all replicas, a load balancer before them, and the store of finished samples behind them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import simpy

from rlreport.simulator.replica import Replica
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import IdleCause, Lane
from rlreport.simulator.workload import PromptGroup, Trajectory


class SampleStore:
    """Finished prompt groups, oldest prompts first (verl's replay buffer prefers samples of older versions)."""

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


@dataclass(frozen=True, slots=True)
class Counts:
    """Prompts by state, as the replay buffer's poll line counts them."""

    pending: int
    running: int
    finished: int


class Rollouter:
    """Replicas that generate what is submitted. `lanes` gives every replica its devices, in order."""

    def __init__(self, env: simpy.Environment, scenario: Scenario, lanes: Sequence[Lane]) -> None:
        self._env = env
        self.store = SampleStore(env)
        when_idle: IdleCause = "long_tail" if scenario.mode == "sync" else "quota"
        self.replicas = [Replica(env, lane, scenario.rollout, when_idle, self._start, self._finish) for lane in lanes]
        self._unfinished: dict[int, PromptGroup] = {}
        self._running = 0

    def submit(self, groups: Sequence[PromptGroup]) -> None:
        """Hand prompts out: every response goes to the replica with the fewest requests in flight.

        Source: the global load balancer of verl/workers/rollout/llm_server.py.
        """
        loads = [(replica.in_flight, index) for index, replica in enumerate(self.replicas)]
        heapq.heapify(loads)
        share: list[list[Trajectory]] = [[] for _ in self.replicas]
        for group in groups:
            self._unfinished[group.number] = group
            for position, tokens in enumerate(group.response_tokens):
                load, index = loads[0]
                share[index].append(Trajectory(group, position, tokens))
                heapq.heapreplace(loads, (load + 1, index))
        for replica, trajectories in zip(self.replicas, share, strict=True):
            if trajectories:
                replica.enqueue(trajectories)

    def set_factor(self, factor: float) -> None:
        """The noise of the decoding rate, one factor for all replicas."""
        for replica in self.replicas:
            replica.set_factor(factor)

    def pause(self) -> None:
        """Stop decoding on all replicas."""
        for replica in self.replicas:
            replica.pause()

    def resume(self, version: int) -> None:
        """Go on decoding on all replicas with the weights of this version."""
        for replica in self.replicas:
            replica.resume(version)

    def counts(self) -> Counts:
        """Prompts that nobody started, that run, and that are ready to train."""
        return Counts(len(self._unfinished) - self._running, self._running, len(self.store))

    def unfinished(self) -> list[PromptGroup]:
        """Prompts whose responses are not all generated, in order of submission."""
        return list(self._unfinished.values())

    def _start(self) -> None:
        self._running += 1

    def _finish(self, group: PromptGroup) -> None:
        self._running -= 1
        del self._unfinished[group.number]
        self.store.put(group)
