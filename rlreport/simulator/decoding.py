"""The clock of the replicas: the ends of sequences in order of time, without an event of the simulation for each.

Most ends concern nobody but their replica: a slot becomes free, the rate of the others rises. Only the last response of a
prompt is an event for the rest of the pipeline. So the ends are kept in a heap of their own and worked off in order, up to
the next event of the simulation, and the simulation is told when a prompt is finished. This is exact, since nothing can act
on a replica between two events, and it saves most of them. An end at the very time of an event comes after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from heapq import heappop, heappush, heapreplace
from typing import Any, Protocol

import simpy

from rlreport.simulator.workload import PromptGroup


class Decoder(Protocol):
    """What the clock knows of a replica: the number of its alarm, 0 for none, and how long until its next sequence ends."""

    alarm: int
    delay_s: float | None

    def complete(self, now_s: float) -> PromptGroup | None:
        """The next sequence ends now; gives its prompt when this was the last of it."""
        ...


class DecodingClock:
    """Calls `on_finished` with every prompt at the moment when its last response ended."""

    def __init__(self, env: simpy.Environment, on_finished: Callable[[PromptGroup], None]) -> None:
        self._env = env
        self._on_finished = on_finished
        self._alarms: list[tuple[float, int, Decoder]] = []
        self._set = 0
        env.process(self._run())

    @property
    def event_s(self) -> float:
        """The time of the event that acts on a replica."""
        return self._env.now

    def set_alarm(self, decoder: Decoder, now_s: float) -> None:
        """At this event the next end of a replica changed: its earlier alarm is void."""
        delay_s = decoder.delay_s
        if delay_s is None:
            decoder.alarm = 0
        else:
            self._set = decoder.alarm = self._set + 1
            heappush(self._alarms, (now_s + delay_s, self._set, decoder))

    def _run(self) -> Generator[simpy.Event, Any, None]:
        env = self._env
        while True:
            horizon_s = env.peek()
            finished = self._work_off(horizon_s)
            if finished:
                yield env.timeout(max(0.0, finished.finished_s - env.now))
                self._on_finished(finished)
            elif math.isinf(horizon_s):
                return
            else:
                yield env.timeout(horizon_s - env.now)

    def _work_off(self, horizon_s: float) -> PromptGroup | None:
        """Ends before the horizon, until a prompt is finished; gives that prompt."""
        alarms = self._alarms
        while alarms:
            at_s, number, decoder = alarms[0]
            if number != decoder.alarm:
                heappop(alarms)
            elif at_s >= horizon_s:
                break
            else:
                finished = decoder.complete(at_s)
                delay_s = decoder.delay_s
                if delay_s is None:
                    decoder.alarm = 0
                    heappop(alarms)
                else:
                    self._set = decoder.alarm = number = self._set + 1
                    heapreplace(alarms, (at_s + delay_s, number, decoder))
                if finished:
                    return finished
        return None
