"""One inference engine with continuous batching, exact and fast.

All running sequences of a replica decode at the same rate, which falls with their number. So a replica counts decoded
tokens once for all of them (`_decoded`, what a sequence that runs since the beginning would have); a sequence of n tokens
that starts when the count is d ends when it is d + n. A heap of these ends gives the next moment at which anything changes,
and between two such moments the rate is constant. One event a finished sequence is all that the simulation needs.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable

import simpy

from rlreport.simulator.scenario import RolloutSpeed
from rlreport.simulator.spans import IdleCause, Lane
from rlreport.simulator.workload import PromptGroup, Trajectory

GENERATE = "generate"


def decode_rates(speed: RolloutSpeed) -> list[float]:
    """Tokens/s of one sequence by the number of running sequences; index 0 is unused.

    rate(c) = single / (1 + (c - 1) / half): a decoding step takes a constant time for the weights plus a time for every
    sequence, so the sum over all sequences saturates at single x half.
    """
    half = speed.half_rate_sequences
    slowing = 0.0 if half is None else 1.0 / half
    return [0.0] + [speed.decode_tokens_per_s / (1.0 + (c - 1) * slowing) for c in range(1, speed.max_sequences + 1)]


class Replica:
    """A replica on a lane: sequences wait in order of arrival, up to `max_sequences` run.

    `when_idle` is why the lane is idle when nothing runs; `on_started` is called for every prompt group of which the first
    response begins here, `on_finished` with every group whose last response ended here.
    """

    def __init__(
        self,
        env: simpy.Environment,
        lane: Lane,
        speed: RolloutSpeed,
        when_idle: IdleCause,
        on_started: Callable[[], None],
        on_finished: Callable[[PromptGroup], None],
    ) -> None:
        self.lane = lane
        self._env = env
        self._rates = decode_rates(speed)
        self._limit = speed.max_sequences
        self._prefill = 0.0 if speed.prefill_speedup is None else 1.0 / speed.prefill_speedup
        self._when_idle = when_idle
        self._on_started = on_started
        self._on_finished = on_finished
        self._waiting: deque[Trajectory] = deque()
        self._running: list[tuple[float, int, Trajectory]] = []
        self._arrivals = 0
        self._decoded = 0.0
        self._since_s = 0.0
        self._factor = 1.0
        self._version = 0
        self._paused = False
        self._busy = False
        self._alarm: simpy.Event | None = None

    @property
    def in_flight(self) -> int:
        """Sequences that wait or run here."""
        return len(self._waiting) + len(self._running)

    def enqueue(self, trajectories: Iterable[Trajectory]) -> None:
        """Hand over sequences to generate."""
        self._advance()
        self._waiting.extend(trajectories)
        self._continue()

    def set_factor(self, factor: float) -> None:
        """The noise of the decoding rate: from now on every rate is multiplied by this."""
        self._advance()
        self._factor = factor
        self._continue()

    def pause(self) -> None:
        """Stop decoding; running sequences keep what they have (verl's partial rollout)."""
        self._advance()
        self._paused = True
        self._busy = False
        self._alarm = None

    def resume(self, version: int) -> None:
        """Go on with the weights of this version; running sequences first read again what they have."""
        self._since_s = self._env.now
        self._paused = False
        self._version = version
        if self._prefill and self._running:
            self._running = [(end + self._reread(end, t), n, t) for end, n, t in self._running]
            heapq.heapify(self._running)
        self._continue()

    def _reread(self, end: float, trajectory: Trajectory) -> float:
        have = trajectory.group.prompt_tokens + max(0.0, trajectory.response_tokens - (end - self._decoded))
        return have * self._prefill

    def _advance(self) -> None:
        """Bring the count of decoded tokens up to now."""
        now = self._env.now
        if self._running and not self._paused:
            self._decoded += (now - self._since_s) * self._rates[len(self._running)] * self._factor
        self._since_s = now

    def _continue(self) -> None:
        """Fill free slots and set the alarm for the next end of a sequence."""
        if self._paused:
            return
        running = self._running
        while self._waiting and len(running) < self._limit:
            self._start(self._waiting.popleft())
        if not running:
            self._decoded = 0.0
            self._alarm = None
            self._busy = False
            self.lane.idle(self._env.now, self._when_idle)
            return
        if not self._busy:
            self._busy = True
            self.lane.work(self._env.now, GENERATE)
        seconds = (running[0][0] - self._decoded) / (self._rates[len(running)] * self._factor)
        self._alarm = simpy.Timeout(self._env, seconds if seconds > 0.0 else 0.0)
        self._alarm.callbacks.append(self._on_alarm)

    def _start(self, trajectory: Trajectory) -> None:
        group = trajectory.group
        if not group.started:
            group.started = True
            self._on_started()
        group.first_versions[trajectory.index] = self._version
        end = self._decoded + trajectory.response_tokens + group.prompt_tokens * self._prefill
        heapq.heappush(self._running, (end, self._arrivals, trajectory))
        self._arrivals += 1

    def _on_alarm(self, alarm: simpy.Event) -> None:
        if alarm is not self._alarm:
            return
        running = self._running
        now_decoded = running[0][0]
        finished = [heapq.heappop(running)[2]]
        while running and running[0][0] <= now_decoded:
            finished.append(heapq.heappop(running)[2])
        self._decoded = now_decoded
        self._since_s = self._env.now
        self._continue()
        for trajectory in finished:
            group = trajectory.group
            group.last_versions[trajectory.index] = self._version
            group.unfinished -= 1
            if not group.unfinished:
                self._on_finished(group)
