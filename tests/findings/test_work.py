from __future__ import annotations

from dataclasses import replace

import pytest
from support.made_findings import CONFIG, SYNC_STEP, WARM_UP, context_of, example_run, steady_run, traced
from support.sample_runs import sample_run

from rlreport.comparators.analysis import AnalysisRequest, analyse
from rlreport.comparators.ladder import measure_ladder
from rlreport.findings.context import Context
from rlreport.findings.resources import trainer_waits
from rlreport.findings.work import budget_gain_bound, long_lead, no_lead, short_lead, token_budget, weight_sync

OFF_POLICY = "trainer.v1.sampler.max_off_policy_threshold"
STRATEGY = "trainer.v1.sampler.max_off_policy_strategy"
NO_LEAD = {**CONFIG, SYNC_STEP: 1, WARM_UP: 0, OFF_POLICY: 1, STRATEGY: "wait"}
BUDGET = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
MEMORY = "devices.memory_gb"


def test_weight_sync_as_the_largest_part_bounds_the_gain() -> None:
    run = steady_run({"time.weight_sync_s": 40.0, "time.update_actor_s": 35.0, "time.wait_s": 25.0})
    found = weight_sync(context_of(run))
    assert found is not None and found.action is not None
    assert found.title == "Weight sync is the largest part of a step: 40.0 %"
    assert (found.severity, found.owner) == ("high", "both")
    assert found.action.gain_bound == pytest.approx(100 / 60)
    assert f"{SYNC_STEP}=8 data.train_batch_size=128" in found.fragment


def test_a_small_weight_sync_is_no_finding() -> None:
    assert weight_sync(context_of(steady_run({"time.weight_sync_s": 9.0, "time.update_actor_s": 91.0}))) is None


def test_a_lead_that_is_ruled_out_comes_before_devices() -> None:
    context = context_of(steady_run({"time.wait_s": 30.0}, NO_LEAD))
    found = no_lead(context)
    assert found is not None and found.action is not None
    assert (found.action.knob, found.action.tier) == (WARM_UP, 3)
    assert found.action.gain_bound == pytest.approx(100 / 70)
    assert trainer_waits(context) is None


@pytest.mark.parametrize("change", [{WARM_UP: 1}, {SYNC_STEP: 4}, {OFF_POLICY: 8}, {STRATEGY: "drop"}])
def test_any_of_the_four_knobs_allows_a_lead(change: dict[str, object]) -> None:
    context = context_of(steady_run({"time.wait_s": 30.0}, {**NO_LEAD, **change}))
    assert no_lead(context) is None
    assert trainer_waits(context) is not None


def test_both_sides_waiting_in_turns_is_a_short_lead() -> None:
    context = context_of(steady_run({"time.wait_s": 20.0}), traced({"samples": 0.2}, {"quota": 0.15}))
    found = short_lead(context)
    assert found is not None and found.action is not None
    assert f"{WARM_UP}=2" in found.fragment
    assert found.action.gain_bound == pytest.approx(1 / 0.85)
    assert trainer_waits(context) is None
    assert short_lead(context_of(steady_run({"time.wait_s": 20.0}))) is None


@pytest.mark.parametrize(("queue", "told"), [(160.0, True), (100.0, False)])
def test_a_lead_of_more_than_two_batches_is_too_long(queue: float, told: bool) -> None:
    # A batch has 4 mini-batches of 16 prompts: 160 prompts are 10 mini-batches, 100 are 6.25 of the 8 that bridge something.
    run = steady_run({"time.wait_s": 1.0, "queue.samples": queue}, {**CONFIG, WARM_UP: 3})
    assert (long_lead(context_of(run)) is not None) is told


def busy(memory_gb: float | None, wait_s: float = 1.0) -> Context:
    config = {**CONFIG, BUDGET: 10_240, **({} if memory_gb is None else {MEMORY: memory_gb})}
    columns = {"time.wait_s": wait_s, "time.update_actor_s": 80.0, "memory.reserved_gb": 40.0, "queue.samples": 16.0}
    return context_of(steady_run(columns, config))


def test_the_budget_may_grow_up_to_the_margin() -> None:
    # 90 % of 64 GB over 40 GB is 1.44: 14,745 tokens, 14,336 in steps of 1,024.
    found = token_budget(busy(64))
    assert found is not None and found.action is not None
    assert "14,336 tokens" in found.action.text
    assert found.action.gain_bound is None
    assert f"{BUDGET}=14336" in found.fragment


def test_without_memory_or_with_a_waiting_trainer_no_budget_is_named() -> None:
    assert token_budget(busy(None)) is None
    assert token_budget(busy(48)) is None  # 43.2 GB may be reserved: less than a tenth more
    assert token_budget(busy(64, wait_s=5.0)) is None


def omni() -> Context:
    names = ("r8t8", "r8t16-wu2", "r8t16-wu2-tok30k")
    runs = {name: example_run(f"qwen3-omni/{name}", 64) for name in names}
    analysis = analyse(AnalysisRequest("omni", "ladder", names[0], names[1:]), runs)
    return Context(replace(analysis, ladder=measure_ladder(analysis)), names[-1])


def test_the_ladder_leads_to_the_token_budget_up_to_the_headroom() -> None:
    context = omni()
    found = token_budget(context)
    assert found is not None and found.action is not None
    # 38.84 GB at 10,240 and 51.12 GB at 30,720 tokens: 57.6 GB are reached at 41,534.
    assert f"{BUDGET}=40960" in found.fragment
    ladder = context.analysis.ladder
    assert ladder is not None and ladder.rungs[-1].ratio is not None and ladder.rungs[-1].ratio.ci_high is not None
    # Time per work: 1 before, 1 / R after. c (1/10240 - 1/30720) = 1 - 1/R, of which c (1/30720 - 1/40960) is left to gain.
    ratio = ladder.rungs[-1].ratio.ci_high
    left = (1 - 1 / ratio) * (1 / 30_720 - 1 / 40_960) / (1 / 10_240 - 1 / 30_720)
    assert found.action.gain_bound == pytest.approx((1 / ratio) / (1 / ratio - left))
    assert 1.005 < found.action.gain_bound < 1.03
    assert budget_gain_bound(ladder, context.run_id, 20_480) is None


def test_the_real_run_polls_and_has_no_lead(samples: object) -> None:
    found = no_lead(context_of(sample_run(samples, "verl-separate-async-npu")))  # type: ignore[arg-type]
    assert found is not None
    assert "polled every 2 s" in found.title
    assert "Rollouter idle is unknown" in found.body
    assert "With 1 Trainer and 1 Rollout device none can be moved." in found.body
