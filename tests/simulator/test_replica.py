from __future__ import annotations

import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from rlreport.simulator.decoding import DecodingClock
from rlreport.simulator.replica import Replica, decode_rates
from rlreport.simulator.scenario import RolloutSpeed
from rlreport.simulator.spans import Lane
from rlreport.simulator.workload import PromptGroup, trajectories


def group_of(number: int, tokens: int, prompt_tokens: int) -> PromptGroup:
    """A prompt with one response."""
    return PromptGroup(number, prompt_tokens, 0, 0.0, [tokens], [-1], [-1], [0.0], 1)


class Bench:
    """A replica alone, and when each of its sequences ended."""

    def __init__(self, **speed: float | None) -> None:
        self.env = simpy.Environment()
        self.ended: dict[int, float] = {}
        self.lane = Lane("replica", "rollout", 1)
        self.speed = RolloutSpeed.model_validate(speed)
        clock = DecodingClock(self.env, self._end)
        self.replica = Replica(clock, self.lane, self.speed, "quota", lambda: None)

    def _end(self, group: PromptGroup) -> None:
        self.ended[group.number] = self.env.now

    def enqueue(self, lengths: list[int], prompt_tokens: int = 10) -> list[PromptGroup]:
        groups = [group_of(number, n, prompt_tokens) for number, n in enumerate(lengths)]
        self.replica.enqueue([bundle for group in groups for bundle in trajectories(group, 1)])
        return groups

    def at(self, seconds: float, action: str, *arguments: float) -> None:
        timeout = self.env.timeout(seconds)
        timeout.callbacks.append(lambda _: getattr(self.replica, action)(*arguments))

    def run(self) -> dict[int, float]:
        self.env.run()
        return self.ended


def test_a_sequence_alone_decodes_at_the_single_rate() -> None:
    bench = Bench(decode_tokens_per_s=10)
    bench.enqueue([100])
    assert bench.run() == {0: 10.0}


def test_two_sequences_share_and_the_longer_one_speeds_up_alone() -> None:
    # rate(2) = 10 / (1 + 1/1) = 5: the first ends at 100 / 5 = 20 s; 200 tokens are left, alone at 10 tokens/s: 20 s more.
    bench = Bench(decode_tokens_per_s=10, half_rate_sequences=1)
    bench.enqueue([100, 300])
    assert bench.run() == {0: 20.0, 1: 40.0}


def test_a_full_replica_starts_the_next_sequence_when_one_ends() -> None:
    bench = Bench(decode_tokens_per_s=10, max_sequences=2)
    bench.enqueue([100, 50, 30])
    assert bench.run() == {1: 5.0, 2: 8.0, 0: 10.0}


def test_a_pause_shifts_the_end_by_its_length() -> None:
    bench = Bench(decode_tokens_per_s=10)
    groups = bench.enqueue([100])
    bench.at(4, "pause")
    bench.at(9, "resume", 1)
    assert bench.run() == {0: 15.0}
    assert (groups[0].first_versions, groups[0].last_versions) == ([0], [1])


def test_a_resumed_sequence_first_reads_what_it_has() -> None:
    # Start: 100 + 100 / 50 = 102 tokens of work. At 4 s, 40 are done and 62 left, all of the response: 38 of its 100 exist.
    # Reading 100 + 38 again costs 138 / 50 = 2.76; 64.76 tokens at 10 tokens/s end at 9 + 6.476 s.
    bench = Bench(decode_tokens_per_s=10, prefill_speedup=50)
    bench.enqueue([100], prompt_tokens=100)
    bench.at(4, "pause")
    bench.at(9, "resume", 1)
    assert abs(bench.run()[0] - 15.476) < 1e-9


def test_the_noise_factor_changes_the_rate_from_then_on() -> None:
    bench = Bench(decode_tokens_per_s=10)
    bench.enqueue([100])
    bench.at(5, "set_factor", 2.0)
    assert bench.run() == {0: 7.5}


def test_the_lane_works_while_anything_runs_and_idles_else() -> None:
    bench = Bench(decode_tokens_per_s=10)
    bench.at(3, "enqueue", trajectories(group_of(0, 100, 10), 1))  # type: ignore[arg-type]
    bench.run()
    bench.lane.close(20.0)
    assert [(s.state, s.cause, s.start_s, s.end_s) for s in bench.lane.spans] == [
        ("idle", "startup", 0.0, 3),
        ("generate", None, 3, 13.0),
        ("idle", "quota", 13.0, 20.0),
    ]


