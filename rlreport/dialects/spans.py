"""Spans and gauges of a run given their meaning: activities, sides of lanes, one thing at a time, canonical quantities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlreport.dialects.span_flatten import flatten_lanes
from rlreport.dialects.span_names import VERSION_MARKERS, activity_of, gauge_name, known_activity, lane_row
from rlreport.run.diagnostics import Notice
from rlreport.run.model import Mode
from rlreport.run.spans import ACTIVITIES, Activity, Gauge, Lane, LaneSide, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Modes in which every replica lives on the Trainer's devices.
_SHARED_MODES: frozenset[Mode] = frozenset({"sync", "colocate_async"})
#: What only a Trainer's devices do.
_TRAINING: frozenset[Activity] = frozenset({"update_actor", "update_critic", "old_log_prob", "ref", "values", "train"})
_SIDES: dict[LaneSide, int] = {"trainer": 0, "hybrid": 1, "rollout": 2, "unknown": 3}

_REPLICAS = re.compile(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?")
_PREFIXED = re.compile(r"(trainer|rollout)/(replica[_-]?\d+)", re.IGNORECASE)
_REPLICA_LANE = re.compile(r"replica[_-]?\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpanMeaning:
    """The spans and gauges of a run as comparators read them, the hybrid replicas, and what a reader must know."""

    spans: tuple[SpanTable, ...]
    gauges: tuple[Gauge, ...]
    hybrid_replicas: frozenset[int] | None
    notices: tuple[Notice, ...]


def interpret_spans(
    tables: Iterable[SpanTable],
    gauges: Iterable[Gauge] = (),
    *,
    mode: Mode = "unknown",
    hybrid_replicas: str | None = None,
    may_switch: bool = False,
) -> SpanMeaning:
    """Give spans and gauges their meaning.

    Args:
        tables: the merged tables of the run's sources.
        gauges: the gauges of the run's sources.
        mode: the execution mode. In sync and colocate_async every replica is on the Trainer's devices.
        hybrid_replicas: which replicas the manifest says are on the Trainer's devices, as "0-7" or "0,2,4" ("" for none).
        may_switch: whether the configuration lets the Trainer's devices generate (`hybrid_rollout.enable_switch`,
            `use_trainer_do_validate`); then replicas whose place is not told are doubtful, and a notice says so.

    Returns:
        The tables with activities, sides and lanes whose spans follow each other, in the order given. A lane's side is what
        its name tells (`span_names.LANE_ROWS`), else what all of its known activities tell; the number of replicas is never
        a reason. Lanes are ordered by side, then by number, then by name.
    """
    hybrid = None if hybrid_replicas is None else replica_numbers(hybrid_replicas)
    notices: list[Notice] = []
    meant: list[SpanTable] = []
    unknown_names: dict[str, int] = {}
    containers = 0
    for table in tables:
        named = unify_lanes(_name_activities(table, mode, unknown_names))
        flat = flatten_lanes(named)
        containers += flat.containers
        meant.append(_with_versions(assign_sides(flat.table, mode=mode, hybrid_replicas=hybrid)))
    notices += _notices(meant, unknown_names, containers, mode, hybrid, may_switch)
    return SpanMeaning(
        tuple(meant), tuple(replace(gauge, name=gauge_name(gauge.name)) for gauge in gauges), hybrid, tuple(notices)
    )


def replica_numbers(text: str) -> frozenset[int] | None:
    """The replicas that a list such as "0-7" or "0-3,8" names; none for an empty text, None when it is no such list."""
    if not text.strip():
        return frozenset()
    numbers: set[int] = set()
    for part in text.split(","):
        match = _REPLICAS.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            return None
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def _name_activities(table: SpanTable, mode: Mode, unknown: dict[str, int]) -> SpanTable:
    """The table with the activities that its names stand for; names that no row knows are counted."""
    import numpy as np

    codes = np.array([ACTIVITIES.index(activity_of(name, mode)) for name in table.names], np.int8)
    counts = np.bincount(table.name, minlength=len(table.names)).tolist()
    for name, count in zip(table.names, counts, strict=True):
        if known_activity(name, mode) is None:
            unknown[name] = unknown.get(name, 0) + count
    return replace(table, activity=codes[table.name])


def unify_lanes(table: SpanTable) -> SpanTable:
    """The table with `rollout/replica_3` and `trainer/replica_3` as the lane `replica_3`, as other traces name it.

    A lane that is named as one of the Trainer's is of the side "hybrid".
    """
    import numpy as np

    lanes: dict[str, Lane] = {}
    names: list[str] = []
    for lane in table.lanes:
        match = _PREFIXED.fullmatch(lane.name)
        hybrid = match is not None and match[1].lower() == "trainer"
        own = lane if match is None else Lane(match[2], "hybrid" if hybrid else lane.side, lane.index, lane.devices)
        before = lanes.setdefault(own.name, own)
        devices = max((count for count in (before.devices, own.devices) if count is not None), default=None)
        side = before.side if before.side != "unknown" else own.side
        lanes[own.name] = replace(before, devices=devices, side=side)
        names.append(own.name)
    if names == [lane.name for lane in table.lanes]:
        return table
    codes = {name: code for code, name in enumerate(lanes)}
    lane_column = np.array([codes[name] for name in names], np.int32)[table.lane]
    return _reordered(table, tuple(lanes.values()), lane_column)


def assign_sides(table: SpanTable, *, mode: Mode = "unknown", hybrid_replicas: frozenset[int] | None = None) -> SpanTable:
    """The table with the side of every lane, its lanes ordered by side, number and name."""
    import numpy as np

    done = [
        frozenset(ACTIVITIES[code] for code in np.unique(table.activity[table.lane == number]).tolist())
        for number in range(len(table.lanes))
    ]
    sided = [
        replace(lane, side=_side(lane, activities, mode, hybrid_replicas))
        for lane, activities in zip(table.lanes, done, strict=True)
    ]
    order = sorted(range(len(sided)), key=lambda n: _lane_key(sided[n]))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return _reordered(table, tuple(sided[number] for number in order), place[table.lane])


def _reordered(table: SpanTable, lanes: tuple[Lane, ...], lane: NDArray[np.int32]) -> SpanTable:
    """The table with other lanes: spans ordered by lane and start."""
    import numpy as np

    rows = np.lexsort((table.end_ns, table.start_ns, lane))
    return replace(
        table,
        lanes=lanes,
        lane=lane[rows],
        activity=table.activity[rows],
        name=table.name[rows],
        start_ns=table.start_ns[rows],
        end_ns=table.end_ns[rows],
        version=table.version[rows],
    )


def _lane_key(lane: Lane) -> tuple[int, bool, int, str]:
    return _SIDES[lane.side], lane.index is None, lane.index or 0, lane.name


def _side(lane: Lane, done: frozenset[Activity], mode: Mode, hybrid: frozenset[int] | None) -> LaneSide:
    """The side of a lane: by its name and the manifest, by the mode, and by what it does where its name says nothing."""
    row = lane_row(lane.name)
    if lane.side == "hybrid" and not (hybrid is not None and is_replica(lane)):
        return "hybrid"
    if row is None:
        if "generate" in done and not done & _TRAINING:
            return "hybrid" if mode in _SHARED_MODES else "rollout"
        return "trainer" if done & _TRAINING and "generate" not in done else "unknown"
    if row.side == "trainer" and lane.index is not None and "generate" in done and done & _TRAINING:
        return "hybrid"
    if row.side in ("rollout", "hybrid") and hybrid is not None and lane.index is not None and is_replica(lane):
        return "hybrid" if lane.index in hybrid else "rollout"
    if row.side == "rollout" and mode in _SHARED_MODES:
        return "hybrid"
    return row.side


def is_replica(lane: Lane) -> bool:
    """Whether a lane's number is that of a replica."""
    return _REPLICA_LANE.search(lane.name) is not None


