"""What one field of a manifest cannot tell: names that refer to others, files that must exist, keys that exclude each other.

The checks read the plain data, so that they also find what is wrong in a report that has a mistake elsewhere. What is of the
wrong type is passed over here; the model tells that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rlreport.manifest import codes
from rlreport.manifest.configuration import flatten_config
from rlreport.manifest.explain import is_misspelt
from rlreport.manifest.paths import Folder, FoundPath, PathProblem
from rlreport.manifest.places import label_place
from rlreport.manifest.reading import Unusable, read_prose
from rlreport.manifest.schema import fields_of, model_at
from rlreport.manifest.values import is_name
from rlreport.manifest.wording import quote, suggest
from rlreport.manifest.yaml12 import DataPath, Document
from rlreport.run.diagnostics import Diagnostic

_COMPARISONS = ("ab", "ladder", "sweep")

#: Keys of a report that a kind does not read, with the reason.
_UNREAD: dict[str, tuple[tuple[str, ...], str]] = {
    "profile": (("changes", "waive", "rules", "preset", "primary", "margins", "knob"), "a profile compares nothing"),
    "ab": (("knob",), "only a sweep orders its runs by a knob"),
    "ladder": (("knob",), "only a sweep orders its runs by a knob"),
}


@dataclass(slots=True)
class Checked:
    """What the checks found out: problems, and what the model is built from when there are none.

    `paths` maps the place of a source or a narrative to the files that it names; `configs` the place of a run to its flat
    configuration; `narratives` the place of a report to the content of its narrative.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    paths: dict[DataPath, tuple[FoundPath, ...]] = field(default_factory=dict)
    configs: dict[DataPath, dict[str, Any]] = field(default_factory=dict)
    narratives: dict[DataPath, str] = field(default_factory=dict)


def check_manifest(document: Document, folder: Folder) -> Checked:
    """Run every check on a document whose top is a mapping."""
    checker = _Checker(document, folder)
    checker.check_knobs()
    checker.check_runs()
    checker.check_reports()
    return checker.checked


