"""The Rollouters' lead in mini-batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_chains import MINI_BATCH, SYNC_STEP, made
from support.made_series import balanced

from rlreport.comparators.lead import JOINED_KEY, ROUND_SAMPLES_KEY, measure_lead
from rlreport.comparators.results import SteadyState
from rlreport.run.model import Run
from rlreport.run.spans import Gauge

WINDOW = SteadyState("flat", 2, 61, tuple(range(2, 62)), 60.0, ())


def run(columns: dict[str, Any] | None = None, **more: Any) -> Run:
    return made("r", steps=60, columns=columns, **more)


def test_a_queue_counts_in_mini_batches() -> None:
    queue = 80 + 8 * balanced(np.random.default_rng(1), 60)
    lead = measure_lead(run({"queue.samples": queue}), WINDOW)
    assert lead.basis == "queue"
    assert lead.mini_batches == pytest.approx(queue.mean() / 16)
    half = stats.t.ppf(0.975, 59) * np.std(queue / 16, ddof=1) / np.sqrt(60)
    assert (lead.low, lead.high) == pytest.approx((lead.mini_batches - half, lead.mini_batches + half))


def test_only_the_window_counts() -> None:
    queue = np.where(np.arange(60) < 10, 800.0, 32.0)
    window = SteadyState("flat", 12, 61, tuple(range(12, 62)), 50.0, ())
    assert measure_lead(run({"queue.samples": queue}), window).mini_batches == 2.0


def test_few_steps_have_no_interval() -> None:
    window = SteadyState("flat", 2, 6, tuple(range(2, 7)), None, ())
    lead = measure_lead(run({"queue.samples": np.full(60, 24.0)}), window)
    assert (lead.mini_batches, lead.low, lead.high) == (1.5, None, None)


def test_a_gauge_is_weighted_by_how_long_a_value_stands() -> None:
    # Empty for 10 s of start-up, then 32 for 1 s and 8 for 3 s: (32 + 3 x 8) / 4 = 14 samples.
    gauge = Gauge("queue.samples", "", (0, 10, 11, 14), (0.0, 32.0, 8.0, 64.0))
    lead = measure_lead(run(gauges=(gauge,)), WINDOW)
    assert lead.basis == "gauge"
    assert lead.mini_batches == pytest.approx(14 / 16)
    assert (lead.low, lead.high) == (None, None)


@pytest.mark.parametrize("entries", [((), ()), ((5,), (3.0,)), ((5, 5), (3.0, 4.0)), ((1, 2), (0.0, 0.0))])
def test_a_gauge_that_spans_no_time_tells_nothing(entries: tuple[tuple[int, ...], tuple[float, ...]]) -> None:
    assert measure_lead(run(gauges=(Gauge("queue.samples", "", *entries),)), WINDOW).basis == "unknown"


def test_staleness_bounds_the_lead() -> None:
    # 4 updates a version, staleness 1.25: 5 mini-batches, from 3 less to 1.5 more: too far apart for a guess.
    lead = measure_lead(run({"staleness.mean": np.full(60, 1.25)}), WINDOW)
    assert lead.basis == "staleness"
    assert (lead.low, lead.mini_batches, lead.high) == (2.0, None, 6.5)
    fresh = measure_lead(run({"staleness.mean": np.zeros(60)}), WINDOW)
    assert (fresh.low, fresh.mini_batches, fresh.high) == (0.0, 0.0, 1.5)


def test_bounds_that_are_close_leave_room_for_a_guess() -> None:
    # 2 updates a version, staleness 2.5: 5 mini-batches, less a half; from 1 less to a half more.
    lead = measure_lead(run({"staleness.mean": np.full(60, 2.5)}, config={SYNC_STEP: 2}), WINDOW)
    assert (lead.low, lead.mini_batches, lead.high) == (4.0, 4.5, 5.5)


def test_a_version_an_update_makes_staleness_exact() -> None:
    lead = measure_lead(run({"staleness.mean": np.full(60, 3.0)}, config={SYNC_STEP: 1}), WINDOW)
    assert (lead.low, lead.mini_batches, lead.high) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize(("end", "counted"), [(1, 5.5), (2, 4.5), (3, 3.5), (4, 2.5)])
def test_the_bounds_hold_a_queue_counted_by_hand(end: int, counted: float) -> None:
    """Four mini-batches a version; those of the next version all end while the Trainer works on one of this version's."""
    ready = [sum(4 * (batch // 4 - 1) + end <= asks for batch in range(asks, asks + 12)) for asks in range(20, 60)]
    assert sum(ready) / len(ready) == counted
    lead = measure_lead(run({"staleness.mean": np.full(60, 1.0)}), WINDOW)
    assert lead.low is not None and lead.high is not None and lead.low <= counted <= lead.high


def joined(queue: float, **more: Any) -> Run:
    """Rounds of one mini-batch of 16 whose first sample found so many in the queue."""
    found = run({"queue.samples": np.full(60, queue)}, **more)
    return replace(found, raw=found.raw.assign(**{JOINED_KEY: queue}))


def test_what_a_sample_finds_in_the_queue_is_made_what_the_trainer_finds() -> None:
    lead = measure_lead(joined(40.0, config={"async_training.require_batches": 1}), WINDOW)
    assert lead.mini_batches == pytest.approx((40 + 17 / 2) / 16)
    assert "joined the queue" in lead.source and "half a round (8.5)" in lead.source
    larger = measure_lead(joined(40.0, config={"async_training.require_batches": 2}), WINDOW)
    assert larger.mini_batches == pytest.approx((40 + 33 / 2) / 16)
    untold = measure_lead(joined(40.0), WINDOW)
    assert untold.mini_batches == 2.5 and "how many a round takes is not known" in untold.source
    counted = joined(40.0)
    counted = replace(counted, raw=counted.raw.assign(**{ROUND_SAMPLES_KEY: 16.0}))
    assert measure_lead(counted, WINDOW).mini_batches == pytest.approx(48.5 / 16)


def test_samples_that_join_find_half_a_round_less_than_the_trainer() -> None:
    """A queue played through, sample by sample: arrivals at any time, m taken at once whenever the Trainer asks."""
    draw, m, queue = np.random.default_rng(7), 16, 80
    found, asked = [], []
    for arrives in (draw.random(200_000) < 16 / 17).tolist():
        if arrives and queue < 200:
            found.append(queue)
            queue += 1
        elif not arrives and queue >= m:
            asked.append(queue)
            queue -= m
    assert np.mean(asked) - np.mean(found) == pytest.approx((m + 1) / 2, abs=0.2)


def test_other_counts_of_a_queue_stay_and_say_when_they_were_taken() -> None:
    found = run({"queue.samples": np.full(60, 40.0)})
    for key, words in (
        ("dynamic_resource/mq_size", "after the last round"),
        ("console/queue_samples", "took the last batch"),
    ):
        lead = measure_lead(replace(found, raw=found.raw.assign(**{key: 40.0})), WINDOW)
        assert lead.mini_batches == 2.5 and words in lead.source


def test_one_step_off_says_why_its_lead_is_unknown() -> None:
    lead = measure_lead(run(mode="one_step_off"), WINDOW)
    assert lead.mini_batches is None and lead.source.startswith("one batch is ahead")


def test_what_is_not_told_stays_unknown_with_the_reason() -> None:
    nothing = measure_lead(run(), WINDOW)
    assert (nothing.mini_batches, nothing.basis) == (None, "unknown")
    assert "neither a queue" in nothing.source
    sizeless = measure_lead(run({"queue.samples": np.full(60, 8.0)}, config={MINI_BATCH: None}), WINDOW)
    assert sizeless.mini_batches is None
    assert "size of a mini-batch" in sizeless.source
    shared = measure_lead(run({"queue.samples": np.full(60, 8.0)}, mode="sync"), WINDOW)
    assert shared.mini_batches is None
