from __future__ import annotations

from pathlib import Path

import pytest
from support.traces import UNIX_NS, UNIX_S, S, json_lines, range_answer, write, write_json

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans.prometheus import series_key
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

RUNNING = {"__name__": "vllm:num_requests_running", "engine": "1", "project": "p"}


def read(path: Path) -> SourceTable:
    found = detect(path)
    assert found is not None
    assert found.format == "prometheus"
    return found.read(path, SourceOptions("metrics"))


def seconds(table: SourceTable) -> list[tuple[str, str, list[tuple[float, float]]]]:
    return [
        (g.name, g.lane, [((at - UNIX_NS) / S, value) for at, value in zip(g.time_ns, g.values, strict=True)])
        for g in table.gauges
    ]


def test_a_range_answer(tmp_path: Path) -> None:
    samples = [(UNIX_S, "3"), (UNIX_S + 10.25, "5.5"), (UNIX_S + 20, "NaN"), (UNIX_S + 30, "+Inf"), (UNIX_S + 40, "0")]
    answer = range_answer((RUNNING, samples), ({**RUNNING, "engine": "0"}, [(UNIX_S, 7)]))
    for path in (
        write_json(tmp_path / "a.json", answer, indent=1),
        write(tmp_path / "b.jsonl", json_lines([answer, range_answer(({"__name__": "up"}, [(UNIX_S, "1")]))])),
    ):
        table = read(path)
        assert seconds(table)[-2:] == [
            ("vllm:num_requests_running", "engine_0", [(0, 7)]),
            ("vllm:num_requests_running", "engine_1", [(0, 3), (10.25, 5.5), (40, 0)]),
        ]
        assert [(n.code, n.message) for n in table.notices] == [
            ("RR269", "2 samples left out: 2 not finite or without a time")
        ]
        assert {gauge.zero_unix_ns for gauge in table.gauges} == {0}


def test_repeated_values_are_kept_where_they_begin_and_end(tmp_path: Path) -> None:
    """RL-Insight overwrites a gauge every step and samples it every ten seconds."""
    values = [1, 1, 1, 2, 2, 3, 1]
    answer = range_answer((RUNNING, [(UNIX_S + 10 * n, str(value)) for n, value in enumerate(values)]))
    (_, _, samples), *_ = seconds(read(write_json(tmp_path / "a.json", answer)))
    assert samples == [(0, 1), (20, 1), (30, 2), (40, 2), (50, 3), (60, 1)]


def test_a_dump_of_the_store_in_any_order(tmp_path: Path) -> None:
    engine = '{__name__="vllm:num_requests_running",engine="0",model_name="a \\"b\\", c}"}'
    lines = [
        f"{engine} 5 {UNIX_S * 1000 + 10_000}",
        f"{engine} 3 {UNIX_S * 1000}",
        f'{{__name__="rl_insight_monitor_training_global_step",project="p"}} 7 {UNIX_S * 1000 + 500}',
        f'{{__name__="vllm:request_latency_bucket",le="1"}} 99 {UNIX_S * 1000}',
        f'{{__name__="node_cpu_seconds"}} 99 {UNIX_S * 1000}',
        f'{{__name__="tq_depth"}} NaN {UNIX_S * 1000}',
        "not a sample",
    ]
    table = read(write(tmp_path / "dump.txt.gz", "\n".join(lines)))
    assert seconds(table) == [
        ("rl_insight_monitor_training_global_step", "", [(0.5, 7)]),
        ("vllm:num_requests_running", "engine_0", [(0, 3), (10, 5)]),
    ]
    assert [(n.code, n.message, n.where) for n in table.notices] == [
        ("RR231", "1 line not of the format and left out", "metrics:7"),
        (
            "RR269",
            "3 samples left out: 1 not finite or without a time, 2 of other quantities, or of counters and histograms",
            "metrics",
        ),
    ]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"__name__": "a", "replica": "3", "instance": "h:1"}, ("a", "replica_3")),
        ({"__name__": "a", "replica_rank": "3"}, ("a", "replica_3")),
        ({"__name__": "a", "instance": "10.0.0.1:8000"}, ("a", "10.0.0.1:8000")),
        ({"__name__": "a", "project": "p"}, ("a", "")),
        ({}, ("(no name)", "")),
    ],
)
def test_the_lane_of_a_series(labels: dict[str, str], expected: tuple[str, str]) -> None:
    assert series_key(labels) == expected


def test_limits_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many samples are thinned over the whole time; too many series are cut off."""
    monkeypatch.setattr("rlreport.collectors.spans.samples.MAX_SAMPLES", 20)
    monkeypatch.setattr("rlreport.collectors.spans.samples.MAX_SERIES", 1)
    answer = range_answer((RUNNING, [(UNIX_S + n, str(n)) for n in range(50)]), ({"__name__": "up"}, [(UNIX_S, "1")]))
    table = read(write_json(tmp_path / "a.json", answer))
    ((_, _, samples),) = seconds(table)
    assert 10 <= len(samples) <= 20
    assert all(at == value for at, value in samples)
    assert samples[0] == (0, 0)
    assert samples[-1][0] >= 47
    left_out = 50 - len(samples)
    assert table.notices[0].message == (
        f"{left_out + 1} samples left out: 1 of more than 1 series, {left_out} to bound memory, every second one of a series"
    )


def test_an_empty_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RlreportError, match=r"RR256.*\n.*was the range empty"):
        read(write_json(tmp_path / "a.json", range_answer()))
    with pytest.raises(RlreportError, match=r"RR256.*\n.*1 not finite"):
        read(write_json(tmp_path / "b.json", range_answer((RUNNING, [(UNIX_S, "NaN")]))))


def test_a_damaged_answer_keeps_its_whole_series(tmp_path: Path) -> None:
    answer = range_answer(*(({**RUNNING, "engine": str(n)}, [(UNIX_S, str(n))]) for n in range(5)))
    path = write_json(tmp_path / "a.json", answer)
    text = path.read_text()
    write(path, text[: text.index('"3"')])
    table = read(path)
    assert [gauge.lane for gauge in table.gauges] == ["engine_0", "engine_1", "engine_2"]
    assert [n.code for n in table.notices] == ["RR260"]


def test_a_broken_sample_costs_itself(tmp_path: Path) -> None:
    answer = range_answer(({**RUNNING}, [(UNIX_S + n, str(n)) for n in range(9)]))
    path = write_json(tmp_path / "a.json", answer)
    whole = path.read_text()
    for broken, lost, code in (
        (whole.replace(f"[{UNIX_S + 7}, ", f"[:{UNIX_S + 7}, "), 7, "RR261"),
        (whole.replace('"4"', '"4'), 4, "RR260"),
    ):
        table = read(write(path, broken))
        expected = [(n, n) for n in range(9) if n != lost]
        assert seconds(table) == [("vllm:num_requests_running", "engine_1", expected)]
        assert [n.code for n in table.notices] == [code]
    write(path, whole[: whole.index('"6"')])
    table = read(path)
    assert [value for _, value in seconds(table)[0][2]] == [0, 1, 2, 3, 4, 5]
    assert [n.code for n in table.notices] == ["RR260"]
