"""The results of comparison: numbers with their uncertainty and their warnings, and nothing that draws or formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rlreport.comparators.change_results import InvariantFinding, RuleFinding, WaiverUse
from rlreport.run.diagnostics import Notice
from rlreport.run.estimate import Estimate
from rlreport.run.knobs import KnobClass

SteadyClass = Literal["flat", "warm-up", "slowdown", "drifting", "none"]
ChangeVerdict = Literal["identical", "single", "coupled", "undeclared", "confounded", "unknown"]
ThroughputVerdict = Literal[
    "improved",
    "regressed",
    "within-noise",
    "equivalent",
    "inconclusive",
    "insufficient-data",
    "no-steady-state",
    "not-comparable",
]
QualityVerdict = Literal["better", "worse", "equivalent", "inconclusive", "insufficient-data", "not-comparable"]


class _Absent:
    """The marker of a key that one side does not have."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A step left out of the window: the cause is one of the words below, `detail` says what was seen.

    Causes: "warm-up", "validation", "checkpoint", "restart", "partial", "stall", "no step time", "outside window".
    """

    step: int
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """The change of throughput over the kept window, as a fraction of its mean, with a 95 % interval."""

    fraction: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The window in which a run is compared.

    `kept` are the steps used, ascending; `excluded` every other logged step with its cause. `declared` says that the
    manifest gave the window. `n_effective` is the effective sample size of the throughput within the window.
    """

    steady_class: SteadyClass
    first_step: int | None
    last_step: int | None
    kept: tuple[int, ...]
    n_effective: float | None
    excluded: tuple[Exclusion, ...]
    drift: Drift | None = None
    declared: bool = False
    notices: tuple[Notice, ...] = ()

    @property
    def n(self) -> int:
        """The number of steps used."""
        return len(self.kept)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Throughput of one run over its window: ratios of sums, with intervals by effective sample size."""

    tokens_per_s: Estimate
    tokens_per_s_per_device: Estimate
    prompts_per_s: Estimate
    steps_per_h: Estimate


@dataclass(frozen=True, slots=True)
class RatioComparison:
    """Variant over baseline for one throughput metric, on the log scale.

    `minimum_detectable_ratio` is the smallest ratio above 1 that these two series could have shown with 80 % power at the
    5 % level. `verdict` is about this metric; `margin` is the fraction that matters (0.05 is 5 %). `p_value` is that of the
    ratio being 1, before any adjustment for several comparisons.
    """

    metric: str
    baseline: Estimate
    variant: Estimate
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    confidence: float
    margin: float
    verdict: ThroughputVerdict
    minimum_detectable_ratio: float | None
    n_baseline: int
    n_variant: int
    n_effective_baseline: float | None
    n_effective_variant: float | None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class ThroughputComparison:
    """The headline ratio and the others beside it (total, per device, prompts, length-adjusted), with warnings."""

    headline: RatioComparison
    others: tuple[RatioComparison, ...]
    window_baseline: SteadyState
    window_variant: SteadyState
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class KnobDifference:
    """One configuration key whose value differs. A side that does not have the key holds the marker `ABSENT`."""

    key: str
    label: str
    knob_class: KnobClass
    baseline: Any
    variant: Any
    declared: bool
    coupled_by: str | None = None
    baseline_origin: str | None = None
    variant_origin: str | None = None
    waived: str | None = None


@dataclass(frozen=True, slots=True)
class FoldedKeys:
    """Differing keys that exist for one alternative only (a training backend), folded into one line."""

    title: str
    knob_class: KnobClass
    cause: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two runs, by class, and whether that is what was declared.

    `short_list` are the differences a reader must see, most important first; `differences` all that are not folded and not
    of class identity; `identity` those that do not matter; `n_equal` counts equal keys. `blocking` lists in words why the
    runs may not be compared (empty when they may). `partial` says that a side's
    configuration is known in part only. `rules`, `waivers` and `invariants` say how each of them stands; `not_known` names
    what no source tells of one side or both, so that a difference would not be seen. `tolerated` says that the preset lets
    an undeclared or confounded verdict pass a gate.
    """

    verdict: ChangeVerdict
    classes: tuple[KnobClass, ...]
    differences: tuple[KnobDifference, ...]
    short_list: tuple[KnobDifference, ...]
    folded: tuple[FoldedKeys, ...]
    identity: tuple[KnobDifference, ...]
    n_equal: int
    n_differing: int
    blocking: tuple[str, ...] = ()
    partial: bool = False
    rules: tuple[RuleFinding, ...] = ()
    waivers: tuple[WaiverUse, ...] = ()
    invariants: tuple[InvariantFinding, ...] = ()
    not_known: tuple[str, ...] = ()
    tolerated: bool = False
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """Share of each phase in the window's step time: sum of the phase over sum of the step. `time.other_s` is the remainder.

    `seconds` holds the mean seconds a step of each phase. Phases that are not logged are absent, never 0.
    """

    fractions: Mapping[str, float]
    seconds: Mapping[str, float]
    step_s: float | None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class SideIdle:
    """Idle fraction of one side over the window; None where the data do not tell, and then `source` says why."""

    fraction: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Who waits for whom. `owner` is the side that idles more, where both are known or one is decisive."""

    trainer: SideIdle
    rollout: SideIdle
    owner: Literal["trainer", "rollout", "neither", "unknown"]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class QualityComparison:
    """One quality metric of variant minus baseline at equal steps or samples, with its margin and volatility ratio.

    `non_inferior` says whether the variant is shown to be not worse by more than the margin (the 95 % interval lies above
    -margin, a one-sided test at 2.5 %); None without a margin or interval, or where more is neither better nor worse.
    `volatility_low` and `volatility_high` are the interval of the volatility ratio.
    """

    metric: str
    baseline: Estimate
    variant: Estimate
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    margin: float | None
    verdict: QualityVerdict
    volatility_ratio: float | None
    notices: tuple[Notice, ...] = field(default=())
    p_value: float | None = None
    non_inferior: bool | None = None
    volatility_low: float | None = None
    volatility_high: float | None = None
