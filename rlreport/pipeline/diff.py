"""What differs between the configurations of two runs, named by their ids in a manifest or by paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rlreport.collectors import merge_sources, read_sources, require_one_run
from rlreport.comparators.analysis import AnalysisRequest
from rlreport.comparators.change import compare_config
from rlreport.comparators.change_chain import declared_changes
from rlreport.comparators.change_table import with_knobs
from rlreport.comparators.change_waive import judging_day
from rlreport.comparators.doubts import doubts
from rlreport.comparators.results import Change
from rlreport.dialects import interpret_run
from rlreport.dialects.verl_knob_plugins import installed_rows
from rlreport.manifest import Manifest, ManifestReport, load_manifest
from rlreport.pipeline.load import load_runs
from rlreport.run.diagnostics import EXIT_UNREADABLE, EXIT_USAGE, Diagnostic, Location, Notice, RlreportError
from rlreport.run.knobs import KNOB_CLASSES, TIERS, Knob
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.rules import NO_POLICY, ChangePolicy

#: The manifest that is read when none is named, where it exists.
DEFAULT_MANIFEST = Path("experiments.yaml")


@dataclass(frozen=True, slots=True)
class Declared:
    """What was meant to change and how that is judged; `report` is the manifest's report that says so, if one does."""

    changes: tuple[str, ...] = ()
    policy: ChangePolicy = NO_POLICY
    report: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs as they were named, and what the manifest declares of them.

    `warnings` are the manifest's, and why one that was not asked for could not be used.
    """

    baseline: Run
    variant: Run
    declared: Declared = Declared()
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class EqualKnob:
    """A knob with the same value in both runs."""

    knob: Knob
    value: Any


@dataclass(frozen=True, slots=True)
class Diff:
    """The change between two runs and, where asked for, the knobs of tuned classes that are equal, in the guide's order.

    `notices` are those of the change, and what a reader must know of the two runs beside it.
    """

    baseline: Run
    variant: Run
    declared: Declared
    change: Change
    equal: tuple[EqualKnob, ...] = ()
    notices: tuple[Notice, ...] = ()


def load_pair(
    names: tuple[str, str], manifest: Path | None = None, *, framework: str | None = None, allow_outside: bool = False
) -> Pair:
    """Find and read two runs.

    Args:
        names: for each side the id of a run of the manifest, else a file or a folder with the sources of one run.
        manifest: the manifest; None for experiments.yaml where it exists. One that was not named and has mistakes is no
            obstacle where both names are paths.
        framework: the framework of sides that are paths, when it is not detected.
        allow_outside: whether the manifest's paths may leave its folder.

    Returns:
        The runs; with what the one report that compares them in this order declares, where both are runs of the manifest. A
        path needs no steps: its configuration alone is enough.

    Raises:
        RlreportError: RR195 (exit code 2) for a name that is neither; exit code 3 for a source that cannot be read.
    """
    loaded, warnings = _find_manifest(names, manifest, allow_outside=allow_outside)
    known = loaded.runs if loaded is not None else {}
    unknown = [name for name in dict.fromkeys(names) if name not in known and not _is_path(name)]
    if unknown:
        raise RlreportError.of([_unknown_name(name, loaded) for name in unknown], EXIT_USAGE)
    found: dict[str, Run] = {}
    problems: list[RlreportError] = []
    if loaded is not None:
        read = load_runs(loaded, [name for name in names if name in known], lambda text: None)
        found |= read.runs
        problems += [error for run_id, error in read.failures.items() if run_id in names]
    for name in dict.fromkeys(names):
        if name not in known:
            try:
                found[name] = _read_path(name, framework)
            except RlreportError as error:
                problems.append(error)
    if problems:
        told = tuple(dict.fromkeys(diagnostic for error in problems for diagnostic in error.diagnostics))
        raise RlreportError(told, exit_code=max(error.exit_code for error in problems))
    declared = Declared() if loaded is None else _declared(loaded, names)
    return Pair(found[names[0]], found[names[1]], declared, warnings)


def compare_pair(pair: Pair, *, changes: Sequence[str] = (), show_equal: bool = False) -> Diff:
    """Compare the configurations of a pair.

    Args:
        pair: the runs.
        changes: what was meant to change, as class names or knob names; where given, it stands in place of what the
            manifest declares.
        show_equal: whether to list equal knobs of tuned classes too.

    Raises:
        RlreportError: RR196 with exit code 3 when the configuration of neither run is known.
    """
    baseline, variant = pair.baseline, pair.variant
    if not baseline.config and not variant.config:
        raise RlreportError.of([_no_configuration(run) for run in (baseline, variant)], EXIT_UNREADABLE)
    declared = Declared(tuple(changes), pair.declared.policy) if changes else pair.declared
    day = judging_day(declared.policy.as_of, (baseline.started_at, variant.started_at))
    change = compare_config(baseline, variant, declared=declared.changes, policy=replace(declared.policy, as_of=day))
    change = replace(change, blocking=(*doubts(baseline, variant), *change.blocking))
    equal = _equal_knobs(baseline, variant, change) if show_equal else ()
    return Diff(baseline, variant, declared, change, equal, (*change.notices, *_without_steps((baseline, variant))))


def _find_manifest(
    names: tuple[str, str], path: Path | None, *, allow_outside: bool
) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    if path is None and not DEFAULT_MANIFEST.exists():
        return None, ()
    try:
        loaded = load_manifest(path or DEFAULT_MANIFEST, allow_outside=allow_outside)
    except RlreportError as error:
        if path is not None or not all(Path(name).exists() for name in names):
            raise
        first = error.diagnostics[0]
        message = f"not used, since it has mistakes ({first.code}: {first.message}); both names are taken as paths"
        return None, (Diagnostic("RR197", message, Location(str(DEFAULT_MANIFEST)), severity="warning"),)
    return loaded, loaded.warnings


def _is_path(name: str) -> bool:
    """Whether a name is meant as a path: it exists, or only a path is written so."""
    return Path(name).exists() or Path(name).name != name


def _unknown_name(name: str, manifest: Manifest | None) -> Diagnostic:
    if manifest is None:
        hint = f"a run's id needs a manifest: {DEFAULT_MANIFEST} in this folder, or --manifest"
        return Diagnostic("RR195", f"no file or folder is called '{name}'", hint=hint)
    near = get_close_matches(name, manifest.runs, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"its runs are {', '.join(manifest.runs)}"
    message = f"no run is called '{name}', and no file or folder either"
    return Diagnostic("RR195", message, Location(str(manifest.path)), hint)


def _read_path(name: str, framework: str | None) -> Run:
    """The run of a file or folder. It may have crashed before its first step: its configuration is what is asked for."""
    raw = merge_sources(read_sources([(Path(name), None, {})]))
    require_one_run(raw)
    return with_knobs(interpret_run(raw, RunDeclaration(run_id=name, framework=framework)), installed_rows())


def _declared(manifest: Manifest, names: tuple[str, str]) -> Declared:
    """What the manifest's report of this pair declares; nothing where no report or more than one compares the two."""
    reports = [report for report in manifest.reports if names in _pairs(report)]
    if len(reports) != 1:
        return Declared()
    report = reports[0]
    return Declared(tuple(declared_changes(report.kind, report.changes, report.knob)), report.policy, report.id)


