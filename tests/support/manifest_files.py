"""Manifests for tests: a small valid one, and texts whose expected diagnostics are marked in the text itself."""

from __future__ import annotations

from pathlib import Path

from rlreport.manifest import Manifest, load_manifest
from rlreport.run.diagnostics import Diagnostic, RlreportError

#: Stands before the character at which a diagnostic is expected; removed before the text is used.
MARK = "§"

#: A manifest without mistakes, on the files of `make_folder`.
VALID = """\
version: 1
title: Tuning
runs:
  r48: {sources: [logs/r48/console.log]}
  r32: {sources: [logs/r32/console.log]}
reports:
  - id: study
    kind: ab
    baseline: r48
    variants: [r32]
"""


def make_folder(folder: Path) -> Path:
    """Create the logs and notes that the manifests of tests name."""
    for name in ("logs/r48/console.log", "logs/r48/metrics.jsonl", "logs/r32/console.log", "notes/study.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    return folder


def unmark(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without marks, and the line and column (from 1) of what each mark stood before."""
    places = []
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        parts = line.split(MARK)
        places += [(number, sum(map(len, parts[:index])) + 1) for index in range(1, len(parts))]
        lines.append("".join(parts))
    return "\n".join(lines), places


def load_text(folder: Path, text: str, **options: bool) -> Manifest:
    """Write a manifest into a folder and load it."""
    path = folder / "experiments.yaml"
    path.write_text(text, encoding="utf-8")
    return load_manifest(path, **options)


def problems_of(folder: Path, text: str, **options: bool) -> tuple[Diagnostic, ...]:
    """The diagnostics that a manifest raises; none when it loads."""
    try:
        load_text(folder, text, **options)
    except RlreportError as error:
        return error.diagnostics
    return ()


def place_of(diagnostic: Diagnostic) -> tuple[int | None, int | None]:
    """Line and column of a diagnostic."""
    assert diagnostic.location is not None
    return diagnostic.location.line, diagnostic.location.column
