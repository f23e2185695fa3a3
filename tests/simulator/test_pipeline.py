from __future__ import annotations

from itertools import pairwise

import pytest
from support.mode_scenarios import MODES, mode_scenario
from support.tiny_scenarios import noisy, tiny, tiny_sync

from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.records import Simulation
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import device_seconds
from rlreport.simulator.truth import bubble_owner


def step_seconds(simulation: Simulation) -> list[float]:
    return [pytest.approx(record.step_s, abs=1e-9) for record in simulation.steps]


def waits(simulation: Simulation) -> list[float]:
    return [pytest.approx(record.seconds["gen"], abs=1e-9) for record in simulation.steps]


def test_without_lead_the_trainer_waits_for_every_batch() -> None:
    # 10 s of generation, two updates of 12 s (the second mini-batch is ready), 3 s of weight sync.
    simulation = run_pipeline(tiny())
    assert step_seconds(simulation) == [37.0, 37.0, 37.0]
    assert waits(simulation) == [10.0, 10.0, 10.0]
    assert simulation.steps[0].begin_s == 5.0


def test_a_warm_up_batch_hides_generation_from_step_2_on() -> None:
    simulation = run_pipeline(tiny(sync__warmup_batches=1))
    assert step_seconds(simulation) == [37.0, 27.0, 27.0]
    assert waits(simulation) == [10.0, 0.0, 0.0]
    assert [record.ready for record in simulation.steps] == [[0, 3], [2, 3], [2, 3]]


def test_a_trainer_bound_run_leaves_the_rollouters_idle() -> None:
    # Of the 27 s of a step they generate 10, wait 14 for prompts and 3 for weights; the Trainer only waits for weights.
    simulation = run_pipeline(tiny(sync__warmup_batches=1))
    steady = [(record.begin_s, record.end_s) for record in simulation.steps[1:]]
    rollout = device_seconds(simulation.lanes, "rollout", steady)
    assert rollout.busy == pytest.approx({"generate": 20.0})
    assert rollout.idle == pytest.approx({"quota": 28.0, "weight_sync": 6.0})
    trainer = device_seconds(simulation.lanes, "trainer", steady)
    assert trainer.busy == pytest.approx({"update_actor": 48.0})
    assert trainer.idle == pytest.approx({"weight_sync": 6.0})
    assert bubble_owner(simulation) == "rollout"


def test_a_rollout_bound_run_leaves_the_trainer_idle() -> None:
    # At 1 token/s, two at a time, a batch takes 100 s and 3 s of weight sync within it: that is the step. 27 s are training.
    simulation = run_pipeline(
        tiny(steps=6, sync__warmup_batches=1, rollout__decode_tokens_per_s=1, rollout__max_sequences=2)
    )
    assert step_seconds(simulation)[2:] == [103.0] * 4
    assert waits(simulation)[2:] == [76.0] * 4
    steady = [(record.begin_s, record.end_s) for record in simulation.steps[2:]]
    assert device_seconds(simulation.lanes, "trainer", steady).idle_fraction("samples") == pytest.approx(76 / 103)
    assert device_seconds(simulation.lanes, "rollout", steady).idle_fraction("quota") == 0.0
    assert bubble_owner(simulation) == "trainer"


def test_polling_rounds_the_wait_up() -> None:
    simulation = run_pipeline(tiny(rollout__poll_interval_s=4))
    assert waits(simulation) == [12.0, 12.0, 12.0]
    counts = [(poll.at_s, poll.counts.running, poll.counts.finished) for poll in simulation.polls[:3]]
    assert counts == [(5.0, 2, 0), (9.0, 2, 0), (13.0, 2, 0)]


def test_fetching_a_ready_batch_counts_as_waiting() -> None:
    simulation = run_pipeline(tiny(sync__warmup_batches=1, rollout__fetch_s=0.5))
    assert waits(simulation) == [11.0, 1.0, 1.0]


