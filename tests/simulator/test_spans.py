from __future__ import annotations

import pytest

from rlreport.simulator.spans import Lane, device_seconds


def lanes() -> list[Lane]:
    """Two devices that wait 10 s, work 20 s and wait 10 s; one Trainer device that updates for 40 s."""
    rollout = Lane("replica_0", "rollout", 2)
    rollout.work(10.0, "generate")
    rollout.idle(30.0, "quota")
    rollout.close(40.0)
    trainer = Lane("trainer", "trainer", 1)
    trainer.work(0.0, "update_actor")
    trainer.close(40.0)
    return [rollout, trainer]


def test_device_seconds_count_devices_and_clip_to_the_intervals() -> None:
    found = device_seconds(lanes(), "rollout", [(5.0, 15.0), (25.0, 35.0)])
    assert found.busy == {"generate": 2 * (5.0 + 5.0)}
    assert found.idle == {"quota": 2 * 5.0, "startup": 2 * 5.0}
    assert found.total == 2 * 20.0
    assert found.idle_fraction() == 0.5
    assert found.idle_fraction("quota") == 0.25


def test_a_side_without_devices_has_no_idle_fraction() -> None:
    only_trainer = [lane for lane in lanes() if lane.side == "trainer"]
    assert device_seconds(only_trainer, "rollout", [(0.0, 40.0)]).idle_fraction() is None


def test_entering_twice_at_one_moment_leaves_no_empty_span() -> None:
    lane = Lane("trainer", "trainer", 1)
    lane.work(5.0, "old_log_prob")
    lane.work(5.0, "update_actor")
    lane.close(7.0)
    assert [(span.state, span.start_s, span.end_s) for span in lane.spans] == [
        ("idle", 0.0, 5.0),
        ("update_actor", 5.0, 7.0),
    ]


def test_spans_follow_each_other_without_gap() -> None:
    for lane in lanes():
        assert lane.spans[0].start_s == 0.0
        assert lane.spans[-1].end_s == 40.0
        assert all(before.end_s == after.start_s for before, after in zip(lane.spans, lane.spans[1:], strict=False))


@pytest.mark.parametrize("side", ["trainer", "rollout"])
def test_busy_and_idle_add_up(side: str) -> None:
    found = device_seconds(lanes(), side, [(0.0, 13.0), (20.0, 40.0)])  # type: ignore[arg-type]
    assert sum(found.busy.values()) + sum(found.idle.values()) == pytest.approx(found.total, rel=1e-12)
