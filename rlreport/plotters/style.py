"""The look of all figures: colours, lines, markers, hatches, sizes and matplotlib's settings, in one place.

Run colours come from the palette of Okabe and Ito (Color Universal Design, 2008), restricted to those that reach a contrast
of 3:1 on white (WCAG 2.2, success criterion 1.4.11): lines drawn in them must be seen in print. Runs also differ by dash
pattern and marker, so that nobody needs the colour. Text is never drawn in a run's colour (text needs 4.5:1): a sample of
the line stands beside it instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rlreport.plotters.fonts import font_families

INK = "#1b1f24"
MUTED = "#57606a"
AXIS = "#848d97"  # mid-grey: readable on a white card and on a dark page
GRID = "#e4e8ec"
WASH = "#e9ecf0"
PAPER = "#ffffff"

WIDTH_IN = 7.4
TEXT_PT = 8.0
SMALL_PT = 7.5  # the smallest text; 7.1 pt when the figure is printed 7 inches wide

Dashes = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunStyle:
    """How a run looks in every figure: colour, dash pattern in line widths (empty is solid), filled marker."""

    colour: str
    dashes: Dashes
    marker: str


RUN_STYLES: tuple[RunStyle, ...] = (
    RunStyle("#4b5563", (), "o"),
    RunStyle("#0072b2", (7.0, 1.2), "s"),
    RunStyle("#d55e00", (3.2, 1.2), "^"),
    RunStyle("#009e73", (7.0, 1.4, 1.2, 1.4), "D"),
    RunStyle("#cc79a7", (1.4, 1.0), "v"),
    RunStyle("#000000", (4.0, 1.2, 1.2, 1.2, 1.2, 1.2), "P"),
)


def run_style(role: int) -> RunStyle:
    """The look of a role: 0 is the baseline. Beyond the table, variants take its colours again with other dash patterns."""
    if role < len(RUN_STYLES):
        return RUN_STYLES[role]
    variants = RUN_STYLES[1:]
    turn, place = divmod(role - 1, len(variants))
    shape = variants[(place + turn) % len(variants)]
    return RunStyle(variants[place].colour, shape.dashes, shape.marker)


@dataclass(frozen=True, slots=True)
class PhaseStyle:
    """How a part of time looks: its fill, and whether it is idle (hatched)."""

    colour: str
    idle: bool = False


#: One meaning a colour in every figure that shows time. Keys are `run.metrics.phase_key` names.
PHASE_STYLES: dict[str, PhaseStyle] = {
    "wait": PhaseStyle("#fdf1d6", idle=True),
    "generate": PhaseStyle("#7fb2d9"),
    "reward": PhaseStyle("#e69f00"),
    "old_log_prob": PhaseStyle("#8fce9f"),
    "ref": PhaseStyle("#3f9d7c"),
    "values": PhaseStyle("#0f6b58"),
    "advantage": PhaseStyle("#f4e285"),
    "update_actor": PhaseStyle("#334155"),
    "update_critic": PhaseStyle("#7d8fa8"),
    "weight_sync": PhaseStyle("#cc79a7"),
    "switch": PhaseStyle("#8e4585"),
    "checkpoint": PhaseStyle("#a5673f"),
    "validate": PhaseStyle("#de6754"),
    "other": PhaseStyle("#d3d8de"),
}

_UNNAMED_PHASES: tuple[str, ...] = ("#5f7f00", "#b9a6e0", "#e8b7a0", "#6a5acd", "#9fb8ad")


def phase_style(key: str, unnamed: int = 0) -> PhaseStyle:
    """The look of a phase; `unnamed` counts the phases before it in the figure that have no row of their own."""
    return PHASE_STYLES.get(key) or PhaseStyle(_UNNAMED_PHASES[unnamed % len(_UNNAMED_PHASES)])


#: Waiting for samples, in every figure of time; its fill is that of the phase `wait`.
WAIT_HATCH = "\\\\\\\\\\"
WAIT_HATCH_COLOUR = "#a87b12"
#: Bars whose difference cannot be laid to one change.
IDLE_HATCH = "/////"
IDLE_HATCH_COLOUR = "#8b949e"
#: Words on a ground of their own leave at least this share of a hatched area uncovered.
LEAST_HATCHED = 0.4

#: Hollow markers of steps left out, by cause (`comparators.results.Exclusion`), in the order of a legend.
CAUSE_MARKERS: dict[str, str] = {
    "warm-up": "o",
    "validation": "^",
    "checkpoint": "s",
    "restart": "D",
    "stall": "p",
    "partial": "v",
    "no step time": "<",
    "outside window": "x",
}
UNKNOWN_CAUSE_MARKER = "h"


def leaves_hatch(words: float, area: float) -> bool:
    """Whether words that cover so much of a hatched area leave enough of its hatch to be seen; both in the same unit."""
    return words <= (1 - LEAST_HATCHED) * area


def luminance(colour: str) -> float:
    """Relative luminance of a "#rrggbb" colour, 0 to 1 (WCAG 2.2, definition of relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, definition of contrast ratio)."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def text_on(fill: str) -> str:
    """The text colour that reads better on a fill: white or ink."""
    return max((PAPER, INK), key=lambda text: contrast(text, fill))


def is_pale(fill: str) -> bool:
    """Whether a fill is too near to white to be seen as an area, so that it needs an outline."""
    return contrast(fill, PAPER) < 1.6


def _settings() -> dict[Any, Any]:
    return {
        "font.family": list(font_families()),
        "font.size": TEXT_PT,
        "text.color": INK,
        "text.hinting": "none",  # widths as measured, in PNG too
        "text.parse_math": False,  # a "$" in a run's name is a "$"
        "axes.edgecolor": AXIS,
        "axes.linewidth": 0.7,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "axes.unicode_minus": True,
        "figure.facecolor": "none",
        "hatch.linewidth": 0.55,
        "path.simplify": True,
        # Text becomes paths. In a page the figure is an <img> with a data URI, which cannot use the page's fonts and takes
        # whatever the reader's machine has: the layout here is measured, labels stand beside each other within points, and
        # with another font they would overlap or be cut. Paths also print the same everywhere, and carry glyphs of fonts
        # (Chinese) that the reader may not have. The price is some 20 kB a figure; the words are in the alternative text.
        "svg.fonttype": "path",
        "svg.hashsalt": "rlreport",
        "savefig.bbox": None,
        "savefig.pad_inches": 0.0,
    }


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's settings within the block: its defaults and ours, whatever a matplotlibrc says; restored afterwards.

    Within it matplotlib does not log about fonts. All families are installed ones; what is left to log is that one of them
    has no bold face and is used as it is, which is meant.
    """
    import matplotlib

    logger = logging.getLogger("matplotlib.font_manager")
    logger.addFilter(_nothing)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_settings())
            yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(_record: logging.LogRecord) -> bool:
    return False
