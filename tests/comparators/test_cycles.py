from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.made_runs import make_run
from support.timelines import S, lane, more_spans, only, scene_of, seconds, table, three_steps

from rlreport.comparators.cycles import chronicle, covered_ns, window_ns, within
from rlreport.comparators.cycles_events import ANATOMY, hidden_phases
from rlreport.comparators.cycles_rounds import Rounds, find_rounds, match_rounds
from rlreport.comparators.lanes import find_lanes
from rlreport.run.model import Run


def rounds_of(update_s: list[float]) -> Rounds:
    """Rounds that only have the seconds of their updates."""
    ends = np.cumsum(np.array(update_s) * S).astype(np.int64)
    values = np.array(update_s, float)
    return Rounds(ends - (values * S).astype(np.int64), ends, values, {"time.update_actor_s": values})


def logged(update_s: list[float], *, per_step: int | None = None, mode: str = "separate_async") -> Run:
    key = {"separate_async": "trainer.v1.separate_async.parameter_sync_step"}.get(
        mode, "async_training.trigger_parameter_sync_step"
    )
    config = {} if per_step is None else {key: per_step}
    return make_run({"time.update_actor_s": update_s, "time.step_s": update_s}, mode=mode, config=config)  # type: ignore[arg-type]


def test_rounds_end_with_the_update_and_begin_with_the_first_work() -> None:
    run = three_steps()
    rounds = find_rounds(run.spans[0], find_lanes(run, run.spans[0]))
    assert (rounds.start_ns / S).tolist() == [30, 45, 69]
    assert (rounds.end_ns / S).tolist() == [40, 58, 80]
    assert rounds.update_s.tolist() == [7, 10, 8]
    assert rounds.seconds["time.old_log_prob_s"].tolist() == [2, 2, 2]


def test_steps_are_found_by_the_seconds_of_their_updates() -> None:
    found = match_rounds(logged([5, 9, 6], per_step=2), rounds_of([2, 3, 4, 5, 1, 5]))
    assert found is not None and found.first_round == {1: 0, 2: 2, 3: 4} and found.per_step == 2


def test_a_trace_of_a_part_of_the_run_finds_its_place() -> None:
    found = match_rounds(logged([5, 9, 6, 7.5, 8.2, 4.4], per_step=2), rounds_of([3, 3, 4, 3.5]))
    assert found is not None and found.first_round == {3: 0, 4: 2}


def test_a_trace_may_begin_within_a_step() -> None:
    found = match_rounds(logged([5, 9, 6, 7.5, 8.2, 4.4], per_step=2), rounds_of([1.7, 3.3, 2.7, 4, 3.5, 5]))
    assert found is not None and found.first_round == {3: 1, 4: 3}


def test_the_driver_may_measure_a_little_more_than_the_ranks() -> None:
    found = match_rounds(logged([5 * 1.03, 9 * 1.03, 6 * 1.03], per_step=1), rounds_of([5, 9, 6]))
    assert found is not None and found.first_round == {1: 0, 2: 1, 3: 2}


def test_timers_of_hardly_any_time_do_not_count() -> None:
    run = make_run({"time.update_actor_s": [5, 9, 6], "time.old_log_prob_s": [3e-6, 4e-6, 5e-6], "time.step_s": [9, 9, 9]})
    rounds = rounds_of([5, 9, 6])
    seconds_ = {**rounds.seconds, "time.old_log_prob_s": np.array([9e-6, 1e-6, 2e-6])}
    found = match_rounds(run, replace(rounds, seconds=seconds_))
    assert found is not None and found.residual < 1e-9


def test_what_fits_nowhere_is_not_forced() -> None:
    assert match_rounds(logged([5, 9, 6, 7], per_step=1), rounds_of([30, 60, 44, 51])) is None
    assert match_rounds(logged([5, 9, 6, 7], per_step=1), rounds_of([6.9, 4.2, 9.9, 5.1])) is None


def test_equal_updates_are_tied_only_where_their_number_agrees() -> None:
    whole = match_rounds(logged([6.0] * 8, per_step=1), rounds_of([6.0] * 8))
    assert whole is not None and whole.first_round == {step: step - 1 for step in range(1, 9)}
    assert match_rounds(logged([6.0] * 8, per_step=1), rounds_of([6.0] * 5)) is None


def test_lines_of_fully_async_begin_with_the_last_round_of_the_version_before() -> None:
    # Rounds 1 to 6, two a version; line 1 holds round 1, line 2 the rounds 2 and 3, line 3 the rounds 4 and 5.
    found = match_rounds(logged([2, 3 + 4, 5 + 1], per_step=2, mode="fully_async"), rounds_of([2, 3, 4, 5, 1, 6]))
    assert found is not None and found.shifted and found.first_round == {2: 1, 3: 3}


def test_events_between_steps_have_their_places() -> None:
    course = scene_of(three_steps()).course
    assert seconds(course.of("checkpoint")) == [(40, 42)]
    assert seconds(course.of("weight_sync")) == [(42, 45), (58, 61), (80, 83)]
    assert seconds(course.of("validate")) == [(61, 65)]


def test_steps_versions_and_cycles() -> None:
    course = scene_of(three_steps()).course
    assert [(time.step, time.start_ns / S, time.end_ns / S) for time in course.steps] == [
        (1, 10, 45),
        (2, 45, 61),
        (3, 65, 83),
    ]
    assert [(at / S, version) for at, version in course.boundaries] == [(45, None), (61, None), (83, None)]
    cycles = [(c.start_ns / S, c.end_ns / S, c.first_step, c.last_step) for c in course.cycles]
    assert cycles == [(10, 45, 1, 1), (45, 61, 2, 2), (61, 83, 3, 3), (83, 90, None, None)]
    assert window_ns(course, (2, 3)) == (45 * S, 83 * S)
    assert window_ns(course, (7, 8)) is None
    assert "seconds of their work, 1 round a step" in course.basis


