"""Everything but drawing: read, interpret, analyse, and say what came out."""

from __future__ import annotations

from collections.abc import Iterator

from rlreport.manifest.model import Manifest
from rlreport.pipeline.analyse import analyse_report
from rlreport.pipeline.load import load_runs
from rlreport.pipeline.summary import verdict_lines


def check_lines(manifest: Manifest) -> Iterator[str]:
    """Every warning of the runs, then the verdicts of the reports whose runs could be read.

    Raises RlreportError at the end for the runs that could not be read.
    """
    wanted = [run_id for report in manifest.reports for run_id in report.run_ids]
    loaded = load_runs(manifest, wanted, lambda text: None)
    for run in loaded.runs.values():
        for notice in dict.fromkeys(run.notices):
            place = f" ({notice.where})" if notice.where else ""
            yield f"run {run.run_id}: warning[{notice.code}]: {notice.message}{place}"
    for report in manifest.reports:
        if all(run_id in loaded.runs for run_id in report.run_ids):
            yield from verdict_lines(analyse_report(report, loaded.runs))
    error = loaded.error()
    if error is not None:
        raise error
