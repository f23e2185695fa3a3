"""From timelines to figures of device time, lead, lengths and staleness, with the words around them."""

from __future__ import annotations

from collections.abc import Sequence

from rlreport.comparators.bubble_results import AccountSide, SideAccount
from rlreport.comparators.lengths import MOST_VERSIONS, QUANTILES, StalenessDistribution, length_distributions
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_timeline import (
    IDLE_PREFIX,
    UNTOLD_STATE,
    DeviceBar,
    DeviceFigure,
    DevicePart,
    EcdfCurve,
    EcdfFigure,
    LeadFigure,
    LeadLine,
    SharesFigure,
    SharesSeries,
    State,
)
from rlreport.report.timeline_words import SIDE_WORDS, STATE_PLACES, ShownRun, idle_text, is_shared, sides_text, states_of
from rlreport.run import format as fmt
from rlreport.run.spans import IDLE_CAUSES

#: Work as one part of a bar: what is compared is idle time.
WORK_STATE = State(name="work", label="work")
_SECONDS_AN_HOUR = 3600.0


def device_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """Device time for 1,000 prompts by side and cause, so that runs compare; shares where prompts or devices are unknown."""
    if not runs:
        return None
    per_prompts = all(run.timeline.idle_for_1000_prompts() is not None for run in runs)
    largest = max((_total(run, per_prompts) for run in runs), default=0.0)
    scale, unit = (_SECONDS_AN_HOUR, "device-hours") if per_prompts and largest > 2 * _SECONDS_AN_HOUR else (1.0, "")
    words = unit or ("device-seconds" if per_prompts else "")
    bars: list[DeviceBar] = []
    for run in runs:
        for name in ("trainer", "rollout"):
            bar = _bar(run, name, per_prompts=per_prompts, scale=scale, unit=words)
            if bar is not None:
                bars.append(bar)
    if not any(bar.parts for bar in bars):
        return None
    told = [
        f"{run.label}: {sides_text(run.timeline.window.trainer, run.timeline.window.rollout, run.causes)}" for run in runs
    ]
    label = f"{words} for 1,000 prompts" if per_prompts else "share of the side's device time (%)"
    return DeviceFigure(
        id="device-time",
        title="Device time by side and cause",
        caption=_device_caption(runs, per_prompts=per_prompts, scale=scale, unit=words),
        how_to_read=(
            "All device time from the begin of the first to the end of the last step of the window, excluded steps and what "
            "lies between steps included: work + idle = wall time x devices. Hatched: idle, by cause."
        ),
        alt=f"{label[0].upper()}{label[1:]}. {' '.join(told)}",
        bars=tuple(bars),
        states=(WORK_STATE, *states_of(runs)),
        x_label=label,
    )


def _total(run: ShownRun, per_prompts: bool) -> float:
    sides = [side for side in (run.timeline.window.trainer, run.timeline.window.rollout) if side is not None]
    factor = 1000 / run.timeline.prompts if per_prompts and run.timeline.prompts else 0.0
    return max((side.total_s * factor for side in sides), default=0.0)


def _bar(run: ShownRun, name: AccountSide, *, per_prompts: bool, scale: float, unit: str) -> DeviceBar | None:
    account = run.timeline.window.side(name)
    if account is None:
        if is_shared(run):
            return None
        return DeviceBar(group=run.label, role=run.role, label=SIDE_WORDS[name], parts=(), total_text="not known")
    factor = 1000 / (run.timeline.prompts or 1.0) / scale if per_prompts else 100 / (account.total_s or 1.0)
    values = [("work", account.busy_s, "work")]
    values += [(f"{IDLE_PREFIX}{c}", account.idle[c], run.causes[c]) for c in IDLE_CAUSES if account.idle.get(c)]
    if account.untold_s > 1e-3 * account.total_s:
        values.append((UNTOLD_STATE, account.untold_s, "not known"))
    parts = tuple(
        DevicePart(
            state=0 if state == "work" else STATE_PLACES[state] + 1,
            value=seconds * factor,
            text=f"{words} {fmt.number(seconds * factor)}",
        )
        for state, seconds, words in values
        if seconds > 0
    )
    total = f"{fmt.number(account.total_s * factor)} {unit}"
    idle = f"idle {idle_text(account)}"
    return DeviceBar(
        group=run.label,
        role=run.role,
        label=SIDE_WORDS[name],
        parts=parts,
        total_text=f"{total}, {idle}" if per_prompts else idle,
    )


def _device_caption(runs: Sequence[ShownRun], *, per_prompts: bool, scale: float, unit: str) -> str:
    """Where the most device time is lost; for two runs what the change did to it."""
    if per_prompts and len(runs) == 2:
        before, after = (_idle_total(run) / scale for run in runs)
        word = "falls" if after < before else "rises"
        return (
            f"From {runs[0].label} to {runs[1].label} idle time for 1,000 prompts {word} from {fmt.number(before)} to "
            f"{fmt.number(after)} {unit}."
        )
    words = []
    for run in runs:
        found = _largest(run)
        if found is not None:
            side, cause, share = found
            of = "its" if side == SIDE_WORDS["trainer"] else "their"
            prefix = f"{run.label}: t" if len(runs) > 1 else "T"
            words.append(f"{prefix}he largest idle part is {cause} of the {side}, {fmt.percent(share)} of {of} device time.")
    return " ".join(words)


def _idle_total(run: ShownRun) -> float:
    idle = run.timeline.idle_for_1000_prompts() or {}
    return sum(seconds for causes in idle.values() for seconds in causes.values())


