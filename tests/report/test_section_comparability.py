from __future__ import annotations

import datetime
import json
from dataclasses import replace

from rlreport.comparators.change_results import InvariantFinding, RuleFinding, WaiverUse
from rlreport.comparators.comparability import Comparability
from rlreport.comparators.comparability_items import ComparabilityItem
from rlreport.comparators.judge import Judgement
from rlreport.comparators.replicates import ReplicateCheck
from rlreport.comparators.results import Change
from rlreport.report.model import Bullets, Paragraph, Section, Table, plain
from rlreport.report.section_comparability import ComparedPair, comparability_data, comparability_section, policy_data

CHANGE = Change("single", ("schedule",), (), (), (), (), 3, 1)
ITEMS = (
    ComparabilityItem("model", "Same model", "holds", "small"),
    ComparabilityItem("engine", "Same engine settings", "holds", "no difference"),
    ComparabilityItem("devices", "Same number of devices", "fails", "8 against 4", expected=True),
    ComparabilityItem("hardware", "Same kind of device", "unknown", "no source tells it"),
    ComparabilityItem("seed", "Same seed", "fails", "1 against 2"),
)
PAIR = ComparedPair("b against a", Comparability(ITEMS), CHANGE)


def _section(*pairs: ComparedPair, replicates: tuple[ReplicateCheck, ...] = ()) -> Section:
    section = comparability_section(pairs, replicates)
    assert section is not None
    return section


def _tables(section: Section) -> dict[str, list[list[str]]]:
    return {
        block.id: [[plain(cell) for cell in row.cells] for row in block.rows]
        for block in section.blocks
        if isinstance(block, Table)
    }


def _texts(section: Section) -> str:
    parts = [plain(block.text) for block in section.blocks if isinstance(block, Paragraph)]
    parts += [plain(item) for block in section.blocks if isinstance(block, Bullets) for item in block.items]
    return "\n".join(parts)


def test_a_report_that_compares_nothing_has_no_section() -> None:
    assert comparability_section([]) is None


def test_one_pair_shows_what_fails_first_and_names_what_holds() -> None:
    section = _section(PAIR)
    assert _tables(section) == {
        "comparability-list": [
            ["Same seed", "does not hold", "1 against 2"],
            ["Same number of devices", "differs, as declared or waived", "8 against 4"],
            ["Same kind of device", "not known", "no source tells it"],
        ]
    }
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [row.marked for row in table.rows] == [True, False, False]
    assert table.fixed
    text = _texts(section)
    assert "Of 5 conditions 2 hold, 2 do not (1 of them as declared or waived), and 1 is not known." in text
    assert text.startswith("Yes, with what does not hold or is not known in mind.")
    assert "What holds: same model (small); same engine settings." in text


def test_what_blocks_is_a_no_and_everything_held_a_yes() -> None:
    blocked = replace(PAIR, change=replace(CHANGE, blocking=("the dataset changed",)))
    assert _texts(_section(blocked)).startswith("No.")
    held = replace(PAIR, comparability=Comparability(ITEMS[:2]))
    assert _texts(_section(held)).startswith("Yes. Of 2 conditions 2 hold")
    assert _tables(_section(held)) == {}


def test_several_pairs_are_columns_with_shared_reasons_below() -> None:
    other = ComparedPair("c against a", Comparability((*ITEMS[:3], *ITEMS[4:])), CHANGE)
    section = _section(PAIR, other)
    rows = _tables(section)["comparability-list"]
    assert rows == [
        ["Same number of devices", "differs, as declared or waived", "differs, as declared or waived"],
        ["Same kind of device", "not known", "–"],
        ["Same seed", "does not hold", "does not hold"],
    ]
    text = _texts(section)
    assert "b against a: Yes" in text
    assert "What holds in all pairs: same model; same engine settings." in text
    assert "Same seed does not hold for all pairs: 1 against 2." in text
    assert text.count("8 against 4") == 0  # expected: the column says it


def test_rules_and_waivers_are_printed_with_their_reasons() -> None:
    change = replace(
        CHANGE,
        rules=(
            RuleFinding("rollout.n", "pinned", "error", "violated", "samples per prompt is pinned", "the rules of the task"),
            RuleFinding("data.seed", "free", "error", "holds", "equal on both sides"),
        ),
        waivers=(
            WaiverUse("data.shuffle", "same order", "expired", datetime.date(2026, 8, 21), ("data.shuffle",)),
            WaiverUse("a.b", "a trial", "not judged", datetime.date(2026, 8, 22), ("a.b",)),
            WaiverUse("c.d", "known", "holds"),
            WaiverUse("e.f", "old", "meets no difference"),
        ),
    )
    tables = _tables(_section(replace(PAIR, change=change)))
    assert tables["rules"] == [
        ["rollout.n pinned, the rules of the task", "error", "broken", "samples per prompt is pinned"],
        ["data.seed free", "", "kept", "equal on both sides"],
    ]
    assert tables["waivers"] == [
        ["data.shuffle", "same order", "expired on 2026-08-21: it no longer holds"],
        ["a.b", "a trial", "expires 2026-08-22, not judged"],
        ["c.d", "known", "holds without an end"],
        ["e.f", "old", "meets no difference, without an end"],
    ]
    both = _tables(_section(replace(PAIR, change=change), replace(PAIR, title="c against a")))
    assert both["waivers"][2] == ["c.d", "known", "holds without an end (b against a)"]
    assert both["rules"][0][3] == "b against a: samples per prompt is pinned"


def test_primary_and_exploratory_claims_are_told_apart() -> None:
    judged = Judgement("improved", "interval", (), True, 0.01, 3, ("reward", "response_length"))
    text = _texts(_section(replace(PAIR, judgement=judged)))
    assert "3 primary comparisons are tested together" in text
    assert "Exploratory, and not adjusted for the number of comparisons: reward and response length." in text
    alone = _texts(_section(replace(PAIR, judgement=replace(judged, family=1, exploratory=()))))
    assert "tested together" not in alone
    assert "Exploratory" not in alone


def test_replicates_and_refusals_are_told() -> None:
    checks = (
        ReplicateCheck("g", ("a", "b"), {"c": "it has the same seed as a"}),
        ReplicateCheck("h", ("d",), {"e": "it differs"}, seeds_known=True),
    )
    text = _texts(_section(PAIR, replicates=checks))
    assert "Group g: a and b are replicates, whose seeds are not known." in text
    assert "c is refused: it has the same seed as a." in text
    assert "Group h: no two runs are replicates." in text


def test_data_is_json() -> None:
    change = replace(
        CHANGE,
        rules=(RuleFinding("k", "pinned", "warn", "unknown", "m"),),
        waivers=(WaiverUse("k", "r", "holds", datetime.date(2026, 8, 22), ("k",)),),
        invariants=(InvariantFinding("r", "n", "holds", "m", "s"),),
        not_known=("seed (neither run)",),
    )
    data = json.loads(json.dumps({"list": comparability_data(PAIR.comparability), **policy_data(change)}))
    assert data["list"][2] == {
        "name": "devices",
        "title": "Same number of devices",
        "standing": "fails",
        "expected": True,
        "reason": "8 against 4",
    }
    assert data["waivers"][0]["expires"] == "2026-08-22"
    assert data["rules"][0]["standing"] == "unknown"
    assert data["invariants"][0] == {"run": "r", "name": "n", "standing": "holds", "message": "m", "source": "s"}
    assert data["not_known"] == ["seed (neither run)"]
    assert data["tolerated"] is False
