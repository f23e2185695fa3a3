"""Where every device-second of a traced run went: painted lanes, summed by side, cause, cycle and window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.comparators.bubble_causes import (
    between_steps,
    doubtful_generation,
    excess_waiting,
    ground_state,
    hidden_work,
    lent_devices,
    replica_without_work,
    shown_states,
    silence,
    start_up,
    unseen,
    waiting_for_samples,
)
from rlreport.comparators.bubble_paint import (
    BUSY_STATES,
    IDLE_STATES,
    N_STATES,
    UNTOLD,
    Coat,
    Painted,
    paint,
    state_name,
)
from rlreport.comparators.bubble_results import AccountSide, CycleAccount, DeviceAccount, SideAccount
from rlreport.comparators.bubble_scene import Scene
from rlreport.comparators.lanes import Seat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: Why a side has no account.
MISSING_SIDE: Mapping[AccountSide, str] = {
    "trainer": "the trace has no lane of the Trainer",
    "rollout": "the trace has no lane of the Rollouters",
}


@dataclass(frozen=True, slots=True, eq=False)
class PaintedSeat:
    """Devices that do the same at any time, and what they did from the begin of the trace to its end."""

    seat: Seat
    painted: Painted


def paint_seats(scene: Scene) -> tuple[PaintedSeat, ...]:
    """Paint what the devices of every seat did. Rules that hold for a whole side are worked out once.

    Seats that do the same at any time share one painting, so that it need be summed only once.
    """
    start = start_up(scene)
    trainer = [*waiting_for_samples(scene), *lent_devices(scene), *excess_waiting(scene)]
    rollout = replica_without_work(scene)
    hidden, doubt, silent = hidden_work(scene), doubtful_generation(scene), silence(scene)
    between: dict[AccountSide, list[Coat]] = {}
    seats: list[PaintedSeat] = []
    known: dict[tuple[AccountSide, tuple[int, ...]], Painted] = {}
    alike: dict[tuple[bytes, bytes], Painted] = {}
    for seat in scene.lanes.seats:
        key = (seat.side, seat.lanes)
        if key not in known:
            if seat.side not in between:
                between[seat.side] = between_steps(scene, seat)
            coats = [*(trainer if seat.side == "trainer" else rollout), *between[seat.side], silent]
            coats += [*hidden, doubt] if seat.side == "trainer" else []
            coats += [start, *shown_states(scene, seat.lanes), *unseen(scene, seat.lanes)]
            painted = paint(scene.course.begin_ns, scene.course.end_ns, ground_state(scene, seat), coats)
            known[key] = alike.setdefault((painted.edges_ns.tobytes(), painted.states.tobytes()), painted)
        seats.append(PaintedSeat(seat, known[key]))
    return tuple(seats)


def account_stretches(
    seats: Sequence[PaintedSeat], scene: Scene, edges_ns: NDArray[np.int64], begin_ns: int
) -> tuple[DeviceAccount, ...]:
    """The account of every stretch between consecutive moments."""
    import numpy as np

    lanes = scene.lanes
    missing = MISSING_SIDE
    if scene.shared and scene.sides_known:
        missing = {**MISSING_SIDE, "rollout": "the Trainer's devices generate"}
    sums: dict[AccountSide, NDArray[np.float64]] = {}
    weights: dict[AccountSide, float] = {}
    by_painting: dict[int, NDArray[np.float64]] = {}
    for found in seats:
        side = found.seat.side
        if id(found.painted) not in by_painting:
            by_painting[id(found.painted)] = found.painted.seconds_by_state(edges_ns)
        seconds = by_painting[id(found.painted)] * found.seat.weight
        sums[side] = sums[side] + seconds if side in sums else seconds
        weights[side] = weights.get(side, 0.0) + found.seat.weight
    walls = np.diff(edges_ns) / 1e9
    devices: dict[AccountSide, float | None] = {"trainer": lanes.trainer_devices, "rollout": lanes.rollout_devices}
    if "rollout" in weights:
        weights["rollout"] += lanes.untraced
    return tuple(
        DeviceAccount(
            basis="spans",
            start_s=float(edges_ns[column] - begin_ns) / 1e9,
            end_s=float(edges_ns[column + 1] - begin_ns) / 1e9,
            trainer=_side("trainer", sums, weights, devices, float(walls[column]), column, 0.0),
            rollout=_side("rollout", sums, weights, devices, float(walls[column]), column, lanes.untraced),
            missing={side: why for side, why in missing.items() if side not in sums},
        )
        for column in range(len(walls))
    )


def _side(
    side: AccountSide,
    sums: dict[AccountSide, NDArray[np.float64]],
    weights: dict[AccountSide, float],
    devices: dict[AccountSide, float | None],
    wall_s: float,
    column: int,
    untraced: float,
) -> SideAccount | None:
    if side not in sums:
        return None
    values = sums[side][:, column]
    assert len(values) == N_STATES
    total_s = weights[side] * wall_s
    untold_s = untraced * wall_s + float(values[UNTOLD])
    idle_s = float(values[list(IDLE_STATES)].sum())
    return SideAccount(
        side=side,
        devices=devices[side],
        weight=weights[side],
        wall_s=wall_s,
        busy={state_name(state): float(values[state]) for state in BUSY_STATES if values[state] > 0},  # type: ignore[misc]
        idle={state_name(state): float(values[state]) for state in IDLE_STATES if values[state] > 0},  # type: ignore[misc]
        untold_s=untold_s,
        source="spans of the trace",
        at_least=idle_s / total_s if total_s else None,
        at_most=(idle_s + untold_s) / total_s if total_s else None,
    )


def account_cycles(scene: Scene, seats: Sequence[PaintedSeat]) -> tuple[CycleAccount, ...]:
    """The account of every cycle."""
    import numpy as np

    cycles = scene.course.cycles
    if not cycles:
        return ()
    edges = np.array([cycles[0].start_ns, *(cycle.end_ns for cycle in cycles)], np.int64)
    accounts = account_stretches(seats, scene, edges, scene.course.begin_ns)
    return tuple(
        CycleAccount(account, cycle.first_step, cycle.last_step, cycle.version)
        for account, cycle in zip(accounts, cycles, strict=True)
    )
