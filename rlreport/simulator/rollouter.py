"""The Rollouters: all replicas, a load balancer before them, and the store of finished samples behind them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

import simpy

from rlreport.run.spans import IdleCause
from rlreport.simulator.decoding import DecodingClock
from rlreport.simulator.records import Counts
from rlreport.simulator.replica import Replica
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import Lane
from rlreport.simulator.store import Store
from rlreport.simulator.workload import PromptGroup, Trajectory, trajectories


class Rollouter:
    """Replicas that generate what is submitted; finished groups go to `store`.

    `lanes` gives every replica its devices, in order; `hybrid_lanes` those of the replicas on the Trainer's devices, which
    take part from `join` to `leave` only. `when_idle` is why a replica without work idles. `on_finished`, if set, is
    called with every finished group when it is in the store.
    """

    def __init__(
        self,
        env: simpy.Environment,
        scenario: Scenario,
        lanes: Sequence[Lane],
        store: Store,
        when_idle: IdleCause,
        hybrid_lanes: Sequence[Lane] = (),
    ) -> None:
        self.store = store
        self.on_finished: Callable[[PromptGroup], None] | None = None
        self._bundle = scenario.rollout.bundle

        clock = DecodingClock(env, self._finish)

        def replica(lane: Lane) -> Replica:
            return Replica(clock, lane, scenario.rollout, when_idle, self._start)

        self.standalone = [replica(lane) for lane in lanes]
        self.hybrid = [replica(lane) for lane in hybrid_lanes]
        for lent in self.hybrid:
            lent.pause()
        self._routed = list(self.standalone)
        self._unfinished: dict[int, PromptGroup] = {}
        self._running = 0

    @property
    def replicas(self) -> list[Replica]:
        """All replicas, those on the Trainer's devices first, as verl numbers them."""
        return self.hybrid + self.standalone

    def submit(self, groups: Sequence[PromptGroup]) -> None:
        """Hand prompts out."""
        bundles: list[Trajectory] = []
        for group in groups:
            self._unfinished[group.number] = group
            bundles.extend(trajectories(group, self._bundle))
        self._route(bundles)

    def _route(self, bundles: Iterable[Trajectory]) -> None:
        """Every response goes to the replica with the fewest requests in flight.

        Source: the global load balancer of verl/workers/rollout/llm_server.py.
        """
        loads = [(replica.in_flight, index) for index, replica in enumerate(self._routed)]
        heapq.heapify(loads)
        share: list[list[Trajectory]] = [[] for _ in self._routed]
        for bundle in bundles:
            load, index = loads[0]
            share[index].append(bundle)
            heapq.heapreplace(loads, (load + 1, index))
        for index, given in enumerate(share):
            if given:
                self._routed[index].enqueue(given)

    def join(self) -> None:
        """The Trainer's devices take part from now on: what is in flight is spread again over all replicas.

        The replicas on the Trainer's devices hold their share until `resume_hybrid`. Source: PPOTrainerSeparateAsync
        (`on_step_end`): replicas are added to the load balancer, requests are aborted for the weight sync and routed anew.
        """
        self._routed = self.replicas
        self._route([bundle for replica in self.standalone for bundle in replica.evacuate()])

    def resume_hybrid(self, version: int) -> None:
        """The replicas on the Trainer's devices have the weights of this version and begin to generate."""
        for replica in self.hybrid:
            replica.resume(version)

    def leave(self) -> None:
        """The Trainer's devices take part no more; the others go on with what these had, from where it was."""
        self._routed = list(self.standalone)
        for replica in self.hybrid:
            replica.pause()
        self._route([bundle for replica in self.hybrid for bundle in replica.evacuate()])

    def set_factor(self, factor: float) -> None:
        """The noise of the decoding rate, one factor for all replicas."""
        for replica in self.replicas:
            replica.set_factor(factor)

    def set_idle_cause(self, cause: IdleCause) -> None:
        """Why the Rollouters' own replicas idle from now on when they have nothing to do."""
        for replica in self.standalone:
            replica.set_idle_cause(cause)

    def pause(self) -> None:
        """Stop decoding on all replicas that take part."""
        for replica in self._routed:
            replica.pause()

    def resume(self, version: int) -> None:
        """Go on decoding, with the weights of this version, on the Rollouters' own replicas."""
        for replica in self.standalone:
            replica.resume(version)

    @property
    def active(self) -> int:
        """Prompts that are handed out and not finished."""
        return len(self._unfinished)

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
        if self.on_finished is not None:
            self.on_finished(group)
