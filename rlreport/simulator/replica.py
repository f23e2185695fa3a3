"""One inference engine with continuous batching, exact and fast.

All running sequences of a replica decode at the same rate, which falls with their number. So a replica counts decoded
tokens once for all of them (`_decoded`, what a sequence that runs since the beginning would have); a sequence of n tokens
that starts when the count is d ends when it is d + n. A heap of these ends gives the next moment at which anything changes,
and between two such moments the rate is constant. One alarm a finished sequence is all that the model needs.

Where responses are bundled (`rollout.bundle`), a bundle stands for as many sequences, which start and end together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from rlreport.run.spans import IdleCause
from rlreport.simulator.decoding import DecodingClock
from rlreport.simulator.scenario_sections import RolloutSpeed
from rlreport.simulator.spans import Lane
from rlreport.simulator.workload import PromptGroup, Trajectory


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
    response begins here. A paused replica leaves its lane alone: whoever pauses it says what the devices do. `in_flight`
    counts sequences (or bundles) that wait or run here.
    """

    def __init__(
        self,
        clock: DecodingClock,
        lane: Lane,
        speed: RolloutSpeed,
        when_idle: IdleCause,
        on_started: Callable[[], None],
    ) -> None:
        self.lane = lane
        self.alarm = 0
        self.delay_s: float | None = None
        self.in_flight = 0
        self._clock = clock
        self._bundle = speed.bundle
        self._rates = decode_rates(speed)[:: speed.bundle]
        self._limit = speed.max_sequences // speed.bundle
        self._prefill = 0.0 if speed.prefill_speedup is None else 1.0 / speed.prefill_speedup
        self._when_idle: IdleCause = when_idle
        self._on_started = on_started
        self._waiting: deque[Trajectory] = deque()
        self._running: list[tuple[float, int, Trajectory]] = []
        self._arrivals = 0
        self._decoded = 0.0
        self._since_s = 0.0
        self._factor = 1.0
        self._pace = self._paced()
        self._version = 0
        self._paused = False
        self._busy = False

    @property
    def running_sequences(self) -> int:
        """Sequences that are decoded here."""
        return self._bundle * len(self._running)

    @property
    def waiting_sequences(self) -> int:
        """Sequences that wait for a free slot."""
        return self._bundle * len(self._waiting)

    def enqueue(self, trajectories: Sequence[Trajectory]) -> None:
        """Hand over sequences to generate."""
        running = self._running
        self.in_flight += len(trajectories)
        if not running or self._paused or self._waiting or len(running) + len(trajectories) > self._limit:
            self._advance()
            self._waiting.extend(trajectories)
            self._continue()
            return
        now_s = self._clock.event_s
        pace = self._pace
        self._decoded = decoded = self._decoded + (now_s - self._since_s) / pace[len(running)]
        self._since_s = now_s
        for trajectory in trajectories:
            self._start(trajectory)
        delay_s = (running[0][0] - decoded) * pace[len(running)]
        self.delay_s = delay_s if delay_s > 0.0 else 0.0
        self._clock.set_alarm(self, now_s)

    def set_factor(self, factor: float) -> None:
        """The noise of the decoding rate: from now on every rate is multiplied by this."""
        self._advance()
        self._factor = factor
        self._pace = self._paced()
        self._continue()

    def set_idle_cause(self, cause: IdleCause) -> None:
        """Why the replica idles from now on when nothing runs."""
        if cause == self._when_idle:
            return
        self._when_idle = cause
        if not self._busy and not self._paused:
            self.lane.idle(self._clock.event_s, cause)

    def pause(self) -> None:
        """Stop decoding; running sequences keep what they have (verl's partial rollout)."""
        self._advance()
        self._paused = True
        self._busy = False
        self.alarm = 0

    def resume(self, version: int) -> None:
        """Go on with the weights of this version; running sequences first read again what they have."""
        self._since_s = self._clock.event_s
        self._paused = False
        self._version = version
        if self._prefill and self._running:
            self._running = [(end + self._reread(end, t), n, t) for end, n, t in self._running]
            heapify(self._running)
        self._continue()

    def evacuate(self) -> list[Trajectory]:
        """Give up all sequences, in order of their end and then of arrival; they keep what they have."""
        self._advance()
        given = []
        for end, _, trajectory in sorted(self._running):
            trajectory.left = min(trajectory.tokens, max(0.0, end - self._decoded))
            given.append(trajectory)
        given.extend(self._waiting)
        self._running.clear()
        self._waiting.clear()
        self.in_flight = 0
        self._decoded = 0.0
        self._continue()
        return given

    def _reread(self, end: float, trajectory: Trajectory) -> float:
        have = trajectory.group.prompt_tokens + max(0.0, trajectory.tokens - (end - self._decoded))
        return have * self._prefill

    def _paced(self) -> list[float]:
        """Seconds a token of every running sequence takes, by their number."""
        return [0.0] + [1.0 / (rate * self._factor) for rate in self._rates[1:]]

    def _advance(self) -> None:
        """An event acts on the replica: bring the count of decoded tokens up to now."""
        now_s = self._clock.event_s
        if self._running and not self._paused:
            self._decoded += (now_s - self._since_s) / self._pace[len(self._running)]
        self._since_s = now_s

    def _continue(self) -> None:
        """At an event: fill free slots and set the alarm for the next end of a sequence."""
        if not self._paused:
            self._fill()
            self._clock.set_alarm(self, self._since_s)

    def _fill(self) -> None:
        """Fill free slots and work out when the next sequence ends."""
        running, waiting = self._running, self._waiting
        while waiting and len(running) < self._limit:
            self._start(waiting.popleft())
        if running:
            if not self._busy:
                self._busy = True
                self.lane.work(self._since_s, "generate")
            delay_s = (running[0][0] - self._decoded) * self._pace[len(running)]
            self.delay_s = delay_s if delay_s > 0.0 else 0.0
        else:
            self._decoded = 0.0
            self._busy = False
            self.delay_s = None
            self.lane.idle(self._since_s, self._when_idle)

    def _start(self, trajectory: Trajectory) -> None:
        group, left = trajectory.group, trajectory.left
        if not group.started:
            group.started = True
            self._on_started()
        first, version = group.first_versions, self._version
        for index in trajectory.indices:
            if first[index] < 0:
                first[index] = version
        end = self._decoded + left
        if self._prefill:
            end += (group.prompt_tokens + trajectory.tokens - left) * self._prefill
        self._arrivals += 1
        heappush(self._running, (end, self._arrivals, trajectory))

    def complete(self, now_s: float) -> PromptGroup | None:
        """The alarm: the next sequence ends; gives its prompt when this was the last of it."""
        running = self._running
        self._decoded, _, trajectory = heappop(running)
        self._since_s = now_s
        self.in_flight -= 1
        if running and not self._waiting:
            self.delay_s = (running[0][0] - self._decoded) * self._pace[len(running)]
        else:
            self._fill()
        group = trajectory.group
        for index in trajectory.indices:
            group.last_versions[index] = self._version
            group.finished_at[index] = now_s
        group.unfinished -= 1
        if group.unfinished:
            return None
        group.finished_s = now_s
        return group
