"""The three case studies of the demo, against the truth that the simulator wrote beside the logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rlreport.manifest import load_manifest
from rlreport.pipeline.build import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    result = build(load_manifest(ROOT / "experiments.yaml"), folder, formats=("json",), jobs=1, progress=lambda text: None)
    assert result.error is None
    return folder


def report(out: Path, name: str) -> Any:
    return json.loads((out / name / "report.json").read_text("utf-8"))


def truth(run: str) -> Any:
    return json.loads((ROOT / "examples" / run / "truth.json").read_text("utf-8"))


def holds(estimate: Any, value: float) -> bool:
    return bool(estimate["ci_low"] <= value <= estimate["ci_high"])


def test_fewer_rollouters_save_devices_and_no_time(out: Path) -> None:
    found = report(out, "qwen3-30b")
    throughput = found["comparisons"][0]["throughput"]
    assert throughput["metric"] == "tokens_per_s_per_device"
    assert throughput["verdict"] == "improved"
    assert holds(throughput, (32 + 48) / (32 + 32))
    total = next(other for other in throughput["others"] if other["metric"] == "tokens_per_s")
    assert total["verdict"] == "equivalent"
    assert holds(total, 1.0)
    assert found["comparisons"][0]["change"]["verdict"] == "single"
    assert found["comparisons"][0]["change"]["classes"] == ["resources"]


@pytest.mark.parametrize(("run", "folder"), [("r48", "qwen3-30b/r48"), ("r32", "qwen3-30b/r32")])
def test_throughput_and_the_trainers_waiting_are_the_truth(out: Path, run: str, folder: str) -> None:
    found, true = report(out, "qwen3-30b")["runs"][run], truth(folder)
    per_device = found["throughput"]["tokens_per_s_per_device"]["estimate"]
    assert per_device == pytest.approx(true["throughput"]["steady"]["tokens_per_s_per_device"], rel=0.01)
    assert found["time_split"]["wait"] < 0.02
    assert found["idle"]["owner"] == "rollout"


def test_the_ladder_names_its_unattributable_rung_and_the_missing_run(out: Path) -> None:
    found = report(out, "qwen3-omni")
    first, second = found["comparisons"]
    assert first["change"]["verdict"] == "confounded"
    assert set(first["change"]["classes"]) == {"resources", "work"}
    assert second["change"]["verdict"] == "single"
    assert holds(second["throughput"], 1.10)
    rungs = found["ladder"]["rungs"]
    assert rungs[1]["missing"]


@pytest.mark.parametrize("rung", [0, 1, 2])
def test_the_lead_is_within_a_third_of_a_mini_batch(out: Path, rung: int) -> None:
    folder = ("r8t8", "r8t16-wu2", "r8t16-wu2-tok30k")[rung]
    true = truth(f"qwen3-omni/{folder}")["lead_mini_batches"]["mean"]
    lead = report(out, "qwen3-omni")["ladder"]["rungs"][rung]["lead"]["mini_batches"]
    assert lead == pytest.approx(true, abs=0.3)


def test_staleness_stops_helping_at_one_half(out: Path) -> None:
    found = report(out, "qwen3.5-35b")
    assert all(comparison["change"]["verdict"] == "single" for comparison in found["comparisons"])
    waits = [found["runs"][run]["time_split_s"]["wait"] for run in ("s03", "s05", "s07")]
    assert waits[0] > 5 * waits[1]
    assert waits[1] - waits[2] < 0.05 * waits[0]
    assert found["sweep"]["candidate"] == "s05"


def test_the_traces_are_there_for_perfetto(out: Path) -> None:
    for number in (1, 2):
        content = gzip.decompress((out / "qwen3-30b" / f"timeline-{number}.json.gz").read_bytes())
        events = json.loads(content)["traceEvents"]
        assert any(event["ph"] == "X" for event in events)


def test_published_numbers_get_no_interval(out: Path) -> None:
    for comparison in report(out, "published-staleness")["comparisons"]:
        throughput = comparison["throughput"]
        assert throughput["verdict"] == "insufficient-data"
        assert (throughput["ci_low"], throughput["ci_high"]) == (None, None)
