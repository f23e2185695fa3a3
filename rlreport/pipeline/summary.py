"""One line a comparison, as the command line prints it."""

from __future__ import annotations

from collections.abc import Iterable

from rlreport.comparators.analysis import Analysis
from rlreport.report.model import plain
from rlreport.report.verdict import verdict_sentence
from rlreport.run.model import Run


def verdict_lines(analysis: Analysis) -> list[str]:
    """The verdict of a report, then throughput and change verdict of each of its pairs."""
    lines = [f"{analysis.request.report_id}: {plain(verdict_sentence(analysis))}"]
    lines += [
        f"  {c.baseline_id} -> {c.variant_id}: throughput {c.throughput.headline.verdict}, change {c.change.verdict}"
        for c in analysis.comparisons
    ]
    return lines


def warning_lines(runs: Iterable[Run]) -> list[str]:
    """How many warnings each run has; the pages tell them, and so does `rlreport check`."""
    counts = [(run.run_id, len(dict.fromkeys(run.notices))) for run in runs]
    told = [f"{run_id} {n}" for run_id, n in counts if n]
    return [f"warnings by run: {', '.join(told)} (rlreport check tells them)"] if told else []


def gate_failures(analysis: Analysis) -> list[str]:
    """Why `--strict` fails: comparisons that are not valid, and confident regressions."""
    failures = []
    for comparison in analysis.comparisons:
        pair = f"{analysis.request.report_id}: {comparison.baseline_id} -> {comparison.variant_id}"
        if comparison.throughput.headline.verdict in ("not-comparable", "regressed"):
            failures.append(f"{pair}: throughput {comparison.throughput.headline.verdict}")
        if comparison.change.verdict in ("undeclared", "confounded", "unknown") and not comparison.change.tolerated:
            failures.append(f"{pair}: change {comparison.change.verdict}")
    return failures
