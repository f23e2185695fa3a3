from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from support.mode_scenarios import MODES, mode_scenario

from rlreport.simulator import Scenario
from rlreport.simulator.restart import GAP_S, joined, launches_of
from rlreport.simulator.truth import describe


def resumed(mode: str, **changes: object) -> Scenario:
    return mode_scenario(mode, **{"defects": ("resumed",), "schedule__validate_every_steps": 5, **changes})


def test_without_the_defect_there_is_one_launch() -> None:
    (launch,) = launches_of(mode_scenario("separate_async"))
    assert launch.resumed_from is None
    assert launch.launched_s == 0.0
    assert launch.stopped_s == math.inf


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_second_launch_goes_on_from_the_last_checkpoint(mode: str) -> None:
    scenario = resumed(mode)
    first, second = launches_of(scenario)
    stopped = max(call.step for call in first.log.calls)
    assert first.stopped_s == max(call.at_s for call in first.log.calls)
    assert stopped % 5 != 0  # something is lost
    assert second.resumed_from == stopped // 5 * 5 == 5
    assert second.launched_s == first.stopped_s + GAP_S
    trained = sorted({call.step for call in second.log.calls if "timing_s/step" in call.values})
    assert trained == list(range(6, 13))
    lag = second.simulation.scenario.framework.started_at - scenario.framework.started_at
    assert lag.total_seconds() == pytest.approx(second.launched_s, abs=1e-3)
    assert second.log.initial_validation is None


@pytest.mark.parametrize("mode", sorted(MODES))
def test_validations_fall_due_as_if_nothing_had_happened(mode: str) -> None:
    first, second = launches_of(resumed(mode))
    validated = [
        [call.step for call in launch.log.calls if any(key.startswith("val-core/") for key in call.values)]
        for launch in (first, second)
    ]
    assert validated == [[0, 5], [10] if mode == "fully_async" else [10, 12]]  # the others validate after the last step too


def test_a_schedule_that_would_shift_is_refused() -> None:
    for saved in (0, 4, 8):
        resumed("sync", schedule__validate_every_steps=4, schedule__checkpoint_every_steps=saved)
    with pytest.raises(ValueError, match="must be a multiple of validate_every_steps"):
        resumed("sync", schedule__validate_every_steps=4, schedule__checkpoint_every_steps=6)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_what_is_trained_twice_gets_other_values(mode: str) -> None:
    first, second = launches_of(resumed(mode))
    for step in range(6, max(call.step for call in first.log.calls) + 1):
        a, b = (
            next(call.values for call in launch.log.calls if call.step == step and "timing_s/step" in call.values)
            for launch in (first, second)
        )
        assert a["perf/total_num_tokens"] != b["perf/total_num_tokens"]
        assert a["timing_s/step"] != b["timing_s/step"]


def test_versions_go_on_so_that_staleness_stays_what_it_is() -> None:
    for mode in ("separate_async", "fully_async"):
        _, second = launches_of(resumed(mode))
        first_version = min(int(batch.first_version.min()) for r in second.simulation.steps for batch in r.batches)
        assert first_version == 5
    worst = [
        call.values["training/off_policy/trajectory_staleness_worst/max"]
        for call in launches_of(resumed("sync"))[1].log.calls
    ]
    assert set(worst) == {0}


def test_responses_are_as_long_as_they_had_become() -> None:
    """A growth of 20 % of the first length a step: after five steps responses are twice as long, and grow by as much."""
    changes = {"workload__response_growth_per_step": 0.2, "workload__max_response_tokens": 100_000}
    changes |= {"workload__response_tokens_sigma": 0, "sync__warmup_batches": 0}
    _, second = launches_of(resumed("sync", **changes))
    for record in second.simulation.steps:
        mean = float(np.mean(np.concatenate([batch.response_tokens for batch in record.batches])))
        assert mean == pytest.approx(100 * (1 + 0.2 * (record.step - 1)), rel=0.01)


def test_without_checkpoints_everything_is_trained_again() -> None:
    _, second = launches_of(resumed("separate_async", schedule__checkpoint_every_steps=0))
    assert second.resumed_from == 0
    assert second.simulation.steps[0].step == 1


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_joined_run_has_every_step_once_and_no_gaps(mode: str) -> None:
    scenario = resumed(mode)
    launches = launches_of(scenario)
    whole = joined(launches)
    steps = [record.step for record in whole.steps]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) == (48 if mode == "fully_async" else 12)
    for lane in whole.lanes:
        assert lane.spans[0].start_s == 0.0
        assert all(a.end_s == pytest.approx(b.start_s) for a, b in pairwise(lane.spans))
        assert lane.spans[-1].end_s == pytest.approx(whole.end_s)
    assert whole.end_s == launches[1].launched_s + launches[1].simulation.end_s
    truth = describe(whole, None)
    assert truth["wall_s"] == pytest.approx(whole.end_s, rel=1e-8)
    assert truth["throughput"]["all"]["tokens"] == sum(record.tokens for record in whole.steps)


def test_the_same_scenario_is_resumed_in_the_same_way() -> None:
    first, second = launches_of(resumed("fully_async")), launches_of(resumed("fully_async"))
    assert [launch.log for launch in first] == [launch.log for launch in second]
