"""The figure of published speed-ups: by window and from the start, points without intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlreport.report.figures import FigureSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpPoint:
    """One published speed-up over the steps `from_step` to `to_step`; `ratio` is None where it is not known."""

    from_step: int
    to_step: int
    ratio: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpSeries:
    """One pair's speed-ups.

    Args:
        label: The variant's label.
        role: k for the k-th variant.
        windows: Between two horizons, in their order.
        cumulative: From the first step on, by horizon.
    """

    label: str
    role: int
    windows: tuple[SpeedUpPoint, ...]
    cumulative: tuple[SpeedUpPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUpFigure(FigureSpec):
    """Speed-ups by horizon in two panels of one height: by window as a step for its steps, from the start as points.

    Args:
        series: One a pair.
        note: What the points are, and that they have no interval; stands in the legend.
        x_label: What a step is.
        window_title: Title of the panel of windows.
        start_title: Title of the panel of cumulative speed-ups.
        y_label: What is drawn.
        reference_text: What a speed-up of 1 means.
    """

    kind: ClassVar[str] = "speed-up"

    series: tuple[SpeedUpSeries, ...]
    note: str
    x_label: str = "step"
    window_title: str = "in each window"
    start_title: str = "from the start to each horizon"
    y_label: str = "speed-up (baseline's time over the variant's)"
    reference_text: str = "as fast as the baseline"
