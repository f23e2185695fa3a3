"""How far the Rollouters are ahead of the Trainer, in mini-batches, where the data tell it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rlreport.comparators.chain import first_value
from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run import format as fmt
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import Gauge
from rlreport.stats.means import mean_of_series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Between bounds farther apart than this, in mini-batches, no guess is made: in simulations one missed by up to 0.3 with two
#: updates a version, 0.8 with four and 3.4 with eight.
WIDEST_GUESS = 1.5
LeadBasis = Literal["queue", "gauge", "staleness", "unknown"]

#: Configuration keys that hold the prompts of a mini-batch, the unit in which a queue of samples is counted.
MINI_BATCH_KEYS = ("actor_rollout_ref.actor.ppo_mini_batch_size",)
#: Configuration keys that hold the mini-batches of one parameter version.
UPDATES_PER_VERSION_KEYS = ("trainer.v1.separate_async.parameter_sync_step",)
#: Raw keys of a queue's length by step, as `queue.samples` prefers them, with the moment at which each was counted.
#:
#: * `mq_queue_size` is in the status that a finished sample carries, counted right before it joins the queue; a round logs
#:   that of its first sample (fully_async_rollouter.py, `_process_single_sample_streaming`; detach_utils.py,
#:   `assemble_batch_from_rollout_samples`).
#: * `mq_size` is a snapshot after a version's last round (fully_async_trainer.py, `_fit_postprocess_step`).
#: * The console's is the Trainer's own line after it took the version's last batch.
JOINED_KEY = "fully_async/monitor/queue/mq_queue_size"
COUNTED: tuple[tuple[str, str], ...] = (
    (JOINED_KEY, "that a round's first sample found when it joined the queue"),
    ("dynamic_resource/mq_size", "left in the queue after the last round of a version"),
    ("console/queue_samples", "left in the queue after the Trainer took the last batch of a version"),
)
#: Configuration keys that hold the mini-batches which a round takes out of the queue, and the metric of the same in samples.
ROUND_KEYS = ("async_training.require_batches",)
ROUND_SAMPLES_KEY = "fully_async/static/required_samples"
#: Names of gauges that count finished samples that wait for the Trainer, at any time. The poll lines of a replay buffer are
#: none: they are written while the Trainer waits, when less than a mini-batch is there.
GAUGE_NAMES = ("queue.samples",)


@dataclass(frozen=True, slots=True)
class Lead:
    """Finished mini-batches that wait for the Trainer, on average.

    From a queue: `low` and `high` are a 95 % interval, None below eight steps; from a gauge there is none. From staleness
    they are bounds, since versions count whole weight syncs only, and `mini_batches` is a guess between them, None where
    they are farther apart than `WIDEST_GUESS`. Everything is None where the data do not tell, and then `source` says why.
    """

    mini_batches: float | None
    low: float | None
    high: float | None
    basis: LeadBasis
    source: str


def measure_lead(run: Run, window: SteadyState) -> Lead:
    """The lead over the window: samples in the queue over the samples of a mini-batch, else what staleness tells of it.

    A queue counts prompts with all their responses, as a mini-batch does (verl/experimental/fully_async_policy:
    required_samples = ppo_mini_batch_size x require_batches); `lead_by_step` says when it was counted.

    Staleness counts the weight syncs between a trajectory's last token and its training. With u updates a version, one that
    ends during update j of its version and is trained in update i, s versions later, finds s u + i - j mini-batches ready or
    ahead of it; i is (u + 1) / 2 on average. So the lead is at most s u + (u - 1) / 2, where all trajectories end early in a
    version. At least it is s u - (u - 1): half a version less where all end late, and half a version less again since a
    prompt is ready only with its last response. In between, s u - 1/2 is close where trajectories end at any time alike
    (docs/simulator.md, `lead_mini_batches`); with one update a version all three are s.
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
    if run.mode == "one_step_off":
        return _unknown("one batch is ahead; how much of it is finished when the Trainer asks is not logged")
    if mini_batch is None and (run.metric("queue.samples") is not None or run.gauges):
        return _unknown("the queue is logged, but the configuration does not tell the size of a mini-batch")
    return _unknown("neither a queue of samples nor staleness is logged")


def _unknown(why: str) -> Lead:
    return Lead(None, None, None, "unknown", why)


def lead_by_step(run: Run, mini_batch: float) -> tuple[NDArray[np.float64], str] | None:
    """The lead at every step in mini-batches, NaN where it is not logged, and what was counted; None where none is.

    What samples find when they join a queue is made what the Trainer finds when it asks: samples join one by one and leave m
    at once, and every length that is passed upwards is passed downwards. A round that finds q samples passes q - m to q - 1
    downwards, so those who join find (m + 1) / 2 less than the Trainer, on average (level crossings; exact where the Trainer
    does not wait). Other counts stay as they are.
    """
    import numpy as np

    values = column_array(run, "queue.samples") / mini_batch
    if not bool(np.isfinite(values).any()):
        return None
    over = f"over a mini-batch of {mini_batch:g}"
    key, when = next(((key, when) for key, when in COUNTED if _logs(run, key)), ("", "in the queue"))
    if key != JOINED_KEY:
        return values, f"samples {when}{',' if key else ''} {over}"
    samples = _round_samples(run, mini_batch)
    if samples is None:
        return values, f"samples {when}, {over}; how many a round takes is not known"
    ahead = (samples + 1) / 2
    source = f"samples {when}, plus half a round ({ahead:g}), which the Trainer finds in addition, {over}"
    return values + ahead / mini_batch, source


def _logs(run: Run, key: str) -> bool:
    return key in run.raw.columns and bool(run.raw[key].notna().any())


def _round_samples(run: Run, mini_batch: float) -> float | None:
    """Samples that the Trainer takes for a round."""
    batches = first_value(run, ROUND_KEYS)
    if batches is not None:
        return batches[1] * mini_batch
    return float(run.raw[ROUND_SAMPLES_KEY].dropna().median()) if _logs(run, ROUND_SAMPLES_KEY) else None


def _from_queue(run: Run, window: SteadyState, mini_batch: float) -> Lead | None:
    import numpy as np

    found = lead_by_step(run, mini_batch)
    if found is None:
        return None
    values, source = found
    inside = values[run.steps.index.isin(window.kept)]
    known = inside[np.isfinite(inside)]
    if not known.size:
        return None
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
    ahead, rest = float(known.mean()) * updates[1], updates[1] - 1
    low, high = max(ahead - rest, 0.0), ahead + rest / 2
    guess = max(ahead - min(rest, 0.5), 0.0) if high - low <= WIDEST_GUESS else None
    less = "" if guess is None else ", less a half"
    source = (
        f"staleness times {updates[1]:g} updates a version{less}; versions count whole syncs, so the bounds lie "
        f"{fmt.number(rest)} below and {fmt.number(rest / 2)} above that product"
    )
    if not rest:
        source = "staleness, with one update a version"
    return Lead(guess, low, high, "staleness", source)
