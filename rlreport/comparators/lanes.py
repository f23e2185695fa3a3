"""Which devices a lane of a trace stands for: Trainer ranks, hybrid engines on the Trainer's devices, standalone replicas.

The number of replicas says nothing about inference resources: in verl every Trainer device can carry an engine too. So a
replica's side is decided by the rules of `replica_side`, in their order, and stays unknown where none of them holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rlreport.comparators.bubble_paint import Intervals, busy_state, intersect, union
from rlreport.run.diagnostics import Notice
from rlreport.run.format import join_words, plural
from rlreport.run.model import SEPARATED_MODES, Run
from rlreport.run.spans import ACTIVITIES, Activity, LaneSide, SpanTable

#: What only the Trainer does.
TRAINING: tuple[Activity, ...] = (
    "train",
    "update_actor",
    "update_critic",
    "old_log_prob",
    "ref",
    "values",
)
GENERATING: tuple[Activity, ...] = ("generate",)

#: Configuration keys that let the Trainer's devices generate beside standalone replicas.
HYBRID_KEYS: tuple[str, ...] = (
    "async_training.use_trainer_do_validate",
    "async_training.use_dynamic_resource_scheduling",
    "trainer.v1.separate_async.hybrid_rollout.enable_switch",
)
#: A replica that generates during this share of its time while all ranks train is not on their devices.
OVERLAP_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class LaneUse:
    """A lane with its side and the devices it stands for (None where unknown); `why` says how the side is known."""

    code: int
    name: str
    side: LaneSide
    index: int | None
    devices: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Seat:
    """Devices of one side that do the same at any time, and the lanes that tell what: a rank, a replica, or both.

    `weight` is the number of devices, or of lanes where the device count is not known.
    """

    side: Literal["trainer", "rollout"]
    weight: float
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a run. `trainer_devices` and `rollout_devices` are None where lanes are counted instead of devices.

    `untraced` are those of the Rollouters' devices that no lane stands for. `hybrid_exist` says whether engines live on the
    Trainer's devices: True, False, or None where it is not known.
    """

    uses: tuple[LaneUse, ...]
    seats: tuple[Seat, ...]
    trainer_devices: float | None
    rollout_devices: float | None
    hybrid_exist: bool | None
    untraced: float = 0.0
    notices: tuple[Notice, ...] = ()

    def of(self, *sides: LaneSide) -> tuple[LaneUse, ...]:
        """The lanes of some sides."""
        return tuple(use for use in self.uses if use.side in sides)

    @property
    def unknown(self) -> tuple[LaneUse, ...]:
        """Lanes whose side is not known; they are in no account."""
        return self.of("unknown")


def find_lanes(run: Run, table: SpanTable) -> Lanes:
    """Tell the lanes of a run apart and count the devices behind them."""
    import numpy as np

    did = np.zeros((len(table.lanes), len(ACTIVITIES)), bool)
    did[table.lane, table.activity] = True
    trains = {code for code, row in enumerate(did) if row[[busy_state(activity) for activity in TRAINING]].any()}
    generates = {code for code, row in enumerate(did) if row[[busy_state("generate"), busy_state("validate")]].any()}
    facts = _Facts(run, table, trains, generates)
    sides = [facts.side(code) for code in range(len(table.lanes))]
    uses = [
        LaneUse(code, lane.name, side, lane.index, None if lane.devices is None else float(lane.devices), why)
        for code, (lane, (side, why)) in enumerate(zip(table.lanes, sides, strict=True))
    ]
    notices: list[Notice] = []
    devices = run.devices
    coarse = _coarse([use for use in uses if use.side == "trainer"])
    ranks = [use for use in uses if use.side == "trainer" and use.code not in coarse]
    trainer, trainer_devices = _weights(devices.trainer, ranks, notices)
    hybrid, hybrid_devices = _weights(None, [use for use in uses if use.side == "hybrid"], notices)
    own = [use for use in uses if use.side == "rollout"]
    untraced = _untraced(devices.rollout, own, notices)
    rollout, rollout_devices = _weights(None if untraced else devices.rollout, own, notices)
    weights = {**trainer, **hybrid, **rollout}
    uses = [LaneUse(u.code, u.name, u.side, u.index, weights.get(u.code, u.devices), u.why) for u in uses]
    seats = [
        *(replace(seat, lanes=(*seat.lanes, *coarse)) for seat in _trainer_seats(trainer, hybrid, table)),
        *(Seat("rollout", weight, (code,)) for code, weight in rollout.items()),
    ]
    unknown = [use for use in uses if use.side == "unknown" and use.code in generates]
    if unknown:
        message = (
            f"{plural(len(unknown), 'lane')} ({_names(unknown)}) may be engines on the Trainer's devices or replicas of "
            f"their own ({unknown[0].why}): their time is in no account; hybrid_replicas in the manifest tells which"
        )
        notices.append(Notice("RR480", message))
    return Lanes(
        tuple(uses),
        tuple(seats),
        trainer_devices if trainer else hybrid_devices,
        rollout_devices if rollout_devices is None else rollout_devices + untraced,
        facts.hybrid_exist([use for use in uses if use.side == "hybrid"]),
        untraced,
        tuple(notices),
    )


