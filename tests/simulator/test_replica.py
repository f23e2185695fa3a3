from __future__ import annotations

import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from rlreport.simulator.replica import Replica, decode_rates
from rlreport.simulator.scenario import RolloutSpeed
from rlreport.simulator.spans import Lane
from rlreport.simulator.workload import PromptGroup, Trajectory


class Bench:
    """A replica alone, and when each of its sequences ended."""

    def __init__(self, **speed: float | None) -> None:
        self.env = simpy.Environment()
        self.ended: dict[int, float] = {}
        self.lane = Lane("replica", "rollout", 1)
        self.replica = Replica(self.env, self.lane, RolloutSpeed.model_validate(speed), "quota", lambda: None, self._end)

    def _end(self, group: PromptGroup) -> None:
        self.ended[group.number] = self.env.now

    def enqueue(self, lengths: list[int], prompt_tokens: int = 10) -> list[PromptGroup]:
        groups = [PromptGroup(number, prompt_tokens, 0, [n], [-1], [-1], 1) for number, n in enumerate(lengths)]
        self.replica.enqueue([Trajectory(group, 0, group.response_tokens[0]) for group in groups])
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
    bench.at(3, "enqueue", [Trajectory(PromptGroup(0, 10, 0, [100], [-1], [-1], 1), 0, 100)])  # type: ignore[arg-type]
    bench.run()
    bench.lane.close(20.0)
    assert [(s.state, s.cause, s.start_s, s.end_s) for s in bench.lane.spans] == [
        ("idle", "startup", 0.0, 3),
        ("generate", None, 3, 13.0),
        ("idle", "quota", 13.0, 20.0),
    ]


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
