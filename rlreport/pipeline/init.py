"""A first manifest for a folder: the runs that can be read in it, and the reports that they allow."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rlreport.collectors import merge_sources, read_sources, require_one_run, require_steps
from rlreport.run.diagnostics import EXIT_UNREADABLE, Diagnostic, Location, RlreportError

_HEAD = """\
# Written by rlreport init. Name the runs, say in `changes` what was meant to change, then run: rlreport check
version: 1
title: {title}
runs:
"""


def draft_manifest(folder: Path, root: Path) -> str:
    """The text of a manifest for what lies in a folder, with sources relative to `root`.

    Every subfolder and every file of its own that holds steps becomes a run; the folder itself when its files are the
    sources of one. One run gives a profile, two an A/B report, more a profile each. Raises RlreportError RR193 (exit code
    3) when the folder holds no run, and RR194 when the runs lie outside of the manifest's folder.
    """
    if not folder.is_dir():
        raise RlreportError.of(Diagnostic("RR193", "is no folder", Location(str(folder))), exit_code=EXIT_UNREADABLE)
    found = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and _holds_run(path)]
    if not found and _holds_run(folder):
        found = [folder]
    if not found:
        hint = "a run is a verl console log, a FileLogger JSONL or TensorBoard events, alone or in a folder of its own"
        raise RlreportError.of(
            Diagnostic("RR193", "no run that can be read lies here", Location(str(folder)), hint), exit_code=EXIT_UNREADABLE
        )
    ids = _ids(found)
    text = _HEAD.format(title=_quoted(folder.resolve().name))
    for path, run_id in zip(found, ids, strict=True):
        source = os.path.relpath(path, root)
        if source.startswith(".."):
            hint = "write the manifest beside the runs, or above them"
            raise RlreportError.of(Diagnostic("RR194", "lies outside of the manifest's folder", Location(str(path)), hint))
        text += f"  {run_id}:\n    label: {_quoted(path.name)}\n    sources: [{_quoted(source)}]\n"
    return text + _reports(ids)


def _holds_run(path: Path) -> bool:
    try:
        raw = merge_sources(read_sources([(path, None, {})], None))
        require_one_run(raw)
        require_steps(raw)
    except RlreportError:
        return False
    return True


def _ids(paths: list[Path]) -> list[str]:
    ids: list[str] = []
    for path in paths:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name.split(".")[0]).strip("-") or "run"
        ids.append(plain if plain not in ids else f"{plain}-{len(ids) + 1}")
    return ids


def _reports(ids: list[str]) -> str:
    if len(ids) == 2:
        return (
            f"reports:\n  - id: {ids[0]}-{ids[1]}\n    title: {ids[1]} against {ids[0]}\n    kind: ab\n"
            f"    baseline: {ids[0]}\n    variants: [{ids[1]}]\n"
            "    changes: []  # for example [resources]: what was meant to change\n"
        )
    return "reports:\n" + "".join(
        f"  - id: {run_id}\n    title: Profile of {run_id}\n    kind: profile\n    baseline: {run_id}\n" for run_id in ids
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
