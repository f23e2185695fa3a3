"""The command line: one thin module a command, each loaded when it is called, so that `--help` and errors come at once."""

from __future__ import annotations

import importlib
import sys

import click

from rlreport import __version__
from rlreport.run.diagnostics import EXIT_USAGE, RlreportError

#: Every command and what it is for; the module of the same name holds `command`.
COMMANDS: dict[str, str] = {
    "build": "Compile a manifest into reports: HTML, PDF, Markdown and JSON.",
    "check": "Run everything but drawing, and say what is wrong.",
    "inspect": "Show what the collectors understand of a file or folder.",
    "diff": "Show what differs between the configurations of two runs.",
    "init": "Write a manifest for the runs that lie in a folder.",
    "simulate": "Write the logs of a simulated run from a scenario.",
    "schema": "Print the JSON Schema of the manifest.",
}


class _Commands(click.Group):
    """Loads a command's module only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"rlreport.cli.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlreport")
def cli() -> None:
    """Compile runs of asynchronous RL training into tuning reports.

    Exit codes: 0 done; 1 a gate failed or a report could not be drawn; 2 usage or manifest; 3 a source could not be read.
    """


def main() -> None:
    """The console script: every error a user can mend is one message a problem, never a traceback."""
    try:
        # Outside of its standalone mode click gives the code of an Exit back instead of raising it.
        sys.exit(cli(standalone_mode=False) or 0)
    except RlreportError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
