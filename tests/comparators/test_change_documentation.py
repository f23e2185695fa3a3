"""docs/change-validation.md: its manifests are read, its conditions and warnings are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.made_runs import make_run
from support.manifest_files import VALID, load_text, make_folder

from rlreport.comparators import change_remarks
from rlreport.comparators.change import BLOCKING_BY_PRESET, compare_config
from rlreport.comparators.comparability import comparability
from rlreport.comparators.steady_state import find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.manifest import Manifest
from rlreport.run.expression import FUNCTIONS
from rlreport.run.knobs import KNOB_CLASSES
from rlreport.run.rules import ChangePolicy, Rule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "change-validation.md"
TEXT = PAGE.read_text("utf-8")
FOLDER = Path(change_remarks.__file__).parent
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def _whole(block: str) -> str:
    """A block of the page within a manifest that can be read."""
    if block.startswith("config:"):
        return VALID.replace("{sources: [logs/r48/console.log]}", f"{{sources: [logs/r48/console.log], {block.strip()}}}")
    if "reports:" in block:
        runs = "runs: {a: {sources: [logs/r48]}, b: {sources: [logs/r32]}}\n"
        return f"version: 1\ntitle: Page\n{runs}{block}"
    return VALID + block


@pytest.mark.parametrize("block", BLOCKS)
def test_every_manifest_of_the_page_is_read(block: str, tmp_path: Path) -> None:
    manifest = load_text(make_folder(tmp_path), _whole(block))
    assert isinstance(manifest, Manifest)
    assert manifest.warnings == ()


def test_the_page_shows_every_part_of_a_rule(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    rules = [
        rule for block in BLOCKS if block.startswith("rules:") for rule in load_text(folder, _whole(block)).reports[0].rules
    ]
    assert {rule.kind for rule in rules} == {"pinned", "free", "derived"}
    assert any(rule.has_value for rule in rules)
    assert any(rule.level == "warn" for rule in rules)


def test_the_conditions_are_those_of_the_code() -> None:
    run = make_run({"time.step_s": [1.0] * 20, "work.tokens": [1.0] * 20})
    windows = (find_steady_state(run), find_steady_state(run))
    change = compare_config(run, run, declared=(), policy=ChangePolicy((Rule("a", "free"),)))
    found = comparability(change, compare_throughput(run, run, *windows), windows, (run, run))
    table = TEXT.split("test_change_documentation.py -->\n")[1].split("\n<!-- end of conditions -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?)(?: \(only.*)? \|$", table, re.MULTILINE)
    assert rows == [(item.name, item.title[0].lower() + item.title[1:]) for item in found.items]


def test_every_warning_of_change_validation_is_listed() -> None:
    own = ("change*.py", "rules.py", "replicates.py", "judge.py")
    used = {
        code
        for pattern in own
        for path in FOLDER.glob(pattern)
        for code in re.findall(r'Notice\(\s*"(RR\d+)"', path.read_text("utf-8"))
    }
    listed = re.findall(r"^\| (RR\d+) \|", TEXT, re.MULTILINE)
    assert sorted(used) == listed


def test_presets_and_functions_are_as_the_page_says() -> None:
    row = next(line for line in TEXT.split("\n") if line.startswith("| workload, algorithm, environment"))
    fixed = {name.strip() for name in row.split("|")[1].split(",")}
    assert BLOCKING_BY_PRESET[None] == BLOCKING_BY_PRESET["exploratory"] == fixed
    assert BLOCKING_BY_PRESET["strict"] == set(KNOB_CLASSES) - {"identity"}
    assert all(f"`{name}`" in TEXT for name in FUNCTIONS)
