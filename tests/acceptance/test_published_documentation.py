"""docs/published-tables.md: its examples are read, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

from support.published import manifest

from rlreport.collectors import merge_sources, read_sources
from rlreport.collectors.summary import REQUIRED, summaries_of
from rlreport.comparators.summary_traps import RULES
from rlreport.manifest import load_manifest
from rlreport.run.metrics import METRICS
from rlreport.run.summary import QUANTITIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "published-tables.md").read_text("utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_examples_are_read_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(block("csv"), "utf-8")
    (tmp_path / "experiments.yaml").write_text(block("yaml"), "utf-8")
    loaded = load_manifest(tmp_path / "experiments.yaml")
    assert not loaded.warnings
    found = {}
    for run_id, run in loaded.runs.items():
        raw = merge_sources(read_sources([(s.path, s.format, s.columns) for s in run.sources], tmp_path))
        assert not [notice for source in raw.sources for notice in source.notices]
        found[run_id] = {(s.quantity, s.to_step): s.value for s in summaries_of(raw, run_id)}
    assert found["sync"] == {("time.step_s", None): 790.1, ("clock.wall_s", 400): 5345 * 60}
    assert found["async"] == {("time.step_s", None): 294.77, ("clock.wall_s", 400): 2006 * 60, ("claim.speedup", 400): 2.66}


def test_every_quantity_of_results_alone_is_listed_with_its_meaning() -> None:
    for name in QUANTITIES.keys() - METRICS.keys():
        quantity = QUANTITIES[name]
        assert re.search(rf"\| `{re.escape(name)}` \| {re.escape(quantity.unit)} ?\| {re.escape(quantity.meaning)} \|", PAGE)


def test_every_column_and_every_trap_is_listed() -> None:
    assert all(f"`{column}`" in PAGE for column in (*REQUIRED, "from_step", "to_step"))
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE.split("| trap |")[1], re.MULTILINE)
    assert [name.replace("-", "_") for name in listed] == [rule.__name__ for rule in RULES]


def test_the_number_of_reports_is_right() -> None:
    assert len(manifest().reports) == 10 and "builds ten reports" in PAGE
