"""The Python API, for notebooks: `import rlreport.api as rl`.

`load` opens a manifest; its runs are data frames, its reports objects with the numbers of the pages. `read_run` reads one
run without a manifest, `compare` compares two. Nothing is printed; what is wrong is raised as `RlreportError`, what a reader
must know travels in `warnings`. Nothing heavy is imported before it is used. docs/api.md shows it at work.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlreport.api_views import ComparisonView, ReportView, RunView
from rlreport.run.diagnostics import EXIT_USAGE, Diagnostic, Location, RlreportError

if TYPE_CHECKING:
    from rlreport.manifest.model import Manifest
    from rlreport.pipeline.result import BuildResult
    from rlreport.run.model import Run

__all__ = [
    "ComparisonView",
    "Project",
    "ReportView",
    "RlreportError",
    "RunView",
    "Runs",
    "UnknownNameError",
    "compare",
    "load",
    "read_run",
]

PathLike = str | os.PathLike[str]


class UnknownNameError(RlreportError, KeyError):
    """A name that the manifest does not have; also a KeyError, so that `get` and `in` mean what they say."""


class Runs(Mapping[str, RunView]):
    """The runs of a manifest by id, in its order. A run is read when it is asked for, and once."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._found: dict[str, Run] = {}

    def __getitem__(self, run_id: str) -> RunView:
        """The run. Raises UnknownNameError, or RlreportError (exit code 3) when it cannot be read."""
        if run_id not in self._manifest.runs:
            raise _unknown(self._manifest, "RR195", "run", run_id, self._manifest.runs)
        return RunView(self.read([run_id])[run_id])

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._manifest.runs

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifest.runs)

    def __len__(self) -> int:
        return len(self._manifest.runs)

    def __repr__(self) -> str:
        return f"<Runs: {', '.join(self._manifest.runs)}>"

    def read(self, needed: Iterable[str], welcome: Iterable[str] = ()) -> dict[str, Run]:
        """Read runs. Raises RlreportError when one that is needed cannot be read; one that is welcome is then left out."""
        from rlreport.pipeline.load import LoadedRuns, load_runs

        needed = tuple(needed)
        wanted = tuple(dict.fromkeys((*needed, *welcome)))
        loaded = load_runs(self._manifest, [i for i in wanted if i not in self._found], lambda text: None)
        self._found |= loaded.runs
        failed = LoadedRuns(failures={run_id: loaded.failures[run_id] for run_id in needed if run_id in loaded.failures})
        error = failed.error()
        if error is not None:
            raise error
        return {run_id: self._found[run_id] for run_id in wanted if run_id in self._found}


