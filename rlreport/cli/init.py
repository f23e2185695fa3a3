"""`rlreport init`: a manifest from what lies in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from rlreport.run.diagnostics import Diagnostic, Location, RlreportError


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The manifest to write; FOLDER/experiments.yaml if not given."
)
def command(folder: Path, out: Path | None) -> None:
    """Write a manifest for the runs that lie in FOLDER: a run for each subfolder and each log that can be read."""
    from rlreport.pipeline.init import draft_manifest

    target = out or folder / "experiments.yaml"
    if target.exists():
        problem = "a manifest is already there"
        raise RlreportError.of(Diagnostic("RR191", problem, Location(str(target)), "give another name with -o"))
    text = draft_manifest(folder, target.parent)
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise RlreportError.of(Diagnostic("RR192", f"cannot be written: {error.strerror}", Location(str(target)))) from error
    click.echo(f"wrote {target}; read it, say what was meant to change, then: rlreport check {target}")
