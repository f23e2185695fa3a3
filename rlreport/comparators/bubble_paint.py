"""Intervals painted over each other: what a group of devices did from moment to moment, one state at a time.

A *state* is a small number: an activity of `run.spans.ACTIVITIES` when the devices work, or `IDLE_FROM` plus the index of a
cause when they idle. Painting keeps one state for every moment, so what it adds up to is the painted time, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.run.spans import ACTIVITIES, BUSY, IDLE_CAUSES, Activity, IdleCause

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.int64]
    States = NDArray[np.int16]

#: States from here on are idle causes; those below are activities.
IDLE_FROM = 100
#: The state of devices that may have worked or idled: nobody knows.
UNTOLD = IDLE_FROM - 1
N_STATES = IDLE_FROM + len(IDLE_CAUSES)


def busy_state(activity: Activity) -> int:
    """The state of devices that do this."""
    return ACTIVITIES.index(activity)


def idle_state(cause: IdleCause) -> int:
    """The state of devices that idle for this cause."""
    return IDLE_FROM + IDLE_CAUSES.index(cause)


def is_idle(state: int) -> bool:
    """Whether a state is an idle one."""
    return state >= IDLE_FROM


def state_name(state: int) -> str:
    """The activity or the cause of a state."""
    if state == UNTOLD:
        return "untold"
    return IDLE_CAUSES[state - IDLE_FROM] if is_idle(state) else ACTIVITIES[state]


#: The states in which devices do useful work.
BUSY_STATES: tuple[int, ...] = tuple(busy_state(activity) for activity in ACTIVITIES if activity in BUSY)
IDLE_STATES: tuple[int, ...] = tuple(idle_state(cause) for cause in IDLE_CAUSES)


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Disjoint half-open intervals [start, end) in ascending order, in nanoseconds."""

    start_ns: Times
    end_ns: Times

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def total_ns(self) -> int:
        """What they cover."""
        return int((self.end_ns - self.start_ns).sum())

    def pairs(self) -> list[tuple[int, int]]:
        """Start and end of each, as plain numbers."""
        return list(zip(self.start_ns.tolist(), self.end_ns.tolist(), strict=True))


def intervals(pairs: Iterable[tuple[int, int]]) -> Intervals:
    """The union of some intervals; what is empty or reversed is left out."""
    import numpy as np

    listed = [pair for pair in pairs if pair[1] > pair[0]]
    array = np.array(listed, np.int64).reshape(-1, 2)
    return union(array[:, 0], array[:, 1])


def union(start: Times, end: Times, bridge_ns: int = 0) -> Intervals:
    """The union of intervals in any order; gaps of at most `bridge_ns` between them are filled."""
    import numpy as np

    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return Intervals(start, end)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    opens = np.concatenate([[True], start[1:] > end[:-1] + bridge_ns])
    closes = np.concatenate([opens[1:], [True]])
    return Intervals(start[opens], end[closes])


def complement(found: Intervals, begin_ns: int, end_ns: int) -> Intervals:
    """What the intervals leave of [begin, end)."""
    import numpy as np

    start = np.concatenate([[begin_ns], np.clip(found.end_ns, begin_ns, end_ns)])
    end = np.concatenate([np.clip(found.start_ns, begin_ns, end_ns), [end_ns]])
    keep = end > start
    return Intervals(start[keep].astype(np.int64), end[keep].astype(np.int64))


def intersect(first: Intervals, second: Intervals) -> Intervals:
    """What two sets of intervals have in common."""
    import numpy as np

    if not len(first) or not len(second):
        return Intervals(first.start_ns[:0], first.end_ns[:0])
    low = int(min(first.start_ns[0], second.start_ns[0]))
    high = int(max(first.end_ns[-1], second.end_ns[-1]))
    outside = [complement(found, low, high) for found in (first, second)]
    gone = union(np.concatenate([found.start_ns for found in outside]), np.concatenate([found.end_ns for found in outside]))
    return complement(gone, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Painted:
    """The states of one group of devices: state i holds from `edges_ns[i]` to `edges_ns[i + 1]`; neighbours differ."""

    edges_ns: Times
    states: States

    @property
    def begin_ns(self) -> int:
        """Where the painting begins."""
        return int(self.edges_ns[0])

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return int(self.edges_ns[-1])

    def where(self, states: Sequence[int]) -> Intervals:
        """When the devices were in one of some states."""
        import numpy as np

        chosen = np.isin(self.states, states)
        return union(self.edges_ns[:-1][chosen], self.edges_ns[1:][chosen])

    def clipped(self, begin_ns: int, end_ns: int) -> list[tuple[int, int, int]]:
        """(start, end, state) of every stretch within [begin, end)."""
        import numpy as np

        first = max(int(np.searchsorted(self.edges_ns, begin_ns, "right")) - 1, 0)
        last = int(np.searchsorted(self.edges_ns, end_ns, "left"))
        edges = np.clip(self.edges_ns[first : last + 1], begin_ns, end_ns).tolist()
        states = self.states[first:last].tolist()
        return [(a, b, s) for a, b, s in zip(edges[:-1], edges[1:], states, strict=True) if b > a]

    def seconds_by_state(self, edges_ns: Times) -> NDArray[np.float64]:
        """Seconds in each state between consecutive moments: one row a state, one column a stretch between two edges."""
        import numpy as np

        result = np.zeros((N_STATES, len(edges_ns) - 1))
        lengths = np.diff(self.edges_ns)
        for state in np.unique(self.states).tolist():
            done = np.concatenate([[0], np.cumsum(np.where(self.states == state, lengths, 0))]).astype(np.float64)
            at = np.interp(edges_ns.astype(np.float64), self.edges_ns.astype(np.float64), done)
            result[state] = np.diff(at) / 1e9
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Coat:
    """One coat of paint: a state and where it goes."""

    state: int
    where: Intervals


def paint(begin_ns: int, end_ns: int, ground: int, coats: Sequence[Coat]) -> Painted:
    """Paint coats over a ground, in order: where two overlap, the later one is seen."""
    import numpy as np

    marks = [coat.where.start_ns for coat in coats] + [coat.where.end_ns for coat in coats]
    inner = np.concatenate([np.array([begin_ns, end_ns], np.int64), *marks])
    edges = np.unique(np.clip(inner, begin_ns, end_ns))
    states = np.full(max(len(edges) - 1, 0), ground, np.int16)
    for coat in coats:
        if len(coat.where):
            steps = np.zeros(len(edges), np.int64)
            np.add.at(steps, np.searchsorted(edges, np.clip(coat.where.start_ns, begin_ns, end_ns)), 1)
            np.add.at(steps, np.searchsorted(edges, np.clip(coat.where.end_ns, begin_ns, end_ns)), -1)
            states[np.cumsum(steps[:-1]) > 0] = coat.state
    changes = np.flatnonzero(np.concatenate([[True], states[1:] != states[:-1]])) if len(states) else np.array([], int)
    return Painted(np.concatenate([edges[changes], edges[-1:]]), states[changes])
