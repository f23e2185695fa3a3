"""Spans that run side by side, such as the requests of one engine: when any is open, and how many are.

A span is two edges, +1 where it begins and -1 where it ends, so that neither its partner nor its neighbours have to be
known: the sum of the edges up to a moment is how many are open. Memory does not grow with the number of spans: where there
are too many edges, times of crowded rows are rounded to steps and the edges of one moment become one.
"""

from __future__ import annotations

import itertools
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Edges that are held before times are rounded; 16 bytes each.
MAX_EDGES = 1_000_000
#: The first rounding, and the factor from one to the next.
_FIRST_STEP_NS = 1_024
_FACTOR = 4
_LARGEST_STEP_NS = 2**60


@dataclass(frozen=True, slots=True)
class Course:
    """How many spans of one row are open from each moment on; the last count is 0."""

    row: int
    time_ns: NDArray[np.int64]
    count: NDArray[np.int64]

    @property
    def most(self) -> int:
        """The largest number of spans that are open at once."""
        return int(self.count.max())

    def busy(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(starts, ends) of the stretches during which at least one span is open."""
        import numpy as np

        before = np.concatenate(([0], self.count[:-1]))
        return self.time_ns[(before == 0) & (self.count > 0)], self.time_ns[(before > 0) & (self.count == 0)]


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges by row and time, one a moment."""

    row: NDArray[np.int32]
    time_ns: NDArray[np.int64]
    change: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.row)


@dataclass(slots=True)
class OpenSpans:
    """Counts open spans by row.

    `added` is how many spans were taken. `step_ns` is 1 as long as all times are exact; else those of the rows with most
    spans are off by less than that: durations are right on average, and spans that are shorter may vanish. Rows with fewer
    spans than an equal share of the edges stay exact.
    """

    limit: int = field(default_factory=lambda: MAX_EDGES)
    added: int = 0
    step_ns: int = 1
    # Spans that were taken since the last rounding, and the edges of all before.
    _row: array[int] = field(default_factory=lambda: array("i"))
    _start_ns: array[int] = field(default_factory=lambda: array("q"))
    _end_ns: array[int] = field(default_factory=lambda: array("q"))
    _before: _Edges | None = None

    def add(self, row: int, start_ns: int, end_ns: int) -> None:
        """Take a span that ends after it begins."""
        self._row.append(row)
        self._start_ns.append(start_ns)
        self._end_ns.append(end_ns)
        self.added += 1
        if 2 * len(self._row) > self.limit - (0 if self._before is None else len(self._before)):
            self._round()

    def courses(self) -> list[Course]:
        """The course of every row that has spans, by row."""
        import numpy as np

        edges = self._edges()
        # The edges of a row add up to 0, so that one sum over all rows begins anew with each.
        count = np.cumsum(edges.change, dtype=np.int64)
        bounds = [0, *(np.flatnonzero(edges.row[1:] != edges.row[:-1]) + 1).tolist(), len(edges)]
        return [
            Course(int(edges.row[begin]), edges.time_ns[begin:end], count[begin:end])
            for begin, end in itertools.pairwise(bounds)
            if begin < end
        ]

    def _edges(self) -> _Edges:
        """All edges, with the times that they have by now."""
        import numpy as np

        row = np.array(self._row, np.int32)
        time_ns = np.concatenate((np.array(self._start_ns, np.int64), np.array(self._end_ns, np.int64)))
        change = np.repeat(np.array([1, -1], np.int32), len(row))
        edges = _Edges(np.concatenate((row, row)), time_ns, change)
        if self._before is not None:
            pairs = ((getattr(self._before, name), getattr(edges, name)) for name in ("row", "time_ns", "change"))
            edges = _Edges(*(np.concatenate(pair) for pair in pairs))
        return _merged(_sorted(edges))

    def _round(self) -> None:
        """Round the times of crowded rows to the first step that leaves half of the limit."""
        import numpy as np

        edges = self._edges()
        counts = np.bincount(edges.row)
        crowded = (counts > self.limit / 4 / np.count_nonzero(counts))[edges.row]
        # Rounding leaves the order of a row's times as it is.
        while True:
            time_ns = np.where(crowded, (edges.time_ns + self.step_ns // 2) // self.step_ns * self.step_ns, edges.time_ns)
            rounded = _merged(_Edges(edges.row, time_ns, edges.change))
            if len(rounded) <= self.limit // 2 or self.step_ns >= _LARGEST_STEP_NS:
                break
            self.step_ns = max(_FIRST_STEP_NS, self.step_ns * _FACTOR)
        self._before = rounded
        self._row, self._start_ns, self._end_ns = array("i"), array("q"), array("q")


def _sorted(edges: _Edges) -> _Edges:
    """Edges in order of row and time."""
    import numpy as np

    order = np.lexsort((edges.time_ns, edges.row))
    return _Edges(edges.row[order], edges.time_ns[order], edges.change[order])


def _merged(edges: _Edges) -> _Edges:
    """Edges that are in order, with one a moment and none that changes nothing."""
    import numpy as np

    if not len(edges):
        return edges
    row, time_ns = edges.row, edges.time_ns
    another = (row[1:] != row[:-1]) | (time_ns[1:] != time_ns[:-1])
    first = np.concatenate(([0], np.flatnonzero(another) + 1))
    change = np.add.reduceat(edges.change, first, dtype=np.int32)
    first, change = first[change != 0], change[change != 0]
    return _Edges(row[first], time_ns[first], change)
