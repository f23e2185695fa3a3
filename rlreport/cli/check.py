"""`rlreport check`: everything but drawing."""

from __future__ import annotations

from pathlib import Path

import click

from rlreport.cli.options import allow_outside, manifest_argument


@click.command("check")
@manifest_argument
@allow_outside
def command(manifest: Path, allow_outside: bool) -> None:
    """Check the manifest and its sources, and compare the runs, without drawing anything."""
    from rlreport.manifest import load_manifest

    loaded = load_manifest(manifest, allow_outside=allow_outside)
    for warning in loaded.warnings:
        click.echo(str(warning), err=True)
    from rlreport.pipeline.check import check_lines

    for line in check_lines(loaded):
        click.echo(line)
