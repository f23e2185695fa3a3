"""Figure specifications: what a figure shows, as data. Plotters lay it out and compute nothing but layout.

Every figure carries the words that stand around it: a short title, a caption that says what to see, a reading aid that says
how the figure is made, and an alternative text that is a full sentence with the numbers. Texts are already formatted
(`run.format`); values are plain numbers, and a missing one is None.

`role` ties a run to its look in every figure of a report: 0 is the baseline (grey, solid), k is the k-th variant (a colour
with a dash pattern and a marker of its own). The only run of a profile may take role 1 to get a colour.

A new kind of figure is a subclass of `FigureSpec` here and a drawing function in `plotters.draw.DRAWINGS`.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpec:
    """What all figures have.

    Args:
        id: Anchor and file name, unique within a report ("throughput").
        title: A few words ("Throughput by step").
        caption: What to see, as a sentence ("The variant is above the baseline in every step of the window.").
        how_to_read: How the figure is made, for a reader who doubts it.
        alt: The figure told in full sentences, with the numbers.
    """

    kind: ClassVar[str] = ""

    id: str
    title: str
    caption: str
    how_to_read: str
    alt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputSeries:
    """One run's throughput by step.

    Args:
        label: The run's label.
        role: 0 for the baseline, k for the k-th variant.
        steps: Step numbers, ascending.
        values: Throughput of each step in the figure's unit, None where it is not known. Same length as `steps`.
        kept: Whether the step is in the window. Same length as `steps`.
        exclusions: (step, cause) of every step left out by rule; the step may be missing from `steps`.
        window: First and last step of the window, None when the run has no steady state.
        mean: Throughput over the window, None when it has none.
        ci_low: Lower end of the interval of `mean`.
        ci_high: Upper end of the interval of `mean`.
        mean_text: The mean with its interval and unit as text, or why there is none ("no steady state").
    """

    label: str
    role: int
    steps: tuple[int, ...]
    values: Values
    kept: tuple[bool, ...]
    exclusions: tuple[tuple[int, str], ...] = ()
    window: tuple[int, int] | None = None
    mean: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    mean_text: str = ""

    def __post_init__(self) -> None:
        _same_length("steps, values and kept", self.steps, self.values, self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputFigure(FigureSpec):
    """Throughput over steps: what is in the window as a line, what is left out as hollow markers by cause.

    Args:
        series: One a run, baseline first.
        unit: Unit of the values ("tokens/s per device").
        x_label: What a step is ("step (one sync cycle of 512 prompts)").
        y_label: What is drawn, without unit ("throughput"); empty when the unit says it.
        confidence: Of the intervals of the means.
    """

    kind: ClassVar[str] = "throughput"

    series: tuple[ThroughputSeries, ...]
    unit: str
    x_label: str = "step"
    y_label: str = ""
    confidence: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """One estimate with its interval; what is not known is None and the text says so.

    Args:
        label: What is estimated ("tokens/s per device"), or the run's label.
        role: The run whose look the row takes.
        estimate: The value.
        ci_low: Lower end of its interval.
        ci_high: Upper end of its interval.
        text: Value and interval as text, with the unit where the axis does not give it. Two spaces or more part it into
            two columns ("1.25×  1.24 to 1.26"), which are aligned over all rows.
        headline: Whether this is the row that the verdict is about.
    """

    label: str
    role: int
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    text: str
    headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioFigure(FigureSpec):
    """Ratios to the baseline with their intervals, against 1 and the band of differences that do not matter.

    Args:
        rows: One a metric or a variant, in the order in which they are read.
        margin: Ratios between which a difference does not matter, as (0.95, 1.05).
        margin_text: The band in words ("differences that do not matter: ±5 %").
        x_label: The axis in words ("ratio to baseline, with 95 % interval").
        lower_text: What a ratio below 1 means ("slower"); empty when direction has no meaning.
        higher_text: What a ratio above 1 means ("faster").
    """

    kind: ClassVar[str] = "ratio"

    rows: tuple[IntervalRow, ...]
    margin: tuple[float, float] | None = None
    margin_text: str = ""
    x_label: str = "ratio to baseline, with 95 % interval"
    lower_text: str = "slower"
    higher_text: str = "faster"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFigure(FigureSpec):
    """Estimates of several runs with their intervals on one axis.

    Args:
        rows: One a run, in the order in which they are read.
        x_label: The axis in words, with the unit ("tokens/s per device, with 95 % interval").
        reference: A value to compare with, drawn as a line (the baseline's estimate).
        reference_text: The reference in words ("baseline").
    """

    kind: ClassVar[str] = "interval"

    rows: tuple[IntervalRow, ...]
    x_label: str
    reference: float | None = None
    reference_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSplitPart:
    """One phase of a bar.

    Args:
        label: The phase in words ("weight sync").
        key: The phase's short name ("weight_sync", as `run.metrics.phase_key` gives it), which decides colour and hatch.
        fraction: Share of the step time, None where unknown.
        seconds: Mean seconds a step, None where unknown.
    """

    label: str
    key: str
    fraction: float | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSplitBar:
    """One run's step time by phase, in the order of drawing. `total_text` stands after the bar ("27.3 s a step")."""

    label: str
    role: int
    parts: tuple[TimeSplitPart, ...]
    total_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSplitFigure(FigureSpec):
    """Where the step time goes: a stacked bar a run, waiting hatched.

    Args:
        bars: One a run, baseline first.
        basis: "fraction" makes every bar as long as its shares (100 %); "seconds" as long as its seconds, so that runs
            whose steps do the same work compare by length.
        x_label: The axis in words, with the unit.
    """

    kind: ClassVar[str] = "time-split"

    bars: tuple[TimeSplitBar, ...]
    basis: Literal["fraction", "seconds"] = "fraction"
    x_label: str = "share of step time (%)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSeries:
    """One run's curve in a panel.

    Args:
        label: The run's label.
        role: 0 for the baseline, k for the k-th variant.
        x: Ascending positions in the panel's x unit.
        y: Values, None where missing. Same length as `x`.
        smoothed: The same curve smoothed for the eye, None for none; then `y` is drawn faint. Same length as `x`.
        points_only: Draw markers without a line, for rare measurements such as validation.
    """

    label: str
    role: int
    x: Values
    y: Values
    smoothed: Values | None = None
    points_only: bool = False

    def __post_init__(self) -> None:
        _same_length("x and y", self.x, self.y)
        if self.smoothed is not None:
            _same_length("x and smoothed", self.x, self.smoothed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePanel:
    """One pair of axes.

    Args:
        x_label: What the x axis shows, with its unit ("device-hours").
        y_label: What the y axis shows, with its unit ("response length, mean (tokens)").
        series: One a run, baseline first.
        title: What to see in this panel; may be empty.
        unit: Unit of the values alone ("tokens"), for values told beside the axis; empty for plain numbers.
    """

    x_label: str
    y_label: str
    series: tuple[CurveSeries, ...]
    title: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFigure(FigureSpec):
    """Curves in one to four panels: quality against samples and against time, response length over steps.

    Panels of one row that share their `y_label` share their axis.
    """

    kind: ClassVar[str] = "curve"

    panels: tuple[CurvePanel, ...]

    def __post_init__(self) -> None:
        if not self.panels:
            raise ValueError("a curve figure needs at least one panel")


def figure_json(figure: FigureSpec) -> dict[str, Any]:
    """The specification as JSON data: its kind, then its fields by name; what is not finite is null."""
    return {"kind": figure.kind, **{field.name: _json(getattr(figure, field.name)) for field in dataclasses.fields(figure)}}


def figure_texts(figure: FigureSpec) -> tuple[str, ...]:
    """Every text that a plotter may draw for this figure, in a fixed order: all of its strings but those around it."""
    around = {field.name for field in dataclasses.fields(FigureSpec)}
    found: list[str] = []
    for name in [field.name for field in dataclasses.fields(figure) if field.name not in around]:
        found.extend(_strings(getattr(figure, name)))
    return tuple(dict.fromkeys(found))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _strings(item)]
    if dataclasses.is_dataclass(value):
        return [text for field in dataclasses.fields(value) for text in _strings(getattr(value, field.name))]
    return []


def _json(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def _same_length(names: str, *columns: tuple[Any, ...]) -> None:
    if len({len(column) for column in columns}) > 1:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"{names} must have the same length, not {sizes}")
