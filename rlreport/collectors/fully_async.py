"""Numbers that fully async training prints outside of its metric lines, by parameter version.

The lines come from two actors and most carry no version: they are counted to the version that the Trainer's last weight sync
announced (source: verl/experimental/fully_async_policy/fully_async_trainer.py, fully_async_rollouter.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

#: Raw keys that come from these lines, with their unit and meaning.
KEYS: dict[str, str] = {
    "console/param_sync_s": "s: sending the weights of this version",
    "console/queue_wait_s": "s: the Trainer waited for samples since the version before, summed",
    "console/queue_samples": "samples: in the queue after the last batch was taken",
    "console/staleness_samples": "samples: counted as stale when the version began",
    "console/rollout_idle_ratio": "fraction: as the Rollouter printed it",
    "console/generated_samples": "samples: generated during the version before",
    "console/rollout_resource_utilization": "fraction: as the Rollouter printed it",
    "console/rollout_occupancy": "fraction: active over possible requests, weighted by time",
}

#: Words by which the lines are found.
TAGS: tuple[bytes, ...] = (b"[FullyAsync", b"[RolloutResourceUtilization]")

_SYNC = re.compile(r"timing_s/param_sync: (\d+\.?\d*) seconds.{0,80}?current_param_version: (\d+)(?!\d)")
_WAIT = re.compile(r"total wait time: (\d+\.?\d*) seconds(?:\. mq_len: (\d+)(?=\s|$))?")
_RESET = re.compile(
    r"reset staleness_samples to: (\d+)\s+idle_ratio: (-?\d+\.?\d*)\s+step_generated_samples\(this_step\): (\d+)\s+"
    r"rollout_resource_utilization: (-?\d+\.?\d*)\s"
)
_HISTORY = re.compile(r"raw active_count_history[^\[]{0,80}\[(\(.*\))\]")
_SAMPLE = re.compile(r"\((\d+\.?\d*), (\d+), (\d+)\)")


@dataclass(slots=True)
class FullyAsyncLines:
    """Collects the numbers of one source in the order of its lines; `values` maps (attempt, version) to key and number."""

    values: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    _version: int | None = None
    _wait_s: float | None = None
    _queue: float | None = None

    def read(self, text: str, attempt: int) -> None:
        """Read one line."""
        if match := _SYNC.search(text):
            self._version = int(match[2])
            self._add(attempt, "console/param_sync_s", float(match[1]))
            self._add(attempt, "console/queue_wait_s", self._wait_s)
            self._add(attempt, "console/queue_samples", self._queue)
            self._wait_s = self._queue = None
        elif match := _WAIT.search(text):
            self._wait_s = (self._wait_s or 0.0) + float(match[1])
            self._queue = float(match[2]) if match[2] else self._queue
        elif match := _RESET.search(text):
            self._add(attempt, "console/staleness_samples", float(match[1]))
            self._add(attempt, "console/rollout_idle_ratio", float(match[2]))
            self._add(attempt, "console/generated_samples", float(match[3]))
            self._add(attempt, "console/rollout_resource_utilization", float(match[4]))
        elif match := _HISTORY.search(text):
            self._add(attempt, "console/rollout_occupancy", _occupancy(match[1]))

    def _add(self, attempt: int, key: str, value: float | None) -> None:
        if self._version is not None and value is not None:
            self.values.setdefault((attempt, self._version), {})[key] = value


def _occupancy(history: str) -> float | None:
    """Active over possible requests, weighted by the time until the next entry; None when the history spans no time."""
    samples = [(float(at), int(active), int(most)) for at, active, most in _SAMPLE.findall(history)]
    used = possible = 0.0
    for (start, active, most), (end, _, _) in pairwise(samples):
        used += active * (end - start)
        possible += most * (end - start)
    return used / possible if possible > 0 else None
