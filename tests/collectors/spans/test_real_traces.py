"""Every file of RL-Insight's fixtures, and traces in the formats of other frameworks, where they are at hand."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from support.traces import S, rows

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.read import read_sources
from rlreport.collectors.spans import merge_spans
from rlreport.collectors.spans.console_gauges import console_file_gauges, find_utc_offset_s
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

FIXTURES = "rl-insight-fixtures"
TRIAL = "frameworks/areal/logs/user/gsm8k-grpo/trial0"

#: File or folder -> format, or the code with which it is refused.
EXPECTED = {
    "summary_event_data/summary_event_dataframe_sample.json": "rl-insight",
    "torch_data/torch_profile/actor_compute_log_prob": "torch-profile",
    "torch_data/torch_profile/actor_update": "torch-profile",
    "torch_data/torch_profile/agent_loop_rollout_replica_0": "torch-profile",
    "nvtx_data/nvtx_profile": "nvtx",
    "mstx_data/mstx_profile/actor_compute_log_prob": "mstx",
    "mstx_data/mstx_profile/actor_update": "mstx",
    "mstx_data/mstx_profile/agent_loop_rollout_replica_0": "mstx",
    "mstx_data/mstx_profile/ref_compute_log_prob": "mstx",
    "memory_data/20260526_085155_ascend_pt/ASCEND_PROFILER_OUTPUT": "RR255",
    "memory_data/20260526_085155_ascend_pt/ASCEND_PROFILER_OUTPUT/operator_memory.csv": "RR204",
    "memory_data/20260526_085155_ascend_pt/profiler_info_0.json": "RR204",
    "memory_data/20260526_085155_ascend_pt/profiler_metadata.json": "RR204",
    "verl_data/bad_exist_empty_verl.log": "RR203",
    "verl_data/bad_exist_unbranded.log": "RR204",
    "verl_data/bad_keys_five_legacy_metrics_verl.log": "verl-console",
    "verl_data/bad_keys_no_entropy_verl.log": "verl-console",
    "verl_data/bad_keys_no_training_step_tokens_verl.log": "verl-console",
    "verl_data/bad_keys_startup_only_verl.log": "verl-console",
    "verl_data/good_minimal_verl.log": "verl-console",
}


def tables(path: Path) -> list[SourceTable]:
    return read_sources([(path, None, {})], path.parent)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_fixture_is_read_or_refused_with_a_reason(samples: Path, name: str) -> None:
    path = samples / FIXTURES / name
    if EXPECTED[name].startswith("RR"):
        with pytest.raises(RlreportError) as raised:
            tables(path)
        assert [diagnostic.code for diagnostic in raised.value.diagnostics] == [EXPECTED[name]]
        assert raised.value.exit_code == 3
        assert raised.value.diagnostics[0].hint
        return
    assert {table.format for table in tables(path)} == {EXPECTED[name]}


def test_every_file_of_the_fixtures_is_covered(samples: Path) -> None:
    root = samples / FIXTURES
    files = {file for file in root.rglob("*") if file.is_file()}
    assert files
    for file in files:
        assert any((root / name) == file or (root / name) in file.parents for name in EXPECTED), file


def only(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    return found.read(path, SourceOptions(path.name))


def test_summary_events_lie_where_they_say(samples: Path) -> None:
    spans = only(samples / FIXTURES / "summary_event_data/summary_event_dataframe_sample.json").spans
    assert spans is not None
    assert spans.zero_unix_ns == 1_773_285_888_698_726_318
    assert [(lane.name, lane.devices) for lane in spans.lanes] == [
        *(("replica_0", 2), ("rank_1", 1), ("replica_1", 2), ("replica_2", 2), ("rank_3", 1), ("replica_3", 2)),
    ]
    # The first event ends 2,230.065674 ms after it began.
    assert rows(spans)[0] == ("replica_0", "agent_loop_rollout_replica_0", 0, 2_230_065_674)


def test_torch_profiles_are_reduced_as_rl_insight_does(samples: Path) -> None:
    spans = only(samples / FIXTURES / "torch_data/torch_profile/actor_update").spans
    assert spans is not None
    # One event of 10,083,720.552 us at 4,541,015,316,353.111 us after the base time.
    assert rows(spans) == [(f"rank_{rank}", "actor_update", 0, 10_083_720_552) for rank in (0, 1)]
    assert spans.zero_unix_ns == 1_767_189_312_000_000_000 + 4_541_015_316_353_111


def test_ascend_profiles_are_reduced_as_rl_insight_does(samples: Path) -> None:
    (table,) = tables(samples / FIXTURES / "mstx_data/mstx_profile/actor_update")
    assert table.spans is not None
    # From 639,877.299 us to 641,909.419 + 12,782.896 us within the second.
    assert table.spans.zero_unix_ns == 1_773_285_904_639_877_299
    assert rows(table.spans) == [("rank_0", "actor_update", 0, 14_815_016)]


def test_nvtx_ranges_lie_on_the_hosts_clock(samples: Path) -> None:
    spans = only(samples / FIXTURES / "nvtx_data/nvtx_profile").spans
    assert [(lane, name) for lane, name, _, _ in rows(spans)] == [
        (f"rank_{rank}", name) for rank in (0, 1) for name in ("compute_log_prob", "compute_values", "update_critic")
    ]
    assert rows(spans)[0][2:] == (6_589_107_243_593_703 + 20_979_323, 6_589_107_243_593_703 + 21_019_655_556)


def test_all_profiles_of_a_run_are_one_table(samples: Path) -> None:
    merged = merge_spans(tables(samples / FIXTURES / "mstx_data"))
    (table,) = merged.tables
    assert [name for _, name, _, _ in sorted(rows(table), key=lambda row: row[2])] == [
        "agent_loop_rollout_replica_0",
        "actor_compute_log_prob",
        "ref_compute_log_prob",
        "actor_update",
    ]
    assert [lane.name for lane in table.lanes] == ["rank_0", "replica_0"]


def test_roll_otlp(samples: Path) -> None:
    spans = only(samples / "frameworks/roll/otlp/traces.jsonl").spans
    assert spans is not None
    second = 10**9
    assert rows(spans)[:3] == [
        ("roll", "generate", 0, 25 * second),
        ("roll", "train", 25 * second, 51 * second),
        ("roll", "model_update", 51 * second, 54 * second),
    ]
    assert (len(spans), spans.zero_unix_ns) == (9, 1_787_000_000 * second)


def test_areal_perf_and_session_traces(samples: Path) -> None:
    perf = only(samples / TRIAL / "perf_tracer/traces-r0.jsonl")
    sessions = only(samples / TRIAL / "session_tracer/sessions-r0.jsonl")
    assert perf.spans is not None
    assert sessions.spans is not None
    assert (len(perf.spans), perf.spans.zero_unix_ns) == (48, None)
    assert perf.spans.markers_ns["train.update_weights@11"] == (679_454_408 + 1_527_042) * 1000
    assert [lane.name for lane in perf.spans.lanes] == ["actor/rank_0"]
    assert sessions.spans.zero_unix_ns == 1_787_000_000_100_000_000
    assert {name for _, name, _, _ in rows(sessions.spans)} == {"generate", "reward"}
    merged = merge_spans([perf, sessions])
    assert len(merged.tables) == 2
    assert [notice.code for notice in merged.notices] == ["RR271"]


def test_a_plain_log_tells_what_its_replay_buffer_held(samples: Path) -> None:
    gauges = {gauge.name: gauge for gauge in console_file_gauges(samples / "verl-separate-async-npu/console.log")}
    running = gauges["replay.running"]
    first = datetime(2026, 7, 30, 11, 1, 58, 913_000, tzinfo=timezone.utc)  # noqa: UP017
    assert (running.time_ns[0], running.values[0]) == (round(first.timestamp() * 1000) * 10**6, 10)
    # Sixteen prompts are in the buffer at every poll.
    total = sum(np.array(gauges[f"replay.{word}"].values) for word in ("pending", "running", "finished", "failed"))
    assert set(np.asarray(total).tolist()) == {16.0}
    assert (gauges["progress.steps"].values[-1], gauges["progress.steps"].capacity) == (125, 125)
    # The event file was made when the log says that the first batch was added: the host's clock showed UTC.
    added = int(datetime(2026, 7, 30, 10, 35, 49, tzinfo=timezone.utc).timestamp()) * S  # noqa: UP017
    assert find_utc_offset_s([added], [1_785_407_749 * S]) == 0
