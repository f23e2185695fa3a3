"""Console logs of verl runs, written by code: every quirk of the real ones can be switched on."""

from __future__ import annotations

import pprint
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Era = Literal["fixed3", "repr", "numpy", "mixed"]
Colours = Literal["new", "old", "none"]

ERAS: tuple[Era, ...] = ("fixed3", "repr", "numpy", "mixed")


def print_value(value: float, era: Era, index: int = 0) -> str:
    """A value as the framework of an era prints it; in the mixed era every second one is a numpy scalar."""
    if era == "fixed3":
        return f"{value:.3f}"
    if isinstance(value, bool) or era == "repr" or (era == "mixed" and index % 2):
        return repr(value)
    return f"np.int64({value!r})" if isinstance(value, int) else f"np.float64({value!r})"


def metric_body(step: int, values: Mapping[str, float], era: Era = "repr") -> str:
    """The text of one metric line."""
    items = [
        f"step:{step}",
        *(f"{key}:{print_value(value, era, index)}" for index, (key, value) in enumerate(values.items())),
    ]
    return " - ".join(items)


def training_values(step: int, seed: int = 0) -> dict[str, float]:
    """The metrics of a small, plausible training step."""
    random_ = random.Random(seed * 100_003 + step)
    step_s = random_.uniform(40, 60)
    tokens = random_.randint(60_000, 70_000)
    return {
        "actor/entropy": random_.uniform(0.1, 0.5),
        "actor/lr": 1e-06,
        "training/global_step": step,
        "critic/score/mean": random_.uniform(0, 1),
        "response_length/mean": random_.uniform(200, 900),
        "timing_s/gen": step_s * 0.5,
        "timing_s/update_actor": step_s * 0.4,
        "timing_s/step": step_s,
        "perf/total_num_tokens": tokens,
        "perf/time_per_step": step_s,
        "perf/throughput": tokens / step_s / 8,
    }


