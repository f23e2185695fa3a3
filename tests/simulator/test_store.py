from __future__ import annotations

import pytest
import simpy

from rlreport.simulator.store import MessageQueue, SampleStore
from rlreport.simulator.workload import PromptGroup


def group(number: int, version: int = 0) -> PromptGroup:
    return PromptGroup(number, 10, version, 0.0, [5], [version], [version], [0.0], 0)


def test_the_replay_buffer_gives_the_oldest_version_first() -> None:
    store = SampleStore(simpy.Environment())
    for number, version in ((7, 2), (3, 1), (9, 1), (1, 2)):
        store.put(group(number, version))
    assert [item.number for item in store.groups()] == [3, 9, 1, 7]
    assert [item.number for item in store.take(3)] == [3, 9, 1]
    assert len(store) == 1


def test_the_replay_buffer_drops_what_is_older_than_a_version() -> None:
    store = SampleStore(simpy.Environment())
    for number, version in ((1, 0), (2, 1), (3, 2)):
        store.put(group(number, version))
    assert [item.number for item in store.drop_older_than(2)] == [1, 2]
    assert store.drop_older_than(0) == []
    assert len(store) == 1


def test_the_message_queue_is_first_in_first_out() -> None:
    queue = MessageQueue(simpy.Environment(), 3)
    for number in (7, 3, 9):
        queue.put(group(number))
    assert [item.number for item in queue.take(2)] == [7, 3]
    assert [item.number for item in queue.groups()] == [9]
    assert queue.history == [(0.0, 1, 1), (0.0, 2, 2), (0.0, 3, 3)]


def test_a_full_message_queue_drops_its_oldest_sample() -> None:
    queue = MessageQueue(simpy.Environment(), 2)
    dropped: list[int] = []
    queue.on_dropped = lambda item: dropped.append(item.number)
    for number in (7, 3, 9):
        queue.put(group(number))
    assert (dropped, queue.dropped, queue.produced) == ([7], 1, 3)
    assert [item.number for item in queue.groups()] == [3, 9]


@pytest.mark.parametrize("kind", ["buffer", "queue"])
def test_a_put_wakes_who_waits(kind: str) -> None:
    env = simpy.Environment()
    store = SampleStore(env) if kind == "buffer" else MessageQueue(env, 3)
    waiting = store.changed()
    assert not waiting.triggered
    store.put(group(1))
    assert waiting.triggered
    assert not store.changed().triggered
