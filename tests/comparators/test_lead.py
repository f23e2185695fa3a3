"""The Rollouters' lead in mini-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.made_chains import MINI_BATCH, SYNC_STEP, made
from support.made_series import balanced

from rlreport.comparators.lead import measure_lead
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
    # 4 updates a version, staleness 1.25: 5 mini-batches less half a version of 1.5, give or take the same.
    lead = measure_lead(run({"staleness.mean": np.full(60, 1.25)}), WINDOW)
    assert lead.basis == "staleness"
    assert (lead.low, lead.mini_batches, lead.high) == (2.0, 3.5, 5.0)
    fresh = measure_lead(run({"staleness.mean": np.zeros(60)}), WINDOW)
    assert (fresh.low, fresh.mini_batches, fresh.high) == (0.0, 0.0, 1.5)


def test_a_version_an_update_makes_staleness_exact() -> None:
    lead = measure_lead(run({"staleness.mean": np.full(60, 3.0)}, config={SYNC_STEP: 1}), WINDOW)
    assert (lead.low, lead.mini_batches, lead.high) == (3.0, 3.0, 3.0)


def test_what_is_not_told_stays_unknown_with_the_reason() -> None:
    nothing = measure_lead(run(), WINDOW)
    assert (nothing.mini_batches, nothing.basis) == (None, "unknown")
    assert "neither a queue" in nothing.source
    sizeless = measure_lead(run({"queue.samples": np.full(60, 8.0)}, config={MINI_BATCH: None}), WINDOW)
    assert sizeless.mini_batches is None
    assert "size of a mini-batch" in sizeless.source
    shared = measure_lead(run({"queue.samples": np.full(60, 8.0)}, mode="sync"), WINDOW)
    assert shared.mini_batches is None
