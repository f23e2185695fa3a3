"""How fast traces are read, and in how much memory.

A trace of each format is generated into a temporary folder and read in a process of its own; the table shows the speed in
wall and processor time, and the peak memory of the process with that of an empty file taken as its base. Memory must not
grow with the size of a trace: `--megabytes 2000` shows it.

    python benchmarks/trace_reading.py [--megabytes 200] [--formats chrome,torch,...]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.detect import detect

UNIX_S = 1_785_400_000


def chrome_events(random_: random.Random) -> Iterator[str]:
    """Operators with the layout of a torch profile: an event takes several lines."""
    at = 4_541_015_316_353.111
    number = 0
    while True:
        at += random_.random() * 30
        number += 1
        yield (
            f'{{\n    "ph": "X", "cat": "kernel", "name": "elementwise_kernel<4, {random_.randint(0, 300)}>",'
            f' "pid": {random_.randint(0, 7)}, "tid": {random_.randint(0, 30)},\n'
            f'    "ts": {at:.3f}, "dur": {random_.random() * 25:.3f},\n'
            f'    "args": {{\n      "External id": {number}, "device": 0, "stream": 7, "correlation": {number},'
            f' "grid": [{random_.randint(1, 999)}, 1, 1], "block": [128, 1, 1]\n    }}\n  }}'
        )


def object_parts(random_: random.Random) -> Iterator[str]:
    yield '{\n "schemaVersion": 1, "distributedInfo": {"rank": 3},\n "baseTimeNanoseconds": 1767189312000000000,\n'
    yield ' "traceEvents": [\n  ' + next(chrome_events(random_))
    for event in chrome_events(random_):
        yield ",\n  " + event


def timeline_parts(random_: random.Random) -> Iterator[str]:
    """The same events, all of which are kept."""
    yield '{"displayTimeUnit": "ms", "traceEvents": [\n  ' + next(chrome_events(random_))
    for event in chrome_events(random_):
        yield ",\n  " + event


def array_parts(random_: random.Random) -> Iterator[str]:
    """One compact array of Unix microseconds with nanoseconds, as Ray and Ascend write them."""
    at = UNIX_S * 10**9
    before = "["
    while True:
        at += random_.randint(10**6, 10**7)
        event = {"ph": "X", "cat": "task::Worker.step", "name": f"step_{random_.randint(0, 50)}", "pid": "10.0.0.1"}
        event |= {"tid": f"worker:{random_.randint(0, 63):02x}", "args": {"task_id": f"{random_.getrandbits(64):x}"}}
        text = json.dumps(event, separators=(",", ":"))
        yield f'{before}{text[:-1]},"ts":{at // 1000}.{at % 1000:03d},"dur":{random_.randint(1, 1000)}}}'
        before = ","


def line_parts(random_: random.Random) -> Iterator[str]:
    at = 0
    while True:
        at += random_.randint(1, 10**6)
        args = {"global_step": at // 10**8, "rank": 0, "role": "actor"}
        event = {"name": "train.ppo_update", "ph": "X", "ts": at, "dur": 1000, "pid": 1, "tid": 1, "cat": "compute"}
        yield json.dumps({**event, "args": args}) + "\n"


def otlp_parts(random_: random.Random) -> Iterator[str]:
    at = UNIX_S * 10**9
    while True:
        spans = []
        for _ in range(256):
            at += random_.randint(1, 10**8)
            lane = f"replica_{random_.randint(0, 31)}"
            attributes = [
                {"key": "state_lane_id", "value": {"stringValue": lane}},
                {"key": "state_name", "value": {"stringValue": "vllm_generate"}},
            ]
            times = {"startTimeUnixNano": str(at), "endTimeUnixNano": str(at + 10**8)}
            spans.append(
                {"traceId": f"{at:032x}", "spanId": f"{at:016x}", "name": "generate", **times, "attributes": attributes}
            )
        resource_ = {"attributes": [{"key": "service.name", "value": {"stringValue": "bench"}}]}
        yield json.dumps({"resourceSpans": [{"resource": resource_, "scopeSpans": [{"spans": spans}]}]}) + "\n"


def summary_parts(random_: random.Random) -> Iterator[str]:
    at = UNIX_S * 1e3
    before = "[\n"
    while True:
        at += random_.random() * 100
        role = f"agent_loop_rollout_replica_{random_.randint(0, 31)}"
        times = {"start_time_ms": round(at, 6), "end_time_ms": round(at + 80, 6), "duration_ms": 80.0}
        yield before + json.dumps(
            {"name": role, "role": role, "domain": "default", **times, "rank_id": 0, "tid": 1}, indent=2
        )
        before = ",\n"


def dump_parts(random_: random.Random) -> Iterator[str]:
    at = UNIX_S * 1000
    while True:
        at += 10
        labels = f'__name__="vllm:num_requests_running",engine="{random_.randint(0, 31)}",project="bench"'
        yield f"{{{labels}}} {random_.randint(0, 256)} {at}\n"


#: Format -> (file name, parts, what ends the file).
FORMATS: dict[str, tuple[str, Callable[[random.Random], Iterator[str]], str]] = {
    "torch": ("actor_update/prof_rank-3.json", object_parts, "\n]}\n"),
    "torch-gz": ("actor_update/prof_rank-3.json.gz", object_parts, "\n]}\n"),
    "chrome": ("timeline.json", timeline_parts, "\n]}\n"),
    "ray": ("ray.json", array_parts, "]\n"),
    "lines": ("traces-r0.jsonl", line_parts, ""),
    "otlp": ("traces.jsonl", otlp_parts, ""),
    "rl-insight": ("summary_event.json", summary_parts, "\n]\n"),
    "prometheus": ("dump.txt", dump_parts, ""),
}


def write_trace(path: Path, parts: Iterator[str], end: str, size_bytes: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else path.open("w") as file:
        for part in parts:
            file.write(part)
            written += len(part)
            if written >= size_bytes:
                break
        file.write(end)


def read_once(path: Path) -> None:
    """Read a trace and say what it took; runs in a process of its own."""
    collector = detect(path)
    if collector is None:
        raise SystemExit(f"no collector knows {path}")
    import numpy  # noqa: F401  # part of the base

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, processor = time.perf_counter(), time.process_time()
    table = collector.read(path, SourceOptions(path.name))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = len(table.spans) if table.spans is not None else sum(len(gauge.values) for gauge in table.gauges)
    result = {"format": collector.format, "wall_s": wall, "processor_s": processor, "base_mb": base / 1024}
    print(json.dumps({**result, "peak_mb": peak / 1024, "kept": count, "notices": [n.message for n in table.notices]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read is not None:
        read_once(arguments.read)
        return
    print(f"{'trace':<12}{'format':<15}{'MB/s wall':>10}{'MB/s cpu':>10}{'peak MB':>9}{'base MB':>9}  kept")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.formats.split(","):
            file, parts, end = FORMATS[name]
            path = Path(folder) / name / file
            write_trace(path, parts(random.Random(1)), end, arguments.megabytes * 1_000_000)
            command = [sys.executable, __file__, "--read", str(path)]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            path.unlink()
            speeds = (arguments.megabytes / result["wall_s"], arguments.megabytes / result["processor_s"])
            print(
                f"{name:<12}{result['format']:<15}{speeds[0]:>10.0f}{speeds[1]:>10.0f}"
                f"{result['peak_mb']:>9.0f}{result['base_mb']:>9.0f}  {result['kept']:,}",
                *result["notices"],
            )


if __name__ == "__main__":
    main()
