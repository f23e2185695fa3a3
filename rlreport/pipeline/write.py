"""Write the files of one report. Processes that draw import this and no more than they need."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlreport.report.model import Report

#: The formats of a report; each is written to report.<format>.
FORMATS = ("html", "pdf", "md", "json")


@dataclass(frozen=True, slots=True)
class Page:
    """What a PDF is printed from: the HTML page, and report.json that is attached."""

    html: str
    data: bytes


def import_ahead(formats: Sequence[str]) -> None:
    """Make a process ready to draw while the runs are still being read: import what drawing needs.

    Its garbage is collected after each file only: figures and pages are many objects, of which few can go before the end.
    """
    import matplotlib.backends.backend_svg  # noqa: F401

    import rlreport.plotters.draw
    import rlreport.renderers.html  # noqa: F401

    if "pdf" in formats:
        from rlreport.renderers.pdf import import_ahead

        import_ahead()
    gc.disable()


def write_report(report: Report, folder: Path, formats: Sequence[str]) -> None:
    """Write one report's files in the formats asked for. What an earlier build left in its folder is replaced."""
    page = write_all_but_pdf(report, folder, formats)
    if page is not None:
        write_pdf(page, folder)


def write_all_but_pdf(report: Report, folder: Path, formats: Sequence[str]) -> Page | None:
    """Write one report's files but the PDF. Returns what to print when a PDF is asked for."""
    from rlreport.renderers.json import render_json

    folder.mkdir(parents=True, exist_ok=True)
    for name in FORMATS:
        if name not in formats:
            (folder / f"report.{name}").unlink(missing_ok=True)
    for stale in folder.glob("timeline*.json.gz"):
        stale.unlink()
    for name, content in report.files.items():
        (folder / name).write_bytes(content)
    data = render_json(report.data)
    if "json" in formats:
        (folder / "report.json").write_bytes(data)
    if set(formats) == {"json"}:
        return None
    report, figures = _draw(report, folder / "figures")
    if "md" in formats:
        from rlreport.renderers.markdown import render_markdown

        (folder / "report.md").write_text(render_markdown(report), "utf-8")
    if "html" not in formats and "pdf" not in formats:
        return None
    from rlreport.renderers.html import render_html

    html = render_html(report, figures)
    if "html" in formats:
        (folder / "report.html").write_text(html, "utf-8")
    return Page(html, data) if "pdf" in formats else None


def _draw(report: Report, folder: Path) -> tuple[Report, dict[str, bytes]]:
    """Draw the figures into a folder that holds nothing else; the report with what drawing found, and the SVG by figure."""
    from rlreport.plotters.draw import draw, drawing_notices

    if notices := drawing_notices(report.figures):
        from rlreport.report.section_close import with_notices  # imports all comparators

        report = with_notices(report, notices)
    figures = {spec.id: draw(spec, format="svg") for spec in report.figures}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, svg in figures.items():
        (folder / f"{name}.svg").write_bytes(svg)
    _collect()
    return report, figures


def write_pdf(page: Page, folder: Path) -> None:
    """Print a report's page."""
    from rlreport.renderers.pdf import render_pdf

    (folder / "report.pdf").write_bytes(render_pdf(page.html, page.data))
    _collect()


def _collect() -> None:
    if not gc.isenabled():
        gc.collect()
