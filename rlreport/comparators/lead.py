"""How far the Rollouters are ahead of the Trainer, in mini-batches, where the data tell it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rlreport.comparators.chain import first_value
from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import Gauge
from rlreport.stats.means import mean_of_series

LeadBasis = Literal["queue", "gauge", "staleness", "unknown"]

#: Configuration keys that hold the prompts of a mini-batch, the unit in which a queue of samples is counted.
MINI_BATCH_KEYS = ("actor_rollout_ref.actor.ppo_mini_batch_size",)
#: Configuration keys that hold the mini-batches of one parameter version.
UPDATES_PER_VERSION_KEYS = ("trainer.v1.separate_async.parameter_sync_step",)
#: Names of gauges that count finished samples that wait for the Trainer, at any time. The poll lines of a replay buffer are
#: none: they are written while the Trainer waits, when less than a mini-batch is there.
GAUGE_NAMES = ("queue.samples",)


@dataclass(frozen=True, slots=True)
class Lead:
    """Finished mini-batches that wait for the Trainer, on average.

    From a queue: `low` and `high` are a 95 % interval, None below eight steps; from a gauge there is none. From staleness
    they are bounds, and `mini_batches` is their middle: versions count whole weight syncs only. Everything is None where the
    data do not tell, and then `source` says why.
    """

    mini_batches: float | None
    low: float | None
    high: float | None
    basis: LeadBasis
    source: str


def measure_lead(run: Run, window: SteadyState) -> Lead:
    """The lead over the window: samples in the queue over the samples of a mini-batch, else what staleness tells of it.

    A queue counts prompts with all their responses, as a mini-batch does (verl/experimental/fully_async_policy:
    required_samples = ppo_mini_batch_size x require_batches). Staleness counts the weight syncs between a trajectory's last
    token and its training: with p updates a version, a trajectory that ended at any update of its version and is trained s
    versions later has waited for s p - (p - 1) / 2 mini-batches on average, give or take (p - 1) / 2.
    """
    if run.mode not in SEPARATED_MODES:
        return _unknown("training and generation do not run at the same time on devices of their own")
    mini_batch = first_value(run, MINI_BATCH_KEYS)
    if mini_batch is not None:
        found = _from_queue(run, window, mini_batch[1]) or _from_gauges(run, mini_batch[1])
        if found is not None:
            return found
    staleness = _from_staleness(run, window)
    if staleness is not None:
        return staleness
    if mini_batch is None and (run.metric("queue.samples") is not None or run.gauges):
        return _unknown("the queue is logged, but the configuration does not tell the size of a mini-batch")
    return _unknown("neither a queue of samples nor staleness is logged")


def _unknown(why: str) -> Lead:
    return Lead(None, None, None, "unknown", why)


def _from_queue(run: Run, window: SteadyState, mini_batch: float) -> Lead | None:
    import numpy as np

    values = column_array(run, "queue.samples")[run.steps.index.isin(window.kept)]
    known = values[np.isfinite(values)] / mini_batch
    if not known.size:
        return None
    source = f"samples in the queue over a mini-batch of {mini_batch:g}"
    if known.size < FEWEST_STEPS:
        return Lead(float(known.mean()), None, None, "queue", source)
    mean = mean_of_series(known)
    low, high = mean.interval()
    return Lead(mean.value, max(low, 0.0), high, "queue", source)


def _from_gauges(run: Run, mini_batch: float) -> Lead | None:
    for name in GAUGE_NAMES:
        levels = [level for gauge in run.gauges if gauge.name == name if (level := _mean_level(gauge)) is not None]
        if levels:
            source = f"gauge {name} from its first sample on, over a mini-batch of {mini_batch:g}"
            return Lead(sum(levels) / mini_batch, None, None, "gauge", source)
    return None


def _mean_level(gauge: Gauge) -> float | None:
    """The mean of a gauge from its first value above 0 on, weighted by how long each stood; None below two such values."""
    entries = sorted(zip(gauge.time_ns, gauge.values, strict=True))
    begin = next((place for place, (_, value) in enumerate(entries) if value > 0), len(entries))
    entries = entries[begin:]
    if len(entries) < 2 or entries[-1][0] <= entries[0][0]:
        return None
    held = sum(value * (after - at) for (at, value), (after, _) in pairwise(entries))
    return held / (entries[-1][0] - entries[0][0])


def _from_staleness(run: Run, window: SteadyState) -> Lead | None:
    import numpy as np

    updates = first_value(run, UPDATES_PER_VERSION_KEYS)
    values = column_array(run, "staleness.mean")[run.steps.index.isin(window.kept)]
    known = values[np.isfinite(values)]
    if updates is None or not known.size:
        return None
    half = (updates[1] - 1) / 2
    middle = max(float(known.mean()) * updates[1] - half, 0.0)
    source = (
        f"staleness times {updates[1]:g} updates a version, less half a version, since versions count whole syncs; the "
        "bounds are that half to either side"
    )
    return Lead(middle, max(middle - half, 0.0), middle + half, "staleness", source)
