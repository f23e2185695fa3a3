from __future__ import annotations

import gzip
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.verl_logs import ERAS, Colours, Era, VerlLog, flat, metric_body, print_value, small_config, training_values

from rlreport.collectors import console, files
from rlreport.collectors.base import SourceOptions
from rlreport.collectors.console import ConsoleCollector
from rlreport.collectors.files import read_head
from rlreport.collectors.merge import merge_sources
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def read(log: VerlLog | bytes, folder: Path, name: str = "console.log") -> SourceTable:
    path = folder / name
    path.write_bytes(log if isinstance(log, bytes) else log.data)
    return ConsoleCollector().read(path, SourceOptions("run/console.log"))


def printed(values: Mapping[str, float], era: Era) -> dict[str, float]:
    """The values as their print says, worked out apart from the code under test."""
    result = {}
    for index, (key, value) in enumerate(values.items()):
        text = print_value(value, era, index)
        result[key] = float(text.removeprefix("np.float64(").removeprefix("np.int64(").removesuffix(")"))
    return result


def codes(table: SourceTable) -> list[str]:
    return [notice.code for notice in table.notices]


@ANY_FOLDER
@given(
    era=st.sampled_from(ERAS),
    actor=st.sampled_from(
        [None, "TaskRunner", "TaskRunnerV1", "main_task", "FullyAsyncTrainer", "VGNd5CWorkerDict_0:0 WorkerDict"]
    ),
    colours=st.sampled_from(["new", "old", "none"]),
    ip=st.sampled_from([None, "10.1.2.3"]),
    steps=st.lists(st.integers(0, 500), min_size=1, max_size=8, unique=True),
    bars=st.booleans(),
    foreign=st.integers(0, 5),
)
def test_what_is_written_is_read(
    tmp_path: Path, era: Era, actor: str | None, colours: Colours, ip: str | None, steps: list[int], bars: bool, foreign: int
) -> None:
    log = VerlLog(era=era, actor=actor, colours=colours, ip=ip)
    for step in sorted(steps):
        log.foreign(foreign, seed=step)
        log.metrics(step, training_values(step))
        if bars:
            log.bar(step, 500, 60 * step)
    table = read(log, tmp_path)
    assert [row.step for row in table.rows] == sorted(steps)
    assert [row.values for row in table.rows] == [printed(training_values(step), era) for step in sorted(steps)]
    assert not any(row.truncated or row.attempt for row in table.rows)
    if bars:
        assert table.facts.progress == (max(steps), 500)
        assert table.facts.elapsed_s == {step: 60.0 * step for step in steps}


def test_line_numbers_actors_and_size(tmp_path: Path) -> None:
    log = VerlLog(actor="TaskRunnerV1").foreign(9).metrics(1, training_values(1)).foreign(2).metrics(2, training_values(2))
    table = read(log, tmp_path)
    assert [row.line for row in table.rows] == [10, 13]
    assert {"actor:TaskRunnerV1", "actor:WorkerDict"} <= table.facts.hints
    assert table.size_bytes == len(log.data)
    assert len(table.sha256) == 64
    assert table.path == "run/console.log"
    assert table.notices == []


@pytest.mark.parametrize(
    "head",
    [
        "",
        "2026-07-30T10:20:08.123Z ",
        "2026-07-30 10:20:08,123 ",
        "0: ",
        "trainer-1  | ",
        "[FullyAsyncTrainer] ",
        "Epoch 1/6:   2%|▍         | 1/62 [00:09<09:36,  9.45s/it]",
        "\rTraining Progress:   1%|          | 1/125 [03:10<6:34:26, 190.86s/it]",
        "no line end here(TaskRunner pid=1) ",
        "(vLLMHttpServer pid=1465793) (Worker pid=1467019) ",
        "\x1b[36m(pid=131340)\x1b[0m ",
    ],
)
def test_what_may_stand_before_a_metric_line(tmp_path: Path, head: str) -> None:
    log = VerlLog(actor=None).line(head + "step:2 - train/loss:1.00653")
    assert [(row.step, row.values) for row in read(log, tmp_path).rows] == [(2, {"train/loss": 1.00653})]