def _names(uses: Sequence[LaneUse], most: int = 4) -> str:
    names = [use.name for use in uses[:most]]
    return join_words(names) if len(uses) <= most else f"{', '.join(names)} …"


def lane_intervals(table: SpanTable, lanes: Sequence[int], activities: Sequence[Activity]) -> Intervals:
    """When any of some lanes did any of some activities."""
    import numpy as np

    chosen = np.isin(table.lane, np.asarray(lanes, np.int32)) & np.isin(
        table.activity, [busy_state(activity) for activity in activities]
    )
    return union(table.start_ns[chosen], table.end_ns[chosen])


class _Facts:
    """What is known of the lanes before their sides are."""

    def __init__(self, run: Run, table: SpanTable, trains: set[int], generates: set[int]) -> None:
        self.run = run
        self.table = table
        self.trains = trains
        self.generates = generates
        self.replicas = sorted(generates - trains)
        self.training = lane_intervals(table, sorted(trains), TRAINING)
        sizes = {table.lanes[code].devices for code in self.replicas}
        self.size = sizes.pop() if len(sizes) == 1 else None

    def side(self, code: int) -> tuple[LaneSide, str]:
        """The side of a lane, and why."""
        told = self.table.lanes[code].side
        if code in self.trains:
            return "trainer", "it trains"
        if code not in self.generates:
            return (told, "the source tells") if told in ("trainer", "hybrid", "rollout") else ("unknown", "it does neither")
        return replica_side(self, code)

    @property
    def trainer_share(self) -> int | None:
        """How many replicas the Trainer's devices could carry: those with lower numbers, in verl."""
        if self.run.devices.trainer is None or not self.size:
            return None
        return self.run.devices.trainer // self.size

    def first_standalone(self) -> int | None:
        """The first number of a standalone replica, where numbers go beyond those of the Rollouters' own replicas.

        Then engines on the Trainer's devices are numbered too, and first.
        """
        devices = self.run.devices
        numbers = [self.table.lanes[code].index for code in self.replicas]
        known = [number for number in numbers if number is not None]
        if not self.size or not devices.rollout or devices.trainer is None or not known or len(known) < len(numbers):
            return None
        own, carried = devices.rollout // self.size, devices.trainer // self.size
        return carried if own <= max(known) < own + carried else None

    def hybrid_exist(self, hybrid: Sequence[LaneUse]) -> bool | None:
        """Whether engines live on the Trainer's devices.

        They do when lanes of them are seen, when they are declared, or when the standalone replicas' numbers begin with the
        number of engines that the Trainer's devices can carry.
        """
        if hybrid or self.run.hybrid_replicas:
            return True
        if self.run.hybrid_replicas is not None:
            return False
        if self.run.mode not in SEPARATED_MODES:
            return True if self.run.mode != "unknown" else None
        lowest = min((self.table.lanes[code].index or 0 for code in self.replicas), default=0)
        if lowest and lowest == self.trainer_share:
            return True
        return False if lowest == 0 and self.replicas else None


def replica_side(facts: _Facts, code: int) -> tuple[LaneSide, str]:
    """The side of a lane that generates. The first rule that holds decides.

    1. The manifest's `hybrid_replicas` names the hybrid engines; all others are standalone.
    2. Where training and generation share their devices, every engine is hybrid.
    3. The source itself calls it hybrid.
    4. It generates while all ranks train: it has devices of its own.
    5. The lanes' numbers go beyond those that the Rollouters' own replicas need: then engines on the Trainer's devices are
       numbered too, and first (verl, trainer_separate_async.py).
    6. Its number is not below the number of engines that the Trainer's devices can carry.
    7. Nothing in the configuration lets the Trainer's devices generate, in a mode that has no hybrid engines by itself.
    Else it is not known.
    """
    run, lane = facts.run, facts.table.lanes[code]
    if run.hybrid_replicas is not None and lane.index is not None:
        hybrid = lane.index in run.hybrid_replicas
        return ("hybrid" if hybrid else "rollout"), "the manifest's hybrid_replicas"
    if run.mode not in SEPARATED_MODES and run.mode != "unknown":
        return "hybrid", f"in mode {run.mode} engines share the Trainer's devices"
    if lane.side == "hybrid":
        return "hybrid", "the source tells"
    if len(facts.training):
        own = lane_intervals(facts.table, [code], GENERATING)
        if intersect(own, facts.training).total_ns > OVERLAP_SHARE * own.total_ns:
            return "rollout", "it generates while the ranks train"
    first = facts.first_standalone()
    if first is not None and lane.index is not None:
        return ("hybrid" if lane.index < first else "rollout"), "the numbers of lanes and devices"
    share = facts.trainer_share
    if share is not None and lane.index is not None and lane.index >= share:
        return "rollout", "its number is beyond those of engines on the Trainer's devices"
    if run.mode in ("one_step_off", "fully_async") and not any(run.value(key) is True for key in HYBRID_KEYS):
        return "rollout", f"mode {run.mode} has no engines on the Trainer's devices unless it is told to"
    if not len(facts.training):
        return "unknown", "the trace shows no training to tell them apart"
    return "unknown", "they never generate while the ranks train"


