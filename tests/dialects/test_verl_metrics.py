from __future__ import annotations

import pandas as pd
import pytest
from support.raw_runs import raw_run, timed_row

from rlreport.dialects.verl_metrics import LEFT_RAW, METRIC_ROWS, map_metrics
from rlreport.run.knobs import matches
from rlreport.run.metrics import METRICS
from rlreport.run.model import Mode


def _columns(rows: dict[int, dict[str, float]], mode: Mode) -> dict[str, pd.Series]:
    return map_metrics(raw_run(rows).frame, mode)[0]


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
def test_gen_is_generation_where_devices_take_turns(mode: Mode) -> None:
    columns = _columns({1: timed_row()}, mode)
    assert columns["time.generate_s"].tolist() == [30.0]
    assert "time.wait_s" not in columns


@pytest.mark.parametrize("mode", ["separate_async", "one_step_off", "fully_async"])
def test_gen_is_waiting_where_sides_are_apart(mode: Mode) -> None:
    columns = _columns({1: timed_row()}, mode)
    assert columns["time.wait_s"].tolist() == [30.0]
    assert "time.generate_s" not in columns


def test_gen_is_left_unread_in_an_unknown_mode() -> None:
    columns, notices = map_metrics(raw_run({1: timed_row()}).frame, "unknown")
    assert "time.wait_s" not in columns
    assert "time.generate_s" not in columns
    assert columns["time.update_actor_s"].tolist() == [50.0]
    assert [notice.code for notice in notices] == ["RR329"]


def test_a_sync_that_holds_another_is_not_added_to_it() -> None:
    columns = _columns({1: timed_row(sync_rollout_weights=9.0, update_weights=8.0)}, "one_step_off")
    assert columns["time.weight_sync_s"].tolist() == [9.0]


def test_the_double_prefix_of_fully_async_is_the_weight_sync() -> None:
    columns = _columns({1: {**timed_row(), "timing_s/timing_s/param_sync": 7.5}}, "fully_async")
    assert columns["time.weight_sync_s"].tolist() == [7.5]


def test_dynamic_scheduling_generates_on_trainer_devices() -> None:
    columns = _columns({1: timed_row(wait_for_enough_samples=12.0)}, "fully_async")
    assert columns["time.generate_s"].tolist() == [12.0]
    assert columns["time.wait_s"].tolist() == [30.0]


def test_switches_are_summed_and_absent_ones_are_no_zero() -> None:
    columns = _columns({1: timed_row(switch_to_rollout=1.0, switch_to_trainer=2.0), 2: timed_row()}, "separate_async")
    assert columns["time.switch_s"].loc[1] == 3.0
    assert pd.isna(columns["time.switch_s"].loc[2])


def test_what_lent_devices_generate_is_neither_waiting_nor_a_switch() -> None:
    columns = _columns({1: timed_row(switch_wait=11.0, switch_to_trainer=2.0)}, "separate_async")
    assert columns["time.generate_s"].tolist() == [11.0]
    assert columns["time.wait_s"].tolist() == [30.0]
    assert columns["time.switch_s"].tolist() == [2.0]


def test_times_by_token_are_left_raw_for_the_reason_of_each_mode() -> None:
    why = {mode: entry.why for entry in LEFT_RAW if entry.pattern == "timing_per_token_ms/*" for mode in entry.modes}
    assert set(why) == {"separate_async", "fully_async"}
    assert "sum" in why["separate_async"]
    assert "smallest" in why["fully_async"]


def test_old_names_of_timers() -> None:
    row = {"timing/step": 10.0, "timing/gen": 4.0, "timing/adv": 0.1, "timing/update_actor": 5.0, "timing/testing": 2.0}
    columns = _columns({1: row}, "sync")
    assert {name: series.loc[1] for name, series in columns.items()} == {
        "time.step_s": 10.0,
        "time.generate_s": 4.0,
        "time.advantage_s": 0.1,
        "time.update_actor_s": 5.0,
        "time.validate_s": 2.0,
    }


def test_memory_of_both_engine_generations() -> None:
    assert _columns({1: {"perf/max_memory_allocated_gb": 66.0}}, "sync")["memory.allocated_gb"].loc[1] == 66.0
    assert _columns({1: {"actor/perf/max_memory_allocated_gb": 21.0}}, "sync")["memory.allocated_gb"].loc[1] == 21.0


def test_one_kind_of_kl_is_taken_throughout() -> None:
    rows = {1: {"actor/ppo_kl": 0.1, "actor/kl_loss": 0.9}, 2: {"actor/kl_loss": 0.8}}
    series = _columns(rows, "sync")["quality.kl"]
    assert series.loc[1] == 0.1
    assert pd.isna(series.loc[2])


def test_synonyms_fill_each_other() -> None:
    rows = {1: {"timing_s/step": 10.0}, 2: {"perf/time_per_step": 11.0}}
    assert _columns(rows, "sync")["time.step_s"].tolist() == [10.0, 11.0]


def test_a_running_total_becomes_its_growth() -> None:
    key = "fully_async/count/dropped_stale_samples"
    rows = {step: {key: total} for step, total in ((1, 5.0), (2, 5.0), (3, 9.0), (4, 2.0))}
    growth = _columns(rows, "fully_async")["staleness.dropped"]
    assert pd.isna(growth.loc[1])
    assert growth.loc[2:].tolist() == [0.0, 4.0, 2.0]


def test_idle_ratios_outside_of_their_range_are_dropped_and_told() -> None:
    key = "fully_async/rollouter/idle_ratio"
    rows = {1: {key: 0.25}, 2: {key: -0.5}, 3: {key: 1.5}}
    columns, notices = map_metrics(raw_run(rows).frame, "fully_async")
    assert columns["idle.rollout_reported"].dropna().to_dict() == {1: 0.25}
    assert [notice.code for notice in notices] == ["RR321"]
    assert "2 of 3 steps" in notices[0].message
    assert "Rollouter" in notices[0].message


def test_columns_of_nothing_are_no_metrics() -> None:
    assert "quality.entropy" not in _columns({1: {"actor/entropy": float("nan"), "timing_s/step": 1.0}}, "sync")


def test_the_table_uses_only_catalogued_metrics_and_reads_no_key_that_is_left_raw() -> None:
    for row in METRIC_ROWS:
        assert row.metric in METRICS
        assert row.source
    read = {key for row in METRIC_ROWS for key in row.keys if row.combine != "increase"}
    raw = [entry.pattern for entry in LEFT_RAW]
    assert not [key for key in read if any(matches(pattern, key) for pattern in raw)]