@pytest.mark.parametrize(
    "text",
    [
        "I think that in step:1 - a/b:3 we must look at both",
        "step:1 - compute 3:4, then go on",
        "the answer is 'step:1 - a/b:2.5 - c/d:2'",
        "decode step: 5, batch 3",
        "timestep:5 - a/b:1",
        "training/global_step:64 - training/epoch:1",
        "step:5",
        "step=5 - training/global_step:5",
        "(\"Initial validation metrics: {'val-core/a/reward/mean@1': 0.5, \"",
    ],
)
def test_text_that_merely_mentions_a_step(tmp_path: Path, text: str) -> None:
    log = VerlLog().line(text).metrics(7, training_values(7))
    assert [row.step for row in read(log, tmp_path).rows] == [7]


def test_a_whole_metric_line_counts_after_any_text(tmp_path: Path) -> None:
    log = VerlLog(actor=None).line("warning without line end" + metric_body(4, training_values(4)))
    assert [row.step for row in read(log, tmp_path).rows] == [4]


def test_several_lines_of_one_step(tmp_path: Path) -> None:
    log = VerlLog().metrics(0, {"val-core/a/acc/mean@1": 0.25}).metrics(1, training_values(1))
    log.metrics(1, {"val-core/a/acc/mean@1": 0.5, "rollouter/validate_time": 12.0})
    table = read(log, tmp_path)
    assert [(row.step, row.attempt) for row in table.rows] == [(0, 0), (1, 0), (1, 0)]


def test_output_glued_to_the_end(tmp_path: Path) -> None:
    log = VerlLog()
    log.metrics(1, training_values(1), end="").bar(1, 9, 50)
    log.metrics(2, training_values(2), end="").metrics(3, training_values(3), end="")
    log.line("loading", "WorkerDict", 5).metrics(4, training_values(4))
    table = read(log, tmp_path)
    assert [row.values for row in table.rows] == [training_values(step) for step in (1, 2, 3, 4)]
    assert table.facts.elapsed_s == {1: 50.0}
    assert codes(table) == ["RR224"]
    assert "3 step lines" in table.notices[0].message


def test_two_unprefixed_steps_in_one_line(tmp_path: Path) -> None:
    text = metric_body(1, training_values(1)) + metric_body(2, training_values(2)) + "\n"
    assert [row.values for row in read(text.encode(), tmp_path).rows] == [training_values(1), training_values(2)]


@pytest.mark.parametrize(
    "between",
    ["", VerlLog().line("INFO something", "WorkerDict", 9).text, VerlLog().bar(1, 9, 50).text, "\n", "\n\n"],
    ids=["nothing", "another actor", "the progress bar", "a blank line", "two blank lines"],
)
def test_a_line_that_ray_split(tmp_path: Path, between: str) -> None:
    body = metric_body(2, training_values(2))
    in_key, in_number = body.index("response_length") + 4, body.index("timing_s/gen:") + 18
    log = VerlLog().metrics(1, training_values(1))
    log.split_metrics(2, training_values(2), [in_key, in_number], between=between).metrics(3, training_values(3))
    table = read(log, tmp_path)
    assert [row.values for row in table.rows] == [training_values(step) for step in (1, 2, 3)]
    assert [row.line for row in table.rows] == [1, 2, 5 + between.count("\n")]
    assert codes(table) == ["RR223"]


def test_a_number_that_may_have_been_split_is_given_up(tmp_path: Path) -> None:
    body = metric_body(1, training_values(1))
    log = VerlLog().split_metrics(1, training_values(1), [len(body) - 5]).metrics(2, training_values(2))
    first, second = read(log, tmp_path).rows
    assert first.values == {key: value for key, value in training_values(1).items() if key != "perf/throughput"}
    assert first.truncated
    assert not second.truncated


@pytest.mark.parametrize("width", [80, 100, 121, 160, 200])
@pytest.mark.parametrize("actor", [None, "TaskRunner"])
def test_a_line_wrapped_by_a_terminal(tmp_path: Path, width: int, actor: str | None) -> None:
    log = VerlLog(actor=actor, colours="none")
    for step in range(1, 30):
        log.wrapped_metrics(step, training_values(step), width)
    rows = read(log, tmp_path).rows
    assert [row.step for row in rows] == list(range(1, 30))
    whole = 0
    for row in rows:
        expected = training_values(row.step)
        assert row.values.items() <= expected.items()
        assert row.truncated or row.values == expected
        whole += row.values == expected
    assert whole >= 24


