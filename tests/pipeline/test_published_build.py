"""A build of the published tables from end to end: pages, JSON, command lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.made_projects import write_jsonl
from support.published import FOLDER, MANIFEST

from rlreport.manifest import load_manifest
from rlreport.pipeline.build import build


def report(manifest: Path, out: Path, report_id: str, formats: tuple[str, ...] = ("json",)) -> Any:
    build(load_manifest(manifest), out, formats=formats, only=[report_id], jobs=1, progress=lambda text: None)
    return json.loads((out / report_id / "report.json").read_text("utf-8")) if "json" in formats else None


def test_the_staleness_ablation_is_a_page_without_a_claim(tmp_path: Path) -> None:
    data = report(MANIFEST, tmp_path, "published-staleness", ("html", "md", "json"))
    assert [pair["throughput"]["verdict"] for pair in data["comparisons"]] == ["insufficient-data"] * 3
    assert [pair["throughput"]["ci_low"] for pair in data["comparisons"]] == [None] * 3
    assert [pair["change"]["verdict"] for pair in data["comparisons"]] == ["single"] * 3
    assert [trap["id"] for trap in data["published"]["traps"]] == [
        "horizon",
        "changed-in-effect",
        "step-and-total",
        "best-for-last",
    ]
    page = (tmp_path / "published-staleness" / "report.html").read_text("utf-8")
    text = (tmp_path / "published-staleness" / "report.md").read_text("utf-8")
    for told in ("No claim can be made", "Where these numbers mislead", "What it would take to know more"):
        assert told in page and told in text
    for absent in ("Steady-state throughput", "usable step", "Where the time goes", "steps used", "no steady state"):
        assert absent not in page and absent not in text
    assert (tmp_path / "published-staleness" / "figures" / "published-speed-up.svg").is_file()


def test_every_report_of_the_folder_is_built(tmp_path: Path) -> None:
    manifest = load_manifest(MANIFEST)
    assert not manifest.warnings
    result = build(manifest, tmp_path, formats=("json",), jobs=1, progress=lambda text: None)
    assert sum("insufficient-data" in line for line in result.lines) == 15
    data = {r.id: json.loads((tmp_path / r.id / "report.json").read_text("utf-8")) for r in manifest.reports}
    verdicts = {report_id: found["comparisons"][0]["change"]["verdict"] for report_id, found in data.items()}
    assert verdicts["published-metax"] == "confounded"
    assert verdicts["published-v1-switch"] == verdicts["published-staleness"] == "single"


def test_the_longest_common_horizon_is_the_headline_of_the_data(tmp_path: Path) -> None:
    throughput = report(MANIFEST, tmp_path, "published-horizons-32")["comparisons"][0]["throughput"]
    assert throughput["metric"] == "steps_per_h"
    assert throughput["ratio"] == pytest.approx(5345 / 2006)
    assert throughput["minimum_detectable_ratio"] is None


def manifest_of(folder: Path, run_id: str) -> Path:
    write_jsonl(folder / "logs" / "metrics.jsonl")
    (folder / "told.csv").write_text((FOLDER / "verl-v1-modes.csv").read_text("utf-8"), "utf-8")
    path = folder / "experiments.yaml"
    path.write_text(
        "version: 1\ntitle: Made\nruns:\n"
        "  logged: {sources: [logs/metrics.jsonl]}\n"
        f"  {run_id}: {{sources: [told.csv], framework: verl}}\n"
        f"reports:\n  - {{id: mixed, kind: ab, baseline: logged, variants: [{run_id}]}}\n",
        "utf-8",
    )
    return path


def test_results_stand_beside_a_logged_run_without_being_compared_with_it(tmp_path: Path) -> None:
    data = report(manifest_of(tmp_path, "v1-sync"), tmp_path / "out", "mixed", ("html", "json"))
    assert data["comparisons"][0]["throughput"]["verdict"] == "insufficient-data"
    assert data["published"]["comparisons"] == [] and list(data["published"]["runs"]) == ["v1-sync"]
    page = (tmp_path / "out" / "mixed" / "report.html").read_text("utf-8")
    assert "Steady-state throughput" in page and "Published numbers" in page


def test_a_run_that_the_table_does_not_hold_is_an_error_with_its_names(tmp_path: Path) -> None:
    manifest = load_manifest(manifest_of(tmp_path, "v1-synch"))
    error = build(manifest, tmp_path / "out", formats=("json",), jobs=1, progress=lambda text: None).error
    assert error is not None
    (found,) = error.diagnostics
    assert found.code == "RR213" and "did you mean 'v1-sync'?" in (found.hint or "")
