"""How fast a console log is read, beside `grep -c` on the same file.

Two logs are generated into a temporary folder: one of mostly foreign lines (the bar is within 4 times `grep -c`, plus
start-up) and one of step lines only (the bar is 100 MB/s a core). Memory is the peak of the whole process, imports included.

    python benchmarks/console_scan.py [--megabytes 300] [--repeat 5]
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rlreport.collectors.base import SourceOptions
from rlreport.collectors.console import ConsoleCollector

WORDS = ("loading", "engine", "request", "finished", "tokens", "prompt", "generate", "worker", "cache", "weight", "queue")
KEYS = [f"actor/some_metric/name_{index}" for index in range(66)]


def step_line(step: int, random_: random.Random) -> str:
    values = " - ".join(f"{key}:{random_.random()}" for key in KEYS)
    head = f"\x1b[36m(TaskRunner pid=1001)\x1b[0m step:{step} - training/global_step:{step}"
    return f"{head} - {values} - timing_s/step:{random_.uniform(40, 60)}\n"


def foreign_line(random_: random.Random) -> str:
    actor = random_.choice(("WorkerDict", "vLLMHttpServer", "AgentLoopWorker", "TaskRunner"))
    words = " ".join(random_.choices(WORDS, k=random_.randint(4, 24)))
    place = f"INFO 07-30 10:20:{random_.randint(10, 59)} [core.py:{random_.randint(1, 999)}]"
    return f"\x1b[36m({actor} pid={random_.randint(1002, 1020)}, ip=10.0.0.{random_.randint(1, 8)})\x1b[0m {place} {words}\n"


def write_log(path: Path, size_bytes: int, foreign_between: int) -> int:
    """Write a log of about the given size; the number of its steps."""
    random_ = random.Random(1)
    pool = [foreign_line(random_) for _ in range(5000)]
    written = step = 0
    with path.open("w") as file:
        while written < size_bytes:
            step += 1
            text = "".join(random_.choices(pool, k=foreign_between)) + step_line(step, random_)
            written += file.write(text)
    return step


def best_of(repeat: int, measure: Callable[[], object]) -> tuple[float, float]:
    """The smallest wall time and the smallest processor time of several runs, in seconds."""
    walls, processors = [], []
    for _ in range(repeat):
        wall, processor = time.perf_counter(), processor_s()
        measure()
        walls.append(time.perf_counter() - wall)
        processors.append(processor_s() - processor)
    return min(walls), min(processors)


def processor_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, share, between in (("mostly foreign lines", 1, 1500), ("step lines only", 3, 0)):
            path = Path(folder) / "console.log"
            steps = write_log(path, arguments.megabytes * 1_000_000 // share, between)
            size_mb = path.stat().st_size / 1e6

            def read(path: Path = path, steps: int = steps) -> None:
                table = ConsoleCollector().read(path, SourceOptions("console.log"))
                assert len(table.rows) == steps

            read()
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            grep = ["grep", "-c", "step:", str(path)]
            grep_wall, grep_cpu = best_of(
                arguments.repeat, lambda grep=grep: subprocess.run(grep, check=True, capture_output=True)
            )
            wall, cpu = best_of(arguments.repeat, read)
            print(f"{name}: {size_mb:.0f} MB, {steps:,} steps")
            print(f"  read {wall:.3f} s ({size_mb / wall:.0f} MB/s), processor {cpu:.3f} s, peak memory {peak_mb:.0f} MB")
            print(f"  grep {grep_wall:.3f} s, processor {grep_cpu:.3f} s; {wall / grep_wall:.1f} times its wall time")


if __name__ == "__main__":
    main()
