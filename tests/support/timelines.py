"""Timelines for tests: tables made by hand, and simulated runs with the spans that their tracers would have written."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlreport.comparators.bubble_paint import Intervals
from rlreport.comparators.bubble_scene import Scene
from rlreport.comparators.cycles import chronicle
from rlreport.comparators.lanes import find_lanes
from rlreport.pipeline.load import read_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.spans import ACTIVITIES, Activity, Gauge, Lane, LaneSide, SpanTable, span_table
from rlreport.simulator import Scenario
from rlreport.simulator.chrome_trace import chrome_trace
from rlreport.simulator.log_call import unix_s
from rlreport.simulator.output import output_files
from rlreport.simulator.records import Simulation
from rlreport.simulator.restart import launches_of
from rlreport.simulator.spans import device_seconds
from rlreport.simulator.summary_events import summary_events
from support.made_runs import make_run

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


def three_steps(**more: Any) -> Run:
    """Three steps of separate_async on two Trainer devices and two replicas, whole seconds, worked out by hand.

    The trace shows generation, log-probabilities and updates only. What happened in between, in seconds:

        Trainer    10 wait 30 log-prob 32 (advantage) 33 update 40 (checkpoint) 42 (sync) 45
                   45 log-prob 47 (advantage) 48 update 58 (sync) 61 (validation) 65
                   65 wait 69 log-prob 71 (advantage) 72 update 80 (sync) 83 (nothing known) 90
        replica 0  10 generates 42 (sync) 45 generates 58 (sync) 61 (validates) 65 generates 80 (sync) 83 generates 90
        replica 1  10 generates 36 quota 42 (sync) 45 generates 50 quota 58 (sync) 61 (validates) 65 generates 75 quota 80
                   (sync) 83 quota 90
    """
    ranks = [lane(f"rank_{number}", devices=1) for number in range(2)]
    first, second = lane("replica_0", devices=1), lane("replica_1", devices=1)
    rows: list[tuple[Lane, Activity, float, float]] = []
    for rank in ranks:
        for start, end in ((30, 32), (45, 47), (69, 71)):
            rows.append((rank, "old_log_prob", start, end))
        for start, end in ((33, 40), (48, 58), (72, 80)):
            rows.append((rank, "update_actor", start, end))
    rows += [(first, "generate", start, end) for start, end in ((10, 42), (45, 58), (65, 80), (83, 90))]
    rows += [(second, "generate", start, end) for start, end in ((10, 36), (45, 50), (65, 75))]
    columns = {
        "time.step_s": [35, 16, 18],
        "time.wait_s": [20, 0, 4],
        "time.old_log_prob_s": [2, 2, 2],
        "time.advantage_s": [1, 1, 1],
        "time.update_actor_s": [7, 10, 8],
        "time.checkpoint_s": [2, math.nan, math.nan],
        "time.weight_sync_s": [3, 3, 3],
        "time.validate_s": [math.nan, 4, math.nan],
        "work.prompts": [10, 10, 10],
    }
    config = {"trainer.v1.separate_async.parameter_sync_step": 1, "actor_rollout_ref.actor.ppo_mini_batch_size": 10}
    fields: dict[str, Any] = {"trainer": 2, "rollout": 2, "config": config, "spans": (table(rows),), **more}
    return make_run(columns, **fields)


def only(spans: SpanTable, keep: Any) -> SpanTable:
    """A table with some of its spans."""
    columns = ("lane", "activity", "name", "start_ns", "end_ns", "version")
    return dataclasses.replace(spans, **{column: getattr(spans, column)[keep] for column in columns})


def more_spans(spans: SpanTable, added: Iterable[tuple[Lane, Activity, float, float]]) -> SpanTable:
    """A table with further spans, in seconds."""
    rows: list[Row] = [
        (spans.lanes[code], ACTIVITIES[activity], spans.names[name], start, end, version)
        for code, activity, name, start, end, version in zip(
            *(getattr(spans, c).tolist() for c in ("lane", "activity", "name", "start_ns", "end_ns", "version")), strict=True
        )
    ]
    rows += [(w, a, a, round(s * S), round(e * S), -1) for w, a, s, e in added]
    return span_table(rows, zero_unix_ns=spans.zero_unix_ns)


def scene_of(run: Run) -> Scene:
    """What the rules of causes look at, of a run's only trace."""
    lanes = find_lanes(run, run.spans[0])
    return Scene.of(run, run.spans[0], lanes, chronicle(run, run.spans[0], lanes))


def seconds(found: Intervals) -> list[tuple[float, float]]:
    """Intervals in seconds."""
    return [(start / S, end / S) for start, end in found.pairs()]


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
