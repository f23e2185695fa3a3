"""The collectors on real logs, against readings by other means."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from rlreport.collectors import merge_sources, read_sources, require_steps
from rlreport.collectors.hydra import HydraCollector
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import RawRun, SourceTable

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def naive(path: Path) -> dict[int, dict[str, float]]:
    """Steps and values by one regular expression a line; good enough for undamaged lines."""
    steps: dict[int, dict[str, float]] = {}
    for line in path.read_text(errors="replace").splitlines():
        match = re.search(r"(?:^|\) )step:(\d+) - (\S+/.*)$", ANSI.sub("", line))
        if match:
            items = re.findall(r"(?:^| - )([^ ]+):(?:np\.\w+\()?(-?[\d.]+(?:e[-+]?\d+)?|nan|-?inf)\)?(?= - |\s*$)", match[2])
            steps.setdefault(int(match[1]), {}).update({key: float(value) for key, value in items})
    return steps


def table(path: Path) -> SourceTable:
    (source,) = read_sources([(path, None, {})], path.parent)
    return source


def run(folder: Path) -> RawRun:
    raw = merge_sources(read_sources([(folder, None, {})], folder))
    require_steps(raw)
    return raw


@pytest.mark.parametrize(
    ("name", "first", "last", "keys"),
    [
        ("verl-separate-async-npu", 1, 125, 834),
        ("verl-grpo-fsdp-h800", 0, 210, 237),
        ("verl-grpo-megatron-h800", 0, 105, 274),
        ("verl-one-step-smoke", 1, 1, 834),
        ("verl-pasted-console", 0, 1, 321),
    ],
)
def test_steps_values_and_configuration(samples: Path, name: str, first: int, last: int, keys: int) -> None:
    path = samples / name / "console.log"
    source = table(path)
    assert [row.step for row in source.rows] == list(range(first, last + 1))
    assert {row.step: row.values for row in source.rows} == naive(path)
    assert not any(row.truncated or row.attempt for row in source.rows)
    assert len(source.config) == keys
    assert "RR228" not in [notice.code for notice in source.notices]
    lines = path.read_bytes().decode(errors="replace").split("\n")
    for row in source.rows:
        assert row.line is not None
        assert f"step:{row.step} - " in lines[row.line - 1]
    for key, value in source.config.items():
        number = int(value.origin.rpartition(":")[2])
        name_in_dump = repr(key.rpartition(".")[2])
        assert name_in_dump in lines[number - 1] or f"{key}=" in lines[number - 1], key


def test_a_dump_cut_up_by_other_output(samples: Path) -> None:
    source = table(samples / "verl-crashed-before-step-1" / "console.log")
    other = table(samples / "verl-one-step-smoke" / "console.log")
    mine = {key: value.value for key, value in source.config.items()}
    theirs = {key: value.value for key, value in other.config.items()}
    assert len(mine) == 834
    assert mine.keys() == theirs.keys()
    differing = {key for key in mine if mine[key] != theirs[key]}
    assert differing <= {
        "trainer.experiment_name",
        "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes",
    } or all(isinstance(mine[key], type(theirs[key])) for key in differing)
    assert mine["data.train_batch_size"] == 16


def test_console_and_tensorboard_hold_the_same_numbers(samples: Path) -> None:
    folder = samples / "verl-separate-async-npu"
    console, events = table(folder / "console.log"), table(folder / "tensorboard")
    by_step = {row.step: row.values for row in events.rows}
    compared = 0
    for row in console.rows:
        assert row.values.keys() == by_step[row.step].keys()
        for key, value in row.values.items():
            assert struct.unpack("f", struct.pack("f", value))[0] == by_step[row.step][key], (row.step, key)
            compared += 1
    assert compared == 68 * 125 + 1


def test_hydra_and_the_dump_hold_the_same_configuration(samples: Path) -> None:
    folder = samples / "verl-separate-async-npu"
    dump = table(folder / "console.log").config
    (hydra,) = read_sources([(folder / ".hydra", HydraCollector.format, {})], folder)
    assert len(hydra.config) == 825
    for key, value in hydra.config.items():
        assert value.value == dump[key].value, key
        assert type(value.value) is type(dump[key].value), key
    assert [notice.code for notice in hydra.notices] == ["RR235"]


def test_the_separate_async_run(samples: Path) -> None:
    raw = run(samples / "verl-separate-async-npu")
    assert raw.frame.shape == (125, 69)
    assert raw.notices == ()
    assert raw.facts.tracebacks == 2
    assert raw.facts.exit_code == 0
    assert raw.facts.progress == (125, 125)
    assert raw.facts.final_validation
    assert "actor:TaskRunnerV1" in raw.facts.hints
    assert raw.restarts == ()
    assert raw.partial_steps == {}
    assert set(raw.key_origin.values()) == {"tensorboard"}
    window = raw.frame.loc[11:124]
    step_s = window["timing_s/step"].sum()
    assert window["timing_s/gen"].sum() / step_s == pytest.approx(0.376, abs=0.001)
    assert window["timing_s/update_weights"].sum() / step_s == pytest.approx(0.434, abs=0.001)
    assert window["perf/total_num_tokens"].sum() / step_s == pytest.approx(448.6, abs=0.1)
    elapsed = [raw.wall_s[step + 1] - raw.wall_s[step] for step in range(1, 125)]
    assert elapsed == pytest.approx(raw.frame.loc[2:, "timing_s/step"].tolist(), abs=25)


def test_the_stall_of_the_fsdp_run(samples: Path) -> None:
    raw = run(samples / "verl-grpo-fsdp-h800")
    assert raw.frame.loc[160, "timing_s/save_checkpoint"] == pytest.approx(22_076, abs=1)
    assert raw.frame.loc[160, "timing_s/step"] == pytest.approx(22_543, abs=1)
    assert raw.wall_s[167] == 18 * 3600 + 35 * 60 + 15
    assert raw.facts.started_at == "2025-06-18T16:49:37"
    assert "RR227" in [notice.code for notice in raw.sources[0].notices]
    assert raw.config["trainer.save_freq"].value == 20


def test_the_run_that_crashed(samples: Path) -> None:
    with pytest.raises(RlreportError) as caught:
        run(samples / "verl-crashed-before-step-1")
    assert caught.value.exit_code == 3
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR210"
    assert str(diagnostic.location) == "console.log:1364"
    assert "RuntimeError: Do not support TASK_QUEUE_ENABLE = 2" in diagnostic.message
    assert "9 tracebacks" in str(diagnostic.hint)


def test_numpy_scalars_among_floats(samples: Path) -> None:
    path = samples / "verl-excerpts" / "ascend-recipe-v1-sync-4npu.step64.log"
    (row,) = table(path).rows
    assert {64: row.values} == naive(path)
    assert row.values["training/num_turns/mean"] == 2.0
    assert row.values["actor/pg_clipfrac_lower"] == 9.33340488700196e-06


def test_a_glued_actor(samples: Path) -> None:
    source = table(samples / "verl-excerpts" / "rl-insight-good-full-tail.log")
    assert [row.step for row in source.rows] == [867, 868, 869]
    assert source.rows[0].values["perf/throughput"] == 410.2239976670702
    assert source.facts.progress == (870, 870)
    assert source.facts.tracebacks == 2
    assert [notice.code for notice in source.notices] == ["RR224"]


def test_a_resumed_tensorboard_folder(samples: Path) -> None:
    raw = run(samples / "trackers" / "tensorboard-resumed")
    assert raw.frame.index.tolist() == list(range(100))
    assert raw.restarts == (40,)
    assert [notice.code for notice in raw.notices] == ["RR243"]


def test_stub_logs(samples: Path) -> None:
    folder = samples / "rl-insight-fixtures" / "verl_data"
    for path in sorted(folder.glob("*_verl.log")):
        if path.stat().st_size and "startup" not in path.name:
            source = table(path)
            assert source.rows == []
            assert [notice.code for notice in source.notices] == ["RR226"]
    with pytest.raises(RlreportError) as caught:
        run(folder)
    assert caught.value.diagnostics[0].code == "RR211"
    assert "step:N - key:value" in str(caught.value.diagnostics[0].hint)