def test_an_idle_replica_says_why_it_idles_from_then_on() -> None:
    bench = Bench(decode_tokens_per_s=10)
    bench.enqueue([100])
    bench.at(4, "set_idle_cause", "long_tail")  # type: ignore[arg-type]
    bench.at(15, "set_idle_cause", "quota")  # type: ignore[arg-type]
    bench.run()
    bench.lane.close(20.0)
    assert [(s.state, s.cause, s.start_s, s.end_s) for s in bench.lane.spans] == [
        ("generate", None, 0.0, 10.0),
        ("idle", "long_tail", 10.0, 15),
        ("idle", "quota", 15, 20.0),
    ]


def test_an_evacuated_sequence_goes_on_elsewhere_from_where_it_was() -> None:
    # At 4 s, 40 of 100 tokens are there. Elsewhere they are read again (40 / 50 of a token's time), then 60 tokens follow.
    # The other sequence had not begun: it has nothing to read, and decodes its 100 tokens behind the first.
    bench = Bench(decode_tokens_per_s=10, max_sequences=1, prefill_speedup=50)
    bench.enqueue([100, 100], prompt_tokens=0)
    other = Replica(bench.replica._clock, Lane("other", "rollout", 1), bench.speed, "quota", lambda: None)
    move = bench.env.timeout(4.0)
    move.callbacks.append(lambda _: other.enqueue(bench.replica.evacuate()))
    ended = bench.run()
    assert abs(ended[0] - (4 + (60 + 40 / 50) / 10)) < 1e-9
    assert abs(ended[1] - (ended[0] + 10.0)) < 1e-9
    assert bench.replica.in_flight == 0


def test_a_bundle_decodes_at_the_rate_of_all_its_sequences() -> None:
    # Two bundles of two: four sequences at 10 / (1 + 3/3) = 5 tokens/s until the first, 40 tokens, ends at 8 s; then two at
    # 10 / (1 + 1/3) = 7.5: the other has 60 - 40 = 20 tokens left.
    bench = Bench(decode_tokens_per_s=10, half_rate_sequences=3, bundle=2, max_sequences=4)
    group = PromptGroup(0, 0, 0, 0.0, [70, 30, 50, 50], [-1] * 4, [-1] * 4, [0.0] * 4, 2)
    bundles = trajectories(group, 2)
    assert [(bundle.indices, bundle.tokens) for bundle in bundles] == [((1, 2), 40.0), ((3, 0), 60.0)]
    bench.replica.enqueue(bundles)
    assert (bench.replica.running_sequences, bench.replica.waiting_sequences) == (4, 0)
    bench.run()
    assert group.finished_at == [8 + 20 / 7.5, 8.0, 8.0, 8 + 20 / 7.5]


def test_the_sum_of_all_rates_grows_towards_single_times_half() -> None:
    rates = decode_rates(RolloutSpeed.model_validate({"decode_tokens_per_s": 80, "half_rate_sequences": 57}))
    sums = [count * rate for count, rate in enumerate(rates)]
    assert sums == sorted(sums)
    assert rates[1] == 80
    assert rates[58] == 40  # 57 beside it: half
    assert 0.8 * 80 * 57 < sums[256] < 80 * 57


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 400), min_size=1, max_size=12),
    slots=st.integers(1, 5),
    half=st.integers(1, 8),
)
def test_every_end_agrees_with_a_simulation_that_subtracts_tokens(lengths: list[int], slots: int, half: int) -> None:
    bench = Bench(decode_tokens_per_s=20, half_rate_sequences=half, max_sequences=slots)
    bench.enqueue(lengths)
    expected = _by_subtraction(lengths, slots, lambda count: 20.0 / (1.0 + (count - 1) / half))
    assert bench.run().keys() == expected.keys()
    assert all(abs(bench.ended[n] - expected[n]) < 1e-6 for n in expected)


def _by_subtraction(lengths: list[int], slots: int, rate: object) -> dict[int, float]:
    """The same model the slow way: keep what is left of every running sequence, and subtract until one is done."""
    now, waiting, left, ended = 0.0, list(enumerate(lengths)), {}, {}
    while waiting or left:
        while waiting and len(left) < slots:
            number, tokens = waiting.pop(0)
            left[number] = float(tokens)
        speed = rate(len(left))  # type: ignore[operator]
        seconds = min(left.values()) / speed
        now += seconds
        left = {number: tokens - seconds * speed for number, tokens in left.items()}
        for number in [number for number, tokens in left.items() if tokens < 1e-7]:
            ended[number] = now
            del left[number]
    return ended
