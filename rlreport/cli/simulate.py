"""`rlreport simulate`: the logs of a simulated run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("simulate")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Folder that the logs are written to.")
def command(scenario: Path, out: Path) -> None:
    """Write the logs of a simulated run from the file SCENARIO. The same scenario gives the same bytes."""
    from rlreport.simulator import simulate

    for path in simulate(scenario, out).files:
        click.echo(path)