def _weights(devices: int | None, uses: Sequence[LaneUse], notices: list[Notice]) -> tuple[dict[int, float], float | None]:
    """Lane -> the devices it stands for, in order of the lanes' numbers; and their sum, None where lanes are counted.

    Lanes that tell their devices are believed. Where the side has more devices than these, the traced ones stand for all:
    ranks of one Trainer do the same at the same time.
    """
    ordered = sorted(uses, key=lambda use: (use.index is None, use.index or 0, use.name))
    codes = [use.code for use in ordered]
    told = [use.devices for use in ordered if use.devices is not None]
    if not ordered:
        return {}, None
    if len(told) < len(ordered):
        if devices is None:
            return dict.fromkeys(codes, 1.0), None
        return dict.fromkeys(codes, devices / len(ordered)), float(devices)
    factor = 1.0 if devices is None else devices / sum(told)
    if abs(factor - 1) > 1e-9:
        whose = "Trainer's" if uses[0].side == "trainer" else "Rollouters'"
        message = f"lanes of {sum(told):g} devices are traced, and the {whose} are {devices}: they stand for all of them"
        notices.append(Notice("RR481", message))
    return {code: value * factor for code, value in zip(codes, told, strict=True)}, sum(told) * factor


def _untraced(devices: int | None, uses: Sequence[LaneUse], notices: list[Notice]) -> float:
    """How many of the Rollouters' devices no lane stands for: replicas that never generated, or that were not traced."""
    told = [use.devices for use in uses if use.devices is not None]
    missing = (devices or 0) - sum(told)
    if devices is None or not uses or len(told) < len(uses) or missing < 0.5:
        return 0.0
    message = (
        f"{missing:g} of the Rollouters' {devices} devices are in no lane of the trace: they never generated, or were not "
        "traced; what they did is unknown"
    )
    notices.append(Notice("RR482", message))
    return float(missing)


def _coarse(trainer: Sequence[LaneUse]) -> tuple[int, ...]:
    """Lanes that stand for ranks which have lanes of their own: what they show is shown of each rank.

    One source may trace the Trainer as a whole and another one rank by rank.
    """
    ranks = [use for use in trainer if use.devices == 1]
    larger = [use for use in trainer if use.devices is not None and use.devices > 1]
    return tuple(use.code for use in larger if use.devices is not None and use.devices <= len(ranks))


def _trainer_seats(trainer: dict[int, float], hybrid: dict[int, float], table: SpanTable) -> list[Seat]:
    """The Trainer's devices cut at the borders of its ranks and of the engines on them, in the order of their numbers."""
    if not trainer or not hybrid:
        return [Seat("trainer", weight, (code,)) for code, weight in {**trainer, **hybrid}.items()]
    total = sum(trainer.values())
    places = [*_side_by_side(trainer, 1.0), *_engine_places(hybrid, total, table)]
    cuts = sorted({0.0, *(border for low, high, _ in places for border in (low, high))})
    seats = []
    for begin, end in itertools.pairwise(cuts):
        middle = (begin + end) / 2
        seats.append(Seat("trainer", end - begin, tuple(code for low, high, code in places if low <= middle < high)))
    return [seat for seat in seats if seat.lanes]


def _side_by_side(lanes: dict[int, float], factor: float) -> list[tuple[float, float, int]]:
    """(begin, end, lane) of lanes that stand one after the other."""
    places, at = [], 0.0
    for code, weight in lanes.items():
        end = round(at + weight * factor, 9)
        places.append((at, end, code))
        at = end
    return places


def _engine_places(hybrid: dict[int, float], total: float, table: SpanTable) -> list[tuple[float, float, int]]:
    """Where engines stand on the Trainer's devices: engine i on devices i x size and following, as verl places them."""
    sizes = set(hybrid.values())
    numbers = {code: table.lanes[code].index for code in hybrid}
    size = sizes.pop()
    if not sizes and all(number is not None and (number + 1) * size <= total + 0.5 for number in numbers.values()):
        return [(size * number, size * (number + 1), code) for code, number in numbers.items() if number is not None]
    return _side_by_side(hybrid, total / sum(hybrid.values()))
