"""One thing at a time: the spans of a lane, which may be nested or overlap, as spans that follow each other.

Profilers and tracers write spans within spans (a step with its phases), the requests of one replica side by side, and one
span for each device of a replica. For accounting, a lane does one thing at a time: where several spans are open, the one
of a known activity that began last counts, as the innermost one says most. Spans of unknown activity count only where no
other is open, and not at all where they enclose known ones: a step that is given as one span is not work from its first
to its last moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlreport.run.spans import ACTIVITIES, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OTHER = ACTIVITIES.index("other")

#: Row of a span: start, end, activity, name, version.
_Row = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Flattened:
    """The table, how many enclosing spans of unknown activity were taken away, and how many spans lay within others."""

    table: SpanTable
    containers: int
    covered: int


def flatten_lanes(table: SpanTable) -> Flattened:
    """Make the spans of every lane follow each other; lanes whose spans do so already stay as they are."""
    import numpy as np

    overlaps = (table.lane[1:] == table.lane[:-1]) & (table.start_ns[1:] < table.end_ns[:-1])
    touched = np.unique(table.lane[1:][overlaps]).tolist()
    if not touched:
        return Flattened(table, 0, 0)
    keep = ~np.isin(table.lane, touched)
    rows: list[tuple[int, _Row]] = []
    containers = covered = 0
    for lane in touched:
        mine = _rows(table, table.lane == lane)
        inside, removed = without_containers(mine)
        flat = flatten_rows(inside)
        containers += removed
        covered += max(0, len(inside) - len(flat))
        rows += [(lane, row) for row in flat]
    new = np.array([row for _, row in rows], np.int64).reshape(-1, 5)
    lanes = np.concatenate((table.lane[keep], np.array([lane for lane, _ in rows], np.int32)))
    start = np.concatenate((table.start_ns[keep], new[:, 0]))
    end = np.concatenate((table.end_ns[keep], new[:, 1]))
    order = np.lexsort((end, start, lanes))
    flattened = replace(
        table,
        lane=lanes[order].astype(np.int32),
        activity=np.concatenate((table.activity[keep], new[:, 2].astype(np.int8)))[order],
        name=np.concatenate((table.name[keep], new[:, 3].astype(np.int32)))[order],
        start_ns=start[order],
        end_ns=end[order],
        version=np.concatenate((table.version[keep], new[:, 4].astype(np.int32)))[order],
    )
    return Flattened(flattened, containers, covered)


def _rows(table: SpanTable, mine: NDArray[np.bool_]) -> list[_Row]:
    columns = (table.start_ns, table.end_ns, table.activity, table.name, table.version)
    rows = list(zip(*(column[mine].tolist() for column in columns), strict=True))
    rows.sort(key=lambda row: (row[0], -row[1]))
    return rows


def without_containers(rows: list[_Row]) -> tuple[list[_Row], int]:
    """Rows without those of unknown activity that enclose one of a known activity, and how many these are.

    Rows are ordered by start, the longer first.
    """
    container: set[int] = set()
    unknown: list[tuple[int, int]] = []
    for index, (start, end, activity, _, _) in enumerate(rows):
        unknown = [(at, until) for at, until in unknown if until > start]
        if activity == _OTHER:
            unknown.append((index, end))
        else:
            container.update(at for at, until in unknown if until >= end)
    return [row for index, row in enumerate(rows) if index not in container], len(container)


def flatten_rows(rows: list[_Row]) -> list[_Row]:
    """Rows that follow each other: at any time the row of a known activity that began last, else the one that began last.

    Neighbouring pieces of one activity, name and version are one row. Rows are ordered by start.
    """
    import heapq

    pieces: list[_Row] = []
    # The open rows, the one that counts first: known before unknown, later before earlier.
    waiting: list[tuple[bool, int, int, _Row]] = []
    place = 0
    now = 0
    while place < len(rows) or waiting:
        while waiting and waiting[0][3][1] <= now:
            heapq.heappop(waiting)
        if not waiting:
            if place == len(rows):
                break
            now = max(now, rows[place][0])
        while place < len(rows) and rows[place][0] <= now:
            row = rows[place]
            heapq.heappush(waiting, (row[2] == _OTHER, -row[0], -place, row))
            place += 1
        while waiting and waiting[0][3][1] <= now:
            heapq.heappop(waiting)
        if not waiting:
            continue
        top = waiting[0][3]
        until = top[1] if place == len(rows) else min(top[1], rows[place][0])
        _append(pieces, (now, until, *top[2:]))
        now = until
    return pieces


def _append(pieces: list[_Row], piece: _Row) -> None:
    if pieces and pieces[-1][1] == piece[0] and pieces[-1][2:] == piece[2:]:
        pieces[-1] = (pieces[-1][0], *piece[1:])
    elif piece[1] > piece[0]:
        pieces.append(piece)
