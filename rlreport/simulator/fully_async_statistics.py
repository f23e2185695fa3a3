"""The Rollouter's counters at any moment of a fully async run, worked out from the events that it left behind.

Source of the keys: verl/experimental/fully_async_policy/fully_async_rollouter.py, `get_statistics`.
"""

from __future__ import annotations

from bisect import bisect_right

from rlreport.simulator.async_events import AsyncFacts, VersionFacts
from rlreport.simulator.records import Simulation
from rlreport.simulator.scenario import Scenario

#: The Rollouter's queue of prompts to hand out; its feeder keeps it full.
PENDING_QUEUE = 128


class SampleCounts:
    """How many samples are in generation, were produced and were taken by the Trainer, at a moment."""

    def __init__(self, simulation: Simulation, facts: AsyncFacts) -> None:
        changes = sorted((at_s, count) for version in facts.versions for at_s, count, _ in version.active)
        self._changes_s = [at_s for at_s, _ in changes]
        self._active = [count for _, count in changes]
        self._puts_s = [at_s for at_s, _, _ in facts.queue]
        self._versions = facts.versions
        self._versions_s = [version.at_s for version in facts.versions]
        self._required = simulation.scenario.quota.required_samples
        self._rounds = [
            (seen.collected_s - record.seconds["gen"], record.ready[0], seen.collected_s)
            for record, seen in zip(simulation.steps, facts.rounds, strict=True)
        ]
        self._begins_s = [begin_s for begin_s, _, _ in self._rounds]

    def active(self, at_s: float) -> int:
        """Samples in generation."""
        index = bisect_right(self._changes_s, at_s) - 1
        return self._active[index] if index >= 0 else 0

    def produced(self, at_s: float) -> int:
        """Samples put into the queue since the start."""
        return bisect_right(self._puts_s, at_s)

    def taken(self, at_s: float) -> int:
        """Samples that the Trainer took out of the queue: those of whole rounds, and of the round that collects now."""
        index = bisect_right(self._begins_s, at_s) - 1
        if index < 0:
            return 0
        begin_s, stored, collected_s = self._rounds[index]
        if at_s >= collected_s:
            return (index + 1) * self._required
        arrived = self.produced(at_s) - self.produced(begin_s)
        return index * self._required + min(self._required, stored + arrived)

    def queued(self, at_s: float) -> int:
        """Samples in the queue."""
        return self.produced(at_s) - self.taken(at_s)

    def stale(self, at_s: float) -> int:
        """Samples that count against the staleness quota: those of the version's begin, and those handed out since."""
        index = bisect_right(self._versions_s, at_s) - 1
        if index < 0:
            return 0
        version: VersionFacts = self._versions[index]
        handed_out = self.produced(at_s) - self.produced(version.at_s) + self.active(at_s) - self.active(version.at_s)
        return version.staleness_samples + handed_out


def statistics_at(scenario: Scenario, counts: SampleCounts, at_s: float) -> dict[str, int | float]:
    """What the Rollouter's monitor prints at a moment, by key."""
    quota = scenario.quota
    return {
        "monitor/active_tasks_size": counts.active(at_s),
        "monitor/queue/pending_queue_size": PENDING_QUEUE,
        "monitor/queue/mq_queue_size": counts.queued(at_s),
        "count/total_generated_samples": counts.produced(at_s),
        "count/staleness_samples": counts.stale(at_s),
        "count/dropped_stale_samples": 0,
        "static/max_required_samples": quota.max_required_samples,
        "static/required_samples": quota.required_samples,
        "static/staleness_threshold": scenario.fully_async.staleness_threshold,
        "static/max_queue_size": quota.max_queue_size,
        "static/max_concurrent_samples": quota.max_concurrent_samples,
    }