def test_validation_follows_the_step_and_a_checkpoint_is_part_of_it() -> None:
    simulation = run_pipeline(
        tiny(
            schedule__validate_every_steps=2,
            schedule__validation_s=7,
            schedule__validate_before_training=True,
            schedule__checkpoint_every_steps=2,
            schedule__checkpoint_s=4,
        )
    )
    assert simulation.initial_validation_s == 12.0  # 5 s of start-up and 7 s of validation
    assert step_seconds(simulation) == [37.0, 41.0, 41.0]  # the last step validates and saves as well
    assert [record.testing_s for record in simulation.steps] == [None, pytest.approx(7.0), pytest.approx(7.0)]
    assert simulation.end_s == pytest.approx(12 + 37 + 41 + 7 + 41 + 7)
    run = [(0.0, simulation.end_s)]
    assert device_seconds(simulation.lanes, "rollout", run).busy["validate"] == pytest.approx(21.0)
    assert device_seconds(simulation.lanes, "trainer", run).idle["validation"] == pytest.approx(21.0)


def test_the_first_step_has_extra_work_in_no_other_timer() -> None:
    first = run_pipeline(tiny(trainer__first_step_extra_s=6)).steps[0]
    assert first.step_s == pytest.approx(43.0)
    assert sum(first.seconds.values()) == pytest.approx(37.0)


def test_a_sync_step_is_generation_then_training_on_the_same_devices() -> None:
    # Two replicas, one response each: 10 s. Two updates of 2 s + 110 tokens / (2 x 11): 7 s each. 3 s of weight sync.
    simulation = run_pipeline(tiny_sync())
    assert step_seconds(simulation) == [27.0, 27.0, 27.0]
    assert simulation.steps[0].seconds == pytest.approx(
        {"gen": 10.0, "old_log_prob": 0.0, "adv": 0.0, "update_actor": 14.0, "update_weights": 3.0}
    )


def test_in_sync_mode_a_replica_that_is_done_waits_for_the_longest() -> None:
    # Three responses on two replicas that decode one at a time: 20 s, of which one device idles 10.
    simulation = run_pipeline(tiny_sync(workload__prompts_per_step=3, rollout__max_sequences=1))
    assert waits(simulation) == [20.0, 20.0, 20.0]
    steps = [(record.begin_s, record.end_s) for record in simulation.steps]
    assert device_seconds(simulation.lanes, "trainer", steps).idle == pytest.approx({"long_tail": 30.0, "weight_sync": 18.0})
    assert bubble_owner(simulation) == "neither"


def test_staleness_is_one_version_with_one_warm_up_batch() -> None:
    batches = [batch for record in run_pipeline(tiny(steps=5, sync__warmup_batches=1)).steps for batch in record.batches]
    # The warm-up batch and the first are sampled from version 0; then a batch is sampled one version before its step.
    assert [int(batch.first_version[0]) for batch in batches] == [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]


def test_samples_older_than_the_threshold_are_dropped_and_replaced() -> None:
    scenario = noisy(sync__warmup_batches=3, sync__max_off_policy_threshold=1, steps=8)
    simulation = run_pipeline(scenario)
    assert sum(record.evicted for record in simulation.steps) > 0
    for record in simulation.steps:
        for batch in record.batches:
            assert record.step - 1 - int(batch.first_version.min()) <= 1
    assert_nothing_lost(simulation)


VARIED = [
    *(mode_scenario(name) for name in MODES),
    noisy(seed=5, sync__warmup_batches=2.5, rollout__poll_interval_s=0),
    noisy(seed=6, rollout__decode_tokens_per_s=1.5),
    noisy(seed=7, rollout__bundle=2),
    noisy(seed=8, hybrid__validates=True, hybrid__to_rollout_s=2, hybrid__to_trainer_s=1),
    mode_scenario("switch", seed=9, rollout__decode_tokens_per_s=3, hybrid__validates=True),
    mode_scenario("colocate_async", seed=10, sync__warmup_batches=2, hybrid__to_trainer_s=1),
    mode_scenario("fully_async", seed=11, fully_async__partial_rollout=False),
    mode_scenario("fully_async", seed=12, fully_async__staleness_threshold=0, hybrid__validates=True),
]


