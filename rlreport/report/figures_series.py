"""Figure specifications of several runs in a row: the rungs of a ladder, and the responses to the doses of one knob."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlreport.report.figures import FigureSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """One rung of a ladder, drawn as a bar from where the rung before stands to where this one does.

    Args:
        label: The rung with its run's label ("2  r8t16, warm-up 2").
        role: The run whose look the rung takes, 0 for the first.
        detail: What moved, one line each ("Trainer nodes 1 → 2"); empty for the first rung.
        start: Throughput of the rung before over that of the first, None where it is not known.
        ratio: Throughput of this rung over that of the first, None where it is not known.
        ci_low: Lower end of the interval of `ratio`.
        ci_high: Upper end of the interval of `ratio`.
        total_text: `ratio` with its interval, in two columns parted by two spaces or more, or why there is none.
        step_text: The ratio to the rung before with its interval, or why there is none; empty for the first rung.
        attributable: Whether the step can be laid to one class of knobs; else its bar is hatched.
        mark: Why it cannot be, in a few words ("two classes"); empty where it can.
    """

    label: str
    role: int
    detail: tuple[str, ...]
    start: float | None
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    total_text: str
    step_text: str
    attributable: bool = True
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderFigure(FigureSpec):
    """The rungs of a ladder, first at the top: cumulative ratio with interval, step by step.

    Args:
        rungs: First to last.
        x_label: The axis in words ("ratio to rung 1, with 95 % interval").
        total_title: Head of the column of cumulative ratios.
        step_title: Head of the column of ratios to the rung before.
        margin: Ratios between which a difference does not matter.
        margin_text: The band in words.
        hatched_text: What a hatched bar means.
        lower_text: What a ratio below 1 means.
        higher_text: What a ratio above 1 means.
    """

    kind: ClassVar[str] = "ladder"

    rungs: tuple[LadderRung, ...]
    x_label: str = "ratio to rung 1, with 95 % interval"
    total_title: str = "to rung 1"
    step_title: str = "to the rung before"
    margin: tuple[float, float] | None = None
    margin_text: str = ""
    hatched_text: str = ""
    lower_text: str = "lower"
    higher_text: str = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class DosePoint:
    """One dose in one panel: the run's look, the place of the dose (index in the figure's doses), value and interval."""

    role: int
    dose: int
    estimate: float | None
    ci_low: float | None = None
    ci_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DosePanel:
    """One response.

    Args:
        title: What is shown, with its unit ("waiting, seconds a step").
        points: One a dose, in the order of doses.
        band: Values that do not differ from the best by more than what matters, drawn as a band; None for none.
    """

    title: str
    points: tuple[DosePoint, ...]
    band: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoseFigure(FigureSpec):
    """Small multiples over the doses of one knob; all panels share the x axis.

    Args:
        panels: The responses, in the order in which they are read.
        positions: Where each dose stands along the axis, 0 to 1, ascending.
        doses: The doses as texts, in the same order.
        x_label: The knob in words.
        candidate: Index of the candidate in `doses`, None for none.
        candidate_text: What the marked dose is.
        band_text: What the band means; empty for none.
    """

    kind: ClassVar[str] = "dose"

    panels: tuple[DosePanel, ...]
    positions: tuple[float, ...]
    doses: tuple[str, ...]
    x_label: str
    candidate: int | None = None
    candidate_text: str = ""
    band_text: str = ""

    def __post_init__(self) -> None:
        if not self.panels:
            raise ValueError("a dose figure needs at least one panel")
        if len(self.positions) != len(self.doses):
            raise ValueError(f"positions and doses must have the same length, not {len(self.positions)}, {len(self.doses)}")
        if self.candidate is not None and not 0 <= self.candidate < len(self.doses):
            raise ValueError(f"the candidate {self.candidate} is no index of {len(self.doses)} doses")
