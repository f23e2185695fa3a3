from __future__ import annotations

from dataclasses import replace

import pytest
from support.made_runs import make_run
from support.timelines import S, lane, more_spans, only, table, three_steps

from rlreport.comparators.results import SteadyState
from rlreport.comparators.timeline import measure_timeline
from rlreport.comparators.timeline_table import one_table

WINDOW = SteadyState("flat", 2, 3, (2, 3), None, ())


def test_the_window_is_all_time_from_its_first_to_its_last_step() -> None:
    found = measure_timeline(three_steps(), WINDOW)
    assert found is not None and found.trace is not None and not found.whole_trace
    assert (found.window.start_s, found.window.end_s) == (35, 73)  # 45 to 83, from the begin of the trace at 10
    assert found.prompts == 20
    # Trainer: sync 6, validation 4, waiting 4 of 38 s on two devices; Rollouters: sync 12 and quota 13 device-seconds.
    idle = found.idle_for_1000_prompts()
    assert idle is not None
    assert idle["trainer"] == {
        "samples": pytest.approx(8 * 50),
        "weight_sync": pytest.approx(12 * 50),
        "validation": pytest.approx(8 * 50),
    }
    assert idle["rollout"] == {"quota": pytest.approx(13 * 50), "weight_sync": pytest.approx(12 * 50)}
    assert found.owner == "rollout" and found.notices == ()


def test_a_trace_that_cannot_be_tied_to_the_log_is_accounted_for_as_a_whole() -> None:
    run = three_steps()
    other = replace(run, steps=run.steps.assign(**{"time.update_actor_s": [70.0, 33.0, 51.0]}))
    found = measure_timeline(other, WINDOW)
    assert found is not None and found.whole_trace and found.prompts is None
    assert (found.window.start_s, found.window.end_s) == (0, 80)
    assert [notice.code for notice in found.notices] == ["RR433"]
    assert found.idle_for_1000_prompts() is None


def test_what_the_trace_does_not_cover_is_told() -> None:
    run = three_steps()
    spans = run.spans[0]
    found = measure_timeline(replace(run, spans=(only(spans, spans.start_ns < 60 * S),)), WINDOW)
    assert found is not None and found.window.end_s == 48
    assert [notice.code for notice in found.notices] == ["RR437"]
    assert "1 of the window's 2 steps" in found.notices[0].message


def test_waiting_that_the_log_does_not_know_is_told() -> None:
    run = three_steps()
    more = replace(run, steps=run.steps.assign(**{"time.wait_s": [20.0, 0.0, 9.0]}))
    found = measure_timeline(more, WINDOW)
    assert found is not None and "RR434" in [notice.code for notice in found.notices]


def test_without_a_trace_timers_tell_what_they_can() -> None:
    found = measure_timeline(replace(three_steps(), spans=()), WINDOW)
    assert found is not None and found.trace is None and found.window.basis == "metrics"
    assert found.owner == "unknown" and found.cycles == () and found.whole is None
    assert found.window.trainer is not None
    assert dict(found.window.trainer.idle) == {"samples": 8, "weight_sync": 12}


def test_without_anything_there_is_no_timeline() -> None:
    assert measure_timeline(make_run({}), SteadyState("none", None, None, (), None, ())) is None


def test_tables_with_an_absolute_clock_are_one() -> None:
    rank, replica = lane("rank_0"), lane("replica_0")
    first = table([(rank, "update_actor", 0, 5)], zero=100 * S)
    second = table([(replica, "generate", 0, 2), (rank, "update_actor", 7, 9)], zero=103 * S, boundaries_ns={4: 2 * S})
    joined, notices = one_table((first, second))
    assert joined is not None and notices == ()
    assert joined.zero_unix_ns == 100 * S and joined.boundaries_ns == {4: 5 * S}
    seen = {
        (joined.lanes[code].name, start / S, end / S)
        for code, start, end in zip(joined.lane.tolist(), joined.start_ns.tolist(), joined.end_ns.tolist(), strict=True)
    }
    assert seen == {("rank_0", 0, 5), ("rank_0", 10, 12), ("replica_0", 3, 5)}
    assert joined.lane.tolist() == sorted(joined.lane.tolist())


def test_tables_without_a_common_clock_are_not_mixed() -> None:
    small = table([(lane("rank_0"), "update_actor", 0, 5)], zero=None)
    large = more_spans(small, [(lane("rank_0"), "update_actor", 6, 7)])
    chosen, notices = one_table((small, large))
    assert chosen is not None and len(chosen) == 2
    assert [notice.code for notice in notices] == ["RR483"] and "1 trace (1 span)" in notices[0].message
    assert one_table(()) == (None, ())