def assert_nothing_lost(simulation: Simulation) -> None:
    trained = sum(record.tokens for record in simulation.steps)
    kept = sum(group.tokens for group in (*simulation.left_over, *simulation.unfinished))
    assert simulation.submitted_tokens == trained + simulation.evicted_tokens + kept


@pytest.mark.parametrize("scenario", VARIED)
def test_every_token_that_goes_in_comes_out(scenario: Scenario) -> None:
    assert_nothing_lost(run_pipeline(scenario))


@pytest.mark.parametrize("scenario", VARIED)
def test_busy_and_idle_are_wall_time_times_devices(scenario: Scenario) -> None:
    simulation = run_pipeline(scenario)
    sides = {"trainer": scenario.trainer_devices, "rollout": scenario.rollout_devices}
    for lane in simulation.lanes:
        assert (lane.spans[0].start_s, lane.spans[-1].end_s) == (0.0, simulation.end_s)
        assert all(before.end_s == after.start_s for before, after in pairwise(lane.spans))
    for side, devices in sides.items():
        found = device_seconds(simulation.lanes, side, [(0.0, simulation.end_s)])  # type: ignore[arg-type]
        assert found.devices == devices
        assert sum(found.busy.values()) + sum(found.idle.values()) == pytest.approx(devices * simulation.end_s, rel=1e-9)


@pytest.mark.parametrize("scenario", VARIED)
def test_the_timers_of_a_step_add_up_to_the_step(scenario: Scenario) -> None:
    outside = ("save_checkpoint",) if scenario.mode in ("one_step_off", "fully_async") else ()
    for record in run_pipeline(scenario).steps:
        inside = sum(seconds for timer, seconds in record.seconds.items() if timer not in outside)
        assert inside == pytest.approx(record.step_s, rel=1e-9)


@pytest.mark.parametrize("scenario", VARIED)
def test_what_happened_is_in_order_of_time(scenario: Scenario) -> None:
    simulation = run_pipeline(scenario)
    for before, after in pairwise(simulation.steps):
        assert before.begin_s <= before.end_s <= before.logged_s <= after.begin_s
    for record in simulation.steps:
        for batch in record.batches:
            assert (batch.submitted_s < batch.finished_s).all()
            assert (batch.finished_s <= batch.taken_s).all()
            assert (batch.first_version >= 0).all()
            assert (batch.first_version <= batch.last_version).all()
            assert record.begin_s <= batch.taken_s <= record.end_s
    versions = [sync.version for sync in simulation.syncs]
    assert versions == sorted(set(versions))
    assert len(simulation.validations) == sum(record.testing_s is not None for record in simulation.steps) + 1


@pytest.mark.parametrize("scenario", VARIED)
def test_no_replica_runs_more_than_it_may(scenario: Scenario) -> None:
    for sample in run_pipeline(scenario).gauges:
        assert len(sample.running) == scenario.replicas + (scenario.hybrid_replicas if scenario.hybrid.enable_switch else 0)
        assert max(sample.running) <= scenario.rollout.max_sequences


def test_bundles_of_equal_responses_change_nothing() -> None:
    scenario = {"workload__samples_per_prompt": 4, "rollout__half_rate_sequences": 3, "sync__warmup_batches": 1}
    one, four = (run_pipeline(tiny(**scenario, rollout__bundle=bundle)) for bundle in (1, 4))
    assert [record.step_s for record in one.steps] == pytest.approx([record.step_s for record in four.steps])


@pytest.mark.parametrize("name", sorted(MODES))
def test_the_same_scenario_happens_twice_the_same(name: str) -> None:
    first, second = (run_pipeline(mode_scenario(name)) for _ in range(2))
    assert [record.seconds for record in first.steps] == [record.seconds for record in second.steps]
    assert [lane.spans for lane in first.lanes] == [lane.spans for lane in second.lanes]


def test_more_rollouters_do_not_speed_up_a_trainer_bound_run() -> None:
    few, many = (run_pipeline(tiny(sync__warmup_batches=1, steps=6, cluster__rollout_nodes=n)) for n in (2, 4))
    assert few.steps[-1].step_s == pytest.approx(many.steps[-1].step_s)
