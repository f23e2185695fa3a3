"""From timelines to figures of lanes and occupancy: which windows, which lanes, which bins, and the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.bubble_paint import BUSY_STATES, IDLE_STATES, UNTOLD, Painted, is_idle, state_name
from rlreport.comparators.bubbles import PaintedSeat, account_stretches
from rlreport.comparators.timeline import Trace
from rlreport.comparators.windows_shown import ShownWindow, WindowKind
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_timeline import (
    IDLE_PREFIX,
    LaneFigure,
    LanePanel,
    LaneRow,
    OccupancyFigure,
    OccupancyPanel,
    OccupancyStrip,
)
from rlreport.report.timeline_words import (
    SIDE_WORDS,
    STATE_PLACES,
    STATES,
    ShownRun,
    devices_text,
    idle_text,
    sides_text,
    states_of,
)
from rlreport.run import format as fmt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Rows of a window: Trainer lanes, and replicas by the number of windows in a figure (the last holds for more).
MOST_TRAINER_ROWS = 2
MOST_REPLICA_ROWS = (10, 6, 5, 4)
#: Windows of the figure of special cycles; of more, the last run's are shown first, then those of the run before, and so on.
MOST_SPECIAL = 4
#: Stretches of equal length of the whole run; with so many cycles each shows the shares of the cycle it lies in, because
#: stretches nearly as long as a cycle would show beats that are not there.
BINS = 240
CYCLES_AS_BINS = 40
#: Trainer lanes whose states differ in less than this share of a window are one row.
ALIKE = 0.02

WINDOW_WORDS: dict[WindowKind, str] = {
    "median": "median cycles",
    "worst": "the worst cycle",
    "validation": "a cycle with a validation",
    "whole": "the whole trace",
}

#: States of painted seats -> places in the figure's list.
_PLACES = {
    **{state: STATE_PLACES[state_name(state)] for state in BUSY_STATES},
    **{state: STATE_PLACES[f"{IDLE_PREFIX}{state_name(state)}"] for state in IDLE_STATES},
    UNTOLD: STATE_PLACES["untold"],
}


def median_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """The median window of every run that has a trace, below each other."""
    shown = [(run, run.timeline.trace, run.timeline.trace.shown[0]) for run in runs if run.timeline.trace is not None]
    if not shown:
        return None
    panels = tuple(lane_panel(run, trace, window, among=len(shown)) for run, trace, window in shown)
    told = [f"{_owner_text(run)}{_worst_text(window)}." for run, _, window in shown]
    return _lane_figure("timeline", "Timeline of median cycles", panels, " ".join(told), runs)


def special_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """The worst window of every run and one with a validation, where they are not in its median window."""
    found = [
        (run, run.timeline.trace, window)
        for run in runs
        if run.timeline.trace is not None
        for window in run.timeline.trace.shown[1:]
    ]
    shown: list[tuple[ShownRun, Trace, ShownWindow]] = []
    for run in reversed(runs):
        mine = [entry for entry in found if entry[0] is run]
        if not shown or len(shown) + len(mine) <= MOST_SPECIAL:
            shown = [*mine, *shown]
    if not shown:
        return None
    panels = tuple(lane_panel(run, trace, window, among=len(shown) + 1) for run, trace, window in shown)
    told = [f"{run.label}: {_kinds_text(shown, run)}." for run in runs if any(entry[0] is run for entry in shown)]
    left = [run.label for run in runs if any(e[0] is run for e in found) and not any(e[0] is run for e in shown)]
    if left:
        told.append(f"Not shown: those of {fmt.join_words(left)}.")
    return _lane_figure("timeline-special", "Timeline of special cycles", panels, " ".join(told), runs)


def _kinds_text(shown: Sequence[tuple[ShownRun, Trace, ShownWindow]], of: ShownRun) -> str:
    """Which windows of a run are shown: "the worst cycle and a cycle with a validation"."""
    return fmt.join_words([_window_words(window) for run, _, window in shown if run is of])


def _window_words(window: ShownWindow) -> str:
    words = "the median cycle" if window.kind == "median" and window.cycles == 1 else WINDOW_WORDS[window.kind]
    return f"{words} (with a validation)" if window.validates and window.kind != "validation" else words


def _worst_text(window: ShownWindow) -> str:
    """Why no worst cycle is shown for itself, as the end of a sentence; nothing where one is."""
    worst = window.worst
    if worst is None:
        return ""
    name = "" if worst.first_step is None else f", {_span_text(worst.first_step, worst.last_step)},"
    over = "" if worst.over_median is None else f" ({fmt.number(worst.over_median)}× the median one's idle share)"
    if worst.within:
        return f"; the worst cycle{name} is among these{over}"
    return f"; the worst cycle{name} idles hardly more, so it has no window of its own{over}"


def _owner_text(run: ShownRun) -> str:
    """Who owns the bubble and what its largest part is (without an owner, the largest of all), without a full stop."""
    timeline = run.timeline
    both = [side for side in (timeline.window.trainer, timeline.window.rollout) if side is not None]
    sides = [side for side in both if side.largest]
    owner = next((side for side in sides if side.side == timeline.owner), None)
    side = owner or max(sides, key=lambda side: side.largest[1] if side.largest else 0.0, default=None)
    if side is None or side.largest is None:
        told = all(side.idle_fraction is not None for side in both)
        return f"{run.label}: no device idles" if told else f"{run.label}: how much devices idle is not known"
    cause, share = side.largest
    untold = side.untold_s / side.total_s
    if untold > share:
        whose = "the Trainer's" if side.side == "trainer" else "the Rollouters'"
        return f"{run.label}: what {whose} devices do in {fmt.percent(untold)} of their time is not known"
    words = {"trainer": "the Trainer owns", "rollout": "the Rollouters own"}.get(timeline.owner, "neither side owns")
    who = "" if owner is not None else f" of the {SIDE_WORDS[side.side]}"
    of = "its" if side.side == "trainer" else "their"
    head = f"{words} the bubble; its largest part is" if timeline.owner != "unknown" else "the largest idle part is"
    return f"{run.label}: {head} {run.causes[cause]}{who}, {fmt.percent(share)} of {of} device time"


def _lane_figure(
    figure_id: str, title: str, panels: tuple[LanePanel, ...], caption: str, runs: Sequence[ShownRun]
) -> LaneFigure:
    return LaneFigure(
        id=figure_id,
        title=title,
        caption=caption,
        how_to_read=(
            "A row is a group of devices. Filled: work. Hatched: idle, by cause. Yellow: a new parameter version serves. "
            "Windows by rule: median length, without a validation if possible; largest idle share, of cycles that training "
            "follows. Of many replicas some are shown, evenly from the busiest to the idlest."
        ),
        alt=f"{title}. " + " ".join(f"{panel.title}. {panel.detail}" for panel in panels),
        panels=panels,
        states=states_of(runs),
        x_label="seconds from the first parameter version shown",
    )


def lane_panel(run: ShownRun, trace: Trace, window: ShownWindow, *, among: int) -> LanePanel:
    """One window as rows of lanes; it is one of so many in its figure."""
    import numpy as np

    most = MOST_REPLICA_ROWS[min(among, len(MOST_REPLICA_ROWS)) - 1]

    course = trace.scene.course
    inside = [(at, version) for at, version in course.boundaries if window.start_ns <= at <= window.end_ns]
    zero = inside[0][0] if inside else window.start_ns
    edges = np.array([window.start_ns, window.end_ns], np.int64)
    account = account_stretches(trace.seats, trace.scene, edges, zero)[0]
    rows = [_row(seat, label, group, window, zero) for seat, label, group in _chosen(trace, window, most)]
    return LanePanel(
        title=f"{run.label}: {_window_words(window)}{_steps_text(window)}",
        detail=sides_text(account.trainer, account.rollout, run.causes),
        rows=tuple(rows),
        begin=(window.start_ns - zero) / 1e9,
        end=(window.end_ns - zero) / 1e9,
        versions=tuple(((at - zero) / 1e9, _version_text(trace, at, version)) for at, version in inside),
    )


def _steps_text(window: ShownWindow) -> str:
    return "" if window.first_step is None else f", {_span_text(window.first_step, window.last_step)}"


def _span_text(first: int, last: int | None) -> str:
    """Steps in words: "step 20", "steps 20 to 22"."""
    return f"step {first}" if last is None or first == last else f"steps {first} to {last}"


def _version_text(trace: Trace, at: int, version: int | None) -> str:
    if version is not None:
        return f"v{version}"
    cycle = next((cycle for cycle in trace.scene.course.cycles if abs(cycle.end_ns - at) < 1_000_000), None)
    return "" if cycle is None or cycle.last_step is None else f"after step {cycle.last_step}"


def _row(seat: PaintedSeat, label: str, group: str, window: ShownWindow, zero: int) -> LaneRow:
    pieces = seat.painted.clipped(window.start_ns, window.end_ns)
    edges = [(start - zero) / 1e9 for start, _, _ in pieces] + ([(pieces[-1][1] - zero) / 1e9] if pieces else [0.0])
    idle = sum(end - start for start, end, state in pieces if is_idle(state))
    total = sum(end - start for start, end, _ in pieces)
    return LaneRow(
        label=label,
        group=group,
        edges=tuple(edges),
        states=tuple(_PLACES[state] for _, _, state in pieces),
        note=f"idle {fmt.percent(idle / total, 0)}" if total else "",
    )


def _chosen(trace: Trace, window: ShownWindow, most: int) -> list[tuple[PaintedSeat, str, str]]:
    """The rows of a window: (seat, label, group), at most so many replicas."""
    found: list[tuple[PaintedSeat, str, str]] = []
    lanes = trace.scene.lanes
    trainer = [seat for seat in trace.seats if seat.seat.side == "trainer"]
    rollout = [seat for seat in trace.seats if seat.seat.side == "rollout"]
    if trainer and not trace.scene.shared:
        kept = _unlike(trainer, window)
        if len(kept) == 1:
            weight = sum(seat.seat.weight for seat in trainer)
            name = f"Trainer, {devices_text(weight if lanes.trainer_devices else None, len(trainer))}"
            found.append((kept[0], name, "trainer"))
        else:
            found += [(seat, _lane_name(trace, seat), "trainer") for seat in _evenly(kept, MOST_TRAINER_ROWS, window)]
    elif trainer:
        found += [(seat, _lane_name(trace, seat), "trainer") for seat in _evenly(trainer, most, window)]
    found += [(seat, _lane_name(trace, seat), "rollout") for seat in _evenly(rollout, most, window)]
    return found


def _lane_name(trace: Trace, seat: PaintedSeat) -> str:
    names = [trace.scene.table.lanes[code].name.replace("_", " ") for code in seat.seat.lanes]
    return " + ".join(dict.fromkeys(names[:2]))


def _unlike(seats: Sequence[PaintedSeat], window: ShownWindow) -> list[PaintedSeat]:
    """Seats that do something else than the first one: only that one where all do the same."""
    first = seats[0]
    different = [seat for seat in seats[1:] if _difference(first.painted, seat.painted, window) > ALIKE]
    return [first] if not different else list(seats)


def _difference(first: Painted, second: Painted, window: ShownWindow) -> float:
    """Share of a window in which two seats are in different states."""
    import numpy as np

    if first is second:
        return 0.0
    edges = np.unique(np.clip(np.concatenate([first.edges_ns, second.edges_ns]), window.start_ns, window.end_ns))
    if len(edges) < 2:
        return 0.0
    at = edges[:-1]
    states = [painted.states[np.searchsorted(painted.edges_ns, at, "right") - 1] for painted in (first, second)]
    return float(np.diff(edges)[states[0] != states[1]].sum() / (edges[-1] - edges[0]))


def _evenly(seats: Sequence[PaintedSeat], most: int, window: ShownWindow) -> list[PaintedSeat]:
    """At most so many seats, evenly from the busiest to the idlest in the window, in the order of their numbers."""
    if len(seats) <= most:
        return list(seats)

    def idle(place: int) -> tuple[float, int]:
        pieces = seats[place].painted.clipped(window.start_ns, window.end_ns)
        return sum(end - start for start, end, state in pieces if is_idle(state)), place

    order = sorted(range(len(seats)), key=idle)
    picked = sorted({order[round(step * (len(order) - 1) / (most - 1))] for step in range(most)})
    return [seats[place] for place in picked]


@dataclass(frozen=True, slots=True)
class _Unit:
    """The unit of a long time axis."""

    seconds: float
    word: str


def _unit(seconds: float) -> _Unit:
    if seconds > 3 * 3600:
        return _Unit(3600.0, "hours")
    return _Unit(60.0, "minutes") if seconds > 600 else _Unit(1.0, "seconds")


def occupancy_figure(runs: Sequence[ShownRun]) -> FigureSpec | None:
    """The whole trace of every run: what the devices of each side did, in stretches of equal length."""
    traced = [(run, run.timeline.trace) for run in runs if run.timeline.trace is not None]
    if not traced:
        return None
    unit = _unit(max((t.scene.course.end_ns - t.scene.course.begin_ns) / 1e9 for _, t in traced))
    panels = tuple(_occupancy_panel(run, trace, unit) for run, trace in traced)
    told = [
        f"{run.label}: {sides_text(run.timeline.whole.trainer, run.timeline.whole.rollout, run.causes)}"
        for run, _ in traced
        if run.timeline.whole is not None
    ]
    return OccupancyFigure(
        id="occupancy",
        title="The whole trace at a glance",
        caption="Idle device time in the window. " + " ".join(_shares_text(run) for run, _ in traced),
        how_to_read=(
            f"Height: share of a side's devices, {_stretch_words([trace for _, trace in traced])}. Filled: work, hatched: "
            "idle by cause. The bracket is the window that is accounted for."
        ),
        alt="Occupancy of devices over time. " + " ".join(told),
        panels=panels,
        states=states_of(runs),
        x_label=f"{unit.word} from the begin of the trace",
    )


def _shares_text(run: ShownRun) -> str:
    """How much each side idles in the window, in a few words."""
    sides = [side for side in (run.timeline.window.trainer, run.timeline.window.rollout) if side is not None]
    return f"{run.label}: {', '.join(f'{SIDE_WORDS[side.side]} {idle_text(side)}' for side in sides)}."


def _occupancy_panel(run: ShownRun, trace: Trace, unit: _Unit) -> OccupancyPanel:
    import numpy as np

    timeline, course = run.timeline, trace.scene.course
    edges, places = _stretches(trace)
    strips = []
    for side in ("trainer", "rollout"):
        mine = [seat for seat in trace.seats if seat.seat.side == side]
        account = timeline.window.side(side)
        if not mine or account is None:
            continue
        weight = sum(seat.seat.weight for seat in mine)
        shares = sum(seat.seat.weight * seat.painted.seconds_by_state(edges) for seat in mine)
        strips.append(
            OccupancyStrip(
                label=f"{SIDE_WORDS[side]}, {devices_text(account.devices, len(mine))}",
                note=f"idle {idle_text(account)}",
                shares=_by_place((np.asarray(shares) / weight / (np.diff(edges) / 1e9))[:, places]),
            )
        )
    first, last = timeline.window.start_s / unit.seconds, timeline.window.end_s / unit.seconds
    return OccupancyPanel(
        title=run.label,
        strips=tuple(strips),
        begin=0.0,
        end=(course.end_ns - course.begin_ns) / 1e9 / unit.seconds,
        window=(first, last),
        window_text="the whole trace" if timeline.whole_trace else "steady window",
    )


def _stretch_words(traces: Sequence[Trace]) -> str:
    many = [len(trace.scene.course.cycles) >= CYCLES_AS_BINS for trace in traces]
    if all(many):
        return "by parameter version"
    equal = f"in {BINS} stretches of equal length"
    return f"{equal} (in long traces by parameter version)" if any(many) else equal


def _stretches(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges between which shares are taken, and for each stretch of the figure the place of the shares that it shows."""
    import numpy as np

    course = trace.scene.course
    equal = np.linspace(course.begin_ns, course.end_ns, BINS + 1).round().astype(np.int64)
    if len(course.cycles) < CYCLES_AS_BINS:
        return equal, np.arange(BINS)
    cycles = np.array([cycle.start_ns for cycle in course.cycles] + [course.cycles[-1].end_ns], np.int64)
    edges = np.unique(np.concatenate([[course.begin_ns], cycles, [course.end_ns]]))
    middles = (equal[:-1] + equal[1:]) // 2
    return edges, np.searchsorted(edges, middles, "right") - 1


def _by_place(shares: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    """Shares by state and stretch in the order of the figure's states, one tuple a stretch."""
    import numpy as np

    table = np.zeros((shares.shape[1], len(STATES)))
    for state, place in _PLACES.items():
        table[:, place] = shares[state]
    return tuple(tuple(row) for row in table.round(5).tolist())
