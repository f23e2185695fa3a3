"""Write the reports of a manifest: analyse, compose, draw and render each one, then the index."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rlreport.manifest.model import Manifest
from rlreport.pipeline.analyse import analyse_report, compose_report
from rlreport.pipeline.load import load_runs, wanted_runs
from rlreport.pipeline.result import BuildResult
from rlreport.pipeline.summary import gate_failures, verdict_lines, warning_lines
from rlreport.report.model import Report
from rlreport.report.section_close import with_notices
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError
from rlreport.run.format import join_words

Progress = Callable[[str], None]

#: The formats of a report; each is written to report.<format>.
FORMATS = ("html", "pdf", "md", "json")


def build(
    manifest: Manifest, out: Path, *, formats: Sequence[str], only: Sequence[str] = (), jobs: int = 0, progress: Progress
) -> BuildResult:
    """Build the reports of a manifest into a folder.

    A run that cannot be read stops only the reports that need it: the others are written, and the result's error tells all
    that failed. Raises RlreportError when the folder cannot be written or the PDF cannot be made.
    """
    chosen = [report for report in manifest.reports if not only or report.id in only]
    loaded = load_runs(manifest, wanted_runs(manifest, chosen), progress)
    reports: list[Report] = []
    lines: list[str] = []
    failures: list[str] = []
    for entry in chosen:
        missing = [run_id for run_id in entry.run_ids if run_id in loaded.failures]
        if missing:
            lines.append(f"{entry.id}: not built, {join_words(missing)} could not be read")
            continue
        progress(f"comparing {entry.id}")
        analysis = analyse_report(entry, loaded.runs)
        reports.append(compose_report(manifest, entry, analysis))
        lines += verdict_lines(analysis)
        failures += gate_failures(analysis)
    lines += warning_lines(loaded.runs.values())
    if reports:
        index = _write_reports(reports, out, formats=formats, jobs=jobs, progress=progress)
        lines.append(_write_index(index, manifest, reports, formats, partial=bool(only)))
    return BuildResult(tuple(lines), tuple(failures), loaded.error())


def _write_reports(reports: Sequence[Report], out: Path, *, formats: Sequence[str], jobs: int, progress: Progress) -> Path:
    """Write every report's files; gives the index's path. Several reports are drawn in processes of their own."""
    workers = min(jobs or os.cpu_count() or 1, len(reports))
    try:
        out.mkdir(parents=True, exist_ok=True)
        if workers == 1:
            for report in reports:
                progress(f"drawing {report.id}")
                write_report(report, out / report.id, formats)
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(workers, mp_context=context) as pool:
                waiting = [(r.id, pool.submit(write_report, r, out / r.id, tuple(formats))) for r in reports]
                for report_id, future in waiting:
                    progress(f"drawing {report_id}")
                    future.result()
    except OSError as error:
        problem = f"the reports cannot be written: {error.strerror or error}"
        raise RlreportError.of(Diagnostic("RR502", problem, Location(str(error.filename or out)))) from error
    return out / "index.html"


def _write_index(path: Path, manifest: Manifest, reports: Sequence[Report], formats: Sequence[str], *, partial: bool) -> str:
    """Write the index and say so. A build of some reports only leaves the index of all of them as it is."""
    from rlreport.renderers.index import render_index

    if partial and path.exists():
        return f"wrote {len(reports)} of {len(manifest.reports)} reports; {path} is left as it is"
    path.write_text(render_index(manifest.title, reports, formats), "utf-8")
    return f"wrote {path}"


def write_report(report: Report, folder: Path, formats: Sequence[str]) -> None:
    """Write one report's files in the formats asked for. What an earlier build left in its folder is replaced."""
    from rlreport.plotters.draw import draw, drawing_notices
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
        return
    report = with_notices(report, drawing_notices(report.figures))
    figures = {spec.id: draw(spec, format="svg") for spec in report.figures}
    figure_folder = folder / "figures"
    shutil.rmtree(figure_folder, ignore_errors=True)
    figure_folder.mkdir()
    for name, svg in figures.items():
        (figure_folder / f"{name}.svg").write_bytes(svg)
    if "md" in formats:
        from rlreport.renderers.markdown import render_markdown

        (folder / "report.md").write_text(render_markdown(report), "utf-8")
    if "html" in formats or "pdf" in formats:
        from rlreport.renderers.html import render_html

        html = render_html(report, figures)
        if "html" in formats:
            (folder / "report.html").write_text(html, "utf-8")
        if "pdf" in formats:
            from rlreport.renderers.pdf import render_pdf

            (folder / "report.pdf").write_bytes(render_pdf(html, data))
