from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from support.traces import UNIX_NS, UNIX_S, S, write

from rlreport.collectors import files
from rlreport.collectors.spans.console_gauges import (
    console_file_gauges,
    console_gauges,
    find_utc_offset_s,
    progress_gauge,
    with_utc_offset,
)

HISTORY = "\x1b[36m(FullyAsyncRollouter pid=9)\x1b[0m [RolloutResourceUtilization] raw active_count_history"
HISTORY += " (timestamp, active_count, max_concurrent): "
NOON_NS = int(datetime(2026, 7, 30, 12, tzinfo=timezone.utc).timestamp()) * S  # noqa: UP017


def poll(clock: str, pending: int, running: int, finished: int, end: str = ", failure: 0") -> str:
    line = f"(TaskRunnerV1 pid=1) INFO:2026-07-30 {clock}:pending: {pending}, running: {running}, finished: {finished}"
    return line + end


def test_the_history_of_active_samples_has_unix_times_and_a_capacity() -> None:
    lines = [
        f"{HISTORY}[({UNIX_S + 5}.25, 250, 256), ({UNIX_S + 6}.5, 0, 256)]",
        f"{HISTORY}[({UNIX_S}.0, 8, 128), (np.float64({UNIX_S + 5}.25), 250, 256)]",
        f"{HISTORY}[]",
    ]
    (gauge,) = console_gauges(lines)
    assert (gauge.name, gauge.lane, gauge.zero_unix_ns, gauge.capacity) == ("rollout.active_requests", "", 0, 256)
    assert [(at - UNIX_NS) / S for at in gauge.time_ns] == [0, 5.25, 6.5]
    assert list(gauge.values) == [8, 250, 0]


def test_poll_lines_are_local_time_until_the_zone_is_known() -> None:
    glued = "Training Progress:   0%|          | 0/125 [00:00<?, ?it/s]" + poll("12:00:10,5", 1, 2, 3, "(Worker pid=2)")
    gauges = console_gauges([poll("12:00:00,913", 0, 10, 6), glued])
    assert [gauge.name for gauge in gauges] == ["replay.failed", "replay.finished", "replay.pending", "replay.running"]
    failed, finished, pending, running = gauges
    assert list(failed.values) == [0]
    assert [*zip(running.time_ns, running.values, strict=True)] == [
        (NOON_NS + 913_000_000, 10.0),
        (NOON_NS + 10_500_000_000, 2.0),
    ]
    assert (list(finished.values), list(pending.values)) == ([6, 3], [0, 1])
    assert running.zero_unix_ns is None
    moved = with_utc_offset(running, 8 * 3600)
    assert moved.zero_unix_ns is not None
    assert moved.zero_unix_ns + moved.time_ns[0] == NOON_NS - 8 * 3600 * S + 913_000_000
    assert console_gauges([poll("12:00:00,913", 0, 10, 6)], 8 * 3600)[3] == with_utc_offset(
        console_gauges([poll("12:00:00,913", 0, 10, 6)])[3], 8 * 3600
    )


@pytest.mark.parametrize("line", [poll("25:00:00,1", 0, 1, 2), "pending: 0, running: 1, finished: 2", ":pending: x", ""])
def test_other_lines_are_none(line: str) -> None:
    assert console_gauges([line]) == []


def bar(done: int, clock: str) -> str:
    return f"(TaskRunner pid=1) Training Progress:  4%|\u258d    | {done}/125 [{clock}<6:34:26, 190.86s/it]"


def test_the_progress_bar_goes_on_after_a_restart() -> None:
    lines = [bar(0, "00:00"), bar(1, "03:10"), bar(1, "03:10"), bar(2, "1:05:37"), bar(2, "00:00"), bar(3, "02:00")]
    (gauge,) = console_gauges(lines)
    assert (gauge.name, gauge.capacity, gauge.zero_unix_ns) == ("progress.steps", 125, None)
    assert [at / S for at in gauge.time_ns] == [0, 190, 3937, 3937 + 120]
    assert list(gauge.values) == [0, 1, 2, 3]
    assert console_gauges([bar(0, "00:00")]) == []


def test_a_file_in_a_pass_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log.gz", "\n".join([bar(0, "00:00"), "other", bar(1, "00:10")]))
    assert [gauge.name for gauge in console_file_gauges(path)] == ["progress.steps"]


@pytest.mark.parametrize("chunk", [5, 100, 4 << 20])
def test_a_file_tells_what_its_lines_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    lines = ["other"] * 3 + [bar(0, "00:00") + poll("12:00:10,5", 1, 2, 3), "x" * 500, poll("12:00:20,5", 1, 2, 4)]
    lines += [f"{HISTORY}[({UNIX_S}.0, 8, 128)]", "", bar(1, "00:10"), "last " + bar(2, "00:20")]
    path = write(tmp_path / "a.log", "\n".join(lines))
    assert console_file_gauges(path) == console_gauges(lines)
    assert len(console_gauges(lines)) == 6


@pytest.mark.parametrize(
    ("hours", "late_s", "expected"),
    [(8, 0, 28_800), (0, 30, 0), (5.75, -20, 20_700), (-3.5, 10, -12_600), (0, 400, None), (20, 0, None)],
)
def test_the_zone_is_found_from_moments_written_both_ways(hours: float, late_s: float, expected: int | None) -> None:
    unix = [UNIX_NS, UNIX_NS + 600 * S]
    local = [at + round((hours * 3600 + late_s) * S) for at in unix]
    assert find_utc_offset_s(local, unix) == expected
    assert find_utc_offset_s([*local, UNIX_NS], [*unix, UNIX_NS + 7200 * S]) is None
    assert find_utc_offset_s([], []) is None


def test_steps_against_the_wall_clock() -> None:
    gauge = progress_gauge({2: UNIX_S + 10.5, 1: UNIX_S + 0.25})
    assert gauge is not None
    assert [*zip(gauge.time_ns, gauge.values, strict=True)] == [(UNIX_NS + 250_000_000, 1), (UNIX_NS + 10_500_000_000, 2)]
    assert gauge.zero_unix_ns == 0
    relative = progress_gauge({1: 10.0, 2: 20.0})
    assert relative is not None
    assert relative.zero_unix_ns is None
    assert progress_gauge({1: 5.0}) is None