def test_lines_cut_at_4096_bytes(tmp_path: Path) -> None:
    log = VerlLog(actor=None)
    many = {f"val-aux/some/data/source/number_{index}/reward/mean@1": index + 0.123456789 for index in range(90)}
    for step in range(1, 7):
        log.cut_metrics(step, {**(many if step % 2 == 0 else {}), **training_values(step)})
    table = read(log, tmp_path)
    for row in table.rows:
        if row.step % 2:
            assert row.values == training_values(row.step)
            assert not row.truncated
        else:
            assert row.truncated
            assert "timing_s/step" not in row.values
            assert 60 < len(row.values) < 90
            assert row.values.items() <= many.items()
    assert codes(table) == ["RR220"]
    assert table.notices[0].message.endswith("steps 2, 4, 6")
    assert "cut:4096" in table.facts.hints


def test_a_line_of_4096_bytes_beside_longer_ones_is_whole(tmp_path: Path) -> None:
    values = {f"a/number_{index}": index + 0.1234 for index in range(178)}
    body = metric_body(1, values)
    body += f" - a/{'x' * (4096 - len(body) - len(' - a/:0.5'))}:0.5"
    assert len(body) == 4096
    alone = read(VerlLog(actor=None).line(body), tmp_path)
    assert codes(alone) == ["RR220"]
    assert alone.rows[0].values == values
    longer = metric_body(2, {**values, **{f"b/number_{index}": index + 0.5 for index in range(100)}})
    both = read(VerlLog(actor=None).line(body).line(longer), tmp_path)
    assert codes(both) == []
    assert [len(row.values) for row in both.rows] == [179, 278]


@pytest.mark.parametrize("era", ERAS)
def test_a_log_that_stops_anywhere_gives_no_value_that_was_not_printed(tmp_path: Path, era: Era) -> None:
    log = VerlLog(era=era).metrics(1, training_values(1))
    whole = len(log.data)
    log.metrics(2, training_values(2))
    data = log.data
    expected = printed(training_values(2), era)
    for end in range(whole, len(data)):
        rows = read(data[:end], tmp_path).rows
        assert rows[0].values == printed(training_values(1), era)
        for row in rows[1:]:
            assert row.step == 2
            assert row.values.items() <= expected.items()
            assert row.truncated or row.values == expected
    assert len(read(data[:-1], tmp_path).rows[1].values) >= len(expected) - 1


def test_a_cut_line_without_a_value_is_counted(tmp_path: Path) -> None:
    table = read(VerlLog().metrics(1, training_values(1)).raw("step:2 - timing_s/ste"), tmp_path)
    assert [row.step for row in table.rows] == [1]
    assert codes(table) == ["RR221"]
    assert "steps 2" in table.notices[0].message


def test_three_decimals_are_told(tmp_path: Path) -> None:
    log = VerlLog(era="fixed3")
    for step in range(1, 4):
        log.metrics(step, training_values(step))
    assert codes(read(log, tmp_path)) == ["RR227"]


def test_restarts(tmp_path: Path) -> None:
    log = VerlLog()
    for step in (1, 2, 3, 4):
        log.metrics(step, training_values(step)).bar(step, 9, 100 * step)
    log.config_dump(small_config()).resume(2)
    for step in (3, 4, 5):
        log.metrics(step, training_values(step, seed=1)).bar(step, 9, 100 * (step - 2))
    table = read(log, tmp_path)
    assert [(row.step, row.attempt) for row in table.rows] == [(1, 0), (2, 0), (3, 0), (4, 0), (3, 1), (4, 1), (5, 1)]
    assert table.facts.resumed_from == [2]
    assert table.facts.elapsed_s == {1: 100.0, 2: 200.0, 3: 500.0, 4: 600.0, 5: 700.0}
    assert [(notice.code, notice.message) for notice in table.notices] == [("RR225", "the log holds 1 restart, at step 3")]


