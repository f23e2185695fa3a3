"""`rlreport inspect`: what the collectors see in a source."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("inspect")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--framework", help="The framework, when it is not detected.")
def command(paths: tuple[Path, ...], as_json: bool, framework: str | None) -> None:
    """Show what is understood of PATHS, taken as the sources of one run: steps, mode, devices, metrics, traces, knobs."""
    from rlreport.pipeline.inspect import inspect_json, inspect_paths, inspect_text

    inspection = inspect_paths(paths, framework=framework)
    click.echo(inspect_json(inspection) if as_json else inspect_text(inspection), nl=False)
