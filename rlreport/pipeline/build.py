"""Write the reports of a manifest: analyse, compose, draw and render each one, then the index."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from rlreport.manifest.model import Manifest, ManifestReport
from rlreport.pipeline.analyse import analyse_report, compose_report
from rlreport.pipeline.load import LoadedRuns, load_runs, wanted_runs
from rlreport.pipeline.result import BuildResult
from rlreport.pipeline.summary import gate_failures, verdict_lines, warning_lines
from rlreport.pipeline.write import FORMATS, Page, import_ahead, write_all_but_pdf, write_pdf, write_report
from rlreport.report.model import Report
from rlreport.run.diagnostics import Diagnostic, Location, RlreportError
from rlreport.run.format import join_words

__all__ = ["FORMATS", "build"]

Progress = Callable[[str], None]


def build(
    manifest: Manifest, out: Path, *, formats: Sequence[str], only: Sequence[str] = (), jobs: int = 0, progress: Progress
) -> BuildResult:
    """Build the reports of a manifest into a folder.

    A run that cannot be read stops only the reports that need it: the others are written, and the result's error tells all
    that failed. Raises RlreportError when the folder cannot be written or the PDF cannot be made.
    """
    chosen = [report for report in manifest.reports if not only or report.id in only]
    order = manifest.with_replicates(wanted_runs(manifest, chosen))
    loaded = LoadedRuns()
    reports: list[Report] = []
    lines: list[str] = []
    failures: list[str] = []
    with _Writer(out, tuple(formats), jobs, len(chosen), progress) as writer:
        for entry in chosen:
            _load(manifest, entry, order, loaded, progress)
            missing = [run_id for run_id in entry.run_ids if run_id in loaded.failures]
            if missing:
                lines.append(f"{entry.id}: not built, {join_words(missing)} could not be read")
                continue
            progress(f"comparing {entry.id}")
            analysis = analyse_report(entry, loaded.runs)
            reports.append(compose_report(manifest, entry, analysis))
            writer.start(reports[-1])
            lines += verdict_lines(analysis)
            failures += gate_failures(analysis)
        writer.finish()
    lines += warning_lines(loaded.runs.values())
    if reports:
        lines.append(_write_index(out / "index.html", manifest, reports, formats, partial=bool(only)))
    return BuildResult(tuple(lines), tuple(failures), loaded.error())


def _load(manifest: Manifest, entry: ManifestReport, order: Sequence[str], loaded: LoadedRuns, progress: Progress) -> None:
    """Add the runs of a report to those that were loaded before, in the order of the whole build."""
    known = {**loaded.runs, **loaded.failures}
    wanted = manifest.with_replicates(wanted_runs(manifest, [entry]))
    more = load_runs(manifest, [run_id for run_id in wanted if run_id not in known], progress)
    runs, failures = {**loaded.runs, **more.runs}, {**loaded.failures, **more.failures}
    loaded.runs = {run_id: runs[run_id] for run_id in order if run_id in runs}
    loaded.failures = {run_id: failures[run_id] for run_id in order if run_id in failures}


class _Writer:
    """Writes the reports' files. Several reports are drawn and printed in processes of their own, as soon as they can be."""

    def __init__(self, out: Path, formats: tuple[str, ...], jobs: int, reports: int, progress: Progress) -> None:
        workers = min(jobs or os.cpu_count() or 1, reports)
        self._out, self._formats, self._progress = out, formats, progress
        self._reports: list[Report] = []
        self._drawing: list[tuple[str, Future[Page | None]]] = []
        self._printing: list[Future[None]] = []
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1 and set(formats) != {"json"}:
            self._pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
            for _ in range(workers):
                self._pool.submit(import_ahead, formats)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def start(self, report: Report) -> None:
        """Begin with a report, or remember it when there is one process only. Raises RlreportError as `finish` does."""
        if self._pool is None:
            self._reports.append(report)
            return
        drawn = self._pool.submit(write_all_but_pdf, report, self._out / report.id, self._formats)
        self._drawing.append((report.id, drawn))
        with _write_errors(self._out):
            self._print(self._pool)

    def finish(self) -> None:
        """Wait until all files are written. Raises RlreportError RR502 when they cannot be."""
        with _write_errors(self._out):
            for report in self._reports:
                self._progress(f"drawing {report.id}")
                write_report(report, self._out / report.id, self._formats)
            while self._pool is not None and self._drawing:
                wait([drawn for _, drawn in self._drawing], return_when=FIRST_COMPLETED)
                self._print(self._pool)
            for printed in self._printing:
                printed.result()

    def _print(self, pool: ProcessPoolExecutor) -> None:
        """Begin to print the pages that are drawn."""
        for report_id, drawn in [entry for entry in self._drawing if entry[1].done()]:
            self._drawing.remove((report_id, drawn))
            page = drawn.result()
            if page is not None:
                self._progress(f"printing {report_id}")
                self._printing.append(pool.submit(write_pdf, page, self._out / report_id))


@contextmanager
def _write_errors(out: Path) -> Iterator[None]:
    """Tell what the operating system refuses as RR502."""
    try:
        yield
    except OSError as error:
        problem = f"the reports cannot be written: {error.strerror or error}"
        raise RlreportError.of(Diagnostic("RR502", problem, Location(str(error.filename or out)))) from error


def _write_index(path: Path, manifest: Manifest, reports: Sequence[Report], formats: Sequence[str], *, partial: bool) -> str:
    """Write the index and say so. A build of some reports only leaves the index of all of them as it is."""
    from rlreport.renderers.index import render_index

    if partial and path.exists():
        return f"wrote {len(reports)} of {len(manifest.reports)} reports; {path} is left as it is"
    path.write_text(render_index(manifest.title, reports, formats), "utf-8")
    return f"wrote {path}"