def _with_versions(table: SpanTable) -> SpanTable:
    """Add the boundaries of versions that the ends of weight syncs tell, where the framework's numbering is known."""
    boundaries = dict(table.boundaries_ns)
    for key, at in table.markers_ns.items():
        name, _, step = key.rpartition("@")
        if name in VERSION_MARKERS and step.isdecimal():
            boundaries.setdefault(int(step) + VERSION_MARKERS[name], at)
    return replace(table, boundaries_ns=dict(sorted(boundaries.items())))


def _notices(
    tables: Sequence[SpanTable],
    unknown_names: dict[str, int],
    containers: int,
    mode: Mode,
    hybrid: frozenset[int] | None,
    may_switch: bool,
) -> list[Notice]:
    notices: list[Notice] = []
    if unknown_names:
        most = sorted(unknown_names.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(name for name, _ in most[:5]) + (", …" if len(most) > 5 else "")
        total = sum(unknown_names.values())
        notices.append(Notice("RR330", f"spans whose name is no known activity count as other work: {total:,} ({shown})"))
    if containers:
        message = f"spans of unknown name that only enclose known activities are left out: {containers:,}"
        notices.append(Notice("RR331", message))
    lanes = [lane for table in tables for lane in table.lanes]
    strange = sorted({lane.name for lane in lanes if lane.side == "unknown"})
    if strange:
        shown = ", ".join(strange[:5]) + (", …" if len(strange) > 5 else "")
        message = f"lanes that belong to no known side and count for neither: {len(strange):,} ({shown})"
        notices.append(Notice("RR332", message))
    replicas = [lane for lane in lanes if is_replica(lane)]
    if replicas and hybrid is None and may_switch and mode not in _SHARED_MODES:
        message = "the configuration lets the Trainer's devices generate, and nothing tells which replicas are on them;"
        message += " what the trace shows of each decides: set hybrid_replicas in the manifest"
        notices.append(Notice("RR333", message))
    return notices
