"""Everything but drawing: read, interpret, analyse, and say what came out."""

from __future__ import annotations

from collections.abc import Iterator

from rlreport.manifest.model import Manifest
from rlreport.pipeline.analyse import analyse_report
from rlreport.pipeline.load import load_runs
from rlreport.pipeline.summary import verdict_lines


def check_lines(manifest: Manifest) -> Iterator[str]:
    """The verdicts of every report whose runs could be read; then raises RlreportError for those that could not."""
    wanted = [run_id for report in manifest.reports for run_id in report.run_ids]
    loaded = load_runs(manifest, wanted, lambda text: None)
    for report in manifest.reports:
        if all(run_id in loaded.runs for run_id in report.run_ids):
            yield from verdict_lines(analyse_report(report, loaded.runs))
    loaded.raise_failures()
