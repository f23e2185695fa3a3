"""How states of devices look: a fill, and for idle time a hatch of its own, so that print and colour blindness lose nothing.

Work has the colours of `style.PHASE_STYLES`; idle time is pale and hatched, a direction and a tint a cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rlreport.plotters import style
from rlreport.report.figures_timeline import IDLE_PREFIX, UNTOLD_STATE

Hatch = Literal["", "/", "\\", "|", "-", "x", "+", ".", "o"]


@dataclass(frozen=True, slots=True)
class StateStyle:
    """The look of a state: fill, hatch and the hatch's colour; `pitch` is the distance of its lines, in 1/20 inch."""

    fill: str
    hatch: Hatch = ""
    ink: str = ""
    pitch: float = 1.0


#: Causes of idle time. The two that tell who waits for whom lean in opposite directions.
CAUSE_STYLES: dict[str, StateStyle] = {
    "quota": StateStyle("#eef0fb", "/", "#6b74b8"),
    "samples": StateStyle(style.PHASE_STYLES["wait"].colour, "\\", style.WAIT_HATCH_COLOUR),
    "queue_full": StateStyle("#edf1f5", "x", "#6b7a89", 1.3),
    "weight_sync": StateStyle("#efcadf", "|", "#a8487d", 0.9),
    "validation": StateStyle("#fbe3dd", "-", "#c0503d", 0.9),
    "checkpoint": StateStyle("#f3e5d8", "+", "#9a6238", 1.2),
    "long_tail": StateStyle("#e6f3ea", ".", "#2f7d52", 0.8),
    "switching": StateStyle("#efe4f1", "x", "#8a4a85", 1.1),
    "startup": StateStyle("#e9ecf0", ".", "#8b949e", 1.0),
    "unknown": StateStyle("#ffffff", "", ""),
}
#: Work that `style.PHASE_STYLES` has no row for.
_WORK = {
    "train": StateStyle("#4a5a70"),
    "work": StateStyle("#9aa5b1"),
    UNTOLD_STATE: StateStyle("#dfe3e8", "o", "#aab2bb", 1.4),
}
#: Parameter versions.
VERSION_COLOUR = "#e6b800"
VERSION_TEXT_COLOUR = "#6f5800"


def state_style(name: str, unnamed: int = 0) -> StateStyle:
    """The look of a state by its name; unknown ones are told apart by their order."""
    if name.startswith(IDLE_PREFIX):
        return CAUSE_STYLES.get(name.removeprefix(IDLE_PREFIX), CAUSE_STYLES["unknown"])
    return _WORK.get(name) or StateStyle(style.phase_style(name, unnamed).colour)


def is_outlined(look: StateStyle) -> bool:
    """Whether a state needs an outline to be seen on paper."""
    return style.is_pale(look.fill)
