from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.verl_logs import VerlLog
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.proto.tensor_pb2 import TensorProto
from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboardX.record_writer import RecordWriter

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.merge import merge_sources
from rlreport.collectors.read import read_sources
from rlreport.collectors.tensorboard import TensorboardCollector, raw_key
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

START = 1785407749.0


def write(path: Path, events: Iterable[Event]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RecordWriter(str(path))
    for event in events:
        writer.write(event.SerializeToString())
    writer.close()
    return path


def scalar(step: int, wall_s: float, **values: float) -> Event:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
    return Event(step=step, wall_time=wall_s, summary=summary)


def run(steps: Iterable[int], start_s: float, value: float = 0.0) -> list[Event]:
    header = Event(wall_time=start_s, file_version="brain.Event:2")
    return [header, *(scalar(step, start_s + 10 * step, a=step + value, b=-step) for step in steps)]


def read(path: Path) -> SourceTable:
    return TensorboardCollector().read(path, SourceOptions("tb"))


def codes(table: SourceTable) -> list[str]:
    return [notice.code for notice in table.notices]


def test_a_file_written_by_another_library(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(5):
            writer.add_scalar("timing_s/step", 1.5 * step, step, walltime=START + step)
            writer.add_scalar("val-core/a/mean@1", 0.5, step, walltime=START + step + 0.25)
            writer.add_text("notes", "hello", step)
            writer.add_histogram("h", [1.0, 2.0], step)
    table = read(tmp_path)
    assert [(row.step, row.values, row.wall_s) for row in table.rows] == [
        (step, {"timing_s/step": 1.5 * step, "val-core/a/mean@1": 0.5}, START + step + 0.25) for step in range(5)
    ]
    assert table.notices == []
    assert table.size_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_scalars_in_tensors(tmp_path: Path) -> None:
    one = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensors = [
        TensorProto(dtype=1, float_val=[1.5]),
        TensorProto(dtype=2, double_val=[2.5]),
        TensorProto(dtype=9, int64_val=[3], tensor_shape=one),
        TensorProto(dtype=1, tensor_content=struct.pack("<f", 4.5)),
        TensorProto(dtype=1, float_val=[1.0, 2.0]),
        TensorProto(dtype=7, string_val=[b"text"]),
        TensorProto(dtype=1, tensor_content=b"abc"),
    ]
    values = [Summary.Value(tag=f"t{index}", tensor=tensor) for index, tensor in enumerate(tensors)]
    path = write(tmp_path / "events.out.tfevents.1.h", [Event(step=7, wall_time=START, summary=Summary(value=values))])
    assert [(row.step, row.values) for row in read(path).rows] == [(7, {"t0": 1.5, "t1": 2.5, "t2": 3.0, "t3": 4.5})]


def test_a_second_file_of_a_resumed_run_is_a_later_attempt(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.20.h", run(range(5), START))
    write(tmp_path / "events.out.tfevents.10.h", run(range(3, 9), START + 1000, value=100))
    table = read(tmp_path)
    assert [(row.step, row.attempt) for row in table.rows] == [*((s, 0) for s in range(5)), *((s, 1) for s in range(3, 9))]
    assert codes(table) == ["RR225"]


def test_files_written_at_the_same_time_are_one_attempt(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1.trainer", run(range(5), START))
    write(tmp_path / "events.out.tfevents.1.rollouter", [scalar(step, START + 10 * step + 1, c=step) for step in range(5)])
    table = read(tmp_path)
    assert {row.attempt for row in table.rows} == {0}
    assert codes(table) == []


def test_a_tag_twice_in_a_step_gives_a_second_row(tmp_path: Path) -> None:
    path = write(tmp_path / "events.out.tfevents.1.h", [scalar(1, START, a=1.0), scalar(1, START + 1, a=2.0, b=3.0)])
    assert [(row.step, row.values) for row in read(path).rows] == [(1, {"a": 1.0}), (1, {"a": 2.0, "b": 3.0})]


def test_a_file_that_is_still_written(tmp_path: Path) -> None:
    path = write(tmp_path / "events.out.tfevents.1.h", run(range(5), START))
    path.write_bytes(path.read_bytes()[:-9])
    table = read(path)
    assert [row.step for row in table.rows] == [0, 1, 2, 3]
    assert codes(table) == ["RR233"]


def verl_step(step: int, **more: float) -> list[Event]:
    """One record a tag, in the order in which verl logs them; what only some steps have comes first."""
    tags = {**more, "critic/score/mean": 0.5, "actor/loss": 0.25, "timing_s/step": 40.0 + step, "perf/throughput": 9.0}
    return [scalar(step, START + 50 * step, **{tag: value}) for tag, value in tags.items()]


def cut_steps(table: SourceTable) -> list[int]:
    return [row.step for row in table.rows if row.truncated]


@pytest.mark.parametrize("written", [1, 2, 3])
@pytest.mark.parametrize("within", [False, True], ids=["between records", "within a record"])
def test_a_step_of_which_a_killed_writer_wrote_a_part_is_cut(tmp_path: Path, written: int, within: bool) -> None:
    whole = [event for step in range(4) for event in verl_step(step)]
    path = write(tmp_path / "events.out.tfevents.1.h", [*whole, *verl_step(4)[: written + within]])
    if within:
        path.write_bytes(path.read_bytes()[:-5])
    table = read(path)
    assert cut_steps(table) == [4]
    assert len(table.rows[-1].values) == written
    told = [notice for notice in table.notices if notice.code == "RR221"]
    assert [notice.message for notice in told] == [f"the file ends within step 4: {written} of the 4 usual values are there"]


def test_steps_that_end_whole_are_not_cut(tmp_path: Path) -> None:
    validation = {"val-core/a/acc/mean@1": 0.5}
    first = [scalar(0, START, **validation), *verl_step(1, **{"perf/first": 1.0}), *verl_step(2, **validation)]
    last = verl_step(4)
    for number, events in enumerate(
        [
            first,
            [*first, *verl_step(3)],
            [*first, *verl_step(3), scalar(2, START + 500, **{"rollouter/validate_time": 3.0})],
            [*first, *verl_step(3), scalar(4, START + 500, **validation)],
            [*first, *verl_step(3), last[0], last[1], last[3]],  # a value is left out, the later ones are there
            [scalar(0, START, **validation), *verl_step(1)[:2]],
            [*verl_step(1), *verl_step(2)[:2]],  # one step says little of what is usual
        ]
    ):
        table = read(write(tmp_path / str(number) / "events.out.tfevents.1.h", events))
        assert cut_steps(table) == []
        assert codes(table) == []


def test_each_file_of_a_folder_may_end_within_a_step(tmp_path: Path) -> None:
    first = [event for step in range(1, 5) for event in verl_step(step)][:-2]
    second = [event for step in range(3, 7) for event in verl_step(step)]
    for event in second:
        event.wall_time += 1000
    write(tmp_path / "events.out.tfevents.1.h", first)
    write(tmp_path / "events.out.tfevents.2.h", second)
    table = read(tmp_path)
    assert [(row.step, row.attempt) for row in table.rows if row.truncated] == [(4, 0)]
    raw = merge_sources([table])
    assert raw.partial_steps == {}  # it was trained again
    assert raw.frame.loc[4].to_dict()["perf/throughput"] == 9.0


def test_a_step_that_no_source_holds_whole(tmp_path: Path) -> None:
    """The process dies while it logs: the console line is cut, and so is what the event file holds of the step."""
    log = VerlLog(actor=None)
    for step in range(1, 4):
        log.metrics(step, {"actor/loss": 0.25, "timing_s/step": 40.0 + step})
    log.raw("step:4 - actor/loss:0.25 - timing_s/ste")
    log.write(tmp_path / "console.log")
    events = [event for step in range(1, 5) for event in verl_step(step)]
    for written, partial in ((2, {4: "tb ends within it"}), (4, {})):
        write(tmp_path / "tb" / "events.out.tfevents.1.h", events[: 12 + written])
        raw = merge_sources(read_sources([(tmp_path / "tb", None, {}), (tmp_path / "console.log", None, {})], tmp_path))
        assert raw.partial_steps == partial
        assert ("RR244" in {notice.code for notice in raw.notices}) is not bool(partial)
        assert ("RR249" in {notice.code for notice in raw.notices}) is bool(partial)
        assert raw.frame.index.tolist() == [1, 2, 3, 4]


def test_damaged_records_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "events.out.tfevents.1.h", run(range(5), START))
    data = bytearray(path.read_bytes())
    data[len(data) - 10] ^= 0x40
    path.write_bytes(data)
    table = read(path)
    assert [row.step for row in table.rows] == [0, 1, 2, 3]
    assert codes(table) == ["RR234"]


def values_or_nothing(path: Path) -> set[tuple[int, str, float]]:
    try:
        table = read(path)
    except RlreportError as error:
        codes = {diagnostic.code for diagnostic in error.diagnostics}
        return set() if codes == {"RR209"} else {(-1, str(error), 0.0)}
    return {(row.step, key, value) for row in table.rows for key, value in row.values.items()}


def test_every_cut_and_every_changed_byte_is_survived(tmp_path: Path) -> None:
    whole = write(tmp_path / "w" / "events.out.tfevents.1.h", run(range(4), START)).read_bytes()
    printed = values_or_nothing(tmp_path / "w")
    assert len(printed) == 8
    path = tmp_path / "events.out.tfevents.1.h"
    for index in range(1, len(whole)):
        for data in (whole[:index], whole[:index] + bytes([whole[index] ^ 0x55]) + whole[index + 1 :]):
            path.write_bytes(data)
            assert values_or_nothing(path) <= printed


@pytest.mark.parametrize(("data", "code"), [(b"", "RR203"), (b"hello world, this is no event file", "RR209")])
def test_nothing_to_read(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(data)
    with pytest.raises(RlreportError) as caught:
        read(path)
    assert caught.value.diagnostics[0].code == code
    assert caught.value.exit_code == 3


def test_sniffing(tmp_path: Path) -> None:
    path = write(tmp_path / "events.out.tfevents.1.h", run(range(2), START))
    collector = TensorboardCollector()
    assert collector.sniff(tmp_path, b"")
    assert collector.sniff(path, path.read_bytes())
    assert collector.sniff(path.rename(tmp_path / "renamed"), (tmp_path / "renamed").read_bytes())
    assert not collector.sniff(tmp_path, b"")
    assert not collector.sniff(tmp_path / "other.log", b"step:1 - a/b:1")


@pytest.mark.parametrize(
    ("tag", "key"),
    [
        ("val-core/openai/gsm8k/acc/mean_4", "val-core/openai/gsm8k/acc/mean@4"),
        ("val-aux/a_2/reward/best_16/std", "val-aux/a_2/reward/best@16/std"),
        ("val-core/a/acc/mean@4", "val-core/a/acc/mean@4"),
        ("training/mean_4", "training/mean_4"),
    ],
)
def test_cleaned_tags(tag: str, key: str) -> None:
    assert raw_key(tag) == key