@dataclass
class VerlLog:
    """A log that grows line by line. `actor=None` writes lines without Ray's prefix."""

    era: Era = "repr"
    actor: str | None = "TaskRunner"
    pid: int = 108806
    ip: str | None = None
    colours: Colours = "new"
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def data(self) -> bytes:
        return self.text.encode()

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path

    def prefix(self, actor: str | None = None, pid: int | None = None) -> str:
        """Ray's prefix of an actor, the log's own by default; "" without one."""
        actor = self.actor if actor is None else actor
        if actor is None:
            return ""
        where = f", ip={self.ip}" if self.ip else ""
        inside = f"({actor} pid={self.pid if pid is None else pid}{where})"
        if self.colours == "none":
            return f"{inside} "
        start = "\x1b[2m\x1b[36m" if self.colours == "old" else "\x1b[36m"
        return f"{start}{inside}\x1b[0m "

    def raw(self, text: str) -> VerlLog:
        """Text as it is, without prefix or line end."""
        self.parts.append(text)
        return self

    def line(self, text: str, actor: str | None = None, pid: int | None = None) -> VerlLog:
        return self.raw(f"{self.prefix(actor, pid)}{text}\n")

    def metrics(self, step: int, values: Mapping[str, float], end: str = "\n") -> VerlLog:
        return self.raw(self.prefix() + metric_body(step, values, self.era) + end)

    def split_metrics(self, step: int, values: Mapping[str, float], at: Sequence[int], between: str = "") -> VerlLog:
        """A metric line that Ray split into several prefixed lines; `between` stands after the first piece."""
        body = metric_body(step, values, self.era)
        pieces = [body[start:end] for start, end in zip([0, *at], [*at, len(body)], strict=True)]
        for index, piece in enumerate(pieces):
            self.line(piece)
            if index == 0:
                self.raw(between)
        return self

    def wrapped_metrics(self, step: int, values: Mapping[str, float], width: int) -> VerlLog:
        """A metric line broken at a terminal's width, as pasted logs have it."""
        text = self.prefix() + metric_body(step, values, self.era)
        return self.raw("".join(f"{text[start : start + width]}\n" for start in range(0, len(text), width)))

    def cut_metrics(self, step: int, values: Mapping[str, float], limit: int = 4096) -> VerlLog:
        """A metric line cut after `limit` bytes, its line end kept."""
        return self.raw(f"{(self.prefix() + metric_body(step, values, self.era))[:limit]}\n")

    def bar(self, done: int, total: int, elapsed_s: int, end: str = "\n") -> VerlLog:
        """A state of the progress bar."""
        minutes, seconds = divmod(elapsed_s, 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"
        percent = round(100 * done / total)
        shape = "█" * (percent // 10) + " " * (10 - percent // 10)
        bar = f"Training Progress: {percent:3d}%|{shape}| {done}/{total} [{clock}<1:00:00, 12.34s/it]"
        return self.raw(f"{self.prefix()}\r{bar}{end}")

    def resume(self, step: int) -> VerlLog:
        self.line(f"Load from checkpoint folder: checkpoints/p/e/global_step_{step}")
        self.line(f"Setting global step to {step}")
        return self.line(f"Resuming from checkpoints/p/e/global_step_{step}")

    def traceback(self, error: str, actor: str = "WorkerDict", pid: int = 7) -> VerlLog:
        self.line("Traceback (most recent call last):", actor, pid)
        self.line('  File "/opt/lib/worker.py", line 12, in run', actor, pid)
        self.line("    raise error", actor, pid)
        return self.line(error, actor, pid)

    def foreign(self, count: int, seed: int = 0) -> VerlLog:
        """Lines of other actors, without metrics."""
        random_ = random.Random(seed)
        for _ in range(count):
            actor = random_.choice(("WorkerDict", "vLLMHttpServer", "AgentLoopWorker"))
            words = " ".join(random_.choice(("pending", "loaded", "step", "request", "tokens")) for _ in range(6))
            self.line(f"INFO 07-30 10:20:{random_.randint(10, 59)} [core.py:{random_.randint(1, 999)}] {words}", actor, 42)
        return self

    def config_dump(self, tree: Mapping[str, Any], between: Mapping[int, str] | None = None) -> VerlLog:
        """The configuration as the framework prints it; `between` maps a line of the dump to raw text that follows it."""
        for index, line in enumerate(pprint.pformat(dict(tree)).split("\n")):
            self.line(line)
            self.raw((between or {}).get(index, ""))
        return self


def small_config(**changes: Any) -> dict[str, Any]:
    """A configuration with the shape of a real one; `changes` replace values by dotted key, `__` for the dot."""
    tree: dict[str, Any] = {
        "actor_rollout_ref": {
            "actor": {
                "_target_": "verl.workers.config.FSDPActorConfig",
                "checkpoint": {"load_contents": ["model", "optimizer", "extra"], "save_contents": ["model", "optimizer"]},
                "clip_ratio": 0.2,
                "fsdp_config": {"fsdp_size": -1, "param_offload": False, "wrap_policy": {"min_num_params": 0}},
                "optim": {"betas": [0.9, 0.999], "lr": 1e-06, "warmup_style": None},
                "ppo_mini_batch_size": 256,
                "strategy": "fsdp",
            },
            "model": {"path": "/models/it's here", "override_config": {}},
            "rollout": {"gpu_memory_utilization": 0.6, "max_num_seqs": 1024, "n": 5, "name": "vllm"},
        },
        "algorithm": {"adv_estimator": "grpo", "gamma": 1.0, "norm_adv_by_std_in_grpo": True},
        "data": {"max_prompt_length": 1024, "train_batch_size": 1024, "train_files": ["/data/a.parquet", "/data/b.parquet"]},
        "trainer": {"experiment_name": "first", "n_gpus_per_node": 8, "nnodes": 1, "save_freq": 20, "test_freq": 5},
    }
    for key, value in changes.items():
        node = tree
        *path, last = key.split("__")
        for part in path:
            node = node[part]
        node[last] = value
    return tree


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree as dotted keys, written apart from the code under test; empty mappings have no key."""
    result: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result