class _Checker:
    """The checks of one document."""

    def __init__(self, document: Document, folder: Folder) -> None:
        self.document = document
        self.folder = folder
        self.checked = Checked()
        self.data: dict[str, Any] = document.data
        runs = self.data.get("runs")
        self.runs: dict[str, Any] = runs if isinstance(runs, dict) else {}

    # -- knobs and rules ----------------------------------------------------------------------------------------------

    def check_knobs(self) -> None:
        """Each key gets a class once."""
        seen: dict[str, DataPath] = {}
        for index, knob in enumerate(_list(self.data.get("knobs"))):
            key = knob.get("key") if isinstance(knob, dict) else None
            here: DataPath = ("knobs", index, "key")
            if isinstance(key, str) and seen.setdefault(key, here) != here:
                line = self.document.value_at(seen[key]).line
                message = f"{quote(key)} is given a class twice, first on line {line}"
                self._report(codes.KNOB_TWICE, here[:2], message, "remove one of the two", place_of=here)

    # -- runs ---------------------------------------------------------------------------------------------------------

    def check_runs(self) -> None:
        """Sources, columns and configuration of every run."""
        self._need_entries(("runs",), "one run", "describe a run as 'id: {sources: [path]}'")
        for run_id, run in self.runs.items():
            if not isinstance(run, dict):
                continue
            path: DataPath = ("runs", run_id)
            self._need_entries((*path, "sources"), "one source", "name a log, a metrics file or a folder")
            for source_path, text in _texts(run.get("sources"), (*path, "sources")):
                self._find(source_path, text, "the source ", codes.NO_SOURCE)
            for index, source in enumerate(_list(run.get("sources"))):
                if isinstance(source, dict):
                    self._check_source((*path, "sources", index), source)
            config = run.get("config")
            if isinstance(config, dict):
                flat, problems = flatten_config(self.document, (*path, "config"), config)
                self.checked.configs[path] = flat
                self.checked.diagnostics += problems

    def _check_source(self, path: DataPath, source: dict[str, Any]) -> None:
        text, columns = source.get("path"), source.get("columns")
        if isinstance(text, str):
            self._find((*path, "path"), text, "the source ", codes.NO_SOURCE)
        if not isinstance(columns, dict):
            return
        by_metric: dict[str, str] = {}
        for column, metric in columns.items():
            if not isinstance(metric, str):
                continue
            first = by_metric.setdefault(metric, column)
            if first != column:
                message = f"the columns {quote(first)} and {quote(column)} are both mapped to '{metric}'"
                self._report(codes.METRIC_TWICE, (*path, "columns", column), message, "keep the one that is meant")

    # -- reports ------------------------------------------------------------------------------------------------------

    def check_reports(self) -> None:
        """Names, kinds and files of every report; runs that no report uses."""
        self._need_entries(("reports",), "one report", "a profile needs only an id, 'kind: profile' and a baseline")
        reports = self.data.get("reports")
        seen: dict[str, DataPath] = {}
        used: set[str] = set()
        for index, report in enumerate(_list(reports)):
            if not isinstance(report, dict):
                continue
            path: DataPath = ("reports", index)
            self._check_id(path, report, seen)
            used |= self._check_names(path, report)
            self._check_kind(path, report)
            narrative = report.get("narrative")
            if isinstance(narrative, str):
                self._check_narrative((*path, "narrative"), narrative)
        groups = {self._group(run_id) for run_id in used} - {None}
        for run_id in self.runs:
            if run_id not in used and self._group(run_id) not in groups:
                message = "no report uses this run"
                hint = "name it in a report as baseline or variant, or remove it"
                self._report(codes.RUN_UNUSED, ("runs", run_id), message, hint, at_key=True)

    def _group(self, run_id: str) -> str | None:
        run = self.runs.get(run_id)
        group = run.get("group") if isinstance(run, dict) else None
        return group if isinstance(group, str) else None

    def _check_id(self, path: DataPath, report: dict[str, Any], seen: dict[str, DataPath]) -> None:
        report_id = report.get("id")
        if not isinstance(report_id, str):
            return
        here = (*path, "id")
        first = seen.setdefault(report_id.casefold(), here)
        if first != here:
            place = self.document.value_at(first)
            message = f"an earlier report (line {place.line}) has this id"
            hint = "ids name folders, where upper and lower case may be the same; choose another"
            self._report(codes.DUPLICATE_REPORT, path, message, hint, place_of=here)

    def _check_names(self, path: DataPath, report: dict[str, Any]) -> set[str]:
        """The runs that a report names, known or not."""
        baseline = report.get("baseline")
        named: list[str] = []
        if isinstance(baseline, str):
            named.append(baseline)
            self._need_run((*path, "baseline"), path, baseline)
        for here, variant in _texts(report.get("variants"), (*path, "variants")):
            if variant == baseline:
                message = f"{quote(variant)} is both baseline and variant"
                self._report(codes.COMPARED_TWICE, path, message, "compare it with another run", place_of=here)
            elif variant in named:
                self._report(
                    codes.COMPARED_TWICE, path, f"{quote(variant)} is listed twice", "remove one of the two", place_of=here
                )
            else:
                self._need_run(here, path, variant)
            named.append(variant)
        return set(named)

    def _need_run(self, here: DataPath, path: DataPath, run_id: str) -> None:
        if self.runs and run_id not in self.runs:
            hint = suggest(run_id, list(self.runs), "runs")
            self._report(codes.UNKNOWN_RUN, path, f"no run is called {quote(run_id)}", hint, place_of=here)

    def _check_kind(self, path: DataPath, report: dict[str, Any]) -> None:
        kind, here = report.get("kind"), (*path, "variants")
        has_variants = bool(_list(report.get("variants")))
        if kind == "profile" and has_variants:
            hint = "remove 'variants', or choose kind ab, ladder or sweep"
            message = "a profile describes its baseline and takes no variants"
            self._report(codes.PROFILE_WITH_VARIANTS, path, message, hint, place_of=here, at_key=True)
        if kind in _COMPARISONS and report.get("variants", []) == []:
            model = model_at(path)
            known = {} if model is None else fields_of(model)
            unknown = [(*path, key) for key in report if key not in known]
            if not is_misspelt(here, unknown):
                place = here if here in self.document.keys else (*path, "kind")
                message = f"kind {kind} compares variants with the baseline, and there are none"
                hint = "add 'variants: [run]', or choose kind profile"
                self._report(codes.NO_VARIANTS, path, message, hint, place_of=place, at_key=place is here)
        keys, reason = _UNREAD.get(kind if isinstance(kind, str) else "", ((), ""))
        for key in keys:
            if key in report:
                self._report(
                    codes.KEY_UNUSED, path, f"'{key}' is not read: {reason}", "remove it", place_of=(*path, key), at_key=True
                )

    def _check_narrative(self, here: DataPath, text: str) -> None:
        found = self._find(here, text, "the narrative ", codes.NO_NARRATIVE)
        if not found:
            return
        prose = read_prose(found[0].path) if len(found) == 1 else Unusable("is several files")
        if isinstance(prose, Unusable):
            message = f"the narrative {quote(text)} {prose.reason}"
            self._report(codes.NO_NARRATIVE, here[:2], message, "name one Markdown file in UTF-8", here)
        else:
            self.checked.narratives[here[:-1]] = prose

    # -- shared -------------------------------------------------------------------------------------------------------

    def _find(self, here: DataPath, text: str, noun: str, missing: str) -> tuple[FoundPath, ...]:
        """The files that a path names; a problem is reported."""
        if not is_name(text):
            return ()
        found = self.folder.find(text, missing)
        if isinstance(found, PathProblem):
            self._report(found.code, here[:2], noun + found.message, found.hint, place_of=here)
            return ()
        self.checked.paths[here] = found
        return found

    def _need_entries(self, path: DataPath, what: str, hint: str) -> None:
        """Report a list or mapping that is there and empty."""
        value: Any = self.data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if value in ([], {}):
            self._report(
                codes.EMPTY, path[:-1], f"'{path[-1]}' is empty; at least {what} is needed", hint, path, at_key=True
            )

    def _report(
        self,
        code: str,
        path: DataPath,
        message: str,
        hint: str,
        place_of: DataPath | None = None,
        *,
        at_key: bool = False,
    ) -> None:
        """Add a diagnostic: `path` names its owner in the message, `place_of` (the same by default) is where it points."""
        here = path if place_of is None else place_of
        place = self.document.key_at(here) if at_key else self.document.value_at(here)
        text = label_place(self.document, path, message)
        self.checked.diagnostics.append(Diagnostic(code, text, place, hint, codes.CODES[code].severity))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any, path: DataPath) -> Iterator[tuple[DataPath, str]]:
    """The texts of a list, with their places."""
    for index, entry in enumerate(_list(value)):
        if isinstance(entry, str):
            yield (*path, index), entry
