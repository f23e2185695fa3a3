"""`rlreport diff`: what differs between the configurations of two runs."""

from __future__ import annotations

from pathlib import Path

import click

from rlreport.cli.options import allow_outside


@click.command("diff")
@click.argument("baseline", metavar="A")
@click.argument("variant", metavar="B")
@click.option(
    "--manifest", type=click.Path(path_type=Path), help="Where A and B are runs; experiments.yaml here when not given."
)
@click.option(
    "--changes", multiple=True, metavar="NAMES", help="What was meant to change: knob classes or knobs, by commas."
)
@click.option("--all", "show_equal", is_flag=True, help="List equal knobs of the classes that are tuned, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--md", "as_markdown", is_flag=True, help="Print Markdown instead of text.")
@click.option("--framework", help="The framework of paths, when it is not detected.")
@allow_outside
def command(
    baseline: str,
    variant: str,
    manifest: Path | None,
    changes: tuple[str, ...],
    show_equal: bool,
    as_json: bool,
    as_markdown: bool,
    framework: str | None,
    allow_outside: bool,
) -> None:
    """Show what differs between the configurations of A and B, by class of knob, and whether it was declared.

    A and B are ids of runs in the manifest, or files or folders with the sources of one run; where a name is both, it
    means the run. Without --changes the report of the manifest that compares A with B says what was meant to change.
    """
    if as_json and as_markdown:
        raise click.UsageError("give --json or --md, not both")
    from rlreport.pipeline.diff import compare_pair, load_pair

    pair = load_pair((baseline, variant), manifest, framework=framework, allow_outside=allow_outside)
    for warning in pair.warnings:
        click.echo(str(warning), err=True)
    declared = [name.strip() for names in changes for name in names.split(",") if name.strip()]
    diff = compare_pair(pair, changes=declared, show_equal=show_equal)
    from rlreport.pipeline.diff_json import diff_json
    from rlreport.pipeline.diff_text import diff_markdown, diff_text

    render = diff_json if as_json else diff_markdown if as_markdown else diff_text
    click.echo(render(diff), nl=False)
