from __future__ import annotations

import simpy

from rlreport.simulator.decoding import DecodingClock
from rlreport.simulator.workload import PromptGroup


class Scripted:
    """A decoder whose sequences end after given delays; the groups in `last` are finished with them."""

    def __init__(self, delays_s: list[float], last: set[int]) -> None:
        self.alarm = 0
        self._delays_s = delays_s
        self._last = last
        self._place = 0
        self.ended: list[float] = []
        self.delay_s: float | None = delays_s[0]

    def complete(self, now_s: float) -> PromptGroup | None:
        place, self._place = self._place, self._place + 1
        self.ended.append(now_s)
        self.delay_s = self._delays_s[self._place] if self._place < len(self._delays_s) else None
        if place not in self._last:
            return None
        return PromptGroup(place, 0, 0, 0.0, [1], [0], [0], [now_s], 0, finished_s=now_s)


def test_only_finished_prompts_are_told_and_at_their_time() -> None:
    env = simpy.Environment()
    told: list[tuple[int, float]] = []
    clock = DecodingClock(env, lambda group: told.append((group.number, env.now)))
    decoder = Scripted([1.0, 2.0, 4.0], {1, 2})
    clock.set_alarm(decoder, 0.0)
    env.run()
    assert decoder.ended == [1.0, 3.0, 7.0]
    assert told == [(1, 3.0), (2, 7.0)]


def test_ends_of_several_replicas_come_in_order_of_time() -> None:
    env = simpy.Environment()
    told: list[float] = []
    clock = DecodingClock(env, lambda group: told.append(group.finished_s))
    for delays in ([5.0, 5.0], [3.0, 4.0]):
        clock.set_alarm(Scripted(delays, {0, 1}), 0.0)
    env.run()
    assert told == [3.0, 5.0, 7.0, 10.0]


def test_an_event_before_the_next_end_can_move_it() -> None:
    env = simpy.Environment()
    clock = DecodingClock(env, lambda _: None)
    decoder = Scripted([10.0, 1.0], set())
    clock.set_alarm(decoder, 0.0)

    def delay() -> object:
        yield env.timeout(4.0)
        decoder.delay_s = 20.0
        clock.set_alarm(decoder, env.now)

    env.process(delay())  # type: ignore[arg-type]
    env.run()
    assert decoder.ended == [24.0, 25.0]


def test_a_silenced_decoder_ends_nothing() -> None:
    env = simpy.Environment()
    clock = DecodingClock(env, lambda _: None)
    decoder = Scripted([10.0], set())
    clock.set_alarm(decoder, 0.0)
    decoder.delay_s = None
    clock.set_alarm(decoder, 0.0)
    env.run(until=50.0)
    assert decoder.ended == []
