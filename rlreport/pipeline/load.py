"""From a manifest's runs to the intermediate representation: collect, merge, interpret."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rlreport.collectors import merge_sources, read_sources, require_one_run, require_steps
from rlreport.collectors.spans import merge_spans
from rlreport.collectors.spans.console_gauges import console_file_gauges
from rlreport.collectors.summary import summaries_of
from rlreport.comparators.change_table import with_knobs
from rlreport.comparators.replicated import replicates_by_run
from rlreport.dialects import interpret_run
from rlreport.dialects.spans import interpret_spans
from rlreport.dialects.summary import with_summaries
from rlreport.dialects.verl_knob_plugins import installed_rows
from rlreport.manifest.model import Manifest, ManifestReport
from rlreport.run.diagnostics import Location, RlreportError
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.raw import RawRun

Progress = Callable[[str], None]

#: Settings by which the Trainer's devices may generate, so that the place of a replica is in doubt.
_SWITCH_KEYS = ("trainer.v1.separate_async.hybrid_rollout.enable_switch", "async_training.use_trainer_do_validate")


@dataclass(slots=True)
class LoadedRuns:
    """The runs that could be read, and the error of each that could not."""

    runs: dict[str, Run] = field(default_factory=dict)
    failures: dict[str, RlreportError] = field(default_factory=dict)

    def error(self) -> RlreportError | None:
        """One error with every diagnostic of the failed runs, or None when all could be read."""
        if not self.failures:
            return None
        diagnostics = tuple(dict.fromkeys(d for error in self.failures.values() for d in error.diagnostics))
        return RlreportError(diagnostics, exit_code=max(error.exit_code for error in self.failures.values()))


def read_run(
    sources: Iterable[tuple[Path, str | None, Mapping[str, str]]], declared: RunDeclaration, root: Path | None
) -> tuple[RawRun, Run]:
    """Read the sources of one run and give them their meaning.

    Raises RlreportError (exit code 3) when a source cannot be read or no source has a step.
    """
    raw = merge_sources(read_sources(list(sources), root))
    require_one_run(raw)
    require_steps(raw)
    return raw, _with_spans(interpret_run(raw, declared), raw, declared, root)


def _with_spans(run: Run, raw: RawRun, declared: RunDeclaration, root: Path | None) -> Run:
    """The run with what its traces and rollout dumps tell, and with the quantities over time that its console logs tell."""
    samples = tuple(table for source in raw.sources for table in source.samples)
    merged = merge_spans(raw.sources)
    gauges = list(merged.gauges)
    if run.mode != "sync":
        logs = [source.path for source in raw.sources if source.format == "verl-console"]
        gauges += [gauge for path in logs for gauge in console_file_gauges((root or Path()) / path)]
    if not merged.tables and not gauges:
        return replace(run, samples=samples)
    meaning = interpret_spans(
        merged.tables,
        gauges,
        mode=run.mode,
        hybrid_replicas=declared.hybrid_replicas,
        may_switch=any(bool(run.value(key)) for key in _SWITCH_KEYS),
    )
    return replace(
        run,
        spans=meaning.spans,
        gauges=meaning.gauges,
        samples=samples,
        hybrid_replicas=meaning.hybrid_replicas,
        notices=(*run.notices, *merged.notices, *meaning.notices),
    )


def _located(error: RlreportError, place: Location | None) -> RlreportError:
    """The error with the run's place in the manifest for every diagnostic that has no place of its own."""
    told = tuple(d if d.location else replace(d, location=place) for d in error.diagnostics)
    return RlreportError(told, exit_code=error.exit_code)


def wanted_runs(manifest: Manifest, reports: Iterable[ManifestReport]) -> list[str]:
    """The runs that reports need: those they name, then the replicates of these."""
    groups = {run_id: run.group for run_id, run in manifest.runs.items()}
    named: list[str] = []
    more: list[str] = []
    for report in reports:
        named.extend(report.run_ids)
        more.extend(other for others in replicates_by_run(report.run_ids, groups).values() for other in others)
    return list(dict.fromkeys([*named, *more]))


def load_runs(manifest: Manifest, run_ids: Iterable[str], progress: Progress) -> LoadedRuns:
    """Load the runs of a manifest. One that cannot be read does not keep the others from being reported."""
    loaded = LoadedRuns()
    rows = (*manifest.knobs, *installed_rows())
    for run_id in manifest.with_replicates(run_ids):
        progress(f"reading run {run_id}")
        run = manifest.runs[run_id]
        sources = [(source.path, source.format, source.columns) for source in run.sources]
        try:
            raw, found = read_run(sources, run.declaration(), manifest.path.parent)
            loaded.runs[run_id] = with_knobs(with_summaries(found, summaries_of(raw, run_id)), rows)
        except RlreportError as error:
            loaded.failures[run_id] = _located(error, run.location)
    return loaded