class Project:
    """A manifest that was loaded: its runs, its reports, and a build of them.

    `manifest` is the checked manifest; `runs` its runs by id.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.runs = Runs(manifest)

    @property
    def title(self) -> str:
        """The manifest's title."""
        return self.manifest.title

    @property
    def report_ids(self) -> tuple[str, ...]:
        """The ids of the reports, in the order of the manifest."""
        return tuple(report.id for report in self.manifest.reports)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is doubtful in the manifest itself, with its place."""
        return self.manifest.warnings

    def report(self, report_id: str) -> ReportView:
        """Analyse one report.

        Raises:
            UnknownNameError: when the manifest has no such report.
            RlreportError: with exit code 3 when one of its runs cannot be read.
        """
        from rlreport.pipeline.analyse import analyse_report

        found = next((report for report in self.manifest.reports if report.id == report_id), None)
        if found is None:
            raise _unknown(self.manifest, "RR190", "report", report_id, self.report_ids)
        runs = self.runs.read(found.run_ids, self.manifest.with_replicates(found.run_ids))
        return ReportView(found.id, found.title, analyse_report(found, runs))

    def build(
        self,
        out: PathLike = "out",
        *,
        formats: Sequence[str] = ("html", "pdf", "md", "json"),
        only: Sequence[str] = (),
        jobs: int = 1,
    ) -> BuildResult:
        """Write the reports into a folder, as `rlreport build` does.

        Args:
            out: the folder.
            formats: of html, pdf, md and json.
            only: ids of reports; all when empty.
            jobs: processes to draw with; 0 means one a core. More than one needs a main module that can be imported again.

        Returns:
            The lines that the command would print, and why a strict build fails.

        Raises:
            RlreportError: for a wrong format or report before anything is written; for runs that cannot be read after the
                reports that do not need them were written.
        """
        from rlreport.pipeline.build import FORMATS, build

        wrong = [name for name in formats if name not in FORMATS]
        if wrong or not formats:
            hint = f"known are {', '.join(FORMATS)}"
            raise RlreportError.of(Diagnostic("RR199", f"no format is called '{', '.join(wrong)}'", hint=hint), EXIT_USAGE)
        for report_id in only:
            if report_id not in self.report_ids:
                raise _unknown(self.manifest, "RR190", "report", report_id, self.report_ids)
        chosen = tuple(name for name in FORMATS if name in formats)
        result = build(self.manifest, Path(out), formats=chosen, only=tuple(only), jobs=jobs, progress=lambda text: None)
        if result.error is not None:
            raise result.error
        return result

    def __repr__(self) -> str:
        return f"<Project {self.title!r}: {len(self.runs)} runs, reports {', '.join(self.report_ids)}>"

    def _repr_html_(self) -> str:
        from rlreport.api_html import project_html

        return project_html(
            self.title,
            [(run_id, run.label or run_id) for run_id, run in self.manifest.runs.items()],
            [(report.id, report.kind, report.title) for report in self.manifest.reports],
        )


def load(path: PathLike = "experiments.yaml", *, allow_outside: bool = False) -> Project:
    """Load and check a manifest; no run is read yet.

    Args:
        path: the manifest.
        allow_outside: whether its paths may leave its folder.

    Raises:
        RlreportError: with every mistake of the manifest, its place and a hint.
    """
    from rlreport.manifest import load_manifest

    return Project(load_manifest(Path(path), allow_outside=allow_outside))


def read_run(
    *paths: PathLike,
    run_id: str | None = None,
    label: str | None = None,
    framework: str | None = None,
    framework_version: str | None = None,
    config: Mapping[str, Any] | None = None,
    trainer_devices: int | None = None,
    rollout_devices: int | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> RunView:
    """Read the sources of one run, without a manifest.

    Args:
        paths: files or folders; several are merged by step.
        run_id: the id that messages and comparisons use; the first path when not given.
        label: the run's name for readers; the id when not given.
        framework: the framework, when it is not detected.
        framework_version: a release, a commit or a date; decides the meaning of some keys.
        config: configuration values by dotted key or nested, which add to or override what the sources say.
        trainer_devices: devices of the Trainer, when the configuration does not tell.
        rollout_devices: devices of the Rollouters alone.
        format: the format of all paths, when it is not detected.
        columns: for tables of one's own, column name to canonical metric or "step".

    Raises:
        RlreportError: with exit code 3 when a source cannot be read or no source has a step.
    """
    from rlreport.collectors.flatten import dotted, flatten
    from rlreport.collectors.summary import summaries_of
    from rlreport.comparators.change_table import with_knobs
    from rlreport.dialects.summary import with_summaries
    from rlreport.dialects.verl_knob_plugins import installed_rows
    from rlreport.pipeline import load as pipeline_load
    from rlreport.run.model import RunDeclaration

    if not paths:
        raise RlreportError.of(Diagnostic("RR199", "a run needs a path", hint="give a file or a folder"), EXIT_USAGE)
    declared = RunDeclaration(
        run_id=run_id or str(paths[0]),
        label=label,
        framework=framework,
        framework_version=framework_version,
        config={dotted(place): value for place, value in flatten(dict(config or {}))},
        trainer_devices=trainer_devices,
        rollout_devices=rollout_devices,
        columns=dict(columns or {}),
    )
    raw, run = pipeline_load.read_run([(Path(path), format, columns or {}) for path in paths], declared, None)
    return RunView(with_knobs(with_summaries(run, summaries_of(raw, None)), installed_rows()))


def compare(
    baseline: RunView,
    variant: RunView,
    *,
    changes: Iterable[str] = (),
    margins: Mapping[str, float | str] | None = None,
    waive: Mapping[str, str] | None = None,
) -> ComparisonView:
    """Compare two runs, as a report of kind `ab` does.

    Args:
        baseline: the run to start from.
        variant: the run to compare with it.
        changes: what was meant to change, as class names or knob names; everything else that moved is then found.
        margins: smallest differences that matter: "throughput" as a fraction or "5%", "reward", "accuracy" and
            "response_length" in the metric's own unit.
        waive: differences that do not count, by knob, each with its reason.

    Raises:
        RlreportError: for a margin that is none.
    """
    from rlreport.manifest.model import ManifestReport
    from rlreport.pipeline.analyse import analyse_report
    from rlreport.run.rules import Waiver

    runs = [baseline.run, variant.run]
    if runs[0].run_id == runs[1].run_id:
        runs[1] = replace(runs[1], run_id=f"{runs[1].run_id}-2")
    report = ManifestReport(
        id="comparison",
        title=f"{runs[1].label} against {runs[0].label}",
        kind="ab",
        baseline=runs[0].run_id,
        variants=(runs[1].run_id,),
        changes=(changes,) if isinstance(changes, str) else tuple(changes),
        waive=tuple(Waiver(knob, reason) for knob, reason in (waive or {}).items()),
        margins=_margins(margins or {}),
    )
    return ComparisonView(analyse_report(report, {run.run_id: run for run in runs}))


def _margins(given: Mapping[str, float | str]) -> dict[str, float]:
    """Margins as a manifest reads them. Raises RlreportError with every one that is none."""
    from pydantic import ValidationError

    from rlreport.manifest.shape import MarginsShape

    try:
        read = MarginsShape.model_validate(dict(given))
    except ValidationError as error:
        known = f"known are {', '.join(MarginsShape.model_fields)}"
        problems = []
        for each in error.errors(include_url=False):
            context = each.get("ctx", {})
            name = ".".join(map(str, each["loc"]))
            unknown = each["type"] == "extra_forbidden"
            message = "there is no such margin" if unknown else str(context.get("message", each["msg"]))
            hint = known if unknown else context.get("hint")
            problems.append(Diagnostic("RR199", f"margins['{name}']: {message}", hint=hint))
        raise RlreportError.of(problems, EXIT_USAGE) from error
    return {name: value for name, value in read if value is not None}


def _unknown(manifest: Manifest, code: str, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the manifest has {', '.join(names)}"
    problem = Diagnostic(code, f"no {kind} is called '{name}'", Location(str(manifest.path)), hint)
    return UnknownNameError((problem,), EXIT_USAGE)
