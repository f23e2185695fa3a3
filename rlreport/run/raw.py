"""What collectors give: the bytes of a source turned into raw tables, before a dialect gives the names a meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rlreport.run.diagnostics import Notice
from rlreport.run.samples import SampleTable
from rlreport.run.spans import Gauge, SpanTable
from rlreport.run.summary import Summary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A configuration value (scalar, or list of scalars) and where it was read, as "file:line" or "manifest"."""

    value: Any
    origin: str


@dataclass(slots=True)
class StepRow:
    """One logged line: a step number and its raw scalars. Several rows may share a step.

    `attempt` counts restarts within the source from 0; `truncated` says that the line was cut, so values after the cut are
    missing; `wall_s` is Unix time in seconds when the source has an absolute clock.
    """

    step: int
    values: dict[str, float]
    line: int | None = None
    attempt: int = 0
    truncated: bool = False
    wall_s: float | None = None


@dataclass(slots=True)
class SourceFacts:
    """What a source tells beyond its rows. Every field keeps None (or empty) when the source does not tell.

    `first_error` is the first line that names an error with its line number; `progress` the last state of the framework's
    progress bar as (done, total); `elapsed_s` maps a step to the progress bar's elapsed seconds; `exit_code` a recorded
    process exit code; `resumed_from` the steps at which the source says it resumed; `final_validation` that the framework's
    closing validation was printed; `started_at` an ISO date or time of the first dated line; `hints` are marker strings by
    which a dialect recognises its framework and mode, as {"actor:TaskRunnerV1", "main:verl.trainer.main_ppo"}.
    """

    tracebacks: int = 0
    first_error: tuple[int, str] | None = None
    progress: tuple[int, int] | None = None
    elapsed_s: dict[int, float] = field(default_factory=dict)
    exit_code: int | None = None
    resumed_from: list[int] = field(default_factory=list)
    final_validation: bool = False
    started_at: str | None = None
    hints: set[str] = field(default_factory=set)


@dataclass(slots=True)
class SourceTable:
    """One source as read: its rows in file order, its configuration (flattened to dotted keys), facts and notices.

    `summaries` are results without steps, of all runs that a table of results holds.
    """

    path: str
    format: str
    rows: list[StepRow] = field(default_factory=list)
    config: dict[str, ConfigValue] = field(default_factory=dict)
    facts: SourceFacts = field(default_factory=SourceFacts)
    notices: list[Notice] = field(default_factory=list)
    size_bytes: int = 0
    sha256: str = ""
    spans: SpanTable | None = None
    gauges: list[Gauge] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    samples: list[SampleTable] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RawRun:
    """All sources of one run, merged by step with a stated precedence.

    `frame` has one row a step (integer index named "step", ascending, unique) and one float column a raw key; NaN is a
    missing or non-finite value. `key_origin` maps a raw key to the path of the source that most of its values came from.
    `partial_steps` maps a step whose line was cut to the reason. `restarts` are the first steps after each resume.
    `wall_s` holds Unix seconds (or seconds since the run's start, when only a progress bar tells) by step, maybe empty.
    """

    frame: pd.DataFrame
    config: Mapping[str, ConfigValue]
    facts: SourceFacts
    sources: tuple[SourceTable, ...]
    key_origin: Mapping[str, str]
    partial_steps: Mapping[int, str]
    restarts: tuple[int, ...]
    wall_s: Mapping[int, float]
    notices: tuple[Notice, ...]
