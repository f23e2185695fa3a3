"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

manifest_argument = click.argument("manifest", default="experiments.yaml", type=click.Path(path_type=Path))

allow_outside = click.option("--allow-outside", is_flag=True, help="Let sources lie outside of the manifest's folder.")
