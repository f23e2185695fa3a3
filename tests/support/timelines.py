"""Timelines for tests: tables made by hand, and simulated runs with the spans that their tracers would have written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlreport.pipeline.load import read_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.spans import Activity, Gauge, Lane, LaneSide, SpanTable, span_table
from rlreport.simulator import Scenario
from rlreport.simulator.chrome_trace import chrome_trace
from rlreport.simulator.log_call import unix_s
from rlreport.simulator.output import output_files
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import launches_of
from rlreport.simulator.spans import device_seconds
from rlreport.simulator.summary_events import summary_events

Row = tuple[Lane, Activity, str, int, int, int]
S = 1_000_000_000

_ROLES: dict[str, Activity] = {"actor_compute_log_prob": "old_log_prob", "actor_update": "update_actor"}


def lane(name: str, side: LaneSide = "unknown", index: int | None = None, devices: int | None = None) -> Lane:
    """A lane; its index is the number at the end of its name where none is given."""
    number = name.rsplit("_", 1)[-1]
    return Lane(name, side, int(number) if index is None and number.isdigit() else index, devices)


def table(
    rows: Iterable[tuple[Lane, Activity, float, float]], *, version: int = -1, zero: int | None = 0, **more: Any
) -> SpanTable:
    """A table from (lane, activity, start, end) in seconds."""
    spans: list[Row] = [(w, a, a, round(s * S), round(e * S), version) for w, a, s, e in rows]
    return span_table(spans, zero_unix_ns=zero, **more)


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A simulated run as a report would read it, and the simulation as its truth."""

    run: Run
    simulation: Simulation

    def truth(self, side: str, start_s: float, end_s: float) -> tuple[dict[str, float], dict[str, float], float]:
        """(busy by state, idle by cause, total) of a side in device-seconds between two moments of the simulation."""
        sums = device_seconds(self.simulation.lanes, side, [(start_s, end_s)])  # type: ignore[arg-type]
        return sums.busy, sums.idle, sums.total


def traced_run(
    scenario: Scenario, folder: Path, *, trace: str = "rl-insight", declared: RunDeclaration | None = None
) -> TracedRun:
    """Simulate a scenario, read its console log, and add its spans: those of RL-Insight, or all states ("chrome-trace")."""
    launches = launches_of(scenario)
    for name, content in output_files(scenario, launches).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    said = declared or RunDeclaration(scenario.name)
    run = read_run([(folder / "console.log.gz", None, {})], said, folder)[1]
    zero = round(unix_s(scenario, 0.0) * 1e9)
    made = summary_table(launches, zero) if trace == "rl-insight" else chrome_table(launches)
    return TracedRun(dataclasses.replace(run, spans=(made,)), launches[0].simulation)


def summary_table(launches: Sequence[Any], zero_unix_ns: int) -> SpanTable:
    """The spans of RL-Insight's summary events; lanes as the collector names them, no side told."""
    devices: dict[str, set[int]] = {}
    found: dict[tuple[str, str, int, int], None] = {}
    for event in summary_events(launches):
        role = event["role"]
        replica = role.startswith("agent_loop_rollout_replica_")
        name = f"replica_{role.rsplit('_', 1)[1]}" if replica else f"rank_{event['rank_id']}"
        devices.setdefault(name, set()).add(event["rank_id"])
        begin, end = (round(event[key] * 1e6) - zero_unix_ns for key in ("start_time_ms", "end_time_ms"))
        found[(name, "generate" if replica else _ROLES[role], begin, end)] = None
    lanes = {name: lane(name, "unknown", devices=len(ranks)) for name, ranks in devices.items()}
    rows: list[Row] = [(lanes[name], what, what, begin, end, -1) for name, what, begin, end in found]  # type: ignore[misc]
    return span_table(rows, zero_unix_ns=zero_unix_ns)


def chrome_table(launches: Sequence[Any]) -> SpanTable:
    """The spans of the simulator's Chrome trace, which shows every state; an idle state's cause is not in its name."""
    trace = chrome_trace(launches)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "thread_name"}
    rows: list[Row] = []
    for event in trace["traceEvents"]:
        if event["ph"] != "X":
            continue
        args = event["args"]
        where = lane(
            names[event["pid"], event["tid"]], "trainer" if event["pid"] == 1 else "rollout", devices=args["devices"]
        )
        begin = round(event["ts"] * 1e3)
        rows.append((where, event["name"], event["name"], begin, begin + round(event["dur"] * 1e3), args["version"]))
    return span_table(rows, zero_unix_ns=trace["baseTimeNanoseconds"])