def test_told_versions_come_first() -> None:
    run = three_steps()
    told = replace(run.spans[0], boundaries_ns={7: 44 * S, 8: 62 * S})
    course = scene_of(replace(run, spans=(told,))).course
    assert [(at / S, version) for at, version in course.boundaries] == [(44, 7), (62, 8)]


def test_states_that_the_trace_shows_are_believed() -> None:
    run = three_steps()
    rank = lane("rank_0", devices=1)
    shown = more_spans(run.spans[0], [(rank, "weight_sync", 43.0, 45.0), (rank, "weight_sync", 58.5, 61.0)])
    course = scene_of(replace(run, spans=(shown,))).course
    # What the log calls a sync of 3 s and the trace shows as 2 s began with 1 s of draining.
    assert seconds(course.of("weight_sync")) == [(43, 45), (58.5, 61)]
    assert seconds(course.of("drain")) == [(42, 43), (58, 58.5)]


def test_without_a_log_there_are_no_steps() -> None:
    run = three_steps()
    bare = replace(run, steps=run.steps[["time.step_s"]])
    lanes = find_lanes(bare, bare.spans[0])
    course = chronicle(bare, bare.spans[0], lanes)
    assert course.steps == () and course.matching is None
    assert course.basis == "the log tells no seconds of updates"
    assert [(c.start_ns / S, c.end_ns / S) for c in course.cycles] == [(10, 90)]


def test_a_trace_that_begins_within_the_run_counts_from_where_all_replicas_are_seen() -> None:
    run = three_steps()
    spans = run.spans[0]
    part = only(spans, (spans.start_ns >= 45 * S) & ~((spans.lane == 3) & (spans.start_ns < 60 * S)))
    # Replica 1 is first seen at 65: until the first version that begins in the trace (61) nobody knows what it did.
    partial = replace(run, spans=(part,))
    lanes = find_lanes(partial, part)
    course = chronicle(partial, part, lanes)
    assert [time.step for time in course.steps] == [2, 3]
    covered = covered_ns(partial, part, lanes, course)
    assert covered == (61 * S, 90 * S)
    assert [cycle.first_step for cycle in within(course, covered).cycles] == [3, None]


def test_phases_that_the_trace_does_not_show_are_hidden() -> None:
    run = three_steps()
    lanes = find_lanes(run, run.spans[0])
    assert hidden_phases(run, run.spans[0], lanes) == {"advantage": {1: 1.0, 2: 1.0, 3: 1.0}}


def test_every_anatomy_names_its_source() -> None:
    assert all(anatomy.source.startswith("verl/") for anatomy in ANATOMY.values())
    assert set(ANATOMY) == {"sync", "colocate_async", "separate_async", "one_step_off", "fully_async"}


@pytest.mark.parametrize("mode", ["one_step_off"])
def test_a_sync_before_training_is_laid_back_from_it(mode: str) -> None:
    """one_step_off: wait, sync, train; the sync of step 2 ends where its training begins."""
    rank, replica = lane("rank_0", devices=1), lane("replica_0", devices=1)
    spans = table(
        [
            (rank, "update_actor", 10, 14),
            (rank, "update_actor", 25, 30),
            (replica, "generate", 0, 8),
            (replica, "generate", 10, 20),
            (replica, "generate", 25, 30),
        ]
    )
    columns = {
        "time.step_s": [14, 16],
        "time.wait_s": [8, 6],
        "time.update_actor_s": [4, 5],
        "time.weight_sync_s": [2, 5],
    }
    run = make_run(columns, mode=mode, trainer=1, rollout=1, spans=(spans,))  # type: ignore[arg-type]
    course = scene_of(run).course
    assert seconds(course.of("weight_sync")) == [(8, 10), (20, 25)]
    assert [(c.start_ns / S, c.end_ns / S, c.first_step) for c in course.cycles] == [(0, 10, None), (10, 25, 1), (25, 30, 2)]


def validated(generates_until: float, **columns: list[float]) -> Run:
    """Two steps with a validation of 8 s after the first, on replicas whose numbers begin after the Trainer's engines."""
    rank, replica = lane("rank_0", devices=2), lane("replica_1", devices=2)
    spans = table(
        [
            (rank, "update_actor", 0, 10),
            (rank, "update_actor", 30, 41),
            (replica, "generate", 0, 10),
            (replica, "generate", 12, generates_until),
            (replica, "generate", 21, 41),
        ]
    )
    logged_ = {
        "time.step_s": [12, 22],
        "time.update_actor_s": [10, 11],
        "time.weight_sync_s": [2, 2],
        "time.validate_s": [8, np.nan],
        **columns,
    }
    return make_run(logged_, trainer=2, rollout=2, spans=(spans,))


def test_a_validation_begins_when_the_replicas_stop() -> None:
    """The timer of 8 s begins with the turn of the Trainer's engines, while the replicas go on; they resume at 21."""
    course = scene_of(validated(15)).course
    assert seconds(course.of("switch")) == [(12, 15)]
    assert seconds(course.of("validate")) == [(15, 21)]


def test_where_they_had_stopped_before_the_way_there_is_as_long_as_the_way_back() -> None:
    course = scene_of(validated(12, **{"time.switch_s": [np.nan, 1.5]})).course
    assert seconds(course.of("switch")) == [(12, 13.5)]
    assert seconds(course.of("validate")) == [(13.5, 20)]
    assert seconds(scene_of(validated(12)).course.of("validate")) == [(12, 20)]


def test_generation_throughout_is_the_validation_itself() -> None:
    assert seconds(scene_of(validated(20)).course.of("validate")) == [(12, 20)]