def test_resumed_by_parameter_version_in_fully_async(tmp_path: Path) -> None:
    log = VerlLog(actor="FullyAsyncTrainer").metrics(4, training_values(4))
    log.line("[FullyAsyncTrainer] Setting global step to 12, current_param_version to 3")
    log.line("Resuming from checkpoints/p/e/global_step_12").metrics(4, training_values(4, seed=1))
    table = read(log, tmp_path)
    assert table.facts.resumed_from == [3]
    assert [row.attempt for row in table.rows] == [0, 1]


def test_the_configuration_dump_and_the_command(tmp_path: Path) -> None:
    log = VerlLog(actor=None).line(
        "+ python3 -m verl.trainer.main_ppo data.train_batch_size=512 "
        "+trainer.extra=1e-6 'trainer.logger=[console,wandb]' ~critic"
    )
    log.actor = "TaskRunner"
    log.line("ray init kwargs: {'num_cpus': None}").config_dump(small_config()).metrics(1, training_values(1))
    table = read(log, tmp_path)
    values = {key: value.value for key, value in table.config.items()}
    assert values == {**flat(small_config()), "trainer.extra": 1e-06, "trainer.logger": ["console", "wandb"]}
    assert table.config["trainer.extra"].origin == "run/console.log:1"
    assert "main:verl.trainer.main_ppo" in table.facts.hints


def test_a_configuration_that_changes_at_a_restart(tmp_path: Path) -> None:
    log = VerlLog().config_dump(small_config()).metrics(1, training_values(1))
    log.config_dump(small_config(data__train_batch_size=512)).metrics(2, training_values(2))
    table = read(log, tmp_path)
    assert table.config["data.train_batch_size"].value == 512
    assert [row.attempt for row in table.rows] == [0, 1]
    assert "RR229" in codes(table)
    assert "data.train_batch_size" in next(notice.message for notice in table.notices if notice.code == "RR229")


def test_an_incomplete_dump_keeps_what_was_read(tmp_path: Path) -> None:
    lines = VerlLog().config_dump(small_config()).text.splitlines(keepends=True)
    table = read(VerlLog().raw("".join(lines[:10])).metrics(1, training_values(1)), tmp_path)
    assert codes(table) == ["RR228"]
    values = {key: value.value for key, value in table.config.items()}
    assert values
    assert values.items() <= flat(small_config()).items()
    assert [row.step for row in table.rows] == [1]


def test_facts_of_a_crash(tmp_path: Path) -> None:
    log = VerlLog().line("[2026-07-30 10:20:08,779] start", "WorkerDict", 7)
    log.traceback("\x1b[31mtorch.OutOfMemoryError: CUDA out of memory.\x1b[0m").traceback("RuntimeError: later")
    table = read(log, tmp_path)
    assert table.facts.tracebacks == 2
    assert table.facts.first_error == (5, "torch.OutOfMemoryError: CUDA out of memory.")
    assert table.facts.started_at == "2026-07-30T10:20:08"
    assert table.rows == []


def test_facts_of_a_good_end(tmp_path: Path) -> None:
    log = VerlLog().bar(0, 2, 0).metrics(1, training_values(1)).bar(1, 2, 63).metrics(2, training_values(2))
    log.bar(2, 2, 3723, end="").bar(2, 2, 3724).line("'Final validation metrics: None'")
    log.traceback("RuntimeError: DataLoader worker (pid 3) is killed by signal: Killed.")
    log.line("Worker exit detail: Exit code: 1", "raylet", 1).raw("RUN_RC=0\n")
    facts = read(log, tmp_path).facts
    assert facts.progress == (2, 2)
    assert facts.elapsed_s == {0: 0.0, 1: 63.0, 2: 3723.0}
    assert facts.final_validation
    assert facts.exit_code == 0


def test_old_stub_lines_give_a_notice_and_no_rows(tmp_path: Path) -> None:
    log = VerlLog(colours="none", actor=None).line("python3 -m verl.trainer.main_ppo")
    log.line("(TaskRunner pid=1) step=0 - training/global_step:1 - training/epoch:0")
    log.line("(TaskRunner pid=1) 'critic/score/mean': 0.1").line("(TaskRunner pid=1) 'actor/loss': 0.2")
    table = read(log, tmp_path)
    assert table.rows == []
    assert [(notice.code, notice.where) for notice in table.notices] == [("RR226", "run/console.log:2")]


