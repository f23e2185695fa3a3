from __future__ import annotations

import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.scenario import Scenario
from rlreport.simulator.switching import SwitchPolicy


def scenario(**changes: object) -> Scenario:
    """64 prompts in four mini-batches; 2 Trainer and 2 Rollout devices: generation is twice as fast with help."""
    return tiny(
        **{
            "cluster__trainer_nodes": 2,
            "cluster__rollout_nodes": 2,
            "workload__prompts_per_step": 64,
            "trainer__mini_batch_prompts": 16,
            "rollout__poll_interval_s": 2,
            "steps": 100,
            "hybrid__enable_switch": True,
            **changes,
        }
    )


@pytest.mark.parametrize(("ratio", "threshold"), [(0.4, 26), (0.1, 16), (1.0, 64)])
def test_the_threshold_is_a_share_of_the_batch_and_at_least_a_mini_batch(ratio: float, threshold: int) -> None:
    assert SwitchPolicy(scenario(hybrid__switch_threshold_ratio=ratio)).threshold() == threshold


def test_the_first_switch_is_made_to_find_out() -> None:
    policy = SwitchPolicy(scenario())
    policy.begin()
    decision = policy.decide(1, sampleable=10)
    assert decision.should_switch_to_rollout
    assert (decision.remaining, decision.per_sample_s, decision.switch_cost_s) == (26 - 10, None, None)


@pytest.mark.parametrize(("cost_s", "switches"), [(3.9, True), (4.1, False)])
def test_a_switch_must_promise_more_than_it_costs(cost_s: float, switches: bool) -> None:
    # 16 samples were missing and 8 s were waited: 0.5 s a sample. 16 are missing again, and with twice the devices half of
    # the 8 s are saved: 4 s.
    policy = SwitchPolicy(scenario(hybrid__adaptive_switch_threshold=False))
    policy.to_rollout_s.append(cost_s - 1)
    policy.to_trainer_s.append(1.0)
    policy.begin()
    policy.waited(8.0, 16)
    decision = policy.decide(1, sampleable=10)
    assert (decision.per_sample_s, decision.switch_cost_s, decision.wait_samples) == (0.5, pytest.approx(cost_s), 16)
    assert decision.should_switch_to_rollout is switches


def test_nothing_is_switched_when_enough_is_finished_or_the_run_ends() -> None:
    policy = SwitchPolicy(scenario())
    assert not policy.decide(1, sampleable=26).should_switch_to_rollout
    assert not policy.decide(100, sampleable=0).should_switch_to_rollout


def test_the_ratio_rises_after_two_idle_steps_and_falls_after_two_calm_ones() -> None:
    policy = SwitchPolicy(scenario())
    ratios = []
    for waited_s in (5.0, 5.0, 5.0, 1.0, 1.0, 5.0):  # idle is what waits longer than the 2 s of a poll
        policy.begin()
        policy.waited(waited_s, 4)
        ratios.append(policy.decide(1, sampleable=0).threshold_ratio)
    assert [*ratios, policy.ratio] == pytest.approx([0.4, 0.4, 0.45, 0.5, 0.5, 0.47, 0.47])


def test_the_ratio_never_falls_below_a_mini_batch() -> None:
    policy = SwitchPolicy(scenario())
    for _ in range(20):
        policy.begin()
        policy.decide(1, sampleable=0)
    assert policy.ratio == 0.25


def test_only_the_latest_costs_count() -> None:
    policy = SwitchPolicy(scenario())
    policy.to_rollout_s.extend([100.0, 2.0, 4.0, 6.0])
    policy.to_trainer_s.append(1.0)
    assert policy.decide(1, sampleable=0).switch_cost_s == 5.0
