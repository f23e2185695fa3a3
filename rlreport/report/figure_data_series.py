"""Figure specifications of ladders and sweeps, from their results: what each figure shows and the words around it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from rlreport.comparators.analysis import Analysis
from rlreport.comparators.ladder import Ladder, Rung
from rlreport.comparators.sweep import REWARD, Dose, Sweep
from rlreport.report.figure_data import roles
from rlreport.report.figures_series import DoseFigure, DosePanel, DosePoint, LadderFigure, LadderRung
from rlreport.report.series_words import (
    attribution_words,
    capital,
    dose_words,
    label_of,
    ratio_columns,
    ratio_words,
    rung_moves,
    rung_words,
    shape_words,
)
from rlreport.report.words import metric_words, shown_estimate
from rlreport.run import format as fmt
from rlreport.run.estimate import Estimate

#: Doses that lie closer than this share of the axis on a linear or logarithmic scale are spaced evenly instead.
_CLOSEST = 0.12


def ladder_figure(analysis: Analysis, ladder: Ladder) -> LadderFigure | None:
    """The rungs as bars from one to the next; None when no rung has a ratio to the first."""
    if not any(rung.cumulative is not None and rung.cumulative.ratio is not None for rung in ladder.rungs):
        return None
    rungs: list[LadderRung] = []
    before: float | None = 1.0
    for place, rung in enumerate(ladder.rungs):
        rungs.append(_figure_rung(analysis, rung, place, before))
        before = 1.0 if rung.cumulative is None else rung.cumulative.ratio
    margin = next(rung.ratio.margin for rung in ladder.changes if rung.ratio is not None)
    words = metric_words(ladder.metric) if ladder.metric else "throughput"
    told = [
        f"{rung.label}: {' '.join(rung.total_text.split())} of rung 1"
        + (f", {' '.join(rung.step_text.split())} of the rung before" if rung.step_text else "")
        + (f", {rung.mark}" if rung.mark else "")
        for rung in rungs[1:]
    ]
    return LadderFigure(
        id="ladder-rungs",
        title="The ladder, rung by rung",
        caption=_ladder_caption(ladder),
        how_to_read=(
            f"{capital(words)} of each rung over that of rung 1, measured over the window that both share, not multiplied. "
            "A bar reaches from the rung before to this one; the point carries the 95 % interval. Hatched: more than one "
            "cause, or an unknown one."
        ),
        alt=f"{capital(words)} of each rung. {'; '.join(told)}.",
        rungs=tuple(rungs),
        x_label=f"{words}, ratio to rung 1, with 95 % interval",
        margin=(1 / (1 + margin), 1 + margin),
        margin_text=f"differences that do not matter: ±{fmt.percent(margin, 0)}",
        hatched_text="cannot be laid to one class of knobs",
    )


def _figure_rung(analysis: Analysis, rung: Rung, place: int, before: float | None) -> LadderRung:
    total = rung.cumulative
    return LadderRung(
        label=f"{rung.number}. {label_of(analysis, rung.run_id)}",
        role=place,
        detail=rung_moves(rung),
        start=None if place == 0 else before,
        ratio=1.0 if place == 0 else None if total is None else total.ratio,
        ci_low=None if total is None else total.ci_low,
        ci_high=None if total is None else total.ci_high,
        total_text="1" if place == 0 else ratio_columns(total),
        step_text=ratio_columns(rung.ratio),
        attributable=rung.attributable,
        mark="" if attribution_words(rung) == ratio_columns(rung.ratio) else attribution_words(rung),
    )


def _ladder_caption(ladder: Ladder) -> str:
    total = ladder.total
    doubtful = [rung.number for rung in ladder.changes if not rung.attributable]
    told = "In total nothing is known." if total is None or total.ratio is None else f"In total {ratio_words(total)}."
    if doubtful:
        verb, who = ("is", "it") if len(doubtful) == 1 else ("are", "they")
        return f"{told} {capital(rung_words(doubtful))} {verb} marked: what {who} brought cannot be laid to one change."
    return f"{told} Every rung moves one class of knobs."


def dose_figure(analysis: Analysis, sweep: Sweep) -> DoseFigure | None:
    """Small multiples of all responses that any dose has; None when there is none."""
    words = metric_words(sweep.metric) if sweep.metric else "throughput"
    rates = [shown_estimate(sweep.metric or "", dose.throughput) for dose in sweep.doses]
    known = [rate.estimate for rate in rates if rate.estimate is not None]
    band = (max(known) / (1 + sweep.margin), max(known)) if known and sweep.best_id is not None else None
    look = roles(analysis)
    responses: tuple[tuple[str, list[Estimate]], ...] = (
        (words, rates),
        ("waiting, share of step time (%)", [_percent(dose.wait_share) for dose in sweep.doses]),
        ("waiting, seconds a step", [dose.wait_s for dose in sweep.doses]),
        ("reward, step-to-step volatility", [dose.volatility for dose in sweep.doses]),
        ("reward, difference to the first dose", [_to_first(sweep, dose) for dose in sweep.doses]),
        ("validation accuracy, last evaluations", [dose.accuracy for dose in sweep.doses]),
    )
    panels = tuple(
        DosePanel(title=title, points=_points(sweep, look, estimates), band=band if title == words else None)
        for title, estimates in responses
        if any(estimate.estimate is not None for estimate in estimates)
    )
    if not panels:
        return None
    candidate = next((place for place, dose in enumerate(sweep.doses) if dose.run_id == sweep.candidate_id), None)
    texts = [dose_words(dose) if sweep.knob.key is not None else label_of(analysis, dose.run_id) for dose in sweep.doses]
    positions, axis = _positions([dose.number if sweep.knob.ordered else None for dose in sweep.doses])
    margin = fmt.percent(sweep.margin, 0)
    return DoseFigure(
        id="doses",
        title="Responses to the dose",
        caption=_dose_caption(sweep),
        how_to_read=(
            f"Each point is one run over the window that all doses share{_window(sweep)}, with its 95 % interval; the line "
            f"only joins them. Doses stand {axis}. Volatility is the robust spread of the reward from step to step. The "
            "reward's difference to the first dose is taken at equal steps where steps correspond."
        ),
        alt=f"Responses to {sweep.knob.label or 'the runs'}. {_told(panels, texts)}",
        panels=panels,
        positions=positions,
        doses=tuple(texts),
        x_label=sweep.knob.label or "run",
        candidate=candidate,
        candidate_text="" if candidate is None else f"candidate: {texts[candidate]}, to be validated",
        band_text=f"not worse than the best by more than {margin}",
    )


def _dose_caption(sweep: Sweep) -> str:
    candidate = sweep.dose(sweep.candidate_id)
    if sweep.knob.problems:
        return "The runs differ in more than the dose: their responses are not those of one knob."
    told = f"Throughput {shape_words(sweep)}"
    return f"{told}; {dose_words(candidate)} is the candidate." if candidate is not None else f"{told}."


def _points(sweep: Sweep, look: dict[str, int], estimates: Sequence[Estimate]) -> tuple[DosePoint, ...]:
    return tuple(
        DosePoint(role=look[dose.run_id], dose=place, estimate=e.estimate, ci_low=e.ci_low, ci_high=e.ci_high)
        for place, (dose, e) in enumerate(zip(sweep.doses, estimates, strict=True))
    )


def _to_first(sweep: Sweep, dose: Dose) -> Estimate:
    """The mean reward minus that of the first dose at equal training; 0 for the first where others are compared with it."""
    found = [next((q for q in d.qualities if q.metric == REWARD and q.difference is not None), None) for d in sweep.doses]
    if dose is sweep.doses[0]:
        return Estimate(0.0 if any(found) else None, None, None, "")
    quality = found[sweep.doses.index(dose)]
    return Estimate.unknown("") if quality is None else Estimate(quality.difference, quality.ci_low, quality.ci_high, "")


def _percent(share: Estimate) -> Estimate:
    values = (share.estimate, share.ci_low, share.ci_high)
    middle, low, high = (None if value is None else 100 * value for value in values)
    return Estimate(middle, low, high, "%")


def _positions(numbers: Sequence[float | None]) -> tuple[tuple[float, ...], str]:
    """Where doses stand, 0 to 1, and how: at their values, at their logarithms, or evenly where these crowd them."""
    count = len(numbers)
    known = [number for number in numbers if number is not None]
    even = tuple(place / (count - 1) if count > 1 else 0.5 for place in range(count))
    if len(known) < count or count < 2:
        return even, "side by side"
    scales = [("at their values", known)]
    if min(known) > 0:
        scales.append(("on a logarithmic axis", [math.log(number) for number in known]))
    for axis, values in scales:
        span = values[-1] - values[0]
        if span > 0 and min(b - a for a, b in itertools.pairwise(values)) >= _CLOSEST * span:
            return tuple((value - values[0]) / span for value in values), axis
    return even, "evenly, not at their values"


def _window(sweep: Sweep) -> str:
    ends = {(dose.window.first_step, dose.window.last_step) for dose in sweep.doses}
    if len(ends) != 1:
        return ""
    ((first, last),) = ends
    return "" if first is None else f" (steps {first} to {last})"


def _told(panels: Sequence[DosePanel], texts: Sequence[str]) -> str:
    told = []
    for panel in panels:
        values = [
            f"{fmt.number(point.estimate)} at {texts[point.dose]}" for point in panel.points if point.estimate is not None
        ]
        told.append(f"{capital(panel.title)}: {', '.join(values)}.")
    return " ".join(told)
