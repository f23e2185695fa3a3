"""Counter events ("C") of a trace as gauges, for the quantities that dialects know.

Source: Trace Event Format, "Counter Events": `args` holds series (name -> number); a counter belongs to a process, and its
`id` is part of its name. The quantity is told by the counter's name (`vllm:num_requests_running`), by that of a series, or
by both (`replay` with `pending`). All other counters, such as a profiler's memory and power, are counted and left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rlreport.collectors.spans.columns import clean_name
from rlreport.collectors.spans.console_gauges import ACTIVE, POLLED, PROGRESS
from rlreport.collectors.spans.samples import Samples, is_wanted
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.spans import Gauge

if TYPE_CHECKING:
    from rlreport.collectors.spans.chrome_events import Scalar

#: Quantities by the names that this project gives them, as it writes them into timelines itself.
OWN_NAMES = frozenset(
    {
        ACTIVE,
        PROGRESS,
        *POLLED.values(),
        "queue.samples",
        "rollout.active_samples",
        "rollout.running",
        "rollout.waiting_requests",
        "rollout.kv_cache_usage",
    }
)
#: A name with a lane, as this project writes it.
_WITH_LANE = re.compile(r"(\S+) \((.+)\)")
#: Quantities of one engine: they never count for the whole run.
_OF_AN_ENGINE = re.compile(r"(?:vllm|sglang):")
#: Names of series that say nothing.
_PLAIN = frozenset({"", "value", "values", "count", "counter", "0"})
#: Names of left out counters that are remembered, and shown.
_MAX_UNKNOWN = 1_000
_SHOWN = 4

#: Process, id, quantity, lane where it is told, name of what else tells counters apart.
_Key: TypeAlias = "tuple[Scalar, Scalar, str, str, str]"


def quantity_of(name: str, series: str) -> tuple[str, str, str] | None:
    """(quantity, its lane where one is told, what else tells it apart) of a series of a counter; None when none is known."""
    match = _WITH_LANE.fullmatch(name)
    base, lane = (name, "") if match is None else (match[1], match[2])
    if _is_known(base):
        return base, lane, "" if series in _PLAIN or series == base else series
    if _is_known(series):
        return series, lane, name
    joined = f"{base}.{series}"
    return (joined, lane, "") if joined in OWN_NAMES else None


def _is_known(name: str) -> bool:
    return name in OWN_NAMES or is_wanted(name)


@dataclass(slots=True)
class Counters:
    """Gathers the counters of one trace."""

    samples: Samples[_Key] = field(default_factory=Samples)
    unknown: set[str] = field(default_factory=set)
    left_out: int = 0
    _quantities: dict[tuple[Scalar, str], tuple[str, str, str] | None] = field(default_factory=dict)

    def add(self, pid: Scalar, ident: Scalar, name: Scalar, at_ns: int | None, series: Mapping[str, Scalar] | None) -> None:
        """Take one event; one without series counts as a sample that cannot be used."""
        if not series:
            self.samples.unusable += 1
            return
        for label, value in series.items():
            found = self._quantity(name, label)
            if found is not None:
                self.samples.add((pid, ident, *found), at_ns, value)
                continue
            self.left_out += 1
            if len(self.unknown) < _MAX_UNKNOWN:
                self.unknown.add(clean_name(name))

    def _quantity(self, name: Scalar, label: str) -> tuple[str, str, str] | None:
        key = (name, label)
        if key in self._quantities:
            return self._quantities[key]
        found = quantity_of(clean_name(name), clean_name(label))
        if len(self._quantities) < _MAX_UNKNOWN:
            self._quantities[key] = found
        return found

    def median_ns(self) -> int | None:
        """The median time of the samples; None without any."""
        import numpy as np

        times = [np.array(at, np.int64) for at, _ in self.samples.series.values()]
        return int(np.median(np.concatenate(times))) if times else None

    def gauges(self, processes: Mapping[Scalar, str], zero_unix_ns: int | None) -> list[Gauge]:
        """The gauges, by quantity and lane. The lane is told, or it is what tells the counters of a quantity apart: process,
        id, series; counters of an engine always belong to their process. Empty for what is counted once in the trace.
        """
        shared = {name for name, count in Counter(processes.values()).items() if count > 1}
        words = {pid: f"{name}/{clean_name(pid)}" if name in shared else name for pid, name in processes.items()}
        groups: dict[str, list[_Key]] = {}
        for key in self.samples.series:
            groups.setdefault(key[2], []).append(key)
        named = {key: lane for quantity, keys in groups.items() for key, lane in _lanes(quantity, keys, words).items()}
        return [
            self.samples.gauge(key, key[2], named[key], zero_unix_ns)
            for key in sorted(named, key=lambda key: (key[2], named[key], *map(str, key)))
        ]

    def notices(self, where: str) -> list[Notice]:
        """What was left out."""
        parts = [f"{count:,} {what}" for count, what in self.samples.left_out() if count]
        if self.unknown:
            names = sorted(self.unknown)
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            more = "more than " if len(names) == _MAX_UNKNOWN else ""
            parts.insert(0, f"{self.left_out:,} of {more}{plural(len(names), 'counter')} of no known quantity ({shown})")
        total = self.left_out + sum(count for count, _ in self.samples.left_out())
        return [Notice("RR269", f"{plural(total, 'sample')} left out: {', '.join(parts)}", where)] if total else []


def _lanes(quantity: str, keys: list[_Key], processes: Mapping[Scalar, str]) -> dict[_Key, str]:
    """The lane of each series of a quantity, with the processes in words."""
    parts = {
        key: (processes.get(key[0], clean_name(key[0])), "" if key[1] is None else clean_name(key[1]), key[4])
        for key in keys
    }
    apart = [len({found[place] for found in parts.values()}) > 1 for place in range(3)]
    apart[0] = apart[0] or _OF_AN_ENGINE.match(quantity) is not None
    return {
        key: key[3] or "/".join(part for part, told in zip(found, apart, strict=True) if told and part)
        for key, found in parts.items()
    }
