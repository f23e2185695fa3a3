from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.made_runs import make_run
from support.timelines import lane, table
from support.verl_logs import VerlLog, training_values
from tensorboardX import SummaryWriter

from rlreport.pipeline.inspect import Inspection, inspect_json, inspect_paths, inspect_text
from rlreport.run.samples import SampleTable
from rlreport.run.spans import Gauge


def unknown_source(folder: Path, form: str) -> Path:
    """Five steps of keys that no framework has."""
    if form == "tensorboard":
        with SummaryWriter(str(folder / "tb")) as writer:
            for step in range(5):
                writer.add_scalar("own/speed", 1.5 * step, step, walltime=1_785_000_000.0 + 60 * step)
                writer.add_scalar("Loss", 2.0, step, walltime=1_785_000_000.0 + 60 * step)
        return folder / "tb"
    path = folder / "metrics.jsonl"
    lines = [json.dumps({"step": step, "data": {"own/speed": 1.5 * step, "Loss": 2.0}}) for step in range(5)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("form", ["tensorboard", "jsonl"])
def test_a_source_of_unknown_keys_names_them_and_no_framework(tmp_path: Path, form: str) -> None:
    inspection = inspect_paths([unknown_source(tmp_path, form)])
    text = inspect_text(inspection)
    assert "  framework  unknown, mode unknown\n" in text
    assert "  of 2 raw keys: own/speed, Loss\n" in text
    assert "steps      0 to 4 (5)" in text
    assert "[RR301] no framework is recognised" in text
    data = json.loads(inspect_json(inspection))
    assert data["run"]["framework"] == "unknown"
    assert [warning["code"] for warning in data["run"]["warnings"]] == ["RR301"]


def test_a_trace_is_told_by_lanes_spans_time_and_gauges() -> None:
    trainer, replica = lane("rank_0", "trainer"), lane("replica_0", "rollout")
    spans = table(
        [(trainer, "update_actor", 20.0, 30.0), (replica, "generate", 10.0, 22.0), (replica, "generate", 25.0, 70.5)]
    )
    gauges = (
        Gauge("rollout.running", "replica_0", [0, 1, 2], [3.0, 9.0, 4.0], 0, 16.0),
        Gauge("rollout.running", "replica_1", [0, 1], [2.0, 5.0], 0),
    )
    n = np.full(4, 1)
    samples = (SampleTable("trained", n, n * 30, n, n, n),)
    run = replace(make_run({"time.step_s": [1.0]}), spans=(spans,), gauges=gauges, samples=samples)
    text = inspect_text(Inspection(run))
    assert "  lanes      2 lanes: 1 Trainer, 1 Rollouter\n" in text
    assert "  spans      2 generate, 1 update_actor\n" in text
    assert "  covers     60.5 s from 1970-01-01T00:00:10Z\n" in text
    assert "rollout.running              5 samples in 2 lanes, 2.00 to 9.00 of 16.0\n" in text
    assert "  trained    4 responses, 30.0 tokens on average\n" in text
    told = json.loads(inspect_json(Inspection(run)))["run"]
    assert told["spans"] == [
        {
            "lanes": {"trainer": 1, "rollout": 1},
            "count": 3,
            "seconds": 60.5,
            "begins_at": "1970-01-01T00:00:10Z",
            "activities": {"generate": 2, "update_actor": 1},
        }
    ]
    assert told["gauges"] == [
        {"name": "rollout.running", "lanes": 2, "samples": 5, "least": 2.0, "most": 9.0, "capacity": 16.0}
    ]
    assert told["samples"] == [{"kind": "trained", "count": 4}]


@pytest.mark.parametrize("zero", [None, 2**62])
def test_a_trace_without_a_usable_clock_has_no_date(zero: int | None) -> None:
    spans = table([(lane("rank_0", "trainer"), "train", 0.0, 1.0)], zero=zero)
    text = inspect_text(Inspection(replace(make_run({"time.step_s": [1.0]}), spans=(spans,))))
    assert ("on a clock of its own" in text) == (zero is None)
    empty = table([], zero=0)
    assert "  spans      none\n" in inspect_text(Inspection(replace(make_run({"time.step_s": [1.0]}), spans=(empty,))))


def test_a_known_framework_is_named(tmp_path: Path) -> None:
    log = VerlLog().metrics(1, training_values(1)).metrics(2, training_values(2))
    text = inspect_text(inspect_paths([log.write(tmp_path / "console.log")]))
    assert "  framework  verl, mode " in text
    assert "RR301" not in text
