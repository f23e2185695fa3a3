from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.made_projects import write_jsonl, write_pair

from rlreport.manifest import load_manifest
from rlreport.pipeline.build import build
from rlreport.plotters import fonts
from rlreport.run.diagnostics import RlreportError


def built(
    manifest: Path, out: Path, formats: tuple[str, ...] = ("html", "pdf", "md", "json"), jobs: int = 1
) -> dict[str, str]:
    """The digest of every file of a build, by its path."""
    build(load_manifest(manifest), out, formats=formats, jobs=jobs, progress=lambda text: None)
    return {
        str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(out.rglob("*")) if p.is_file()
    }


def report(manifest: Path, out: Path) -> Any:
    built(manifest, out, ("json",))
    return json.loads((out / "pair" / "report.json").read_text("utf-8"))


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    first = built(manifest, tmp_path / "one", jobs=1)
    assert first == built(manifest, tmp_path / "two", jobs=2)
    assert first == built(manifest, tmp_path / "one", jobs=1)


def test_a_true_gain_is_found_with_its_interval(tmp_path: Path) -> None:
    found = report(write_pair(tmp_path, ratio=1.25), tmp_path / "o")
    comparison = found["comparisons"][0]
    assert comparison["change"]["verdict"] == "single"
    assert comparison["change"]["classes"] == ["schedule"]
    throughput = comparison["throughput"]
    assert throughput["verdict"] == "improved"
    assert throughput["metric"] == "tokens_per_s_per_device"
    assert throughput["ci_low"] < 1.25 < throughput["ci_high"]
    # 60 steps of 5 % noise an arm: the standard error of the log ratio is about 0.05 * sqrt(2 / 60) = 0.009.
    assert 0.02 < throughput["ci_high"] - throughput["ci_low"] < 0.07
    assert throughput["baseline"]["estimate"] == pytest.approx(10_000 / 16, rel=0.03)


def test_no_gain_is_not_found(tmp_path: Path) -> None:
    throughput = report(write_pair(tmp_path, ratio=1.0), tmp_path / "o")["comparisons"][0]["throughput"]
    assert throughput["verdict"] == "equivalent"
    assert throughput["ci_low"] < 1.0 < throughput["ci_high"]


def test_another_dataset_makes_the_pair_not_comparable(tmp_path: Path) -> None:
    found = report(write_pair(tmp_path, data__train_files=("one.parquet", "two.parquet")), tmp_path / "o")
    comparison = found["comparisons"][0]
    assert comparison["change"]["verdict"] == "confounded"
    assert comparison["throughput"]["verdict"] == "not-comparable"
    assert comparison["throughput"]["ratio"] == pytest.approx(1.25, rel=0.03)
    assert any("dataset" in reason for reason in comparison["change"]["blocking"])


def test_what_was_not_declared_is_found(tmp_path: Path) -> None:
    found = report(write_pair(tmp_path, changes="resources"), tmp_path / "o")["comparisons"][0]["change"]
    assert found["verdict"] == "undeclared"
    assert [(knob["knob"], knob["declared"]) for knob in found["knobs"]] == [("trainer.test_freq", False)]


def test_the_time_split_and_the_idle_of_a_run(tmp_path: Path) -> None:
    run = report(write_pair(tmp_path), tmp_path / "o")["runs"]["a"]
    assert run["time_split"] == pytest.approx({"wait": 0.3, "update_actor": 0.6, "weight_sync": 0.05, "other": 0.05})
    assert run["idle"]["trainer"]["fraction"] == pytest.approx(0.3)
    assert run["idle"]["rollout"]["fraction"] is None
    assert run["devices"]["total"] == 16
    assert run["devices"]["implied"] == pytest.approx(16)


def test_every_page_shows_the_reward_once(tmp_path: Path) -> None:
    built(write_pair(tmp_path), tmp_path / "o", ("md",))
    for name in ("pair", "one"):
        text = (tmp_path / "o" / name / "report.md").read_text("utf-8")
        assert text.count("(figures/reward.svg)") == 1
        assert text.count("(figures/response-length.svg)") == 1


def test_what_an_earlier_build_drew_is_gone(tmp_path: Path) -> None:
    manifest = write_pair(tmp_path)
    stale = tmp_path / "o" / "pair" / "figures" / "stale.svg"
    stale.parent.mkdir(parents=True)
    stale.write_text("<svg/>", "utf-8")
    built(manifest, tmp_path / "o", ("md",))
    assert not stale.exists()


def test_a_label_that_no_font_has_is_told_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_can_draw", lambda cluster: ord(cluster[0]) < 0x2E80)
    manifest = write_pair(tmp_path)
    manifest.write_text(manifest.read_text("utf-8").replace("label: run b", 'label: "run 变体"'), "utf-8")
    built(manifest, tmp_path / "o", ("md",))
    text = (tmp_path / "o" / "pair" / "report.md").read_text("utf-8")
    assert "No installed font has" in text[text.index("## What could be wrong") :]


def test_runs_of_one_group_are_the_unit_and_may_differ_in_their_seed(tmp_path: Path) -> None:
    lines, seed = [], 0
    for group, ratio, every in (("slow", 1.0, 5), ("fast", 1.25, 10)):
        for number in (1, 2, 3):
            seed += 1
            write_jsonl(tmp_path / "logs" / f"{group}{number}.jsonl", seed=seed, speed=ratio)
            mode = "trainer.v1.trainer_mode: separate_async, trainer.use_v1: true"
            config = f"{{{mode}, trainer.test_freq: {every}, data.seed: {seed}}}"
            lines.append(
                f"  {group}{number}: {{sources: [logs/{group}{number}.jsonl], framework: verl, group: {group}, "
                f"devices: {{trainer: 8, rollout: 8}}, config: {config}}}"
            )
    manifest = tmp_path / "experiments.yaml"
    manifest.write_text(
        "version: 1\ntitle: Replicates\nruns:\n" + "\n".join(lines) + "\nreports:\n"
        "  - {id: pair, title: P, kind: ab, baseline: slow1, variants: [fast1], changes: [schedule]}\n",
        "utf-8",
    )
    comparison = report(manifest, tmp_path / "o")["comparisons"][0]
    assert comparison["change"]["verdict"] == "single"
    assert comparison["change"]["blocking"] == []
    assert comparison["throughput"]["verdict"] == "improved"
    assert comparison["throughput"]["ratio"] == pytest.approx(1.25, rel=0.03)
    assert comparison["replicates"] is not None


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, jobs: int) -> None:
    manifest = write_pair(tmp_path)
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "one").write_text("a file where the report's folder must be")
    with pytest.raises(RlreportError) as caught:
        built(manifest, tmp_path / "o", ("md",), jobs=jobs)
    assert [(d.code, Path(d.location.path).name) for d in caught.value.diagnostics if d.location] == [("RR502", "one")]
