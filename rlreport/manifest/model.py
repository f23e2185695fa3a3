"""The manifest as the rest of rlreport gets it: typed, resolved, frozen."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rlreport.run.diagnostics import Diagnostic, Location
from rlreport.run.knobs import KnobRow
from rlreport.run.model import RunDeclaration
from rlreport.run.rules import ChangePolicy, Preset, Rule, Waiver

Kind = Literal["ab", "ladder", "sweep", "profile"]
DecisionStatus = Literal["proposed", "accepted", "rejected"]


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """One file or folder of a run, after globs.

    `path` leads there from the working directory (or is absolute, when the manifest's path is); `format` is the format that
    the manifest forces; `columns` maps column names of a generic table to canonical metrics or "step"; `display` is the
    path from the manifest's folder, the same wherever the build runs.
    """

    path: Path
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    display: str = ""


@dataclass(frozen=True, slots=True)
class ManifestRun:
    """One run as declared. What the manifest does not say is None or empty.

    `config` is flat: dotted keys to scalars or lists of scalars. `hybrid_replicas` is a text as "0-7" or "0-3,8".
    `location` is where the run's id stands in the manifest.
    """

    run_id: str
    sources: tuple[ManifestSource, ...]
    label: str | None = None
    framework: str | None = None
    framework_version: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    trainer_devices: int | None = None
    rollout_devices: int | None = None
    hybrid_replicas: str | None = None
    group: str | None = None
    location: Location | None = None

    def declaration(self) -> RunDeclaration:
        """What dialects take into account; a column name that several sources map counts as the first of them says."""
        columns: dict[str, str] = {}
        for source in reversed(self.sources):
            columns.update(source.columns)
        return RunDeclaration(
            run_id=self.run_id,
            label=self.label,
            framework=self.framework,
            framework_version=self.framework_version,
            config=self.config,
            trainer_devices=self.trainer_devices,
            rollout_devices=self.rollout_devices,
            hybrid_replicas=self.hybrid_replicas,
            group=self.group,
            columns=columns,
        )


@dataclass(frozen=True, slots=True)
class Window:
    """The first and last step of the steady state that the manifest gives; None is to be found from the data."""

    from_step: int | None = None
    to_step: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided on a report's question."""

    status: DecisionStatus
    by: str | None = None
    date: datetime.date | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ManifestReport:
    """One report as asked for.

    `changes` holds knob classes and dotted knob names. `margins` holds what was given: "throughput" as a fraction (0.05 is
    5 %), "reward", "accuracy" and "response_length" in the metric's own unit; `target` levels to reach, alike. `narrative`
    is an existing file and `narrative_text` its content. `knob` is the knob of a sweep. `rules` are the manifest's, then the
    report's own; `preset` and `as_of` the manifest's where the report has none. `primary` are short names of metrics.
    `location` is where the report's id stands in the manifest.
    """

    id: str
    title: str
    kind: Kind
    baseline: str
    variants: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    waive: tuple[Waiver, ...] = ()
    steady_state: Window = Window()
    margins: Mapping[str, float] = field(default_factory=dict)
    target: Mapping[str, float] = field(default_factory=dict)
    question: str | None = None
    narrative: Path | None = None
    narrative_text: str = ""
    decision: Decision | None = None
    knob: str | None = None
    rules: tuple[Rule, ...] = ()
    preset: Preset | None = None
    primary: tuple[str, ...] = ("throughput",)
    as_of: datetime.date | None = None
    location: Location | None = None

    @property
    def policy(self) -> ChangePolicy:
        """How changes are judged in this report; `as_of` is None where the manifest gives no day."""
        return ChangePolicy(self.rules, self.preset, self.waive, self.as_of)

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The baseline and the variants, in order."""
        return (self.baseline, *self.variants)

    def decision_data(self) -> dict[str, str | None]:
        """The decision as texts: status, by, date (ISO) and reason, None for what is not known; empty without a decision."""
        if self.decision is None:
            return {}
        date = self.decision.date
        return {
            "status": self.decision.status,
            "by": self.decision.by,
            "date": None if date is None else date.isoformat(),
            "reason": self.decision.reason,
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest. Runs and reports keep the order of the file; `warnings` are sorted by place.

    `path` is as the user gave it; `sha256` is that of the file's bytes, in hexadecimal. `knobs` are rows that extend what a
    dialect knows of its framework's keys (an empty label: none was given).
    """

    version: int
    title: str
    path: Path
    runs: Mapping[str, ManifestRun]
    reports: tuple[ManifestReport, ...]
    warnings: tuple[Diagnostic, ...] = ()
    sha256: str = ""
    knobs: tuple[KnobRow, ...] = ()

    def with_replicates(self, run_ids: Iterable[str]) -> tuple[str, ...]:
        """Some runs, in the order given, and after them the other runs of their groups, in the order of the file."""
        named = tuple(dict.fromkeys(run_ids))
        groups = {self.runs[run_id].group for run_id in named} - {None}
        return (*named, *(i for i, run in self.runs.items() if i not in named and run.group in groups))
