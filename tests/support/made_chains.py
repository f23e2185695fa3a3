"""Runs for ladders and sweeps, made by arithmetic: throughput, waiting, rewards and accuracy with known levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlreport.comparators.analysis import Analysis, AnalysisRequest, Kind, analyse
from rlreport.run.knobs import KnobRow, KnobRules
from rlreport.run.model import Run
from support.made_runs import make_run
from support.made_series import balanced

NODES = "trainer.nnodes"
WARM_UP = "trainer.v1.separate_async.num_warmup_batches"
BUDGET = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu"
MINI_BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size"
SYNC_STEP = "trainer.v1.separate_async.parameter_sync_step"
STALENESS = "async_training.staleness_threshold"
DATA = "data.train_files"
DEVICE_MEMORY = "devices.memory_gb"

RULES = KnobRules(
    rows=(
        KnobRow(DATA, "workload", "train files"),
        KnobRow(NODES, "resources", "Trainer nodes", unit="nodes"),
        KnobRow(BUDGET, "work", "tokens of a micro-batch per device", unit="tokens"),
        KnobRow(WARM_UP, "work", "batches generated ahead"),
        KnobRow(MINI_BATCH, "work", "mini-batch", unit="prompts"),
        KnobRow(SYNC_STEP, "sync", "updates between weight syncs"),
        KnobRow(STALENESS, "off-policy", "staleness threshold"),
        KnobRow("trainer.test_freq", "schedule", "steps between validations", unit="steps"),
        KnobRow("trainer.experiment_name", "identity", "experiment"),
        KnobRow(DEVICE_MEMORY, "environment", "memory of a device", unit="GB"),
    )
)

CONFIG: dict[str, Any] = {NODES: 1, WARM_UP: 1, BUDGET: 10_240, MINI_BATCH: 16, SYNC_STEP: 4, DATA: "a.parquet"}


def made(
    run_id: str,
    *,
    rate: float = 1000.0,
    steps: int = 120,
    noise: float = 0.02,
    seed: int = 1,
    wait: float | None = 0.1,
    reward_noise: float = 0.02,
    accuracy: Sequence[float] | None = None,
    config: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    devices: int = 8,
    **more: Any,
) -> Run:
    """A run of 8 devices that makes `rate` tokens a second on all of them, in steps of 100,000 tokens of 64 prompts.

    The noise of neighbouring steps is anti-correlated, so that the effective sample size is the number of steps, and its
    mean is taken out: throughput over all steps is `rate` exactly. `wait` is a share of every step; `accuracy` the values of
    evaluations at every tenth step, for as many as there are.
    """
    rng = np.random.default_rng(seed)
    shape = 1 + noise * balanced(rng, steps)
    seconds = 100_000 / rate * shape / shape.mean()
    values: dict[str, Any] = {
        "time.step_s": seconds,
        "work.tokens": np.full(steps, 100_000.0),
        "work.prompts": np.full(steps, 64.0),
        "quality.reward_mean": 0.5 + reward_noise * rng.standard_normal(steps),
    }
    if wait is not None:
        values["time.wait_s"] = wait * seconds * (1 + 0.05 * balanced(rng, steps))
        values["time.update_actor_s"] = (0.95 - wait) * seconds
    if accuracy is not None:
        column = np.full(steps, np.nan)
        column[9 : 10 * len(accuracy) : 10] = accuracy
        values["quality.accuracy"] = column
    return make_run(
        {**values, **(columns or {})},
        run_id=run_id,
        label=more.pop("label", f"run {run_id}"),
        trainer=devices // 2,
        rollout=devices - devices // 2,
        config={**CONFIG, **(config or {})},
        knob_rules=RULES,
        first_step=2,
        framework_version="1",
        **more,
    )


def analysed(runs: Sequence[Run], kind: Kind, changes: Sequence[str] = (), **request: Any) -> Analysis:
    """The analysis of some runs, the first of which is the baseline."""
    first, *others = runs
    return analyse(
        AnalysisRequest(
            report_id="made",
            kind=kind,
            baseline=first.run_id,
            variants=tuple(run.run_id for run in others),
            changes=tuple(changes),
            **request,
        ),
        {run.run_id: run for run in runs},
    )


def omni_ladder(**overrides: Mapping[str, Any]) -> list[Run]:
    """Three rungs: Trainer nodes and warm-up batches move together, then the token budget alone.

    2,000 tokens/s on 16 devices, 2,880 on 24, 3,168 on 24: per device 125, 120, 132. Queues of 80, 48 and 24 prompts are
    leads of 5, 3 and 1.5 mini-batches of 16. Reserved memory is 40, 40 and 50 GB of 64.
    """
    queue = (80.0, 48.0, 24.0)
    memory = (40.0, 40.0, 50.0)
    configs: tuple[dict[str, Any], ...] = ({}, {NODES: 2, WARM_UP: 2}, {NODES: 2, WARM_UP: 2, BUDGET: 30_720})
    runs = []
    for place, (run_id, rate, devices) in enumerate((("a", 2000.0, 16), ("b", 2880.0, 24), ("c", 3168.0, 24))):
        fields: dict[str, Any] = {
            "rate": rate,
            "devices": devices,
            "seed": place + 1,
            "config": {DEVICE_MEMORY: 64, **configs[place]},
            "columns": {
                "queue.samples": np.full(120, queue[place]),
                "memory.reserved_gb": np.full(120, memory[place]),
            },
        }
        runs.append(made(run_id, **{**fields, **overrides.get(run_id, {})}))
    return runs


def staleness_sweep(**overrides: Mapping[str, Any]) -> list[Run]:
    """Three doses of staleness, 0.3, 0.5 and 0.7: per device 100, 120 and 121 tokens/s; waiting levels off at 0.5.

    Rewards are twice as rough at 0.7 as at 0.3; accuracy rises along every run.
    """
    rows = (("s3", 0.3, 800.0, 0.20, 0.010), ("s5", 0.5, 960.0, 0.05, 0.014), ("s7", 0.7, 968.0, 0.05, 0.020))
    runs = []
    for place, (run_id, dose, rate, wait, reward_noise) in enumerate(rows):
        fields: dict[str, Any] = {
            "rate": rate,
            "wait": wait,
            "seed": place + 1,
            "reward_noise": reward_noise,
            "accuracy": [0.30 + 0.02 * k + 0.003 * (-1) ** k for k in range(12)],
            "config": {STALENESS: dose},
            "mode": "fully_async",
        }
        runs.append(made(run_id, **{**fields, **overrides.get(run_id, {})}))
    return runs