def test_fully_async_numbers_beside_the_metric_lines(tmp_path: Path) -> None:
    log = VerlLog(actor="FullyAsyncTrainer")
    for version in (1, 2):
        log.line(
            "[FullyAsyncTrainer] Loop collection completed: 128/128 samples, total wait time: 12.50 seconds. mq_len: 3"
        ).line(
            "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 7.3100 seconds "
            f"self.current_param_version: {version}"
        )
        if version == 1:
            log.metrics(version, training_values(version))
    table = read(log, tmp_path)
    assert [(row.step, row.values) for row in table.rows[1:]] == [
        (1, {"console/param_sync_s": 7.31, "console/queue_wait_s": 12.5, "console/queue_samples": 3.0})
    ]


def full_log() -> VerlLog:
    log = VerlLog(era="mixed", actor="TaskRunnerV1").line("2026-07-30 10:20:08 start").foreign(30)
    log.config_dump(small_config(), between={3: VerlLog().foreign(5).text})
    for step in range(1, 40):
        log.foreign(step % 7, seed=step)
        if step % 5 == 0:
            log.split_metrics(step, training_values(step), [170, 300], between=VerlLog().foreign(2).text)
        elif step % 7 == 0:
            log.metrics(step, training_values(step), end="")
        else:
            log.metrics(step, training_values(step))
        log.bar(step, 40, 50 * step)
    return log.resume(30).metrics(31, training_values(31, 1)).traceback("KeyError: 'x'")


@pytest.mark.parametrize("chunk", [700, 1024, 4096, 10_007, 65_536])
def test_where_the_chunks_end_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    log = full_log()
    whole = read(log, tmp_path)
    assert len(whole.rows) == 40
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(console, "_PREAMBLE_BYTES", 500)
    monkeypatch.setattr(console, "_LOOK_AHEAD", {"dump": 16_000, "traceback": 2000, "step": 3000})
    monkeypatch.setattr(console, "_LOOK_AHEAD_OTHERS", 500)
    pieces = read(log, tmp_path)
    assert pieces.rows == whole.rows
    assert pieces.config == whole.config
    assert pieces.notices == whole.notices
    assert pieces.sha256 == whole.sha256
    for name in ("tracebacks", "first_error", "progress", "elapsed_s", "resumed_from"):
        assert getattr(pieces.facts, name) == getattr(whole.facts, name), name


HISTORY = (
    "[FullyAsyncRollouter][RolloutResourceUtilization] raw active_count_history (timestamp, active_count, max_concurrent): "
)
LONG_LINES = {"history": 31_200, "metrics": 30_000, "metrics of 1 MiB": 1 << 20, "metrics split": 150_000}


