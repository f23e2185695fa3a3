"""Figure specifications of ladders and sweeps: what reports hold, and what no report should be broken by."""

from __future__ import annotations

import math
from typing import Any

from rlreport.report.figures import FigureSpec
from rlreport.report.figures_series import DoseFigure, DosePanel, DosePoint, LadderFigure, LadderRung
from support.figure_specs import LONG_LABELS, words


def rung(
    number: int, ratio: float | None, start: float | None, half: float | None = 0.02, *, label: str = "", **more: Any
) -> LadderRung:
    """A rung with a symmetric interval; the first one has none."""
    known = ratio is not None and half is not None and number > 1
    text = "no steady state" if ratio is None else f"{ratio:.2f}×  {ratio - (half or 0):.2f} to {ratio + (half or 0):.2f}"
    fields: dict[str, Any] = {
        "label": label or f"{number}. run {number}",
        "role": number - 1,
        "detail": () if number == 1 else ("Trainer nodes 1 → 2", "batches generated ahead 1 → 2"),
        "start": start,
        "ratio": ratio,
        "ci_low": ratio - half if known else None,  # type: ignore[operator]
        "ci_high": ratio + half if known else None,  # type: ignore[operator]
        "total_text": "1" if number == 1 else text,
        "step_text": "" if number == 1 else text,
    }
    return LadderRung(**{**fields, **more})


def ladder(*rungs: LadderRung, **more: Any) -> LadderFigure:
    """A ladder with a margin of 5 %."""
    texts = {"margin": (1 / 1.05, 1.05), "margin_text": "differences that do not matter: ±5 %", "hatched_text": "unclear"}
    return LadderFigure(**words("ladder"), rungs=rungs, **(texts | more))


def panel(title: str, *estimates: float | None, half: float | None = 0.5, **more: Any) -> DosePanel:
    """A panel whose points have symmetric intervals."""
    points = tuple(
        DosePoint(
            role=place,
            dose=place,
            estimate=value,
            ci_low=None if value is None or half is None else value - half,
            ci_high=None if value is None or half is None else value + half,
        )
        for place, value in enumerate(estimates)
    )
    return DosePanel(title=title, points=points, **more)


def doses(*panels: DosePanel, texts: tuple[str, ...] = ("0.3", "0.5", "0.7"), **more: Any) -> DoseFigure:
    """Doses spaced evenly."""
    count = len(texts)
    positions = tuple(place / (count - 1) if count > 1 else 0.5 for place in range(count))
    fields: dict[str, Any] = {"positions": positions, "doses": texts, "x_label": "staleness threshold"}
    return DoseFigure(**words("doses"), panels=panels, **(fields | more))


def realistic_series() -> dict[str, FigureSpec]:
    """One figure of each kind as reports have them."""
    return {
        "ladder": ladder(
            rung(1, 1.0, None, label="1. r8t8"),
            rung(2, 1.2, 1.0, attributable=False, mark="two classes", label="2. r8t16, warm-up 2"),
            rung(3, 1.32, 1.2, label="3. r8t16, budget 30k", detail=("tokens of a micro-batch 10,240 → 30,720",)),
        ),
        "doses": doses(
            panel("tokens/s per device", 100.0, 120.0, 121.0, band=(121 / 1.05, 121.0)),
            panel("waiting, share of step time (%)", 20.0, 5.0, 5.0),
            panel("waiting, seconds a step", 25.0, 5.2, 5.1),
            panel("reward, step-to-step volatility", 0.01, 0.014, 0.02, half=0.003),
            panel("reward, difference to the first dose", 0.0, 0.001, 0.002, half=0.003),
            panel("validation accuracy, last evaluations", 0.47, 0.48, 0.49, half=0.03),
            candidate=1,
            candidate_text="candidate: 0.5, to be validated",
            band_text="not worse than the best by more than 5 %",
        ),
    }


def hostile_series() -> dict[str, FigureSpec]:
    """Figures that must be drawn all the same."""
    many = tuple(f"knob number {k} with a rather long name {10**k} → {10 ** (k + 1)}" for k in range(9))
    return {
        "long ladder": ladder(
            *(rung(k + 1, 1 + 0.07 * k, 1 + 0.07 * (k - 1), label=label, detail=many) for k, label in enumerate(LONG_LABELS))
        ),
        "nothing known": ladder(rung(1, 1.0, None), rung(2, None, 1.0, attributable=False, mark="change unknown")),
        "a gap": ladder(rung(1, 1.0, None), rung(2, None, 1.0), rung(3, 1.4, None)),
        "far apart": ladder(rung(1, 1.0, None), rung(2, 40.0, 1.0, half=39.9), rung(3, 0.004, 40.0, half=None)),
        "absurd": ladder(rung(1, 1.0, None), rung(2, math.inf, 1.0, half=None), rung(3, math.nan, math.inf, half=None)),
        "no rungs": ladder(),
        "no words": ladder(rung(1, 1.0, None), margin=None, margin_text="", x_label="", lower_text="", higher_text=""),
        "many doses": doses(
            panel("throughput " * 20, *(100.0 + 3 * k for k in range(9))),
            texts=tuple(f"{2**k * 1024:,} tokens" for k in range(9)),
            candidate=8,
            candidate_text="candidate " * 30,
            x_label="x" * 200,
        ),
        "one dose": doses(panel("a", 1.0), texts=("off",), candidate=0),
        "two panels": doses(panel("a", 1.0, 2.0, 3.0), panel("b", None, None, None)),
        "four panels": doses(*(panel(f"panel {k}", 1.0 + k, 2.0, None, half=None) for k in range(4))),
        "flat and wide": doses(panel("a", 5.0, 5.0, 5.0, half=None), panel("b", 5.0, 5.001, 5.0, half=900.0)),
        "zero and below": doses(panel("a", 0.0, 0.0, 0.0, half=None), panel("b", -2.0, 0.0, 1e-9, half=0.1)),
        "absurd doses": doses(
            panel("a", 1e300, math.inf, 3.0, half=None), panel("b", math.nan, 2.0, 1.0, band=(0.0, 1e300))
        ),
    }
