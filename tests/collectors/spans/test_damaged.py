"""Traces of every format, broken at random: what can be read is read, else one error says why; nothing else is raised."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.traces import (
    UNIX_NS,
    UNIX_S,
    event,
    json_lines,
    named,
    nvtx,
    otlp_span,
    overlap_analysis,
    pair,
    profile,
    range_answer,
    resource_spans,
    session,
    summary_event,
    write,
)

from rlreport.collectors.base import Collector, SourceOptions
from rlreport.collectors.detect import detect
from rlreport.collectors.spans import SPAN_COLLECTORS, console_gauges, merge_spans
from rlreport.dialects.spans import interpret_spans
from rlreport.run.diagnostics import RlreportError
from rlreport.run.raw import SourceTable

_EVENTS = [named("thread", "rank_0"), *(event(f"update_{n % 3}", 100 * n, 90 + n, rank=n % 2, step=n) for n in range(20))]
_PAIRS = [one for n in range(10) for one in pair("gen", 100 * n, 100 * n + 50)]
_REQUESTS = [
    {
        "ph": ph,
        "cat": "c",
        "name": "generate",
        "id": n,
        "pid": 1,
        "tid": n % 2,
        "ts": 100 * n + after,
        "args": {"version": n},
    }
    for n in range(20)
    for ph, after in (("b", 0), ("e", 250))
]
_COUNTS = [
    {"ph": "C", "name": "vllm:num_requests_running", "pid": n % 3, "ts": 10 * n, "args": {"value": n % 4, "x": 1}}
    for n in range(20)
]
_ASCEND = [overlap_analysis(), *(event("Free", f"{UNIX_S}{n:06d}.125", 5.5, 7) for n in range(20))]
_SPANS = [otlp_span("train", str(UNIX_NS + n), str(UNIX_NS + n + 9), state_lane_id=f"rank_{n % 3}") for n in range(20)]
_SAMPLES = [(UNIX_S + n, str(n % 4)) for n in range(20)]
_LABELS = '{__name__="vllm:num_requests_running",engine="0"}'

#: File name -> a good file.
GOOD: dict[str, str] = {
    "array.json": json.dumps([*_EVENTS, *_PAIRS], indent=1),
    "object.json": json.dumps({"traceEvents": _EVENTS, "displayTimeUnit": "ms"}),
    "lines.jsonl": json_lines(_EVENTS),
    "requests.json": json.dumps([*_REQUESTS, *_COUNTS], indent=1),
    "counts.jsonl": json_lines(_COUNTS),
    "actor_update/prof_rank-0.json": json.dumps(profile(_EVENTS[1:]), indent=2),
    "r/x_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json": json.dumps(_ASCEND, indent=1),
    "worker_process_1.1.jsonl": nvtx([(f"update_{n}", 10 * n, 10 * n + 9) for n in range(20)]),
    "events.json": json.dumps(
        [summary_event(f"replica_{n % 3}", n % 2, 1e12 + n, 1e12 + n + 9) for n in range(20)], indent=2
    ),
    "otlp.json": json.dumps({"batches": [resource_spans(_SPANS)]}, indent=1),
    "sessions.jsonl": json_lines(session(generate=[(UNIX_S + n, UNIX_S + n + 3)]) for n in range(20)),
    "range.json": json.dumps(range_answer(({"__name__": "vllm:num_requests_running"}, _SAMPLES))),
    "dump.txt": "".join(f"{_LABELS} {n} {1000 * (UNIX_S + n)}\n" for n in range(20)),
}
_NUMBERS = (b"1e999", b"-1e308", b"9" * 400, b"-9223372036854775809", b"NaN", b"null", b'"x"', b"[]", b"{}", b"-5", b"1_0")
_SIGNS = (b'"', b"}", b"{", b"[", b"]", b",", b"\\", b"\n", b"}}}", b'\\"', b"\\ud800", b'{"a":' * 1500)


def broken(data: bytes, random_: random.Random) -> bytes:
    """Cut, delete, double, swap, insert control bytes, replace numbers, insert signs: one to eight times."""
    text = bytearray(data)
    for _ in range(random_.randint(1, 8)):
        if not text:
            break
        at = random_.randrange(len(text))
        until = min(len(text), at + random_.choice((1, 3, 20, 200)))
        kind = random_.randrange(7)
        if kind == 0:
            del text[random_.choice((at, len(text) - 1)) :]
        elif kind == 1:
            del text[at:until]
        elif kind == 2:
            text[at:at] = text[at:until] * random_.choice((1, 20))
        elif kind == 3:
            text[at:until], text[:1] = text[:1], text[at:until]
        elif kind == 4:
            text[at:at] = bytes(random_.choice((0, 1, 13, 27, 255)) for _ in range(3))
        elif kind == 5:
            digits = next((place for place in range(at, len(text)) if chr(text[place]).isdigit()), None)
            if digits is not None:
                text[digits : digits + random_.randint(1, 9)] = random_.choice(_NUMBERS)
        else:
            text[at:at] = random_.choice(_SIGNS)
    return bytes(text)


def outcome(collector: Collector, path: Path) -> tuple[SourceTable | None, RlreportError | None]:
    """The table of a file, or the error."""
    try:
        return collector.read(path, SourceOptions("t")), None
    except RlreportError as error:
        return None, error


@pytest.mark.parametrize("name", sorted(GOOD))
def test_broken_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    random_ = random.Random(name)
    whole = detect(write(tmp_path / name, GOOD[name]))
    assert whole is not None
    read = 0
    for number in range(60):
        path = write(tmp_path / str(number) / name, broken(GOOD[name].encode(), random_))
        for collector in {whole.format: whole, "": random_.choice(SPAN_COLLECTORS[2:])}.values():
            table, error = outcome(collector, path)
            if error is not None:
                assert error.exit_code == 3
                assert all(diagnostic.code.startswith("RR2") for diagnostic in error.diagnostics)
            if table is None:
                continue
            read += 1
            meaning = interpret_spans(merge_spans([table]).tables, table.gauges)
            for spans in meaning.spans:
                assert bool((spans.end_ns > spans.start_ns).all())
    assert read >= 10


def test_broken_lines_of_a_log_give_gauges_or_nothing() -> None:
    random_ = random.Random(5)
    lines = [
        "raw active_count_history (timestamp, active_count, max_concurrent): [(1785400000.5, 1, 2), (1785400001.5, 2, 2)]",
        "INFO:2026-07-30 11:01:58,913:pending: 0, running: 10, finished: 6, failure: 0",
        "Training Progress:   4%|\u258d    | 5/125 [12:34<6:34:26, 190.86s/it]",
    ]
    for _ in range(300):
        for gauge in console_gauges(broken(line.encode(), random_) for line in lines):
            assert len(gauge.time_ns) == len(gauge.values) > 0
            assert list(gauge.time_ns) == sorted(gauge.time_ns)
