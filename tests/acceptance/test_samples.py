"""What must be seen to hold on real logs, through the whole pipeline. Skipped where the logs are not at hand."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rlreport.manifest import load_manifest
from rlreport.pipeline.build import build
from rlreport.run.diagnostics import RlreportError


def built(tmp_path: Path, samples: Path, runs: dict[str, str], report: str, formats: tuple[str, ...] = ("json",)) -> Any:
    """Build one report over samples; gives report.json's data."""
    lines = [f"  {name}: {{sources: [{os.path.relpath(samples / folder, tmp_path)}]}}" for name, folder in runs.items()]
    (tmp_path / "m.yaml").write_text(
        "version: 1\ntitle: T\nruns:\n" + "\n".join(lines) + f"\nreports:\n  - {{id: r, title: T, {report}}}\n", "utf-8"
    )
    manifest = load_manifest(tmp_path / "m.yaml", allow_outside=True)
    result = build(manifest, tmp_path / "out", formats=formats, jobs=1, progress=lambda text: None)
    if result.error is not None:
        raise result.error
    return json.loads((tmp_path / "out" / "r" / "report.json").read_text("utf-8"))


def test_the_separate_async_run(tmp_path: Path, samples: Path) -> None:
    report = built(
        tmp_path, samples, {"a": "verl-separate-async-npu"}, "kind: profile, baseline: a", formats=("html", "md", "json")
    )
    run = report["runs"]["a"]
    assert run["steps"] == {"first": 1, "last": 125, "count": 125}
    assert run["status"] == "completed"
    assert run["mode"] == "separate_async"
    assert (run["devices"]["trainer"], run["devices"]["rollout"]) == (1, 1)
    assert run["devices"]["implied"] == pytest.approx(2, abs=0.001)
    excluded = {entry["step"]: entry["reason"] for entry in run["steady_state"]["excluded"]}
    assert excluded[1] == "warm-up"
    assert excluded[125] == "checkpoint"
    split = run["time_split"]
    assert split["wait"] == pytest.approx(0.376, abs=0.005)
    assert split["weight_sync"] == pytest.approx(0.434, abs=0.005)
    assert split["update_actor"] == pytest.approx(0.187, abs=0.005)
    assert run["throughput"]["tokens_per_s"]["estimate"] == pytest.approx(448.6, rel=0.01)
    assert run["idle"]["rollout"]["fraction"] is None
    assert "trace" in run["idle"]["rollout"]["source"]
    assert report["findings"][0]["id"] == "weight-sync"
    for name in ("report.html", "report.md"):
        text = (tmp_path / "out" / "r" / name).read_text("utf-8")
        assert "Weight sync is the largest part of a step" in text
        assert "8 lines of the replay buffer's poll" in html.unescape(text)


@pytest.mark.parametrize(
    "trace",
    [
        "summary_event_data/summary_event_dataframe_sample.json",
        "torch_data/torch_profile",
        "mstx_data/mstx_profile",
        "nvtx_data/nvtx_profile",
    ],
)
def test_a_trace_alone_is_shown_and_nothing_is_claimed_of_it(tmp_path: Path, samples: Path, trace: str) -> None:
    report = built(tmp_path, samples, {"a": f"rl-insight-fixtures/{trace}"}, "kind: profile, baseline: a")
    run = report["runs"]["a"]
    assert run["steps"]["count"] == 0
    assert run["idle"]["owner"] == "unknown"
    assert run["timeline"]["window"]["trainer"]["devices"] > 0
    assert report["findings"] == []


def test_fsdp_against_megatron(tmp_path: Path, samples: Path) -> None:
    report = built(
        tmp_path,
        samples,
        {"fsdp": "verl-grpo-fsdp-h800", "megatron": "verl-grpo-megatron-h800"},
        "kind: ab, baseline: fsdp, variants: [megatron], changes: [resources]",
        formats=("html", "json"),
    )
    for run in report["runs"].values():
        assert run["devices"]["implied"] == pytest.approx(8, abs=0.01)
        reasons = {entry["step"]: entry["reason"] for entry in run["steady_state"]["excluded"]}
        assert reasons[0] == "no step time"
        assert reasons[5] == "validation"
        assert reasons[20] == "checkpoint"
    comparison = report["comparisons"][0]
    change = comparison["change"]
    assert change["verdict"] == "confounded"
    assert {"actor_rollout_ref.actor.strategy", "data.train_files"} <= set(change["short_list"])
    assert "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu" in change["short_list"]
    assert max(len(fold["keys"]) for fold in change["folded"]) >= 160
    assert comparison["throughput"]["verdict"] == "not-comparable"
    html = (tmp_path / "out" / "r" / "report.html").read_text("utf-8")
    body = html[html.index("<body>") :]
    assert "two train files against one" in body
    assert body.index("cannot be compared") < body.index('class="strip"')


def test_the_stalled_step_does_not_move_the_estimate(tmp_path: Path, samples: Path) -> None:
    report = built(tmp_path, samples, {"a": "verl-grpo-fsdp-h800"}, "kind: profile, baseline: a")
    run = report["runs"]["a"]
    stalled = [entry for entry in run["steady_state"]["excluded"] if entry["step"] == 160]
    assert stalled[0]["reason"] == "checkpoint"
    # Plain steps take 220 to 390 s; with the 22,543 s of step 160 the mean of 210 would be more than 100 s longer.
    assert 9.0 < run["throughput"]["steps_per_h"]["estimate"] < 16.0


def test_a_run_that_crashed_before_its_first_step(tmp_path: Path, samples: Path) -> None:
    with pytest.raises(RlreportError) as caught:
        built(tmp_path, samples, {"a": "verl-crashed-before-step-1"}, "kind: profile, baseline: a")
    assert caught.value.exit_code == 3
    assert len(caught.value.diagnostics) == 1
    message = str(caught.value)
    assert "crashed before its first step" in message
    assert "TASK_QUEUE_ENABLE" in message


def test_a_smoke_test_claims_nothing(tmp_path: Path, samples: Path) -> None:
    report = built(
        tmp_path,
        samples,
        {"a": "verl-one-step-smoke", "b": "verl-separate-async-npu"},
        "kind: ab, baseline: a, variants: [b]",
        formats=("html", "json"),
    )
    throughput = report["comparisons"][0]["throughput"]
    assert throughput["verdict"] in ("insufficient-data", "not-comparable")
    assert throughput["ratio"] is None
    alone = built(
        tmp_path, samples, {"a": "verl-one-step-smoke", "b": "verl-one-step-smoke"}, "kind: ab, baseline: a, variants: [b]"
    )
    assert alone["comparisons"][0]["throughput"]["verdict"] == "insufficient-data"
    assert alone["comparisons"][0]["throughput"]["ratio"] is None


def test_two_runs_in_one_folder_are_not_one(tmp_path: Path, samples: Path) -> None:
    for name in ("fsdp", "megatron"):
        log = samples / f"verl-grpo-{name}-h800" / "console.log"
        (tmp_path / "mixed").mkdir(exist_ok=True)
        (tmp_path / "mixed" / f"{name}.log").symlink_to(log)
    with pytest.raises(RlreportError) as caught:
        built(tmp_path, tmp_path, {"a": "mixed"}, "kind: profile, baseline: a")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["RR214"]
    assert caught.value.exit_code == 3
