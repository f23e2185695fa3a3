"""`rlreport schema`: the JSON Schema of the manifest, for editors."""

from __future__ import annotations

import json

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of the manifest (draft 2020-12), for completion and checks in an editor."""
    from rlreport.manifest import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
