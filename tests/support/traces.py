"""Traces of every format that the span collectors read, written by code; each can be broken on purpose."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlreport.run.spans import SpanTable

#: A Unix second in 2026, and the nanosecond that it begins with.
UNIX_S = 1_785_400_000
UNIX_NS = UNIX_S * 10**9
S = 10**9

Row = tuple[str, str, int, int]


def rows(table: SpanTable | None) -> list[Row]:
    """(lane, raw name, start, end) of every span in nanoseconds from the table's zero, in the table's order."""
    assert table is not None
    columns = (table.lane, table.name, table.start_ns, table.end_ns)
    return [
        (table.lanes[lane].name, table.names[name], start, end)
        for lane, name, start, end in zip(*(column.tolist() for column in columns), strict=True)
    ]


def write(path: Path, text: str | bytes) -> Path:
    """Write a file, gzipped where its name says so."""
    data = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def write_json(path: Path, value: Any, **how: Any) -> Path:
    return write(path, json.dumps(value, **how))


def event(name: str, ts: Any, dur: Any, pid: Any = 1, tid: Any = 1, **args: Any) -> dict[str, Any]:
    """A complete event; times in microseconds, in whatever form."""
    found = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**found, "args": args} if args else found


def pair(name: str, begin: Any, end: Any, pid: Any = 1, tid: Any = 1, **args: Any) -> list[dict[str, Any]]:
    """A begin and an end event."""
    first = {"ph": "B", "name": name, "pid": pid, "tid": tid, "ts": begin}
    return [{**first, "args": args} if args else first, {"ph": "E", "pid": pid, "tid": tid, "ts": end}]


def named(kind: str, text: str, pid: Any = 1, tid: Any = 1) -> dict[str, Any]:
    """The name of a process or a thread."""
    return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": text}}


def profile(
    events: Sequence[Mapping[str, Any]], rank: int | None = 0, base_ns: int | None = UNIX_NS, **more: Any
) -> dict[str, Any]:
    """A torch profile."""
    found: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a device"}]}
    if rank is not None:
        found["distributedInfo"] = {"backend": "nccl", "pg_config": [{"ranks": [0, 1]}], "rank": rank, "world_size": 2}
    if base_ns is not None:
        found["baseTimeNanoseconds"] = base_ns
    return {**found, "traceEvents": list(events), **more}


def ascend_profile(
    root: Path, role: str, rank: int | None, events: Sequence[Mapping[str, Any]], told_role: str | None = None
) -> Path:
    """A profile of one Ascend device in its folders; returns the folder of its output."""
    folder = root / role / f"host_{rank}_ascend_pt"
    if rank is not None:
        write_json(folder / f"profiler_info_{rank}.json", {"rank_id": str(rank)})
    if told_role is not None:
        write_json(folder / "profiler_metadata.json", {"role": told_role})
    return write_json(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", list(events), indent=1).parent


def overlap_analysis(pid: int = 7) -> dict[str, Any]:
    """The name of the process that shows when an Ascend device was busy."""
    return named("process", "Overlap Analysis", pid, 0)


def nvtx(ranges: Iterable[tuple[str, int, int]], rank: int | None = 0, begin_ns: int | None = 10**15, **more: Any) -> str:
    """The lines of an nsys export: (name, start, end) of ranges in nanoseconds from the begin of the analysis."""
    lines: list[dict[str, Any]] = []
    for number, (name, start, end) in enumerate(ranges):
        lines.append({"table": "StringIds", "id": number + 30, "value": name})
        lines.append({"table": "NVTX_EVENTS", "eventType": 60, "start": start, "end": end, "textId": number + 30})
    if begin_ns is not None:
        lines.insert(1, {"table": "ANALYSIS_DETAILS", "startTime": begin_ns, "duration": 1})
    if "unix_ns" in more:
        lines.append({"table": "TARGET_INFO_SESSION_START_TIME", "utcEpochNs": more["unix_ns"]})
    if rank is not None:
        name = "PROCESS_0:ENVIRONMENT_VARIABLE"
        lines.append({"table": "META_DATA_CAPTURE", "name": name, "value": f'RANK="{rank}"'})
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)


def summary_event(role: str, rank: Any, start_ms: Any, end_ms: Any, **more: Any) -> dict[str, Any]:
    """An event of RL-Insight's import format."""
    times = {"start_time_ms": start_ms, "end_time_ms": end_ms}
    return {"name": role, "role": role, "domain": "default", **times, "rank_id": rank, "tid": 1, **more}


def otlp_span(name: str, start_ns: Any, end_ns: Any, **attributes: Any) -> dict[str, Any]:
    """A span with attributes; keys with two underscores get a dot."""
    told = []
    for key, value in attributes.items():
        kind = "intValue" if isinstance(value, int) else "stringValue"
        told.append({"key": key.replace("__", "."), "value": {kind: str(value)}})
    times = {"startTimeUnixNano": start_ns, "endTimeUnixNano": end_ns}
    return {"traceId": "0af7651916cd43dd", "spanId": "b7ad6b71", "name": name, "kind": 1, **times, "attributes": told}


def resource_spans(
    spans: Sequence[Mapping[str, Any]], service: str = "trainer", scopes: str = "scopeSpans"
) -> dict[str, Any]:
    """A resource with its spans."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resource": resource, scopes: [{"scope": {"name": "made"}, "spans": list(spans)}]}


def session(rank: int = 0, role: str | None = "rollout", **phases: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """A session of AReaL's tracer: (start, end) of its phases in Unix seconds."""
    found: dict[str, Any] = {"session_id": 1, "rank": rank, "submit_ts": UNIX_S, "status": "accepted"}
    found["phases"] = {
        name: [{"start_ts": start, "end_ts": end} for start, end in entries] for name, entries in phases.items()
    }
    return {**found, "role": role} if role is not None else found


def json_lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def range_answer(*series: tuple[Mapping[str, str], Sequence[tuple[Any, Any]]]) -> dict[str, Any]:
    """A `query_range` answer of Prometheus: series of labels and samples."""
    result = [{"metric": dict(labels), "values": [list(sample) for sample in samples]} for labels, samples in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}
