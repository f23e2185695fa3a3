from __future__ import annotations

import simpy
from support.tiny_scenarios import tiny

from rlreport.simulator.feeder import Feeder
from rlreport.simulator.quotas import FullyAsyncQuota
from rlreport.simulator.rollouter import Rollouter
from rlreport.simulator.spans import Lane
from rlreport.simulator.store import MessageQueue
from rlreport.simulator.workload import Workload


class Bench:
    """A Rollouter with one replica that takes 10 s a response, and a queue that nobody empties by itself."""

    def __init__(self, total: int, max_required: int, max_queue: int, max_concurrent: int) -> None:
        self.env = simpy.Environment()
        scenario = tiny()
        workload = Workload(scenario)
        self.lane = Lane("replica", "rollout", 1)
        self.queue = MessageQueue(self.env, max_queue)
        self.rollouter = Rollouter(self.env, scenario, [self.lane], self.queue, "quota")
        quota = FullyAsyncQuota(1, max_required, max_queue, max_concurrent, total)
        self.feeder = Feeder(
            self.env, quota, total, self.rollouter, self.queue, lambda: self.rollouter.submit(workload.draw(1, 0))
        )

    def run(self, until_s: float) -> None:
        self.env.run(until=until_s)


def test_prompts_are_handed_out_up_to_the_concurrency_and_the_quota() -> None:
    bench = Bench(total=10, max_required=3, max_queue=9, max_concurrent=2)
    bench.feeder.reset(0, 0.0)
    assert (bench.rollouter.active, bench.feeder.staleness_samples) == (2, 3)  # the third is taken and waits for a slot
    bench.run(9.0)
    assert not bench.feeder.paused
    bench.run(11.0)
    assert (len(bench.queue), bench.rollouter.active, bench.feeder.paused) == (2, 1, True)
    bench.run(50.0)
    assert len(bench.queue) == 3
    (pause,) = bench.feeder.pauses
    assert (pause.at_s, pause.reason, pause.value, pause.limit, pause.resumed_s) == (10.0, "staleness", 3, 3, None)


def test_a_reset_counts_what_is_queued_or_in_generation() -> None:
    bench = Bench(total=10, max_required=3, max_queue=9, max_concurrent=1)
    bench.feeder.reset(0, 0.0)
    bench.run(15.0)  # one is queued, one in generation, the third is held
    bench.feeder.reset(1, 2.5)
    assert bench.feeder.versions[1].staleness_samples == 2
    assert bench.feeder.versions[1].param_sync_s == 2.5
    assert bench.feeder.versions[1].active[0] == (0.0, 0, 1)


def test_a_full_queue_pauses_until_the_monitor_sees_room() -> None:
    # One after the other: at 20 s two are in the queue of two, and the third, which was taken before, is handed out. Then
    # the queue is full: nothing more is taken. At 30 s the third drops the first. The monitor looks at 40 s in vain; two
    # samples leave the queue at 43 s, and at 50 s the Rollouter goes on.
    bench = Bench(total=10, max_required=9, max_queue=2, max_concurrent=1)
    bench.feeder.reset(0, 0.0)
    bench.run(22.0)
    (pause,) = bench.feeder.pauses
    assert (pause.at_s, pause.reason, pause.value, pause.limit, pause.left) == (20.0, "queue_full", 2, 2, 1)
    bench.run(43.0)
    assert (bench.queue.dropped, bench.rollouter.active) == (1, 0)
    bench.queue.take(2)
    bench.run(49.0)
    assert bench.feeder.paused
    bench.run(51.0)
    assert not bench.feeder.paused
    assert bench.feeder.pauses[0].resumed_s == 50.0
    assert bench.rollouter.active == 1
    bench.lane.close(51.0)
    assert [(span.cause, span.start_s, span.end_s) for span in bench.lane.spans if span.state == "idle"] == [
        ("queue_full", 30.0, 50.0)
    ]


def test_a_blocked_feeder_hands_nothing_out_and_tells_when_all_is_done() -> None:
    bench = Bench(total=10, max_required=9, max_queue=9, max_concurrent=2)
    bench.feeder.reset(0, 0.0)
    bench.run(4.0)
    bench.feeder.block()
    drained = bench.feeder.drained()
    assert not drained.triggered
    bench.run(11.0)
    assert drained.triggered
    assert (len(bench.queue), bench.rollouter.active) == (2, 0)
    bench.run(40.0)
    assert len(bench.queue) == 2
    bench.feeder.reset(1, 0.0)
    assert bench.rollouter.active == 2


def test_nothing_is_left_to_drain_when_nothing_runs() -> None:
    bench = Bench(total=0, max_required=9, max_queue=9, max_concurrent=2)
    bench.feeder.reset(0, 0.0)
    assert bench.feeder.drained().triggered


def test_a_dropped_sample_is_made_up_for() -> None:
    bench = Bench(total=1, max_required=9, max_queue=9, max_concurrent=2)
    bench.feeder.reset(0, 0.0)
    bench.run(20.0)
    assert len(bench.queue) == 1
    bench.feeder.replace_dropped()
    bench.run(40.0)
    assert len(bench.queue) == 2
