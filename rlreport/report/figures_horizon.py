"""Figure specification of speed-up along training: part by part, and cumulatively."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlreport.report.figures import FigureSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonPart:
    """The ratio over one part of training, from place `begin` to place `end`; what is not known is None."""

    begin: float
    end: float
    ratio: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonTrack:
    """One variant against its baseline along training.

    Args:
        label: The variant's label.
        role: The run whose look the track takes.
        parts: The parts, ascending.
        places: Where the cumulative ratio is known, ascending.
        cumulative: The ratio from the start of training to each of these places. Same length as `places`.
        end_text: The ratio over all of the common training as text ("1.25× over all").
    """

    label: str
    role: int
    parts: tuple[HorizonPart, ...]
    places: tuple[float, ...]
    cumulative: tuple[float | None, ...]
    end_text: str = ""

    def __post_init__(self) -> None:
        if len(self.places) != len(self.cumulative):
            raise ValueError("places and cumulative must have the same length")


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonFigure(FigureSpec):
    """Ratios to the baseline along training: parts as bars with the band of their interval, cumulative as a line.

    Args:
        tracks: One a pair, in the order in which they are read.
        margin: Ratios between which a difference does not matter.
        margin_text: The band in words.
        x_label: What places count ("step", "thousand prompts trained").
        y_label: What the ratio is of, with its unit.
        part_text: What a bar is, for the legend ("50 steps, with 95 % interval").
        cumulative_text: What the line is, for the legend.
    """

    kind: ClassVar[str] = "horizon"

    tracks: tuple[HorizonTrack, ...]
    margin: tuple[float, float] | None
    margin_text: str
    x_label: str
    y_label: str
    part_text: str
    cumulative_text: str
