"""Figure specifications of timelines: lanes, occupancy, idle by cause, the lead, lengths, staleness.

A *state* is what devices do at a moment: an activity ("generate") or an idle cause with a prefix ("idle:quota"). Its name
decides fill and hatch; its label is what the legend says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlreport.report.figures import FigureSpec, Values

#: What stands before the cause in the name of an idle state.
IDLE_PREFIX = "idle:"
#: The state of devices of which nobody knows what they did.
UNTOLD_STATE = "untold"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state with its name, which decides the look, and its words."""

    name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """One row of a timeline: what some devices did one after the other.

    Args:
        label: The lane in words ("Trainer, 256 devices", "replica 17").
        group: Rows of one group stand close together ("trainer", "rollout").
        edges: Moments at which the state changes, ascending, one more than `states`.
        states: Indices of states in the figure's list, -1 for nothing.
        note: What stands to the right of the row ("idle 44 %"); may be empty.
    """

    label: str
    group: str
    edges: tuple[float, ...]
    states: tuple[int, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.states) + 1:
            raise ValueError(f"{len(self.states)} states need {len(self.states) + 1} edges, not {len(self.edges)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePanel:
    """One window of one run.

    Args:
        title: Run and window ("r48, median cycle: steps 41 to 43").
        detail: Who idles for what, as text below the title.
        rows: Top to bottom.
        begin: Left end of the axis.
        end: Right end.
        versions: (moment, text) of every parameter version that began.
    """

    title: str
    detail: str
    rows: tuple[LaneRow, ...]
    begin: float
    end: float
    versions: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFigure(FigureSpec):
    """Lanes over time in a few windows: work filled, idle hatched by cause, parameter versions as yellow lines.

    Args:
        panels: Top to bottom; all with seconds from their own zero.
        states: The states that rows refer to, in the order of the legend.
        x_label: The axis in words.
        version_text: What a yellow line is.
    """

    kind: ClassVar[str] = "lanes"

    panels: tuple[LanePanel, ...]
    states: tuple[State, ...]
    x_label: str = "seconds"
    version_text: str = "new parameter version"


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyStrip:
    """What the devices of one side did over time: the share of each state in each stretch of equal length.

    Args:
        label: The side in words ("Trainer, 256 devices").
        note: What stands to the right ("idle 12 %").
        shares: One tuple a stretch, one share a state of the figure, in its order.
    """

    label: str
    note: str
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyPanel:
    """One run.

    Args:
        title: The run.
        strips: Top to bottom.
        begin: Left end of its data on the figure's axis.
        end: Right end of its data.
        window: The steady window on the axis, None for none.
        window_text: The window in words.
    """

    title: str
    strips: tuple[OccupancyStrip, ...]
    begin: float
    end: float
    window: tuple[float, float] | None = None
    window_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyFigure(FigureSpec):
    """The whole of some runs at a glance: for each side the shares of what its devices did, stacked, over time.

    Args:
        panels: One a run, on one axis.
        states: In the order in which they are stacked, from below.
        x_label: The axis in words.
    """

    kind: ClassVar[str] = "occupancy"

    panels: tuple[OccupancyPanel, ...]
    states: tuple[State, ...]
    x_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePart:
    """One part of a bar: a state (index in the figure's list) and its length, with the text that says it."""

    state: int
    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBar:
    """The device time of one side of one run; `group` is the run's label, `role` its look, `total_text` stands behind."""

    group: str
    role: int
    label: str
    parts: tuple[DevicePart, ...]
    total_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFigure(FigureSpec):
    """Stacked bars of device time: work, then idle time by cause.

    Args:
        bars: Grouped by run, baseline first.
        states: The states of the parts, in the order of the legend.
        x_label: The axis in words, with the unit.
    """

    kind: ClassVar[str] = "device-time"

    bars: tuple[DeviceBar, ...]
    states: tuple[State, ...]
    x_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadLine:
    """One run's lead over time.

    Args:
        label: The run.
        role: Its look.
        x: Positions, ascending.
        y: Finished mini-batches that wait.
        asked_x: When the Trainer asked for samples.
        asked_y: What it found then.
        capacity: The most that may wait, None where it is not known.
        note: The mean in words.
    """

    label: str
    role: int
    x: Values
    y: Values
    asked_x: Values = ()
    asked_y: Values = ()
    capacity: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadFigure(FigureSpec):
    """The lead of the Rollouters over time, a panel a run on one scale; points mark when the Trainer asked."""

    kind: ClassVar[str] = "lead"

    lines: tuple[LeadLine, ...]
    x_label: str
    y_label: str = "mini-batches that wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class EcdfCurve:
    """One empirical distribution.

    Args:
        label: The run, and what was measured ("r48, trained").
        role: The run's look.
        x: Values, ascending.
        y: Share of samples up to each value, 0 to 1.
        thin: Drawn as a thin line: the one that the other is compared with.
        note: Quantiles in words.
    """

    label: str
    role: int
    x: Values
    y: Values
    thin: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EcdfFigure(FigureSpec):
    """Empirical distribution functions on one pair of axes, with lines at some quantiles."""

    kind: ClassVar[str] = "ecdf"

    curves: tuple[EcdfCurve, ...]
    x_label: str
    y_label: str = "share of responses up to this length"
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesSeries:
    """One run's distribution over a few whole numbers: shares, in the order of the figure's `values`."""

    label: str
    role: int
    shares: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesFigure(FigureSpec):
    """Bars of shares by a whole number (versions behind), a group a value, a bar a run."""

    kind: ClassVar[str] = "shares"

    series: tuple[SharesSeries, ...]
    values: tuple[str, ...]
    x_label: str
    y_label: str
