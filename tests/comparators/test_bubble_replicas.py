from __future__ import annotations

from dataclasses import replace

import pytest
from support.timelines import S, only, scene_of, three_steps

from rlreport.comparators.bubble_replicas import measure_balance, measure_long_tail
from rlreport.comparators.bubbles import paint_seats
from rlreport.run.spans import Gauge


def test_balance_is_the_share_of_time_in_which_each_replica_works() -> None:
    scene = scene_of(three_steps())
    found = measure_balance(scene, paint_seats(scene), 10 * S, 60 * S)
    assert found is not None
    # Replica 0 generates 32 + 13, replica 1 26 + 5 of 50 seconds.
    assert dict(found.busy) == {"replica_0": pytest.approx(45 / 50), "replica_1": pytest.approx(31 / 50)}
    assert found.max_over_mean == pytest.approx(45 / 38)
    assert (found.busiest[0], found.idlest[0]) == ("replica_0", "replica_1")


def test_the_tail_by_replicas_is_when_the_last_tenth_of_them_generates() -> None:
    scene = scene_of(three_steps())
    found = measure_long_tail(scene, paint_seats(scene), [(10 * S, 58 * S)])
    assert found is not None and found.basis == "replicas"
    # One of two replicas alone: 36 to 42 and 50 to 58, of 32 + 13 seconds in which any generates.
    assert found.share == pytest.approx(14 / 45)
    assert found.others_idle == pytest.approx(14 / (2 * 48))


def test_the_tail_by_samples_is_when_a_tenth_of_a_cycles_samples_is_left() -> None:
    run = three_steps()
    times = [round(at * S) for at in (45, 50, 54, 58)]
    gauge = Gauge("rollout.active_requests", "", times, [20, 5, 2, 0], zero_unix_ns=0)
    scene = scene_of(replace(run, gauges=(gauge,)))
    found = measure_long_tail(scene, paint_seats(scene), [(45 * S, 61 * S)])
    assert found is not None and found.basis == "samples"
    assert found.share == pytest.approx(4 / 13)  # 2 of 20 samples from 54 to 58
    assert found.others_idle == pytest.approx(4 / (2 * 16))


def test_one_replica_has_neither() -> None:
    run = three_steps()
    spans = run.spans[0]
    scene = scene_of(replace(run, spans=(only(spans, spans.lane != 3),)))
    seats = paint_seats(scene)
    assert measure_balance(scene, seats, 10 * S, 60 * S) is None
    assert measure_long_tail(scene, seats, [(10 * S, 60 * S)]) is None
