"""How many finished mini-batches wait for the Trainer, moment by moment and when it asks; and what the quota covers."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

from rlreport.comparators.bubble_causes import QUEUE_GAUGES
from rlreport.comparators.bubble_scene import gauge_shift
from rlreport.comparators.chain import first_value
from rlreport.comparators.cycles_events import Chronicle
from rlreport.comparators.lead import MINI_BATCH_KEYS, Lead, lead_by_step, measure_lead
from rlreport.comparators.results import SteadyState
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import SpanTable

#: Gauges that are written only while the Trainer waits: they say nothing of moments when samples are ready.
POLLED_GAUGES: tuple[str, ...] = ("replay.finished",)

#: (staleness quota, rounds of a version) of fully_async; (batches ahead, mini-batches of a batch) of separate_async.
QUOTA_KEYS: tuple[tuple[str, str, str], ...] = (
    (
        "fully_async",
        "async_training.staleness_threshold",
        "async_training.trigger_parameter_sync_step",
    ),
    (
        "separate_async",
        "trainer.v1.separate_async.num_warmup_batches",
        "trainer.v1.separate_async.parameter_sync_step",
    ),
)


@dataclass(frozen=True, slots=True)
class LeadSeries:
    """The lead over time: samples that wait, over those of a mini-batch.

    `points` are (seconds from the begin of the trace, or the step where `by_step`; mini-batches). `asked` holds the lead at
    each moment when the Trainer asked for samples, in the same order of time, empty where these moments are not known.
    `capacity` is the most that may wait, in mini-batches. `source` names what was counted. `while_waiting` says that it was
    counted only while the Trainer waited, which tells nothing of the moments when samples are ready.
    """

    points: tuple[tuple[float, float], ...]
    asked: tuple[tuple[float, float], ...]
    by_step: bool
    capacity: float | None
    source: str
    while_waiting: bool = False

    @property
    def mean_when_asked(self) -> float | None:
        """The mean lead when the Trainer asked."""
        return math.fsum(lead for _, lead in self.asked) / len(self.asked) if self.asked else None

    @property
    def least_when_asked(self) -> float | None:
        """The smallest lead when the Trainer asked."""
        return min((lead for _, lead in self.asked), default=None)


def measure_lead_series(run: Run, table: SpanTable | None, course: Chronicle | None) -> LeadSeries | None:
    """The lead from a gauge of waiting samples, else from the queue that is logged by step; None where neither is there.

    The Trainer asks after an update and what follows it at once (weight sync, validation, checkpoint): what the gauge showed
    last before that is the lead it finds.
    """
    mini = first_value(run, MINI_BATCH_KEYS)
    if run.mode not in SEPARATED_MODES or mini is None:
        return None
    return _from_gauge(run, table, course, mini[1]) or _from_steps(run, mini[1])


def _from_gauge(run: Run, table: SpanTable | None, course: Chronicle | None, mini: float) -> LeadSeries | None:
    names = (*QUEUE_GAUGES, *POLLED_GAUGES)
    gauges = [g for name in names for g in run.gauges if g.name == name and not g.lane and len(g.time_ns) > 1]
    if not gauges:
        return None
    gauge = gauges[0]
    shift = None if table is None else gauge_shift(table, gauge)
    zero = course.begin_ns if course is not None and shift is not None else int(min(gauge.time_ns))
    entries = sorted(
        ((int(at) + (shift or 0) - zero) / 1e9, float(value) / mini)
        for at, value in zip(gauge.time_ns, gauge.values, strict=True)
    )
    asked: list[tuple[float, float]] = []
    polled = gauge.name in POLLED_GAUGES
    if course is not None and shift is not None and not polled:
        moments = [at for at, _ in entries]
        for start, _ in course.gaps[1:]:
            moment = (_asks_at(course, start) - zero) / 1e9
            place = bisect_right(moments, moment) - 1
            if place >= 0:
                asked.append((moment, entries[place][1]))
    capacity = None if gauge.capacity is None else gauge.capacity / mini
    when = ", polled only while the Trainer waits" if polled else ""
    source = f"gauge {gauge.name} over a mini-batch of {mini:g}{when}"
    return LeadSeries(tuple(entries), tuple(asked), False, capacity, source, while_waiting=polled)


def _asks_at(course: Chronicle, start: int) -> int:
    """The end of the events that follow each other from the begin of a gap on."""
    at = start
    for event in course.events:
        if start <= event.start_ns <= at + 1_000_000:
            at = max(at, event.end_ns)
    return at


def _from_steps(run: Run, mini: float) -> LeadSeries | None:
    import numpy as np

    found = lead_by_step(run, mini)
    if found is None:
        return None
    values, source = found
    known = np.isfinite(values)
    steps = np.asarray(run.steps.index, np.float64)[known]
    points = tuple(zip(steps.tolist(), values[known].tolist(), strict=True))
    return LeadSeries(points, (), True, None, source)


def known_lead(run: Run, window: SteadyState, series: LeadSeries | None) -> Lead | None:
    """What is known of a separated run's lead: from a gauge when the Trainer asked, else as `measure_lead` finds it.

    None where training and generation take turns: there is no lead.
    """
    if run.mode not in SEPARATED_MODES:
        return None
    if series is not None and series.mean_when_asked is not None:
        return Lead(series.mean_when_asked, None, None, "gauge", f"{series.source}, whenever the Trainer asked")
    return measure_lead(run, window)


@dataclass(frozen=True, slots=True)
class QuotaCover:
    """How many rounds of a version the samples that may be generated ahead cover.

    With a staleness threshold of 0.3 and 8 rounds a version, 2.4 rounds are ready when a version begins: the first two find
    all of their samples, the third a part of them.
    """

    quota: float
    rounds: float
    quota_key: str
    rounds_key: str

    @property
    def covered(self) -> float:
        """Rounds that the quota covers."""
        return self.quota * self.rounds

    @property
    def whole(self) -> int:
        """Rounds that it covers whole, at most all of a version."""
        return min(math.floor(self.covered + 1e-9), math.floor(self.rounds))


def measure_quota(run: Run) -> QuotaCover | None:
    """What the quota of a run covers; None where the mode has none or the configuration does not tell it."""
    for mode, quota_key, rounds_key in QUOTA_KEYS:
        if run.mode != mode:
            continue
        quota, rounds = run.value(quota_key), first_value(run, (rounds_key,))
        if isinstance(quota, int | float) and not isinstance(quota, bool) and quota >= 0 and rounds is not None:
            return QuotaCover(float(quota), rounds[1], quota_key, rounds_key)
    return None
