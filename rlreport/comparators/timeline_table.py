"""One table of spans of a run whose traces come from several sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rlreport.run.diagnostics import Notice
from rlreport.run.format import plural
from rlreport.run.spans import Lane, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SIDES = {"trainer": 0, "hybrid": 1, "rollout": 2, "unknown": 3}


def one_table(tables: Sequence[SpanTable]) -> tuple[SpanTable | None, tuple[Notice, ...]]:
    """All spans on one clock, and what had to be left out.

    Tables with an absolute clock are put together; lanes of one name are one lane. Without an absolute clock two tables have
    no common zero: then the one with the most spans is taken, and the others are named.
    """
    filled = [table for table in tables if len(table)]
    if len(filled) < 2:
        return (filled[0] if filled else None), ()
    absolute = [table for table in filled if table.zero_unix_ns is not None]
    largest = max(filled, key=len)
    chosen = [largest] if largest.zero_unix_ns is None or len(absolute) == 1 else absolute
    left = len(filled) - len(chosen)
    notices: tuple[Notice, ...] = ()
    if left:
        spans = sum(len(table) for table in filled) - sum(len(table) for table in chosen)
        count = f"{plural(left, 'trace')} ({plural(spans, 'span')})"
        message = f"{count} without a clock in common with the others: in the export, not in the account"
        notices = (Notice("RR483", message),)
    return (chosen[0] if len(chosen) == 1 else _joined(chosen)), notices


def _joined(tables: Sequence[SpanTable]) -> SpanTable:
    import numpy as np

    zero = min(table.zero_unix_ns or 0 for table in tables)
    shifts = [(table.zero_unix_ns or 0) - zero for table in tables]
    lanes = sorted({_key(lane): lane for table in tables for lane in table.lanes}.values(), key=_order)
    codes = {_key(lane): code for code, lane in enumerate(lanes)}
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    name_codes = {name: code for code, name in enumerate(names)}
    lane = np.concatenate([np.array([codes[_key(w)] for w in t.lanes], np.int32)[t.lane] for t in tables])
    name = np.concatenate([np.array([name_codes[n] for n in t.names], np.int32)[t.name] for t in tables])
    start = _shifted([table.start_ns for table in tables], shifts)
    end = _shifted([table.end_ns for table in tables], shifts)
    order = np.lexsort((end, start, lane))
    boundaries = {
        version: at + shift
        for table, shift in zip(tables, shifts, strict=True)
        for version, at in table.boundaries_ns.items()
    }
    markers = {
        marker: at + shift for table, shift in zip(tables, shifts, strict=True) for marker, at in table.markers_ns.items()
    }
    return SpanTable(
        lanes=tuple(lanes),
        lane=lane[order],
        activity=np.concatenate([table.activity for table in tables])[order],
        name=name[order],
        names=names,
        start_ns=start[order],
        end_ns=end[order],
        version=np.concatenate([table.version for table in tables])[order],
        zero_unix_ns=zero,
        boundaries_ns=dict(sorted(boundaries.items())),
        markers_ns=dict(sorted(markers.items())),
    )


def _key(lane: Lane) -> tuple[str, int | None]:
    return lane.name, lane.index


def _order(lane: Lane) -> tuple[int, bool, int, str]:
    return _SIDES[lane.side], lane.index is None, lane.index or 0, lane.name


def _shifted(columns: Sequence[NDArray[np.int64]], shifts: Sequence[int]) -> NDArray[np.int64]:
    import numpy as np

    return np.concatenate([column + shift for column, shift in zip(columns, shifts, strict=True)])
