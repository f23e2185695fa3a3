"""The typed intermediate representation of one run: what comparators, findings and reports read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rlreport.run.diagnostics import Notice
from rlreport.run.knobs import NO_RULES, Knob, KnobRules
from rlreport.run.raw import ConfigValue
from rlreport.run.samples import SampleTable
from rlreport.run.spans import Gauge, SpanTable
from rlreport.run.summary import Summary

if TYPE_CHECKING:
    import pandas as pd

Mode = Literal["sync", "colocate_async", "separate_async", "one_step_off", "fully_async", "unknown"]
Status = Literal["completed", "crashed", "killed", "unknown"]

#: Modes in which Trainer and Rollouters run on different devices, so that one can wait for the other.
SEPARATED_MODES: frozenset[Mode] = frozenset({"separate_async", "one_step_off", "fully_async"})


@dataclass(frozen=True, slots=True)
class Devices:
    """Device counts by side; None where unknown.

    `hybrid` counts Trainer devices that can also generate (they are part of `trainer`). `total` is trainer + rollout.
    `implied` is the count that the framework's own throughput implies, tokens / (time x reported throughput); it is a check,
    not a source. `origin` says where each count came from ("manifest", "config trainer.nnodes x trainer.n_gpus_per_node").
    """

    trainer: int | None = None
    rollout: int | None = None
    hybrid: int | None = None
    total: int | None = None
    implied: float | None = None
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepSemantics:
    """What a step of this run is, as the dialect knows it for this framework, mode and version.

    `step_is` completes "a step is ..."; `contains` and `excludes` are canonical phases that `time.step_s` does and does not
    include, so that `time.validate_s` in `excludes` means validation happens outside of the step's time;
    `throughput_denominator` says which devices the framework's own throughput is divided by ("all devices",
    "Trainer devices only", "unknown"); `wait_is` says which raw key is waiting; `source` cites the file that says so.
    """

    step_is: str
    contains: tuple[str, ...]
    excludes: tuple[str, ...]
    throughput_denominator: str
    wait_is: str
    source: str


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """One source for the provenance table; steps are None when the source has none."""

    path: str
    format: str
    first_step: int | None
    last_step: int | None
    n_steps: int
    size_bytes: int
    sha256: str
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One training run, ready for comparison.

    `steps` has one row a step (integer index "step", ascending, unique) and the canonical metrics of `run.metrics` as float
    columns, NaN where missing; `raw` the same index with the framework's own keys. A step without `time.step_s` (a
    validation before training) stays in `steps`. `config` is the flattened configuration, `knobs` the keys of it that belong
    to a class and matter in this run. `spans` and
    `gauges` are what traces tell, a table a source; `hybrid_replicas` the replicas that share the Trainer's devices, None
    where that is not told. `partial_steps` maps a cut step to its reason; `restarts` are the first steps after
    each resume. `knob_rules` is what the dialect knows of the framework's configuration; comparisons read it. `started_at`
    is the ISO date or time of the first dated line of the sources. `summaries` are published results; a run that has nothing
    else has no steps. `samples` are single responses that rollout dumps tell.
    """

    run_id: str
    label: str
    framework: str
    framework_version: str | None
    mode: Mode
    status: Status
    status_reason: str
    devices: Devices
    semantics: StepSemantics
    steps: pd.DataFrame
    raw: pd.DataFrame
    config: Mapping[str, ConfigValue]
    knobs: Mapping[str, Knob]
    sources: tuple[SourceSummary, ...]
    partial_steps: Mapping[int, str]
    restarts: tuple[int, ...]
    notices: tuple[Notice, ...]
    group: str | None = None
    knob_rules: KnobRules = NO_RULES
    spans: tuple[SpanTable, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    hybrid_replicas: frozenset[int] | None = None
    started_at: str | None = None
    summaries: tuple[Summary, ...] = ()
    samples: tuple[SampleTable, ...] = ()

    @property
    def trained_steps(self) -> pd.DataFrame:
        """The rows that have a step time: real training steps, without a validation before training."""
        if "time.step_s" not in self.steps.columns:
            return self.steps.iloc[:0]
        return self.steps[self.steps["time.step_s"].notna()]

    def metric(self, name: str) -> pd.Series | None:
        """A canonical metric by step, or None when the run does not have it."""
        if name not in self.steps.columns:
            return None
        series: pd.Series = self.steps[name]
        return series

    def value(self, key: str) -> Any:
        """The configuration value of a dotted key, or None when it is not known."""
        found = self.config.get(key)
        return None if found is None else found.value


@dataclass(frozen=True, slots=True)
class RunDeclaration:
    """What the manifest says of a run: it overrides what the sources say, and every override is shown."""

    run_id: str
    label: str | None = None
    framework: str | None = None
    framework_version: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    trainer_devices: int | None = None
    rollout_devices: int | None = None
    hybrid_replicas: str | None = None
    group: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
