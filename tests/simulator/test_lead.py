from __future__ import annotations

import pytest
from support.tiny_scenarios import tiny, tiny_sync

from rlreport.simulator.lead import lead, staleness
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.steady import steady_steps


def test_the_lead_counts_mini_batches_when_the_trainer_asks() -> None:
    # Steps 2 and 3 of the tiny run with one warm-up batch: two mini-batches are ready when it asks first, and three (one
    # taken, two more finished) when it asks again.
    simulation = run_pipeline(tiny(sync__warmup_batches=1))
    found = lead(simulation, simulation.steps[1:])
    assert found is not None
    assert (found["mean"], found["min"], found["max"]) == (2.5, 2.0, 3.0)


def test_the_average_over_time_is_that_of_the_gauges() -> None:
    # Steps 2 and 3 take from 42 to 96 s. The queue holds 2, then 1 from 42 s, 3 from 52 s (two more are done), 2 from 54 s;
    # in the next step 1 from 69 s, 3 from 79 s, 2 from 81 s. Scraped at 50, 60, 70, 80 and 90 s: 1, 2, 1, 3 and 2.
    simulation = run_pipeline(tiny(sync__warmup_batches=1))
    assert [(sample.at_s, sample.store) for sample in simulation.gauges[4:]] == [
        (50.0, 1),
        (60.0, 2),
        (70.0, 1),
        (80.0, 3),
        (90.0, 2),
    ]
    found = lead(simulation, simulation.steps[1:])
    assert found is not None
    assert found["time_average"] == pytest.approx(9 / 5)


def test_a_trajectory_waits_for_the_mini_batches_before_its_own() -> None:
    # Mini-batches are taken at 15, 27, 42, 54, 69 and 81 s. All four first responses end at 15 s: those of step 2 wait for
    # two mini-batches before theirs and for three (at 15, 27 and 42 s). The next two end at 52 s: one (54 s) and two before.
    simulation = run_pipeline(tiny(sync__warmup_batches=1))
    assert [batch.taken_s for record in simulation.steps for batch in record.batches] == [15, 27, 42, 54, 69, 81]
    assert [float(batch.finished_s[0]) for record in simulation.steps for batch in record.batches] == [15] * 4 + [52] * 2
    found = lead(simulation, simulation.steps[1:])
    assert found is not None
    assert found["trajectory_wait"] == pytest.approx((2 + 3 + 1 + 2) / 4)


def test_where_devices_take_turns_there_is_no_lead() -> None:
    simulation = run_pipeline(tiny_sync())
    assert lead(simulation, simulation.steps) is None


@pytest.mark.parametrize(("batches", "mean"), [(0, 0.0), (1, 1.0), (2, 2.0)])
def test_samples_are_as_many_versions_behind_as_batches_are_ahead(batches: int, mean: float) -> None:
    simulation = run_pipeline(tiny(steps=8, sync__warmup_batches=batches))
    found = staleness(simulation, steady_steps(simulation))
    assert found is not None
    assert found["mean"] == pytest.approx(mean)
    assert found["stale_share"] == (1.0 if batches else 0.0)


def test_in_fully_async_the_version_of_the_round_counts() -> None:
    # int(2 x 1.5) = 3 prompts at first: one of the two of every later version was generated before its sync.
    scenario = tiny(
        mode="fully_async",
        steps=4,
        fully_async__staleness_threshold=0.5,
        fully_async__trigger_parameter_sync_step=2,
    )
    simulation = run_pipeline(scenario)
    found = staleness(simulation, simulation.steps[2:6])
    assert found is not None
    assert (found["mean"], found["most"], found["spans_versions_share"]) == (0.5, 1.0, 0.0)
