"""Samples of quantities over time while they are gathered, in bounded memory, and which quantities are kept of a store."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rlreport.collectors.spans.times import LIMIT_NS
from rlreport.run.spans import Gauge

K = TypeVar("K", bound=Hashable)

#: Quantities of inference engines, of RL-Insight and of the transfer queue.
_WANTED = re.compile(r"(?:vllm|sglang):|rl_insight_monitor_|tq_")
#: Histograms and counters: their running totals say nothing of a moment.
_TOTALS = re.compile(r"_(?:bucket|sum|count|total|created|info)$")
MAX_SERIES = 20_000
MAX_SAMPLES = 2_000_000


def is_wanted(name: str) -> bool:
    """Whether a quantity of a store is kept: one of an engine, RL-Insight or the transfer queue that is no running total."""
    return _WANTED.match(name) is not None and _TOTALS.search(name) is None


@dataclass(slots=True)
class Samples(Generic[K]):
    """Samples by series. Counted is what is left out: `unusable` samples that are not finite or have no time, `more` those
    of too many series, `thinned` every second one where there are too many.
    """

    series: dict[K, tuple[array[int], array[float]]] = field(default_factory=dict)
    unusable: int = 0
    more: int = 0
    thinned: int = 0
    total: int = 0

    def add(self, key: K, at_ns: int | None, value: object) -> None:
        """Take one sample of a series: a number, or its digits as text."""
        number = math.nan
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
        if at_ns is None or abs(at_ns) > LIMIT_NS or not math.isfinite(number):
            self.unusable += 1
            return
        if key not in self.series and len(self.series) >= MAX_SERIES:
            self.more += 1
            return
        times, values = self.series.setdefault(key, (array("q"), array("d")))
        if len(values) > 1 and values[-2] == values[-1] == number and at_ns > times[-1]:
            times[-1] = at_ns
            return
        times.append(at_ns)
        values.append(number)
        self.total += 1
        if self.total > MAX_SAMPLES:
            self._thin()

    def _thin(self) -> None:
        """Leave every second sample of every series out."""
        before = self.total
        self.series = {key: (times[::2], values[::2]) for key, (times, values) in self.series.items()}
        self.total = sum(len(times) for times, _ in self.series.values())
        self.thinned += before - self.total

    def gauge(self, key: K, name: str, lane: str, zero_unix_ns: int | None) -> Gauge:
        """A series in order of time, without repetitions."""
        import numpy as np

        times, values = self.series[key]
        at, number = np.array(times, np.int64), np.array(values, np.float64)
        order = np.argsort(at, kind="stable")
        at, number = at[order], number[order]
        keep = np.ones(len(at), bool)
        keep[1:-1] = (number[1:-1] != number[:-2]) | (number[1:-1] != number[2:])
        return Gauge(name, lane, at[keep].tolist(), number[keep].tolist(), zero_unix_ns)

    def left_out(self) -> tuple[tuple[int, str], ...]:
        """How many samples were left out, by reason."""
        return (
            (self.unusable, "not finite or without a time"),
            (self.more, f"of more than {MAX_SERIES:,} series"),
            (self.thinned, "to bound memory, every second one of a series"),
        )
