"""The section of a ladder: what it says of rungs, of missing runs, of lead and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml
from support.made_chains import BUDGET, DATA, DEVICE_MEMORY, NODES, STALENESS, WARM_UP, analysed, made, omni_ladder

from rlreport.comparators.analysis import Analysis
from rlreport.report.figures_series import LadderFigure
from rlreport.report.model import Bullets, Callout, Code, Figure, Paragraph, Section, Snippet, Table, plain
from rlreport.report.section_ladder import ladder_section
from rlreport.run.model import Run


def ladder(runs: list[Run], *changes: str, **request: Any) -> Analysis:
    return analysed(runs, "ladder", changes or ("resources", "work"), **request)


def section(analysis: Analysis) -> Section:
    found = ladder_section(analysis)
    assert found is not None
    return found


def blocks(of: Section, kind: type) -> list[Any]:
    return [block for block in of.blocks if isinstance(block, kind)]


def cells(table: Table) -> list[list[str]]:
    return [[plain(cell) for cell in row.cells] for row in table.rows]


def test_only_a_ladder_has_the_section() -> None:
    assert ladder_section(analysed(omni_ladder(), "ab", ("resources",))) is None
    assert ladder_section(analysed(omni_ladder()[:1], "profile")) is None
    assert section(ladder(omni_ladder())).id == "ladder"


def test_the_table_has_both_ratios_of_every_rung() -> None:
    table = blocks(section(ladder(omni_ladder())), Table)[0]
    assert table.fixed
    assert sum(column.width or 0 for column in table.columns) == 100
    assert cells(table) == [
        ["1. run a", "the ladder starts here", "", "", "1"],
        [
            "2. run b",
            "Trainer nodes 1 → 2 and batches generated ahead 1 → 2",
            "confounded change: resources and work",
            "0.960× (0.955 to 0.965) ≈ within the margin",
            "0.960× (0.955 to 0.965) ≈ within the margin",
        ],
        [
            "3. run c",
            "tokens of a micro-batch per device 10,240 → 30,720",
            "single change: work",
            "1.100× (1.094 to 1.106) ▲ improved",
            "1.056× (1.050 to 1.062) ▲ improved",
        ],
    ]
    assert [row.marked for row in table.rows] == [False, True, False]
    assert "rung 2 over steps 2 to 121 and rung 3 over steps 2 to 121" in plain(table.note)


def test_the_figure_shows_the_chain() -> None:
    (figure,) = blocks(section(ladder(omni_ladder())), Figure)
    spec = figure.spec
    assert isinstance(spec, LadderFigure)
    assert [rung.ratio for rung in spec.rungs] == pytest.approx([1.0, 0.96, 1.056])
    assert [rung.start for rung in spec.rungs] == [None, 1.0, pytest.approx(0.96)]
    assert [rung.role for rung in spec.rungs] == [0, 1, 2]
    assert [rung.attributable for rung in spec.rungs] == [True, False, True]
    assert [rung.mark for rung in spec.rungs] == ["", "two classes", ""]
    assert spec.margin == pytest.approx((1 / 1.05, 1.05))
    assert "Rung 2 is marked: what it brought cannot be laid to one change." in spec.caption
    assert "2. run b: 0.960× 0.955 to 0.965 of rung 1" in spec.alt


def test_a_missing_run_is_named_and_the_manifest_fragment_holds_it() -> None:
    found = section(ladder(omni_ladder()))
    (callout,) = blocks(found, Callout)
    assert callout.title == "Rung 2 moves two classes (resources and work): it cannot be attributed"
    first, second = callout.items
    assert plain(first) == "Missing: a run with Trainer nodes trainer.nnodes = 2 and everything else as in run a."
    assert Code(NODES) in first
    assert plain(second).startswith("From run a to it, resources would be the only class that moves")
    (snippet,) = blocks(found, Snippet)
    fragment = yaml.safe_load(snippet.text)
    assert fragment["reports"] == [{"id": "made", "kind": "ladder", "baseline": "a", "variants": ["a-resources", "b", "c"]}]
    assert fragment["runs"]["a-resources"]["label"] == "run a, Trainer nodes 1 → 2"
    assert fragment["runs"]["a-resources"]["framework_version"] == "1"
    assert '# launch as "run a", with: trainer.nnodes=2' in snippet.text


def test_several_missing_runs_build_on_each_other() -> None:
    both = [made("a"), made("b", seed=2, config={NODES: 2, WARM_UP: 2, STALENESS: "x: y"})]
    found = section(ladder(both, "resources", "work", "off-policy"))
    (callout,) = blocks(found, Callout)
    assert [plain(item) for item in callout.items[:2]] == [
        "Missing: a run with Trainer nodes trainer.nnodes = 2 and everything else as in run a.",
        "Then one that has batches generated ahead trainer.v1.separate_async.num_warmup_batches = 2 besides.",
    ]
    fragment = yaml.safe_load(blocks(found, Snippet)[0].text)
    assert fragment["reports"][0]["variants"] == ["a-resources", "a-resources-work", "b"]


def test_a_key_that_goes_away_is_taken_away_at_launch() -> None:
    runs = [made("a", config={"trainer.test_freq": 5}), made("b", seed=2, config={STALENESS: 0.5})]
    found = section(ladder(runs, "schedule", "off-policy"))
    assert "trainer.test_freq = not set" in plain(blocks(found, Callout)[0].items[0])
    assert "with: ~trainer.test_freq" in blocks(found, Snippet)[0].text


def test_ids_of_missing_runs_do_not_meet_those_of_runs() -> None:
    runs = [made("a"), made("a-resources", seed=2, config={NODES: 2, WARM_UP: 2})]
    fragment = yaml.safe_load(blocks(section(ladder(runs)), Snippet)[0].text)
    assert fragment["reports"][0]["variants"] == ["a-resources-2", "a-resources"]


@pytest.mark.parametrize("run_id", ["yes", "8x8", "r: {x}", "模型 #1", 'q"uote'])
def test_odd_ids_stay_valid_in_the_fragment(run_id: str) -> None:
    runs = [made(run_id, label="a\n: b"), made("b", seed=2, config={NODES: 2, WARM_UP: 2})]
    fragment = yaml.safe_load(blocks(section(ladder(runs)), Snippet)[0].text)
    assert fragment["reports"][0]["baseline"] == run_id
    assert len(fragment["runs"]) == 1


def test_clean_rungs_miss_no_run() -> None:
    found = section(ladder([made("a"), made("b", seed=2, rate=1100, config={WARM_UP: 2})], "work"))
    assert blocks(found, Callout) == []
    assert blocks(found, Snippet) == []
    assert plain(blocks(found, Paragraph)[0].text) == (
        "Of the rungs that can be laid to one class of knobs, rung 2 brought most: 1.100× (1.094 to 1.106) tokens/s per "
        "device with batches generated ahead 1 → 2."
    )
    assert "Every rung moves one class of knobs." in blocks(found, Figure)[0].spec.caption


def test_rungs_that_lower_throughput_are_not_praised() -> None:
    found = section(ladder([made("a"), made("b", seed=2, rate=900, config={WARM_UP: 2})], "work"))
    assert plain(blocks(found, Paragraph)[0].text).startswith("No rung that can be laid to one class of knobs raised")
    confounded = section(ladder([made("a"), made("b", seed=2, config={WARM_UP: 2, NODES: 2})]))
    assert plain(blocks(confounded, Paragraph)[0].text).startswith("No rung can be laid to one class of knobs")


def test_lead_and_memory_stand_in_their_table() -> None:
    found = section(ladder(omni_ladder()))
    table = blocks(found, Table)[1]
    assert cells(table) == [
        ["1. run a", "5.0", "10.0 %", "40.0 GB", "37.5 % of 64.0 GB", "10,240"],
        ["2. run b", "3.0", "10.0 %", "40.0 GB", "37.5 % of 64.0 GB", "10,240"],
        ["3. run c", "1.5", "10.0 %", "50.0 GB", "21.9 % of 64.0 GB", "30,720"],
    ]
    assert "samples in the queue over a mini-batch of 16" in plain(table.note)
    told = plain(blocks(found, Paragraph)[1].text)
    assert "With a safety margin of 10 % of the memory" in told
    assert "may be raised to 46,080 tokens at most" in told


def test_a_budget_that_eats_the_margin_is_marked() -> None:
    full = {"columns": {"memory.reserved_gb": np.full(120, 61.0)}, "config": {DEVICE_MEMORY: 64, BUDGET: 30_720, NODES: 2}}
    found = section(ladder(omni_ladder(c={**full, "config": {**full["config"], WARM_UP: 2}})))
    assert [row.marked for row in blocks(found, Table)[1].rows] == [False, False, True]
    # 21 GB for 20,480 tokens: 3.4 GB too many are 3,316 tokens: 27,404, or 26 x 1,024.
    assert "should be lowered to 26,624 tokens" in plain(blocks(found, Paragraph)[1].text)


def test_unknown_device_memory_is_said_and_no_budget_recommended() -> None:
    found = section(ladder([made("a"), made("b", seed=2, config={WARM_UP: 2})], "work"))
    assert cells(blocks(found, Table)[1])[0][1:5] == ["unknown", "10.0 %", "unknown", "unknown"]
    told = plain(blocks(found, Paragraph)[1].text)
    assert "No token budget is recommended: the memory of a device is not known" in told
    assert "devices.memory_gb" in told


def test_a_lead_from_staleness_is_told_by_its_bounds() -> None:
    columns = {"columns": {"staleness.mean": np.full(120, 1.25)}}
    found = section(ladder([made("a", **columns), made("b", seed=2, config={WARM_UP: 2}, **columns)], "work"))
    assert cells(blocks(found, Table)[1])[0][1] == "2.0 to 6.5"


def test_a_broken_chain_is_told_with_numbers_beside_it() -> None:
    runs = [made("a"), made("b", seed=2, config={DATA: "b.parquet"}), made("c", seed=3, steps=5, config={DATA: "b.parquet"})]
    found = section(ladder(runs, "work"))
    rows = cells(blocks(found, Table)[0])
    assert rows[1][2:] == [
        "not comparable: workload",
        "1.000× (0.995 to 1.005) ✕ not comparable",
        "1.000× (0.995 to 1.005) ✕ not comparable",
    ]
    assert rows[2][3] == "? too little data"
    spec = blocks(found, Figure)[0].spec
    assert spec.rungs[2].ratio is None
    assert spec.rungs[1].mark == "not comparable"


def test_many_knobs_are_counted() -> None:
    more = {f"data.extra_{k}": k for k in range(6)}
    runs = [made("a", config=dict.fromkeys(more, 0)), made("b", seed=2, config={**dict.fromkeys(more, 9), WARM_UP: 2})]
    assert "more knobs" in cells(blocks(section(ladder(runs)), Table)[0])[1][1]


def test_what_the_ladder_warns_of_stands_below() -> None:
    queue = {"columns": {"queue.samples": np.full(120, 32.0)}}
    staleness = {"columns": {"staleness.mean": np.ones(120)}}
    runs = [made("a", **queue), made("b", seed=2, config={NODES: 2}, **staleness)]
    (bullets,) = blocks(section(ladder(runs)), Bullets)
    assert plain(bullets.items[0]).startswith("The Rollouters' lead is known in different ways")
