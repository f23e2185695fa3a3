"""The span tables of one run's sources on one clock.

Tables with an absolute clock share Unix time. A table without one, as a process that counts from its own start, is put on
it by markers: events that both saw, such as the end of a step's weight sync, which ranks leave together. The offset is the
median difference of such an activity's markers; what remains of the differences is the residual, which is told. Absolute
clocks are corrected likewise, but only where several markers agree that they differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rlreport.collectors.spans.times import MILLISECOND
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.raw import SourceTable
from rlreport.run.spans import Gauge, Lane, SpanTable

#: Hosts' clocks that differ by less than this are left as they are.
SKEW_NS = 5 * MILLISECOND
#: So many markers must agree before an absolute clock is corrected.
_MIN_MARKERS = 3
#: A correction must be this many times larger than what it leaves over.
_CLEAR = 4
#: Activities that ranks leave together, and how far apart they may do so.
_COLLECTIVE = re.compile(r"weight|sync|broadcast|barrier|model_update", re.IGNORECASE)
_TOGETHER_NS = 50 * MILLISECOND


@dataclass(frozen=True, slots=True)
class MergedSpans:
    """Tables, each with its own clock, the gauges of all sources, and what was done to bring clocks together."""

    tables: tuple[SpanTable, ...]
    notices: tuple[Notice, ...] = ()
    gauges: tuple[Gauge, ...] = ()


@dataclass(frozen=True, slots=True)
class Offset:
    """How far one clock is ahead of another: `by` the activity whose markers decided it, `count` of them.

    `residual_ns` is the largest difference that remains, 0 with one marker, which cannot be checked.
    """

    ahead_ns: int
    residual_ns: int
    count: int
    by: str


def merge_spans(sources: Sequence[SourceTable]) -> MergedSpans:
    """Merge the spans of the sources of one run.

    Returns:
        One table for all sources whose clocks are known together, first of all the absolute ones; after it a table for each
        source that shares no marker with the tables before it. None without spans. Gauges move with their source's spans.
    """
    waiting = [
        (source.path, source.spans, source.gauges) for source in sources if source.spans is not None and len(source.spans)
    ]
    waiting.sort(key=lambda item: item[1].zero_unix_ns is None)
    groups: list[tuple[str, SpanTable]] = []
    notices: list[Notice] = []
    gauges = [gauge for source in sources if source.spans is None or not len(source.spans) for gauge in source.gauges]
    for path, table, own in waiting:
        for number, (_, group) in enumerate(groups):
            moved, told = _onto(group, table, path)
            if moved is not None:
                groups[number] = (groups[number][0], join_tables(group, moved))
                notices += told
                gauges += [_with_spans(gauge, table, moved) for gauge in own]
                break
        else:
            groups.append((path, table))
            gauges += own
    for path, table in groups[1:]:
        message = "the spans have a clock of their own and share no marker with other sources; they are shown apart"
        if table.zero_unix_ns is None:
            notices.append(Notice("RR271", message, path))
    return MergedSpans(tuple(table for _, table in groups), tuple(notices), tuple(gauges))


def _with_spans(gauge: Gauge, table: SpanTable, moved: SpanTable) -> Gauge:
    """A gauge on the clock of its source's table, moved as the table was."""
    if (gauge.zero_unix_ns is None) != (table.zero_unix_ns is None):
        return gauge
    by_ns = int(moved.start_ns[0]) - int(table.start_ns[0])
    if table.zero_unix_ns is None or moved.zero_unix_ns is None:
        return replace(gauge, time_ns=[int(at) + by_ns for at in gauge.time_ns], zero_unix_ns=moved.zero_unix_ns)
    by_ns += moved.zero_unix_ns - table.zero_unix_ns
    return replace(gauge, time_ns=[int(at) + by_ns for at in gauge.time_ns]) if by_ns else gauge


def _onto(group: SpanTable, table: SpanTable, path: str) -> tuple[SpanTable | None, list[Notice]]:
    """The table on the clock of a group; None when that is not possible."""
    if table.zero_unix_ns is not None and group.zero_unix_ns is not None:
        same = rezero(table, group.zero_unix_ns)
        found = find_offset(group.markers_ns, same.markers_ns)
        clear = found is not None and found.count >= _MIN_MARKERS
        if found is None or not clear or abs(found.ahead_ns) <= max(SKEW_NS, _CLEAR * found.residual_ns):
            return same, []
        return shift(same, -found.ahead_ns), [_told(found, path, "the clock is")]
    found = find_offset(group.markers_ns, table.markers_ns)
    if found is None:
        return None, []
    moved = replace(shift(table, -found.ahead_ns), zero_unix_ns=group.zero_unix_ns)
    return moved, [_told(found, path, "the clock of its own is")]


