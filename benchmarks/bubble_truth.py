"""How well bubbles are found again: random simulated runs of all modes against the simulator's truth.

    python benchmarks/bubble_truth.py [runs] [first seed]

Three kinds of evidence are judged: RL-Insight's summary events with the console log, a trace that shows all states with the
console log, and the console log alone. Judged are: idle share by side within one point, the cause with the largest share
(where it is clear in the truth: a rival within half a point is as good), the owner of the bubble (where the truth is not
within a point of the margin), the identity busy + idle = wall x devices within 0.1 %, and for the log alone that the truth
lies within the bounds, and that what is told as a number is right.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.bubble_judge import judge_log, judge_trace  # noqa: E402
from support.timelines import random_scenario, traced_run  # noqa: E402


def main(runs: int, first: int) -> int:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for seed in range(first, first + runs):
        for kind in ("rl-insight", "chrome-trace"):
            scenario = random_scenario(seed)
            with tempfile.TemporaryDirectory() as folder:
                traced = traced_run(scenario, Path(folder), trace=kind)
            found = judge_trace(traced)
            seen[f"{kind}: {scenario.mode}"] += 1
            failures += [f"seed {seed}, {scenario.mode}, {kind}: {problem}" for problem in found]
            if kind == "rl-insight":
                failures += [f"seed {seed}, {scenario.mode}, log alone: {problem}" for problem in judge_log(traced)]
    for name, count in sorted(seen.items()):
        print(f"{count:5} {name}")
    print(*failures, sep="\n")
    print(f"{len(failures)} deviations in {2 * runs} traces and {runs} logs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*(int(value) for value in (sys.argv[1:] + ["100", "0"][len(sys.argv) - 1 :]))))
