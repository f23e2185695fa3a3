from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.verl_logs import VerlLog, training_values
from tensorboardX import SummaryWriter

from rlreport.pipeline.inspect import inspect_json, inspect_paths, inspect_text


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


def test_a_known_framework_is_named(tmp_path: Path) -> None:
    log = VerlLog().metrics(1, training_values(1)).metrics(2, training_values(2))
    text = inspect_text(inspect_paths([log.write(tmp_path / "console.log")]))
    assert "  framework  verl, mode " in text
    assert "RR301" not in text