def _largest(run: ShownRun) -> tuple[str, str, float] | None:
    sides: list[SideAccount] = [s for s in (run.timeline.window.trainer, run.timeline.window.rollout) if s is not None]
    found = [(side.idle[side.largest[0]], side) for side in sides if side.largest is not None]
    if not found:
        return None
    _, side = max(found, key=lambda item: item[0])
    assert side.largest is not None
    return SIDE_WORDS[side.side], run.causes[side.largest[0]], side.largest[1]


def lead_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """The lead over time of the runs whose queue is known; all by time or all by step."""
    leads = [(run, run.timeline.lead) for run in runs]
    known = [(run, lead) for run, lead in leads if lead is not None and not lead.while_waiting]
    if not known:
        return None
    by_step = any(lead.by_step for _, lead in known)
    shown = [(run, lead) for run, lead in known if lead.by_step == by_step]
    hours = not by_step and max(lead.points[-1][0] for _, lead in shown) > 3 * _SECONDS_AN_HOUR
    scale = _SECONDS_AN_HOUR if hours else 1.0
    lines = []
    for run, lead in shown:
        mean = lead.mean_when_asked
        note = f"on average {fmt.number(mean)} mini-batches when the Trainer asks" if mean is not None else ""
        if by_step and run.lead is not None and run.lead.mini_batches is not None:
            note = f"on average {fmt.number(run.lead.mini_batches)} mini-batches in the window"
        lines.append(
            LeadLine(
                label=run.label,
                role=run.role,
                x=tuple(x / (1.0 if by_step else scale) for x, _ in lead.points),
                y=tuple(y for _, y in lead.points),
                asked_x=tuple(x / scale for x, _ in lead.asked),
                asked_y=tuple(y for _, y in lead.asked),
                capacity=lead.capacity,
                note=note,
            )
        )
    told = [f"{line.label}: {line.note or _range_text(line)}." for line in lines]
    marks = "Marks: what the Trainer found when it asked. " if any(line.asked_y for line in lines) else ""
    dashes = "Dashed: the most that may wait." if any(line.capacity is not None for line in lines) else ""
    return LeadFigure(
        id="lead",
        title="The lead of the Rollouters",
        caption=" ".join(told),
        how_to_read=(
            f"Finished samples that wait for the Trainer, over the samples of a mini-batch. "
            f"Source: {'; '.join(sorted({lead.source for _, lead in shown}))}. {marks}{dashes}".rstrip()
        ),
        alt=f"The lead of the Rollouters in mini-batches. {' '.join(told)}",
        lines=tuple(lines),
        x_label="step" if by_step else f"{'hours' if hours else 'seconds'} from the begin of the trace",
    )


def _range_text(line: LeadLine) -> str:
    values = [value for value in line.y if value is not None]
    return f"{fmt.number(min(values))} to {fmt.number(max(values))} mini-batches wait" if values else "not known"


def length_ecdf_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """Response lengths of single samples, generated against trained; none without dumps."""
    curves: list[EcdfCurve] = []
    for run in runs:
        for found in length_distributions(run.samples):
            quantiles = ", ".join(
                f"{fmt.percent(q, 0)} {fmt.number(value)}" for q, value in zip(QUANTILES, found.quantiles, strict=True)
            )
            curves.append(
                EcdfCurve(
                    label=f"{run.label}, {found.kind}",
                    role=run.role,
                    x=tuple(x for x, _ in found.points),
                    y=tuple(y for _, y in found.points),
                    thin=found.kind == "generated",
                    note=f"{quantiles} tokens (n = {fmt.count(found.n)})",
                )
            )
    if not curves:
        return None
    return EcdfFigure(
        id="length-distribution",
        title="Response lengths of single samples",
        caption=" ".join(f"{curve.label}: {curve.note}." for curve in curves),
        how_to_read=(
            "Share of responses up to a length, from rollout dumps. Thin: all that was generated; thick: what was trained. "
            "Where long responses are dropped or late, the thick line is left of the thin one."
            if any(curve.thin for curve in curves)
            else "Share of trained responses up to a length, from rollout dumps. They tell of no others that were generated."
        ),
        alt="Distribution of response lengths. " + " ".join(f"{curve.label}: {curve.note}." for curve in curves),
        curves=tuple(curves),
        x_label="response length (tokens)",
    )


def staleness_figure(found: Sequence[tuple[ShownRun, StalenessDistribution]]) -> FigureSpec | None:
    """How many versions behind what is trained is, a bar a run; runs that count the same unit only."""
    if not found:
        return None
    unit = found[0][1].unit
    same = [(run, shares) for run, shares in found if shares.unit == unit]
    longest = max(len(shares.shares) for _, shares in same)
    values = [str(n) if n < MOST_VERSIONS else f"{MOST_VERSIONS} and more" for n in range(longest)]
    series = tuple(
        SharesSeries(
            label=run.label,
            role=run.role,
            shares=(*shares.shares, *(0.0 for _ in range(longest - len(shares.shares)))),
            note=f"mean {fmt.number(shares.mean)} versions (n = {fmt.count(shares.n)})",
        )
        for run, shares in same
    )
    what = "trained samples" if unit == "samples" else "steps, by the mean of their samples"
    told = " ".join(
        f"{one.label}: {one.note}, {fmt.percent(one.shares[0] if one.shares else 0.0, 0)} fresh." for one in series
    )
    return SharesFigure(
        id="staleness-distribution",
        title="Staleness",
        caption=told,
        how_to_read=f"Share of {what}, by how many parameter versions the sampling policy was behind the Trainer.",
        alt=f"Staleness distribution. {told}",
        series=series,
        values=tuple(values),
        x_label="versions behind the Trainer",
        y_label=f"share of {what}",
    )
