"""Contexts for rules: made runs with given timers, and accounts with given shares of idle time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rlreport.comparators.analysis import Analysis, AnalysisRequest, analyse
from rlreport.comparators.bubble_results import DeviceAccount, SideAccount, bubble_owner
from rlreport.comparators.timeline import Timeline
from rlreport.findings.context import Context
from rlreport.pipeline.load import read_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.spans import IdleCause
from support.made_runs import make_run

STEPS = 40
ROOT = Path(__file__).resolve().parents[2]
SYNC_STEP = "trainer.v1.separate_async.parameter_sync_step"
WARM_UP = "trainer.v1.separate_async.num_warmup_batches"
MINI = "actor_rollout_ref.actor.ppo_mini_batch_size"
ROLLOUT_NODES = "actor_rollout_ref.rollout.nnodes"
ROLLOUT_DEVICES = "actor_rollout_ref.rollout.n_gpus_per_node"
#: Four mini-batches of 16 a weight sync, one batch ahead: at most four mini-batches may wait.
CONFIG: dict[str, Any] = {SYNC_STEP: 4, WARM_UP: 1, MINI: 16}


def steady_run(
    columns: Mapping[str, float | Sequence[float]] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    steps: int = STEPS,
    **more: Any,
) -> Run:
    """A separate-async run of steady steps of 100 s with these columns."""
    data: dict[str, Sequence[float]] = {"time.step_s": [100.0] * steps, "work.tokens": [1000.0] * steps}
    for name, value in (columns or {}).items():
        data[name] = [value] * steps if isinstance(value, float) else list(value)
    return make_run(data, config=CONFIG if config is None else config, **more)


def context_of(run: Run, timeline: Timeline | None = None) -> Context:
    """The run as the only one of a profile."""
    return Context(profile(run), run.run_id, timeline)


def profile(run: Run) -> Analysis:
    """The analysis of one run."""
    return analyse(AnalysisRequest("p", "profile", run.run_id), {run.run_id: run})


def traced(
    trainer: Mapping[IdleCause, float],
    rollout: Mapping[IdleCause, float],
    *,
    devices: tuple[float, float] = (4.0, 4.0),
    **more: Any,
) -> Timeline:
    """A timeline from spans over 1,000 s whose sides idle by these shares."""
    sides = {
        name: SideAccount(
            side=name,  # type: ignore[arg-type]
            devices=count,
            weight=count,
            wall_s=1000.0,
            busy={"train": (1 - sum(idle.values())) * 1000.0 * count},
            idle={cause: share * 1000.0 * count for cause, share in idle.items()},
        )
        for name, count, idle in (("trainer", devices[0], trainer), ("rollout", devices[1], rollout))
    }
    account = DeviceAccount("spans", 0.0, 1000.0, sides["trainer"], sides["rollout"], {})
    fields: dict[str, Any] = {
        "window": account,
        "whole": None,
        "cycles": (),
        "whole_trace": False,
        "prompts": None,
        "owner": bubble_owner(account, separated=True),
        "reported": (),
        "lead": None,
        "balance": None,
        "long_tail": None,
        "periodic": (),
        "quota": None,
        "trace": None,
        "basis": "made",
    }
    return Timeline(**{**fields, **more})


@cache
def example_run(folder: str, memory_gb: int | None = None) -> Run:
    """A run of the demo, from its console log alone."""
    declared = RunDeclaration(
        folder.rsplit("/", maxsplit=1)[-1],
        framework="verl",
        framework_version="2026-08-22",
        config={} if memory_gb is None else {"devices.memory_gb": memory_gb},
    )
    return read_run([(ROOT / "examples" / folder / "console.log.gz", None, {})], declared, ROOT)[1]
