"""`rlreport build`: a manifest into reports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from rlreport.cli.options import allow_outside, manifest_argument
from rlreport.run.diagnostics import EXIT_GATE_FAILED, EXIT_USAGE, Diagnostic, RlreportError

#: As in `pipeline.build`, which is not imported here: it would load what a wrong option does not need.
FORMATS = ("html", "pdf", "md", "json")


def _formats(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    asked = tuple(part.strip() for part in value.split(",") if part.strip())
    wrong = [name for name in asked if name not in FORMATS]
    if wrong or not asked:
        raise click.BadParameter(f"{', '.join(wrong) or 'nothing'} is not a format; known are {', '.join(FORMATS)}")
    return tuple(name for name in FORMATS if name in asked)


@click.command("build")
@manifest_argument
@click.option(
    "-o", "--out", default="out", show_default=True, type=click.Path(path_type=Path), help="Folder for the reports."
)
@click.option(
    "-f", "--formats", default="html,pdf,md,json", show_default=True, callback=_formats, help="Formats, by commas."
)
@click.option("--report", "only", multiple=True, metavar="ID", help="Build only this report; may be given several times.")
@click.option("--jobs", default=0, type=click.IntRange(min=0), help="Processes to draw with; 0 means one a core.")
@click.option("--no-cache", is_flag=True, help="Build even when nothing changed since the last time.")
@click.option("--strict", is_flag=True, help="Exit 1 on an invalid comparison or a confident regression.")
@allow_outside
def command(
    manifest: Path,
    out: Path,
    formats: tuple[str, ...],
    only: tuple[str, ...],
    jobs: int,
    no_cache: bool,
    strict: bool,
    allow_outside: bool,
) -> None:
    """Compile MANIFEST (experiments.yaml when not given) into reports."""
    from rlreport.manifest import load_manifest

    loaded = load_manifest(manifest, allow_outside=allow_outside)
    for warning in loaded.warnings:
        click.echo(str(warning), err=True)
    unknown = sorted(set(only) - {report.id for report in loaded.reports})
    if unknown:
        hint = f"the manifest has {', '.join(report.id for report in loaded.reports)}"
        raise RlreportError.of(
            [Diagnostic("RR190", f"no report is called '{name}'", hint=hint) for name in unknown], exit_code=EXIT_USAGE
        )
    from rlreport.pipeline.cache import BuildCache

    cache = BuildCache(loaded, out, formats, only)
    result = None if no_cache else cache.find()
    if result is None:
        from rlreport.pipeline.build import build

        result = build(loaded, out, formats=formats, only=only, jobs=jobs, progress=_progress())
        if result.error is None:
            cache.store(result)
    for line in result.lines:
        click.echo(line)
    if result.error is not None:
        raise result.error
    if strict and result.gate_failures:
        for failure in result.gate_failures:
            click.echo(f"strict: {failure}", err=True)
        raise click.exceptions.Exit(EXIT_GATE_FAILED)


def _progress() -> Callable[[str], None]:
    """Says on a terminal what is being done, on stderr; silent elsewhere."""
    if not sys.stderr.isatty():
        return lambda text: None
    return lambda text: click.echo(f"  {text}", err=True)