def gauges_of(simulation: Simulation) -> tuple[Gauge, ...]:
    """What a scrape every ten seconds shows: the queue, samples in generation, sequences by replica."""
    zero = round(unix_s(simulation.scenario, 0.0) * 1e9)
    times = [round(sample.at_s * 1e9) for sample in simulation.gauges]
    samples = simulation.gauges
    whole = (
        Gauge("queue.samples", "", times, [float(s.store) for s in samples], zero),
        Gauge("rollout.active_samples", "", times, [float(s.active) for s in samples], zero),
    )
    replicas = len(samples[0].running) if samples else 0
    return whole + tuple(
        Gauge("rollout.active_requests", f"replica_{place}", times, [float(s.running[place]) for s in samples], zero)
        for place in range(replicas)
    )


def random_scenario(seed: int, mode: str | None = None) -> Scenario:
    """A random run of any mode, small enough to simulate in a fraction of a second."""
    draw = np.random.Generator(np.random.PCG64(seed))
    chosen = mode or ("sync", "colocate_async", "separate_async", "switch", "one_step_off", "fully_async")[seed % 6]
    base = "separate_async" if chosen == "switch" else chosen
    shared = base in ("sync", "colocate_async")
    per_node = int(draw.choice([2, 4]))
    trainer, rollout = int(draw.integers(1, 4)), 0 if shared else int(draw.integers(1, 4))
    mini, rounds = int(draw.choice([4, 8])), int(draw.choice([1, 2, 4]))
    every = int(draw.choice([0, 4, 5]))
    generating = (trainer if shared else rollout) * per_node
    balance = float(draw.uniform(0.4, 2.0))
    samples = int(draw.choice([2, 4]))
    tokens = mini * rounds * samples * 600.0
    update_rate = float(draw.uniform(150, 500))
    train_s = tokens / (trainer * per_node * update_rate) + 4.0
    decode = tokens / generating / (train_s * balance) / 3.0
    values: dict[str, Any] = {
        "name": f"random-{seed}",
        "mode": base,
        "seed": seed,
        "steps": int(draw.integers(14, 22)),
        "cluster": {"devices_per_node": per_node, "trainer_nodes": trainer, "rollout_nodes": rollout},
        "workload": {
            "prompts_per_step": mini * rounds,
            "samples_per_prompt": samples,
            "prompt_tokens_mean": 100,
            "response_tokens_mean": 500,
            "response_tokens_sigma": float(draw.uniform(0.2, 0.8)),
            "max_response_tokens": 3000,
        },
        "trainer": {
            "mini_batch_prompts": mini,
            "update_fixed_s": 1.0,
            "update_tokens_per_s_per_device": update_rate,
            "recompute_old_log_prob": bool(draw.random() < 0.7),
            "log_prob_tokens_per_s_per_device": update_rate * 4,
            "advantage_s": float(draw.choice([0.0, 0.5])),
            "first_step_extra_s": float(draw.choice([0.0, 5.0])),
        },
        "rollout": {
            "devices_per_replica": int(draw.choice([1, 2])),
            "decode_tokens_per_s": decode,
            "half_rate_sequences": 8.0,
            "max_sequences": 64,
            "prefill_speedup": 50.0,
            "poll_interval_s": float(draw.choice([0.0, 0.5])),
        },
        "sync": {
            "weight_sync_s": float(draw.uniform(1, 8)),
            "warmup_batches": float(draw.choice([0.0, 0.5, 1.0, 2.0])) if base == "separate_async" else 1.0,
        },
        "fully_async": {
            "staleness_threshold": float(draw.choice([0.0, 0.1, 0.3, 0.5, 1.0])),
            "trigger_parameter_sync_step": rounds,
            "require_batches": 1,
            "partial_rollout": bool(draw.random() < 0.7),
            "concurrent_samples_per_replica": int(draw.choice([4, 8])),
        },
        "hybrid": {
            "enable_switch": chosen == "switch",
            "validates": chosen == "switch" or (base in ("separate_async", "fully_async") and bool(draw.random() < 0.3)),
            "to_rollout_s": 0.5,
            "to_trainer_s": 0.5,
        },
        "schedule": {
            "startup_s": 30.0,
            "validate_every_steps": every,
            "validation_s": float(draw.uniform(5, 20)) if every else 0.0,
            "checkpoint_every_steps": int(draw.choice([0, 5, 10])),
            "checkpoint_s": 6.0,
        },
        "noise": {"trainer_cv": 0.04, "rollout_cv": 0.04, "event_cv": 0.05},
    }
    return Scenario.model_validate(values)
