"""What the documents say must hold: their manifests are valid, their commands and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rlreport.cli import COMMANDS
from rlreport.manifest import load_manifest
from rlreport.run.diagnostics import RlreportError

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def manifests() -> list[tuple[str, str]]:
    return [
        (page.name, text)
        for page in PAGES
        for text in BLOCK.findall(page.read_text("utf-8"))
        if text.startswith("version: 1")
    ]


def test_there_are_manifests_to_check() -> None:
    assert {name for name, _ in manifests()} >= {"README.md", "manifest.md"}


@pytest.mark.parametrize(("page", "text"), manifests(), ids=[f"{name}-{i}" for i, (name, _) in enumerate(manifests())])
def test_a_manifest_of_a_page_has_no_mistake_but_missing_logs(page: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "experiments.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(RlreportError) as caught:
        load_manifest(path)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"RR130"}, str(caught.value)


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"rlreport {name}" not in readme] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