def _told(found: Offset, path: str, what: str) -> Notice:
    markers = plural(found.count, f"shared marker of {found.by}") if found.count == 1 else f"{found.count:,} of {found.by}"
    ahead = found.ahead_ns / 1e9
    message = f"{what} aligned by {-ahead:+.6g} s on shared markers ({markers})"
    if found.count == 1:
        message += "; one marker alone cannot be checked"
    else:
        message += f"; the largest residual is {found.residual_ns / 1e6:.3g} ms"
    return Notice("RR270", message, path)


def find_offset(reference: Mapping[str, int], other: Mapping[str, int]) -> Offset | None:
    """How far the clock of `other` is ahead of that of `reference`; None when they share no marker.

    Markers are named `<activity>@<step>`. Of the activities with two or more shared steps, one that ranks leave together by
    its name (a weight sync, a broadcast) decides, where its differences scatter about as little as those of any; else the
    one whose differences scatter least, which may be off by what one rank is always later than another. Where no activity
    has two shared steps, all shared markers decide.
    """
    import numpy as np

    differences: dict[str, list[int]] = {}
    for key in sorted(reference.keys() & other.keys()):
        differences.setdefault(key.rpartition("@")[0], []).append(other[key] - reference[key])
    if not differences:
        return None
    several = {name: values for name, values in differences.items() if len(values) > 1}
    if not several:
        name = next(iter(differences)) if len(differences) == 1 else "all activities"
        several = {name: [value for values in differences.values() for value in values]}
    found: list[Offset] = []
    for name, values in sorted(several.items()):
        column = np.array(values, np.int64)
        middle = int(np.sort(column)[len(column) // 2])
        found.append(Offset(middle, int(np.abs(column - middle).max()), len(values), name))
    best = min(found, key=lambda offset: offset.residual_ns)
    enough_ns = max(_TOGETHER_NS, _CLEAR * best.residual_ns)
    together = [offset for offset in found if _COLLECTIVE.search(offset.by) and offset.residual_ns <= enough_ns]
    return min(together or [best], key=lambda offset: offset.residual_ns)


def shift(table: SpanTable, by_ns: int) -> SpanTable:
    """A table all of whose times are later by some nanoseconds."""
    return replace(
        table,
        start_ns=table.start_ns + by_ns,
        end_ns=table.end_ns + by_ns,
        boundaries_ns={key: at + by_ns for key, at in table.boundaries_ns.items()},
        markers_ns={key: at + by_ns for key, at in table.markers_ns.items()},
    )


def rezero(table: SpanTable, zero_unix_ns: int) -> SpanTable:
    """A table with an absolute clock whose times count from another zero."""
    if table.zero_unix_ns is None:
        raise ValueError("the table has no absolute clock")
    return replace(shift(table, table.zero_unix_ns - zero_unix_ns), zero_unix_ns=zero_unix_ns)


def join_tables(first: SpanTable, second: SpanTable) -> SpanTable:
    """Two tables on one clock as one; lanes of one name are one lane, and the earlier time of a version or marker stays."""
    import numpy as np

    lanes = {lane.name: lane for lane in first.lanes}
    for lane in second.lanes:
        before = lanes.setdefault(lane.name, lane)
        if (lane.devices or 0) > (before.devices or 0):
            lanes[lane.name] = replace(before, devices=lane.devices)
    ordered = sorted(lanes.values(), key=_lane_key)
    codes = {lane.name: code for code, lane in enumerate(ordered)}
    names = tuple(dict.fromkeys((*first.names, *second.names)))
    name_codes = {name: code for code, name in enumerate(names)}
    tables = (first, second)
    lane_column = np.concatenate([np.array([codes[lane.name] for lane in t.lanes], np.int32)[t.lane] for t in tables])
    name_column = np.concatenate([np.array([name_codes[name] for name in t.names], np.int32)[t.name] for t in tables])
    start, end = (np.concatenate([getattr(t, field) for t in tables]) for field in ("start_ns", "end_ns"))
    order = np.lexsort((end, start, lane_column))
    return SpanTable(
        lanes=tuple(ordered),
        lane=lane_column[order],
        activity=np.concatenate([t.activity for t in tables])[order],
        name=name_column[order],
        names=names,
        start_ns=start[order],
        end_ns=end[order],
        version=np.concatenate([t.version for t in tables])[order],
        zero_unix_ns=first.zero_unix_ns,
        boundaries_ns=_earliest(first.boundaries_ns, second.boundaries_ns),
        markers_ns={**second.markers_ns, **first.markers_ns},
    )


def _lane_key(lane: Lane) -> tuple[bool, int, str]:
    return lane.index is None, lane.index or 0, lane.name


def _earliest(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    both = {key: min(first.get(key, at), at) for key, at in second.items()}
    return dict(sorted({**first, **both}.items()))
