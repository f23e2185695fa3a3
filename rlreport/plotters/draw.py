"""Specification in, bytes out: the one entry of the plotters.

The same specification gives the same bytes, in this process or another: no clock, no random ids, matplotlib's own settings
only. What differs between machines is the font that is installed (`plotters.fonts`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rlreport.plotters.bubbles import draw_device_time
from rlreport.plotters.curves import draw_curves
from rlreport.plotters.dose import draw_doses
from rlreport.plotters.fonts import clean, missing_characters
from rlreport.plotters.forest import draw_interval, draw_ratio
from rlreport.plotters.horizon import draw_horizon
from rlreport.plotters.ladder import draw_ladder
from rlreport.plotters.lengths import draw_ecdf, draw_shares
from rlreport.plotters.queue import draw_lead
from rlreport.plotters.style import PAPER, house_style
from rlreport.plotters.summary import draw_speed_up
from rlreport.plotters.svg import finish_svg
from rlreport.plotters.throughput import draw_throughput
from rlreport.plotters.timeline import draw_lanes, draw_occupancy
from rlreport.plotters.timesplit import draw_time_split
from rlreport.report.figures import (
    CurveFigure,
    FigureSpec,
    IntervalFigure,
    RatioFigure,
    ThroughputFigure,
    TimeSplitFigure,
    figure_texts,
)
from rlreport.report.figures_horizon import HorizonFigure
from rlreport.report.figures_series import DoseFigure, LadderFigure
from rlreport.report.figures_summary import SpeedUpFigure
from rlreport.report.figures_timeline import (
    DeviceFigure,
    EcdfFigure,
    LaneFigure,
    LeadFigure,
    OccupancyFigure,
    SharesFigure,
)
from rlreport.run.diagnostics import Notice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What draws which specification. A new kind of figure is a new row.
DRAWINGS: dict[type[FigureSpec], Callable[[Any], Figure]] = {
    ThroughputFigure: draw_throughput,
    RatioFigure: draw_ratio,
    IntervalFigure: draw_interval,
    TimeSplitFigure: draw_time_split,
    CurveFigure: draw_curves,
    LadderFigure: draw_ladder,
    DoseFigure: draw_doses,
    SpeedUpFigure: draw_speed_up,
    HorizonFigure: draw_horizon,
    LaneFigure: draw_lanes,
    OccupancyFigure: draw_occupancy,
    DeviceFigure: draw_device_time,
    LeadFigure: draw_lead,
    EcdfFigure: draw_ecdf,
    SharesFigure: draw_shares,
}

_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def draw(spec: FigureSpec, *, format: Literal["svg", "png"], dpi: float = 150) -> bytes:
    """Draw a figure.

    SVG has a transparent ground (pages put a white card behind it), its text as paths, no reference to anything outside, and
    the figure's title and alternative text inside. PNG has a white ground, because it is for pages that give no card.

    Args:
        spec: What to draw.
        format: "svg" or "png".
        dpi: Pixels an inch of a PNG; the figure is 7.4 inches wide.

    Returns:
        The file's bytes, the same for the same specification and fonts.

    Raises:
        TypeError: The specification is of no kind that is drawn here.
    """
    drawing = DRAWINGS.get(type(spec))
    if drawing is None:
        raise TypeError(f"no drawing is registered for {type(spec).__name__}")
    out = io.BytesIO()
    with house_style():
        figure = drawing(spec)
        if format == "png":
            figure.savefig(out, format="png", dpi=dpi, facecolor=PAPER, metadata={"Software": None})
            return out.getvalue()
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return finish_svg(out.getvalue().decode("utf-8"), clean(spec.title), clean(spec.alt)).encode("utf-8")


def drawing_notices(specs: Sequence[FigureSpec]) -> tuple[Notice, ...]:
    """What a reader must know of the drawings: characters that no installed font has (RR501), told once for all figures."""
    texts = [text for spec in specs for text in figure_texts(spec)]
    missing = "".join(dict.fromkeys(c for text in texts for c in missing_characters(text)))
    if not missing:
        return ()
    message = (
        f"no installed font has {len(missing)} of the characters ({missing[:12]}): a replacement sign stands in the "
        "figures, and the PDF may show boxes; install a font that has them, such as Noto Sans CJK or WenQuanYi Micro Hei"
    )
    return (Notice("RR501", message),)
