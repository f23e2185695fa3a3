from __future__ import annotations

from dataclasses import replace

import pytest
from support.timelines import S, only, three_steps

from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import Timeline, measure_timeline
from rlreport.run.model import Run

WINDOW = SteadyState("flat", 1, 3, (1, 2, 3), None, ())


def measured(run: Run) -> Timeline:
    found = measure_timeline(run, WINDOW)
    assert found is not None
    return found


def test_the_trainers_logged_ratio_leaves_out_all_other_causes() -> None:
    (found,) = measured(three_steps()).reported
    # Logged: 24 s of waiting in 69 s of steps. The account: 24 + 9 + 2 + 4 s of 73 s.
    assert found.side == "trainer" and found.reported == pytest.approx(24 / 69)
    assert found.reconstructed == pytest.approx(39 / 73)
    assert dict(found.parts) == {
        "weight sync": pytest.approx(9 / 73),
        "validation": pytest.approx(4 / 73),
        "checkpoint": pytest.approx(2 / 73),
        "the same waiting over all time instead of step time": pytest.approx(24 / 73 - 24 / 69),
    }
    assert found.rest == pytest.approx(0, abs=1e-9)


def test_the_rollouters_ratio_leaves_out_idling_beside_others() -> None:
    run = three_steps()
    logged = replace(run, steps=run.steps.assign(**{"idle.rollout_reported": [0.0, 0.0, 0.0]}))
    found = measured(logged).reported[1]
    assert found.side == "rollout" and found.reported == 0
    # 19 s of replica 1 while replica 0 generates, and three syncs of 3 s that interrupt replica 0; of 73 s.
    assert dict(found.parts) == {
        "replicas that idle while others generate": pytest.approx(19 / 146),
        "weight sync of versions that never drained": pytest.approx(9 / 73),
    }
    assert found.reconstructed == pytest.approx(37 / 146)
    assert found.rest == pytest.approx(0, abs=1e-9)


def test_only_the_steps_that_the_trace_covers_are_compared() -> None:
    run = three_steps()
    spans = run.spans[0]
    keep = spans.start_ns < 60 * S
    (found,) = measured(replace(run, spans=(only(spans, keep),))).reported
    assert found.reported == pytest.approx(20 / 51)


def test_without_a_logged_wait_there_is_nothing_to_compare() -> None:
    run = three_steps()
    assert measured(replace(run, steps=run.steps.drop(columns=["time.wait_s"]))).reported == ()
