from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.mode_scenarios import mode_scenario
from support.tiny_scenarios import tiny

from rlreport.simulator.async_events import AsyncFacts
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.records import MiniBatch, Simulation, StepRecord
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.spans import device_seconds


def fully_async(staleness: float, **changes: Any) -> Scenario:
    """Two rounds of one prompt a version. A response takes 10 s, an update 12 s, a weight sync 3 s."""
    knobs = {"fully_async__staleness_threshold": staleness, "fully_async__trigger_parameter_sync_step": 2}
    return tiny(**{"mode": "fully_async", **knobs, **changes})


def one_at_a_time(**changes: Any) -> Scenario:
    """One round of one prompt a version, one prompt in generation, 25 s each: longer than an update and a sync."""
    return fully_async(
        1.0,
        **{
            "workload__prompts_per_step": 1,
            "fully_async__trigger_parameter_sync_step": 1,
            "fully_async__concurrent_samples_per_replica": 1,
            "rollout__decode_tokens_per_s": 4,
            "steps": 4,
            **changes,
        },
    )


def facts(simulation: Simulation) -> AsyncFacts:
    assert simulation.async_facts is not None
    return simulation.async_facts


def batches(simulation: Simulation) -> Iterator[tuple[StepRecord, MiniBatch]]:
    return ((record, batch) for record in simulation.steps for batch in record.batches)


def seconds(simulation: Simulation, timer: str) -> list[float]:
    return [record.seconds.get(timer, 0.0) for record in simulation.steps]


def test_without_staleness_every_version_waits_for_all_of_its_own_samples() -> None:
    # Two prompts are handed out at the begin of a version, both are done after 10 s; nothing is handed out before the sync.
    simulation = run_pipeline(fully_async(0.0))
    assert [record.step_s for record in simulation.steps] == pytest.approx([22.0, 15.0] * 3)
    assert seconds(simulation, "gen") == pytest.approx([10.0, 0.0] * 3)
    assert seconds(simulation, "param_sync") == pytest.approx([0.0, 3.0] * 3)
    assert all((batch.first_version == record.version).all() for record, batch in batches(simulation))
    assert [version.staleness_samples for version in facts(simulation).versions] == [0, 0, 0, 0]
    assert [version.generated for version in facts(simulation).versions] == [0, 2, 2, 2]


def test_without_staleness_a_noisy_version_trains_only_what_it_generated() -> None:
    simulation = run_pipeline(mode_scenario("fully_async", fully_async__staleness_threshold=0))
    assert all((batch.first_version == record.version).all() for record, batch in batches(simulation))
    assert all(version.staleness_samples == 0 for version in facts(simulation).versions)


def test_a_quota_above_zero_hides_generation_from_the_second_version_on() -> None:
    # max_required = int(2 x 1.5) = 3 prompts are out at first; the one that is left counts as stale, so two follow, and so
    # on; the run has six.
    simulation = run_pipeline(fully_async(0.5))
    assert simulation.scenario.quota.max_required_samples == 3
    assert [record.step_s for record in simulation.steps] == pytest.approx([22.0, 15.0, 12.0, 15.0, 12.0, 15.0])
    assert [record.ready for record in simulation.steps] == [[0], [2], [1], [2], [1], [1]]
    assert [int(batch.last_version[0]) for _, batch in batches(simulation)] == [0, 0, 0, 1, 1, 2]
    assert [record.version for record in simulation.steps] == [0, 0, 1, 1, 2, 2]
    assert [version.staleness_samples for version in facts(simulation).versions] == [0, 1, 1, 0]


def test_the_rollouter_pauses_when_its_quota_is_used_up() -> None:
    # It pauses at 5 s, after its third prompt; the sync ends at 42 s. Then at once again, after two more. The run has six.
    simulation = run_pipeline(fully_async(0.5))
    pauses = facts(simulation).pauses
    assert [(pause.at_s, pause.reason, pause.value, pause.limit) for pause in pauses[:2]] == [
        (5.0, "staleness", 3, 3),
        (42.0, "staleness", 3, 3),
    ]
    assert [pause.resumed_s for pause in pauses[:2]] == [42.0, 69.0]
    found = device_seconds(simulation.lanes, "rollout", [(5.0, 42.0)])
    assert found.busy == pytest.approx({"generate": 10.0})
    assert found.idle == pytest.approx({"quota": 24.0, "weight_sync": 3.0})
    assert facts(simulation).versions[1].drained_s == pytest.approx(15.0)


def test_partial_rollout_interrupts_and_goes_on_with_the_new_weights() -> None:
    # The first response ends at 30 s, the update at 42 s. The second runs since 30 s, is interrupted from 42 to 45 s and
    # ends at 58 s: 13 s of waiting. Then every version takes 13 + 12 + 3 s.
    simulation = run_pipeline(one_at_a_time())
    assert [record.step_s for record in simulation.steps] == pytest.approx([40.0, 28.0, 28.0, 28.0])
    assert seconds(simulation, "gen") == pytest.approx([25.0, 13.0, 13.0, 13.0])
    versions = [(int(batch.first_version[0]), int(batch.last_version[0])) for _, batch in batches(simulation)]
    assert versions == [(0, 0), (0, 1), (1, 2), (2, 3)]
    assert [sync.drain_s for sync in simulation.syncs] == [0.0] * 4


