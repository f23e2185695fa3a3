"""Numbers that fully async training prints outside of its metric lines, by parameter version.

The lines come from two actors, and only the Trainer's sync line names a version. What the Trainer waited is counted to the
sync that follows. The Rollouter's lines stand beside the sync that asked for them: before its line in current code, after it
in older code (to dynamic scheduling), and Ray may turn two actors' lines around. They are therefore held until the next sync
line, unless the last one has none yet and the Trainer has finished no round since.
Source: verl/experimental/fully_async_policy/fully_async_trainer.py (`_fit_update_weights`), fully_async_rollouter.py
(`reset_staleness`).
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

#: A line of its own begins at a tag; one tag directly after another belongs to the same line.
_TAG = re.compile(rf"(?<!\])(?:{'|'.join(re.escape(tag.decode()) for tag in TAGS)})")
_SYNC = re.compile(r"timing_s/param_sync: (\d+\.?\d*) seconds.{0,80}?current_param_version: (\d+)(?!\d)")
_ROUND = re.compile(r"global_steps: \d+ local_trigger_step: \d")
_WAIT = re.compile(r"total wait time: (\d+\.?\d*) seconds(?:\. mq_len: (\d+)(?=\s|$))?")
_RESET = re.compile(
    r"reset staleness_samples to: (\d+)\s+idle_ratio: (-?\d+\.?\d*)\s+step_generated_samples\(this_step\): (\d+)\s+"
    r"rollout_resource_utilization: (-?\d+\.?\d*)\s"
)
_HISTORY = re.compile(r"raw active_count_history[^\[]{0,80}\[(\(.*\))\]")
_SAMPLE = re.compile(r"\((\d+\.?\d*), (\d+), (\d+)\)")


@dataclass(slots=True)
class FullyAsyncLines:
    """Collects the numbers of one source in the order of its lines; `values` maps (attempt, version) to key and number.

    The first number of a key stays: the sync before a resumed training and the one after the last version name a version
    that has its numbers already.
    """

    values: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    _attempt: int = 0
    _version: int | None = None
    _takes_late: bool = False
    _taken: frozenset[str] = frozenset()
    _held: dict[str, float] = field(default_factory=dict)
    _waited: dict[str, float] = field(default_factory=dict)

    def read(self, text: str, attempt: int) -> None:
        """Read one line from a tag on; what follows a second tag is another line."""
        if again := _TAG.search(text, 1):
            text = text[: again.start()]
        if attempt != self._attempt:
            self.begin(attempt)
        if match := _SYNC.search(text):
            self._sync(float(match[1]), int(match[2]))
        elif match := _WAIT.search(text):
            waited = self._waited
            waited["console/queue_wait_s"] = waited.get("console/queue_wait_s", 0.0) + float(match[1])
            if match[2]:
                waited["console/queue_samples"] = float(match[2])
        elif match := _RESET.search(text):
            keys = ("staleness_samples", "rollout_idle_ratio", "generated_samples", "rollout_resource_utilization")
            self._hold({f"console/{key}": float(number) for key, number in zip(keys, match.groups(), strict=True)})
        elif match := _HISTORY.search(text):
            occupancy = _occupancy(match[1])
            self._hold({} if occupancy is None else {"console/rollout_occupancy": occupancy})
        elif _ROUND.search(text):
            # A sync is done with before the next round ends: numbers that still wait belong to one whose line is lost.
            self._takes_late, self._held = False, {}

    def begin(self, attempt: int) -> None:
        """A new launch: what the one before left without a version belongs to none."""
        self._attempt, self._version, self._takes_late = attempt, None, False
        self._held, self._waited = {}, {}

    def _sync(self, seconds: float, version: int) -> None:
        self._version, self._takes_late = version, True
        self._add({"console/param_sync_s": seconds, **self._waited, **self._held})
        self._taken = frozenset(self._held)
        self._held, self._waited = {}, {}

    def _hold(self, numbers: dict[str, float]) -> None:
        """Numbers of the Rollouter: those of the last sync line if it lacks them, else of the next one."""
        if self._takes_late and not self._held and not numbers.keys() & self._taken:
            self._add(numbers)
            self._taken |= numbers.keys()
            return
        if numbers.keys() & self._held.keys():
            self._held = {}
        self._held |= numbers

    def _add(self, numbers: dict[str, float]) -> None:
        if self._version is not None:
            kept = self.values.setdefault((self._attempt, self._version), {})
            self.values[self._attempt, self._version] = {**numbers, **kept}


def _occupancy(history: str) -> float | None:
    """Active over possible requests, weighted by the time until the next entry; None when the history spans no time."""
    samples = [(float(at), int(active), int(most)) for at, active, most in _SAMPLE.findall(history)]
    used = possible = 0.0
    for (start, active, most), (end, _, _) in pairwise(samples):
        used += active * (end - start)
        possible += most * (end - start)
    return used / possible if possible > 0 else None
