"""Figure specifications of timelines made by arithmetic, and what no timeline should be broken by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlreport.plotters.bubbles import draw_device_time
from rlreport.plotters.lengths import draw_ecdf, draw_shares
from rlreport.plotters.queue import draw_lead
from rlreport.plotters.timeline import draw_lanes, draw_occupancy
from rlreport.report.figures import FigureSpec
from rlreport.report.figures_timeline import (
    DeviceBar,
    DeviceFigure,
    DevicePart,
    EcdfCurve,
    EcdfFigure,
    LaneFigure,
    LanePanel,
    LaneRow,
    LeadFigure,
    LeadLine,
    OccupancyFigure,
    OccupancyPanel,
    OccupancyStrip,
    SharesFigure,
    SharesSeries,
)
from rlreport.report.timeline_words import STATE_PLACES, STATES
from support.figure_specs import LONG_LABELS, words

DRAWINGS: Mapping[type[FigureSpec], Any] = {
    LaneFigure: draw_lanes,
    OccupancyFigure: draw_occupancy,
    DeviceFigure: draw_device_time,
    LeadFigure: draw_lead,
    EcdfFigure: draw_ecdf,
    SharesFigure: draw_shares,
}

GENERATE, UPDATE = STATE_PLACES["generate"], STATE_PLACES["update_actor"]
QUOTA, SYNC = STATE_PLACES["idle:quota"], STATE_PLACES["idle:weight_sync"]
SAMPLES = STATE_PLACES["idle:samples"]


def row(label: str, group: str, cycles: int, parts: tuple[tuple[int, float], ...], note: str = "idle 44 %") -> LaneRow:
    """A row that repeats (state, seconds)."""
    edges, states, at = [0.0], [], 0.0
    for _ in range(cycles):
        for state, length in parts:
            at += length
            edges.append(at)
            states.append(state)
    return LaneRow(label=label, group=group, edges=tuple(edges), states=tuple(states), note=note)


def lanes(label: str, *, cycles: int = 3, replicas: int = 6, detail: str = "Rollouters idle 44 %: quota.") -> LanePanel:
    """Cycles of 100 seconds: a Trainer that works 90 and replicas that work 50."""
    rows = [row("Trainer, 32 devices", "trainer", cycles, ((UPDATE, 90), (SYNC, 10)))]
    rows += [
        row(f"replica {n}", "rollout", cycles, ((GENERATE, 50 + n), (QUOTA, 40 - n), (SYNC, 10))) for n in range(replicas)
    ]
    versions = tuple((100.0 * cycle, f"v{cycle + 12}") for cycle in range(1, cycles + 1))
    return LanePanel(title=label, detail=detail, rows=tuple(rows), begin=0, end=100.0 * cycles, versions=versions)


def lane_figure(*panels: LanePanel) -> LaneFigure:
    return LaneFigure(**words("timeline"), panels=panels, states=STATES)


def shares(work: float, idle: int) -> tuple[float, ...]:
    """A stretch in which so much is work and the rest idle for a cause."""
    values = [0.0] * len(STATES)
    values[GENERATE], values[idle] = work, 1 - work
    return tuple(values)


def occupancy(*labels: str) -> OccupancyFigure:
    strips = tuple(
        OccupancyStrip(
            label=side, note="idle 37.5 %", shares=tuple(shares(0.5 + 0.5 * (n % 4 > 1), QUOTA) for n in range(240))
        )
        for side in ("Trainer, 256 devices", "Rollouters, 384 devices")
    )
    panels = tuple(
        OccupancyPanel(
            title=label,
            strips=strips,
            begin=0,
            end=5.0 + number,
            window=(0.5, 4.5),
            window_text="steady window",
        )
        for number, label in enumerate(labels)
    )
    return OccupancyFigure(**words("occupancy"), panels=panels, states=STATES, x_label="hours from the begin of the trace")


def devices(*labels: str) -> DeviceFigure:
    bars = []
    for role, label in enumerate(labels):
        for side, work in (("Trainer", 30.0), ("Rollouters", 25.0 - role)):
            parts = (
                DevicePart(state=GENERATE, value=work, text=f"work {work}"),
                DevicePart(state=QUOTA, value=9.0, text="staleness quota 9.0"),
                DevicePart(state=SYNC, value=0.4, text="weight sync 0.4"),
            )
            bars.append(DeviceBar(group=label, role=role, label=side, parts=parts, total_text="34.4, idle 27.3 %"))
    return DeviceFigure(**words("device-time"), bars=tuple(bars), states=STATES, x_label="device-hours for 1,000 prompts")


def lead(*labels: str, n: int = 200) -> LeadFigure:
    lines = tuple(
        LeadLine(
            label=label,
            role=role,
            x=tuple(float(x) for x in range(n)),
            y=tuple(float((x * 7 + role) % 5) for x in range(n)),
            asked_x=tuple(float(x) for x in range(0, n, 4)),
            asked_y=tuple(float((x * 7 + role) % 5) for x in range(0, n, 4)),
            capacity=6.0,
            note="on average 2.1 mini-batches when the Trainer asks",
        )
        for role, label in enumerate(labels)
    )
    return LeadFigure(**words("lead"), lines=lines, x_label="hours from the begin of the trace")


def ecdf(*labels: str) -> EcdfFigure:
    curves = [
        EcdfCurve(
            label=f"{label}, {kind}",
            role=role,
            x=tuple(float(10 * n + 100 * role) for n in range(1, 101)),
            y=tuple(n / 100 for n in range(1, 101)),
            thin=kind == "generated",
            note="50 % 505, 90 % 901, 99 % 991 tokens (n = 4,096)",
        )
        for role, label in enumerate(labels)
        for kind in ("generated", "trained")
    ]
    return EcdfFigure(**words("lengths"), curves=tuple(curves), x_label="response length (tokens)")


def staleness(*labels: str) -> SharesFigure:
    series = tuple(
        SharesSeries(label=label, role=role, shares=(0.5 - 0.1 * role, 0.4, 0.1 + 0.1 * role), note="mean 0.6 versions")
        for role, label in enumerate(labels)
    )
    return SharesFigure(
        **words("staleness"),
        series=series,
        values=("0", "1", "8 and more"),
        x_label="versions behind the Trainer",
        y_label="share of trained samples",
    )


def timelines() -> dict[str, FigureSpec]:
    """What reports hold."""
    two = ("48 Rollout nodes", "32 Rollout nodes")
    return {
        "lanes": lane_figure(lanes(two[0]), lanes(two[1], replicas=4)),
        "occupancy": occupancy(*two),
        "devices": devices(*two),
        "lead": lead(*two),
        "ecdf": ecdf(*two),
        "staleness": staleness(*two),
    }


def hostile_timelines() -> dict[str, FigureSpec]:
    """What no report should be broken by: long names, nothing at all, one moment, many runs."""
    empty = LanePanel(title="", detail="", rows=(), begin=0, end=0)
    bare = LaneRow(label="lane", group="g", edges=(0.0,), states=(), note="")
    still = LanePanel(title="still", detail="x " * 200, rows=(bare,), begin=5, end=5, versions=((5, "v1"), (5, "v2")))
    crowded = lanes(LONG_LABELS[0], cycles=40)
    nothing = DeviceBar(group="r", role=0, label="Rollouters", parts=(), total_text="not known")
    no_lead = LeadLine(label="r", role=0, x=(), y=())
    return {
        "empty lanes": lane_figure(empty),
        "still lanes": lane_figure(still),
        "crowded lanes": lane_figure(crowded),
        "long names": lane_figure(*(lanes(label) for label in LONG_LABELS)),
        "long occupancy": occupancy(*LONG_LABELS),
        "many devices": devices(*LONG_LABELS),
        "no device": DeviceFigure(**words("device-time"), bars=(nothing,), states=STATES, x_label="x"),
        "no lead": LeadFigure(**words("lead"), lines=(no_lead,), x_label="step"),
        "long lead": lead(*LONG_LABELS, n=20_000),
        "no lengths": EcdfFigure(
            **words("lengths"), curves=(EcdfCurve(label="r", role=0, x=(), y=()),), x_label="response length (tokens)"
        ),
        "many lengths": ecdf(*LONG_LABELS),
        "many shares": staleness(*LONG_LABELS),
    }