def long_log(kind: str, pad: int) -> tuple[VerlLog, dict[str, float]]:
    """A fully async log with one long line after `pad` bytes, and the values of its second step."""
    log = VerlLog(actor="FullyAsyncTrainer").line("x" * pad).metrics(1, training_values(1))
    values: dict[str, float] = {"timing_s/step": 9.5}
    if kind == "history":
        entries = [(1785407749.25 + second, 64 if second % 2 else 192, 256) for second in range(LONG_LINES[kind] // 26 + 1)]
        log.line(f"{HISTORY}{entries}", "FullyAsyncRollouter", 9)
        values["console/rollout_occupancy"] = 0.5
    else:
        while len(metric_body(2, values)) < LONG_LINES[kind]:
            values |= {f"val-aux/source_{len(values) + index}/reward/mean@1": 0.5 + index for index in range(500)}
    printed_values = {key: value for key, value in values.items() if not key.startswith("console/")}
    if kind == "metrics split":
        log.split_metrics(2, printed_values, [len(metric_body(2, printed_values)) - 9])
    else:
        log.metrics(2, printed_values)
    values["console/param_sync_s"] = 7.25
    log.line("[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 7.2500 seconds self.current_param_version: 2")
    return log.metrics(3, training_values(3)).foreign(3), values


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_long_line_is_read_whole_wherever_a_chunk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A chunk ends before the line, within its prefix, within it, at its end, and within what continues or follows it."""
    chunk = 65_536
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(console, "_PREAMBLE_BYTES", 500)
    data = long_log(kind, 0)[0].data
    start = data.index(b"\n", data.index(b"step:1 ")) + 1
    end = data.index(b"\n", start) + 1
    assert end - start > LONG_LINES[kind] * 0.9
    ends = [start + shift for shift in (-2, -1, 0, 1, 20, 50, 16_385)] + [end + shift for shift in range(-20, 100, 12)]
    for boundary in ends if LONG_LINES[kind] < 1_000_000 else ends[1::4]:
        log, values = long_log(kind, -boundary % chunk)
        table = read(log, tmp_path)
        merged: dict[str, float] = {}
        for row in table.rows:
            merged |= row.values if row.step == 2 else {}
        assert merged == pytest.approx(values)
        assert [row.values for row in table.rows if row.step == 3] == [training_values(3)]
        more = kind in ("history", "metrics split")
        assert [row.line for row in table.rows[:3]] == [2, 3 + (kind == "history"), 5 + more]
        assert not any(row.truncated for row in table.rows)


def test_nothing_is_read_twice_where_a_chunk_ends_between_two_hits_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric line, which needs a long look ahead, is glued to a line that is summed up and needs a short one."""
    log = VerlLog(actor="FullyAsyncTrainer")
    for version in range(1, 30):
        log.raw(log.prefix() + "[FullyAsyncTrainer] Loop collection completed: 8/8 samples, total wait time: 2.50 seconds.")
        log.metrics(version, training_values(version))
        log.line(
            "[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: 1.0000 seconds "
            f"self.current_param_version: {version}"
        )
    monkeypatch.setattr(files, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(console, "_PREAMBLE_BYTES", 500)
    monkeypatch.setattr(console, "_LOOK_AHEAD", {"step": 3000})
    monkeypatch.setattr(console, "_LOOK_AHEAD_OTHERS", 50)
    rows = read(log, tmp_path).rows
    waits = [row.values["console/queue_wait_s"] for row in rows if "console/queue_wait_s" in row.values]
    assert waits == [2.5] * 29


def test_many_hits_in_a_line_that_is_longer_than_what_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without line ends a buffer is cut within a line; what lies before the cut is not read again."""
    text = "".join(metric_body(step, training_values(step)) + "x" * 700 + "(W pid=1) " for step in range(1, 400))
    whole = read(text.encode(), tmp_path)
    assert [row.step for row in whole.rows] == list(range(1, 400))
    monkeypatch.setattr(files, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(console, "_MAX_CARRY", 30_000)
    monkeypatch.setattr(console, "_PREAMBLE_BYTES", 500)
    monkeypatch.setattr(console, "_LOOK_AHEAD", {"dump": 2000, "traceback": 2000, "step": 2000})
    assert [row.values for row in read(text.encode(), tmp_path).rows] == [training_values(step) for step in range(1, 400)]


def test_sniffing_finds_a_mark_that_lies_across_two_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 100_000)
    line = metric_body(1, {"actor/loss": 0.5, "timing_s/reward": 1.5})
    for before in range(1, len(line), 3):
        data = b"-" * (100_000 - before - 1) + b"\n" + line.encode() + b"\n"
        (tmp_path / "x.log").write_bytes(data)
        assert ConsoleCollector().sniff(tmp_path / "x.log", data[:65536]) is True


def test_a_resumed_fully_async_run_keeps_the_first_numbers_of_the_checkpoint(tmp_path: Path) -> None:
    """The launch syncs before it trains and names the checkpoint's version; the version after it is trained again."""

    def version(log: VerlLog, number: int, sync_s: float, trained: bool = True) -> None:
        log.line(f"{HISTORY}[(100.0, {number}, 10), (101.0, 0, 10)]", "FullyAsyncRollouter", 9)
        log.line(
            f"[FullyAsyncTrainer] _fit_update_weights, timing_s/param_sync: {sync_s:.4f} seconds "
            f"self.current_param_version: {number}"
        )
        if trained:
            log.metrics(number, training_values(number, seed=int(sync_s)))
            log.line("[FullyAsyncTrainer] global_steps: 9 local_trigger_step: 1 trigger_parameter_sync_step: 1 10:11:12.1")

    log = VerlLog(actor="FullyAsyncTrainer")
    for number in (1, 2, 3):
        version(log, number, 1.0)
    log.line("[FullyAsyncTrainer] Loop collection completed: 8/8 samples, total wait time: 5.00 seconds. mq_len: 3")
    log.line("[FullyAsyncTrainer] Setting global step to 9, current_param_version to 2")
    version(log, 2, 2.0, trained=False)
    log.metrics(2, {"val-core/a/acc/mean@1": 0.5})
    for number in (3, 4):
        version(log, number, 2.0)
    raw = merge_sources([read(log, tmp_path)])
    assert raw.frame["console/param_sync_s"].to_dict() == {1: 1.0, 2: 1.0, 3: 2.0, 4: 2.0}
    assert raw.frame["console/rollout_occupancy"].to_dict() == {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}
    assert "console/queue_wait_s" not in raw.frame.columns
    assert raw.frame["val-core/a/acc/mean@1"].dropna().to_dict() == {2: 0.5}
    assert [notice.code for notice in raw.notices] == ["RR243"]


@pytest.mark.parametrize("form", ["CR LF", "byte order mark", "NUL bytes", "NUL bytes first", "all of them"])
@pytest.mark.parametrize("era", ERAS)
def test_what_other_systems_do_to_a_text(tmp_path: Path, form: str, era: Era) -> None:
    log = VerlLog(era=era).config_dump(small_config())
    for step in range(1, 6):
        log.metrics(step, training_values(step)).bar(step, 9, 60 * step).foreign(2, seed=step)
    plain, data = read(log, tmp_path), log.data
    if form in ("NUL bytes", "all of them"):
        data = re.sub(rb"\n([^\n]*step:\d)", rb"\n\0\0\0\1", data).replace(b"INFO", b"\0\0INFO")
    if form in ("CR LF", "all of them"):
        data = data.replace(b"\n", b"\r\n")
    if form in ("NUL bytes first", "all of them"):
        data = b"\0" * 100_000 + b"\n" + data
    if form in ("byte order mark", "all of them"):
        data = b"\xef\xbb\xbf" + data
    path = tmp_path / "other.log"
    path.write_bytes(data)
    assert ConsoleCollector().sniff(path, read_head(path)) is True
    table = ConsoleCollector().read(path, SourceOptions("run/console.log"))
    assert [(row.step, row.values, row.truncated) for row in table.rows] == [
        (row.step, row.values, row.truncated) for row in plain.rows
    ]
    assert {key: found.value for key, found in table.config.items()} == {
        key: found.value for key, found in plain.config.items()
    }
    assert [notice.code for notice in table.notices] == [notice.code for notice in plain.notices]
    assert (table.facts.progress, table.facts.elapsed_s) == (plain.facts.progress, plain.facts.elapsed_s)


def test_a_number_that_nul_bytes_follow_may_have_been_longer(tmp_path: Path) -> None:
    data = metric_body(1, training_values(1)).encode() + b"\0\0\n" + metric_body(2, training_values(2)).encode() + b"\n"
    first, second = read(data, tmp_path).rows
    assert first.truncated
    assert first.values == {key: value for key, value in training_values(1).items() if key != "perf/throughput"}
    assert (second.truncated, second.values) == (False, training_values(2))


def test_a_byte_order_mark_before_the_first_metric_line(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + metric_body(1, training_values(1)).encode() + b"\r\n"
    assert [(row.step, row.values) for row in read(data, tmp_path).rows] == [(1, training_values(1))]


def test_gzip_is_transparent(tmp_path: Path) -> None:
    log = full_log()
    plain, packed = read(log, tmp_path), read(gzip.compress(log.data), tmp_path, "console.log.gz")
    assert packed.rows == plain.rows
    assert packed.config == plain.config
    assert packed.sha256 != plain.sha256


def test_a_gzip_stream_that_ends_early(tmp_path: Path) -> None:
    packed = gzip.compress(full_log().data)
    table = read(packed[: len(packed) // 2], tmp_path, "console.log.gz")
    assert 0 < len(table.rows) < 40
    assert "RR230" in codes(table)


@pytest.mark.parametrize("seed", range(12))
def test_a_gzip_file_with_random_bytes_in_place_of_its_tail_gives_no_new_values(tmp_path: Path, seed: int) -> None:
    log = VerlLog()
    for step in range(1, 301):
        log.foreign(5, seed=step).metrics(step, training_values(step))
    random_ = random.Random(seed)
    packed = gzip.compress(log.data, mtime=0)
    keep = random_.randrange(len(packed) // 2, len(packed) - 1000)
    damaged = packed[:keep] + random_.randbytes(len(packed) - keep if seed % 2 else 60_000)
    table = read(damaged, tmp_path, "console.log.gz")
    assert len(table.rows) > 120
    for row in table.rows:
        assert row.values.items() <= training_values(row.step).items()
    assert [row.step for row in table.rows] == list(range(1, len(table.rows) + 1))
    (notice,) = [notice for notice in table.notices if notice.code == "RR230"]
    assert re.fullmatch(
        r"the compressed stream is damaged after [\d,]+ bytes of text, [\d,]+ more that may be garbled are left out; "
        r"what came before is used",
        notice.message,
    )


def test_an_empty_log(tmp_path: Path) -> None:
    with pytest.raises(RlreportError) as caught:
        read(b"", tmp_path)
    assert caught.value.exit_code == 3
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["RR203"]


def test_a_file_without_line_ends_is_read_in_bounded_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 50_000)
    monkeypatch.setattr(console, "_MAX_CARRY", 100_000)
    monkeypatch.setattr(console, "_PREAMBLE_BYTES", 1000)
    bars = "".join(VerlLog().bar(step, 9999, step, end="").text for step in range(1, 3000))
    table = read(bars.encode(), tmp_path)
    assert table.facts.progress == (2999, 9999)


@pytest.mark.parametrize("seed", range(40))
def test_damage_never_raises_and_cut_files_give_no_new_values(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    data = full_log().data
    printed_values = {(row.step, key, value) for row in read(data, tmp_path).rows for key, value in row.values.items()}
    cut = read(data[: random_.randrange(1, len(data))], tmp_path)
    assert {(row.step, key, value) for row in cut.rows for key, value in row.values.items()} <= printed_values
    damaged = bytearray(data)
    for _ in range(random_.randrange(1, 30)):
        at = random_.randrange(len(damaged))
        kind = random_.randrange(4)
        if kind == 0:
            del damaged[at : at + random_.randrange(300)]
        elif kind == 1:
            damaged[at:at] = damaged[at // 2 : at // 2 + random_.randrange(2000)]
        elif kind == 2:
            damaged[at : at + 3] = b"\0\0\0"
        else:
            damaged[at] = random_.randrange(256)
    read(bytes(damaged), tmp_path)


@pytest.mark.parametrize(
    ("head", "name", "found"),
    [
        (VerlLog().metrics(1, training_values(1)).data, "a", True),
        (b"Training Progress:   0%|", "a.out", True),
        (b"+ python3 -m verl.trainer.main_ppo", "slurm-1.out", True),
        (b"(TaskRunner pid=1) hello", "x.log", True),
        (b"/opt/verl/trainer/main_ppo.py:181: UserWarning", "x.log", True),
        (b"epoch=1 loss=0.42\n", "x.log", False),
        (b"(TrainingActor pid=77) Global step 1: {'policy_loss': 0.01}", "x.log", False),
        (VerlLog().metrics(1, training_values(1)).data, "notes.md", False),
        (b"\0\1\2\3" * 100, "x.log", False),
        (b"", "x.log", False),
    ],
)
def test_sniffing(tmp_path: Path, head: bytes, name: str, found: bool) -> None:
    path = tmp_path / name
    path.write_bytes(head)
    assert ConsoleCollector().sniff(path, head[:65536]) is found


def test_sniffing_looks_further_into_logs(tmp_path: Path) -> None:
    data = b"some preamble of another program\n" * 4000 + VerlLog().metrics(1, training_values(1)).data
    (tmp_path / "x.log").write_bytes(data)
    assert ConsoleCollector().sniff(tmp_path / "x.log", data[:65536])
