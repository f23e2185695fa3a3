"""A folder with logs and a manifest, as a user has it."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

HEAD = "version: 1\ntitle: Made\n"


def write_jsonl(
    path: Path, *, steps: int = 60, speed: float = 1.0, seed: int = 1, devices: int = 16, wait: float = 0.3, **columns: float
) -> None:
    """A FileLogger log of a separate-async run: 100 s and about 1 M tokens a step at speed 1, 5 % noise."""
    generator = random.Random(seed)
    lines = []
    for step in range(1, steps + 1):
        tokens = int(1_000_000 * math.exp(generator.gauss(0, 0.02)))
        seconds = tokens / 10_000 * math.exp(generator.gauss(0, 0.05)) / speed
        data: dict[str, Any] = {
            "training/global_step": step,
            "perf/total_num_tokens": tokens,
            "perf/time_per_step": seconds,
            "perf/throughput": tokens / seconds / devices,
            "timing_s/step": seconds,
            "timing_s/gen": wait * seconds,
            "timing_s/update_actor": (0.9 - wait) * seconds,
            "timing_s/update_weights": 0.05 * seconds,
            "critic/rewards/mean": 0.5 + generator.gauss(0, 0.01),
            "response_length/mean": 1000.0,
            **columns,
        }
        lines.append(json.dumps({"step": step, "data": data}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_pair(folder: Path, *, ratio: float = 1.25, changes: str = "schedule", **knobs: Any) -> Path:
    """Two runs of which the variant is `ratio` times as fast, and a manifest with one A/B report; gives the manifest's path.

    The validation interval differs; `knobs` are further keys (dots written as two underscores) that the variant alone has
    with another value, as (baseline, variant).
    """
    write_jsonl(folder / "logs" / "a.jsonl", seed=1)
    write_jsonl(folder / "logs" / "b.jsonl", seed=2, speed=ratio)
    runs = []
    for side, (name, every) in enumerate((("a", 5), ("b", 10))):
        config = {"trainer.v1.trainer_mode": "separate_async", "trainer.use_v1": True, "trainer.test_freq": every}
        config |= {key.replace("__", "."): values[side] for key, values in knobs.items()}
        pairs = ", ".join(f"{key}: {json.dumps(value)}" for key, value in config.items())
        runs.append(
            f"  {name}: {{label: run {name}, sources: [logs/{name}.jsonl], framework: verl, "
            f"devices: {{trainer: 8, rollout: 8}}, config: {{{pairs}}}}}"
        )
    manifest = folder / "experiments.yaml"
    manifest.write_text(
        f"{HEAD}runs:\n" + "\n".join(runs) + "\nreports:\n"
        f"  - {{id: pair, title: A pair, kind: ab, baseline: a, variants: [b], changes: [{changes}]}}\n"
        "  - {id: one, title: One run, kind: profile, baseline: a}\n",
        "utf-8",
    )
    return manifest
