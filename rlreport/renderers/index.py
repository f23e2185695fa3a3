"""The index of a build: every report with its verdict and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlreport import __version__
from rlreport.renderers.templates import environment, style_sheets
from rlreport.report.model import Report
from rlreport.run.format import plural

#: The files of a report by format, in the order in which the index lists them.
FILES = {
    "html": ("report.html", "HTML"),
    "pdf": ("report.pdf", "PDF"),
    "md": ("report.md", "Markdown"),
    "json": ("report.json", "JSON"),
}


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    label: str


@dataclass(frozen=True, slots=True)
class _Entry:
    report: Report
    files: tuple[_File, ...]

    @property
    def main_file(self) -> str:
        return self.files[0].name


def render_index(title: str, reports: Sequence[Report], formats: Sequence[str]) -> str:
    """The index page: title, question, verdict and files of every report, in the order of the manifest."""
    files = tuple(_File(*FILES[name]) for name in FILES if name in formats)
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            title=title,
            entries=[_Entry(report, files) for report in reports],
            count_label=plural(len(reports), "report"),
            css=style_sheets(),
            version=__version__,
        )
    )
