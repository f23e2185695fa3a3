"""Which lane a row of a trace is: its name, its number, and how many devices it stands for.

Only the shape of names is looked at here. What side a lane belongs to is told by a dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rlreport.collectors.spans.columns import clean_name
from rlreport.run.spans import Lane

#: `agent_loop_rollout_replica_0`, `replica-3`, `replica_0/slot_2`: the number of a replica.
_REPLICA = re.compile(r"(?:^|[^a-z])replica[_-]?(\d{1,6})(?![\d])", re.IGNORECASE)
#: `rank_3`, `rank-0`, `[Rank 3, Process]`: the number of a rank.
_RANK = re.compile(r"(?:^|[^a-z])rank[_\-: ]?(\d{1,6})(?!\d)", re.IGNORECASE)
#: A lane that is a rank, and nothing else: one device.
_ONE_RANK = re.compile(r"rank[_-]?\d{1,6}", re.IGNORECASE)
#: `trainer_2`, `engine 1`, `worker-7`: a number at the end of a name.
_NUMBER = re.compile(r"[a-z][_\-: ](\d{1,6})$", re.IGNORECASE)
#: Rows within a lane: several requests of one replica at a time.
_SLOT = re.compile(r"/slot[_-]?\d+$", re.IGNORECASE)


def replica_of(name: str) -> int | None:
    """The replica's number in the name of a role or lane."""
    match = _REPLICA.search(name)
    return int(match[1]) if match else None


def rank_in(name: str) -> int | None:
    """The rank in the name of a file or lane."""
    match = _RANK.search(name)
    return int(match[1]) if match else None


def device_lane(role: str, rank: int | None, group: str = "") -> Lane:
    """The lane of one device of a role: `replica_<n>` when the role names a replica, else `rank_<n>` within `group`.

    Of a replica the rank counts its devices, so that all of them share the lane.
    """
    replica = replica_of(role)
    if replica is not None:
        return Lane(f"replica_{replica}", "unknown", replica, 1)
    if rank is None:
        return Lane(clean_name(group or role), "unknown", None, None)
    return Lane(f"{group}/rank_{rank}" if group else f"rank_{rank}", "unknown", rank, 1)


def named_lane(name: str, devices: int | None = None) -> Lane:
    """A lane by the name that the trace gives it; the rows of one replica's requests are one lane."""
    text = _SLOT.sub("", clean_name(name))
    index = replica_of(text)
    if index is None:
        index = rank_in(text)
    if index is None and (match := _NUMBER.search(text)):
        index = int(match[1])
    if devices is None and _ONE_RANK.fullmatch(text):
        devices = 1
    return Lane(text, "unknown", index, devices)


def share_lanes(lanes: Sequence[Lane], devices: Iterable[object]) -> list[Lane]:
    """Give rows of one name one lane that stands for as many devices as there are different ones among its rows.

    Args:
        lanes: the lane of each row.
        devices: what tells the devices of a lane apart, for each row.
    """
    members: dict[str, set[object]] = {}
    for lane, device in zip(lanes, devices, strict=True):
        members.setdefault(lane.name, set()).add(device)
    return [
        Lane(lane.name, lane.side, lane.index, len(members[lane.name]) if lane.devices is not None else None)
        for lane in lanes
    ]
