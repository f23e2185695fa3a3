from __future__ import annotations

from pathlib import Path

import pytest
from support.sample_runs import sample_run

from rlreport.run.model import Run


def _codes(run: Run) -> set[str]:
    return {notice.code for notice in run.notices if notice.code.startswith("RR3")}


def test_a_real_separate_async_run(samples: Path) -> None:
    run = sample_run(samples, "verl-separate-async-npu")
    assert (run.framework, run.mode, run.status) == ("verl", "separate_async", "completed")
    assert "2 tracebacks" in run.status_reason
    assert (run.devices.trainer, run.devices.rollout, run.devices.total) == (1, 1, 2)
    assert run.devices.implied == pytest.approx(2.0, abs=1e-6)
    assert (len(run.trained_steps), run.steps.index.min(), run.steps.index.max()) == (125, 1, 125)
    assert run.semantics.throughput_denominator == "all devices"
    assert run.semantics.step_is.startswith("one weight-sync cycle")
    assert "time.checkpoint_s" in run.semantics.contains
    assert run.semantics.excludes == ("time.validate_s",)
    assert set(run.steps["work.prompts"]) == {16.0}
    assert set(run.steps["work.trajectories"]) == {64.0}
    window = run.steps.loc[11:124]
    shares = window[["time.wait_s", "time.weight_sync_s", "time.update_actor_s"]].sum() / window["time.step_s"].sum()
    assert shares.tolist() == pytest.approx([0.376, 0.434, 0.187], abs=0.005)
    assert window["work.tokens"].sum() / window["time.step_s"].sum() == pytest.approx(448.6, rel=0.01)
    assert _codes(run) == {"RR305", "RR307"}


def test_real_sync_runs_of_mid_2025(samples: Path) -> None:
    fsdp, megatron = (sample_run(samples, f"verl-grpo-{name}-h800") for name in ("fsdp", "megatron"))
    for run, steps in ((fsdp, 210), (megatron, 105)):
        assert (run.mode, run.status, len(run.trained_steps)) == ("sync", "completed", steps)
        assert (run.devices.trainer, run.devices.rollout, run.devices.hybrid, run.devices.total) == (8, 0, 8, 8)
        assert run.devices.implied == pytest.approx(8.0, rel=0.001)
        assert {"time.validate_s", "time.checkpoint_s"} <= set(run.semantics.contains)
        assert run.semantics.excludes == ()
        assert set(run.trained_steps["work.prompts"]) == {1024.0}
        assert set(run.trained_steps["work.trajectories"]) == {5120.0}
        assert "time.wait_s" not in run.steps
    # Two data sources are averaged: 0.221 and 0.514 at step 0.
    assert fsdp.steps.loc[0, "quality.accuracy"] == pytest.approx((0.221 + 0.514) / 2)
    assert megatron.steps.loc[0, "quality.accuracy"] == pytest.approx(0.212)
    assert fsdp.steps.loc[160, "time.checkpoint_s"] == pytest.approx(22_076, abs=1)


def test_a_smoke_test_of_one_step(samples: Path) -> None:
    run = sample_run(samples, "verl-one-step-smoke")
    assert (run.mode, run.status, len(run.trained_steps)) == ("separate_async", "completed", 1)
    assert run.devices.implied == pytest.approx(2.0)


def test_a_pasted_log_that_stops(samples: Path) -> None:
    run = sample_run(samples, "verl-pasted-console")
    assert (run.mode, run.status) == ("sync", "killed")
    assert "1 of 140" in run.status_reason
    assert run.steps.loc[1, "work.trajectories"] == 1024.0


def test_one_line_of_v1_without_configuration(samples: Path) -> None:
    run = sample_run(samples, "verl-excerpts/ascend-recipe-v1-sync-4npu.step64.log")
    assert run.mode == "unknown"
    assert run.devices.implied == pytest.approx(4.0)
    assert run.steps.loc[64, "work.trajectories"] == 1024.0  # 670,575 / (569.06 + 85.80)
    assert {"RR304", "RR313", "RR325", "RR329"} <= _codes(run)