def _pairs(report: ManifestReport) -> tuple[tuple[str, str], ...]:
    return AnalysisRequest(report.id, report.kind, report.baseline, report.variants).pairs


def _no_configuration(run: Run) -> Diagnostic:
    hint = "add its .hydra folder or the log with the printed configuration: a folder with both is one run"
    return Diagnostic("RR196", "no source tells the run's configuration", Location(run.run_id), hint)


def _without_steps(runs: tuple[Run, Run]) -> list[Notice]:
    sides = zip(("baseline", "variant"), runs, strict=True)
    return [
        Notice("RR198", f"the {side} has no steps: nothing but its configuration is known")
        for side, run in sides
        if not len(run.steps) and not run.summaries
    ]


def _equal_knobs(baseline: Run, variant: Run, change: Change) -> tuple[EqualKnob, ...]:
    """The knobs of tuned classes that both runs have and that do not differ, by class in the guide's order."""
    told = {part for difference in (*change.differences, *change.identity) for part in difference.key.split(" / ")}
    told |= {key for line in change.folded for key in line.keys}
    rules = baseline.knob_rules
    shared = [
        EqualKnob(knob, baseline.value(key))
        for key, knob in baseline.knobs.items()
        if key in variant.knobs and key not in told and TIERS[knob.knob_class] is not None
    ]
    return tuple(sorted(shared, key=lambda one: (KNOB_CLASSES.index(one.knob.knob_class), *rules.rank(one.knob.key))))