def test_without_partial_rollout_the_sync_waits_for_what_runs() -> None:
    # At 42 s the second response needs 13 s more, and nothing new may begin: param_sync is 13 + 3 s. Its sample is ready
    # after the sync, so the next round does not wait; the third response runs meanwhile, and the next sync waits for it.
    simulation = run_pipeline(one_at_a_time(fully_async__partial_rollout=False))
    assert seconds(simulation, "param_sync") == pytest.approx([16.0, 16.0, 16.0, 3.0])
    assert seconds(simulation, "gen") == pytest.approx([25.0, 0.0, 0.0, 0.0])
    assert all((batch.first_version == batch.last_version).all() for _, batch in batches(simulation))
    assert [sync.drain_s for sync in simulation.syncs] == pytest.approx([13.0, 13.0, 13.0, 0.0])
    trainer = device_seconds(simulation.lanes, "trainer", [(0.0, simulation.end_s)])
    assert trainer.idle["long_tail"] == pytest.approx(39.0)


def test_a_round_takes_several_mini_batches() -> None:
    # Four prompts in one round of two mini-batches of two: 10 s of waiting, two updates of 2 + 220 / 11 = 22 s, 3 s of sync.
    scenario = fully_async(
        0.0,
        workload__prompts_per_step=4,
        trainer__mini_batch_prompts=2,
        fully_async__require_batches=2,
        fully_async__trigger_parameter_sync_step=1,
    )
    simulation = run_pipeline(scenario)
    assert [len(record.batches) for record in simulation.steps] == [2, 2, 2]
    assert [record.step_s for record in simulation.steps] == pytest.approx([57.0] * 3)
    assert simulation.steps[0].batches[0].wait_s == pytest.approx(5.0)


def test_samples_leave_the_queue_in_the_order_of_their_end() -> None:
    simulation = run_pipeline(mode_scenario("fully_async"))
    size = simulation.scenario.workload.samples_per_prompt
    ends = np.concatenate([batch.finished_s.reshape(-1, size).max(axis=1) for _, batch in batches(simulation)])
    assert (np.diff(ends) >= 0).all()


def test_no_more_prompts_are_in_generation_than_the_quota_allows() -> None:
    simulation = run_pipeline(mode_scenario("fully_async"))
    most = simulation.scenario.quota.max_concurrent_samples
    seen = [active for version in facts(simulation).versions for _, active, _ in version.active]
    assert max(seen) == most == 4 * 2  # four replicas, two prompts each; the staleness quota is int(16 x 1.5) = 24


def test_the_queue_is_counted_at_every_put() -> None:
    simulation = run_pipeline(fully_async(0.0))
    assert facts(simulation).queue[:3] == ((15.0, 1, 1), (15.0, 2, 1), (52.0, 3, 1))
    assert [(seen.queue_after, seen.queue_at_end) for seen in facts(simulation).rounds][:2] == [(0, 1), (0, 0)]


def test_every_prompt_is_trained_and_none_is_left() -> None:
    simulation = run_pipeline(mode_scenario("fully_async"))
    assert len(simulation.steps) == 12 * simulation.scenario.rounds_per_step
    assert not simulation.left_over
    assert not simulation.unfinished


@pytest.mark.parametrize(("helps", "duration_s"), [(False, 8.0), (True, 1 + 4 + 0.5)])
def test_validation_comes_after_the_sync_every_so_many_versions(helps: bool, duration_s: float) -> None:
    # With use_trainer_do_validate, two engines take half of the time; turning there and back takes 1.5 s, in which the
    # Rollouter goes on with the two prompts of the next version: these are waited for 1.5 s less.
    simulation = run_pipeline(
        fully_async(
            0.0,
            schedule__validate_every_steps=2,
            schedule__validation_s=8,
            hybrid__validates=helps,
            hybrid__to_rollout_s=1,
            hybrid__to_trainer_s=0.5,
        )
    )
    testing = [record.testing_s for record in simulation.steps]
    assert testing == [None, None, None, pytest.approx(duration_s), None, None]
    assert simulation.end_s == pytest.approx(5 + 3 * 37 + duration_s - (1.5 if helps else 0.0))
    (validation,) = facts(simulation).validations
    assert (validation.version, validation.seconds, validation.on_trainer) == (2, pytest.approx(4 if helps else 8), helps)


def test_a_checkpoint_comes_after_the_step_and_after_the_last_version() -> None:
    simulation = run_pipeline(fully_async(0.0, schedule__checkpoint_every_steps=2, schedule__checkpoint_s=4))
    assert seconds(simulation, "save_checkpoint") == [0.0, 0.0, 0.0, 4.0, 0.0, 4.0]
    # The Rollouter goes on while the Trainer saves: of the 10 s of the last version's generation, 6 are left to wait for.
    assert [record.step_s for record in simulation.steps] == pytest.approx([22.0, 15.0, 22.0, 15.0, 18.0, 15.0])


def test_a_prompt_that_waits_for_a_slot_during_a_sync_can_overfill_the_queue() -> None:
    # 25 s a response, one at a time, two rounds of one prompt a version, int(2 x 3) = 6 prompts may be out. At the first
    # sync, 67 to 70 s, the third response runs and the fourth prompt waits for its slot: after it 1 counts, so five more
    # follow. In the checkpoint until 270 s seven samples are finished; the queue holds six and drops the oldest.
    scenario = one_at_a_time(
        workload__prompts_per_step=2,
        fully_async__trigger_parameter_sync_step=2,
        fully_async__staleness_threshold=2.0,
        schedule__checkpoint_every_steps=1,
        schedule__checkpoint_s=200,
        steps=8,
    )
    simulation = run_pipeline(scenario)
    assert facts(simulation).versions[1].staleness_samples == 1
    assert [seen.dropped for seen in facts(simulation).rounds][:2] == [0, 0]
    assert sum(record.evicted for record in simulation.steps) >= 1
    assert simulation.evicted_tokens == 110 * sum(record.evicted for record in simulation.steps)
    assert len(simulation.steps) == 16
    first = next(record for record in simulation.steps if record.evicted)
    assert first.step == 2
    lengths = [length for _, _, length in facts(simulation).queue]
    assert max(lengths) == 6
