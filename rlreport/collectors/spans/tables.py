"""From gathered columns to a table: impossible times go, durations that reach too far are clipped, lanes get an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rlreport.collectors.spans.columns import SpanColumns
from rlreport.collectors.spans.times import UNIX_NS
from rlreport.collectors.text import plural
from rlreport.run.diagnostics import Notice
from rlreport.run.spans import ACTIVITIES, Lane, SpanTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

_DAY_NS = 86_400 * 10**9
#: A span longer than this is a broken duration (the profilers' own readers cap them too, HolisticTraceAnalysis issue 324).
MAX_SPAN_NS = 30 * _DAY_NS
#: A span that begins further than this from the median span is on another clock.
MAX_DISTANCE_NS = 400 * _DAY_NS
#: Overlaps up to this are the rounding of microseconds.
ROUNDING_NS = 1_000


def build_table(
    columns: SpanColumns,
    lanes: Sequence[Lane],
    where: str,
    *,
    unix_offset_ns: int | None = None,
    concurrent: bool = False,
    markers_ns: Mapping[str, int] | None = None,
    boundaries_ns: Mapping[int, int] | None = None,
) -> tuple[SpanTable | None, list[Notice]]:
    """Make the table of a source.

    Args:
        columns: the spans; times on the source's own clock.
        lanes: the lane of each track; tracks whose lanes have one name share the first one's.
        where: the source, for notices.
        unix_offset_ns: what must be added to get Unix time; None finds out whether the clock is Unix time already.
        concurrent: spans of a track may overlap, so that no duration is clipped.
        markers_ns: shared events, on the source's clock.
        boundaries_ns: parameter version -> when it began to serve, on the source's clock.

    Returns:
        The table (None when no span is left), and what was left out or changed. Times of a table with an absolute clock
        count from its first span; others keep the source's zero. Sides and activities are not told yet.
    """
    import numpy as np

    spans = columns.arrays()
    keep = _plausible(spans.start_ns, spans.end_ns)
    impossible = columns.dropped.impossible + int(len(keep) - keep.sum())
    spans = spans.take(keep)
    clipped, clipped_ns = (0, 0) if concurrent else clip_overflow(spans.track, spans.start_ns, spans.end_ns)
    notices = _notices(columns, impossible, clipped, clipped_ns, where)
    if not len(spans):
        return None, notices
    code_of, shared = _ordered(lanes, np.unique(spans.track).tolist())
    lane = code_of[spans.track]
    order = np.lexsort((spans.end_ns, spans.start_ns, lane))
    lane, spans = lane[order], spans.take(order)
    used, name = np.unique(spans.name, return_inverse=True)
    texts = columns.names.texts
    if unix_offset_ns is None and int(np.median(spans.start_ns)) >= UNIX_NS:
        unix_offset_ns = 0
    zero = 0 if unix_offset_ns is None else int(spans.start_ns.min())
    table = SpanTable(
        lanes=shared,
        lane=lane,
        activity=np.full(len(spans), ACTIVITIES.index("other"), np.int8),
        name=name.astype(np.int32),
        names=tuple(texts[code] for code in used.tolist()),
        start_ns=spans.start_ns - zero,
        end_ns=spans.end_ns - zero,
        version=spans.version,
        zero_unix_ns=None if unix_offset_ns is None else zero + unix_offset_ns,
        boundaries_ns={key: at - zero for key, at in sorted((boundaries_ns or {}).items())},
        markers_ns={key: at - zero for key, at in sorted((markers_ns or {}).items())},
    )
    return table, notices


def _plausible(start: Times, end: Times) -> NDArray[np.bool_]:
    """Which spans are neither too long nor on another clock than most."""
    import numpy as np

    keep: NDArray[np.bool_] = end - start <= MAX_SPAN_NS
    if keep.any():
        middle = np.median(start[keep])
        keep &= np.abs(start - middle) <= MAX_DISTANCE_NS
    return keep


def _ordered(lanes: Sequence[Lane], tracks: Sequence[int]) -> tuple[NDArray[np.int32], tuple[Lane, ...]]:
    """(the code of the lane of each track, the lanes in order: numbered ones first, by number, then by name)."""
    import numpy as np

    first: dict[str, Lane] = {}
    for track in tracks:
        first.setdefault(lanes[track].name, lanes[track])
    ordered = sorted(first.values(), key=lambda lane: (lane.index is None, lane.index or 0, lane.name))
    codes = {lane.name: code for code, lane in enumerate(ordered)}
    return np.array([codes.get(lane.name, 0) for lane in lanes], np.int32), tuple(ordered)


def clip_overflow(track: NDArray[np.int32], start: Times, end: Times) -> tuple[int, int]:
    """Clip, in place, durations that reach into the next span of their track without enclosing it.

    A span that lies within another one is nested and stays. Where two only overlap, the earlier one's duration is taken to
    be wrong (TraceLens issue 669) and it ends where the later one begins; an overlap within the rounding of microseconds
    is put right silently.

    Returns:
        How many durations were clipped, and by how many nanoseconds together.
    """
    import numpy as np

    if not len(start):
        return 0, 0
    order = np.lexsort((-end, start, track))
    begins, tracks = start[order], track[order]
    overlaps = (tracks[1:] == tracks[:-1]) & (begins[1:] < end[order][:-1])
    clipped = clipped_ns = 0
    for number in np.unique(tracks[1:][overlaps]).tolist():
        low, high = np.searchsorted(tracks, (number, number + 1)).tolist()
        mine = order[low:high]
        ends, count, total = _clip_track(begins[low:high].tolist(), end[mine].tolist())
        end[mine] = ends
        clipped += count
        clipped_ns += total
    return clipped, clipped_ns


def _clip_track(starts: list[int], ends: list[int]) -> tuple[list[int], int, int]:
    """The ends of one track's spans, clipped; spans are ordered by start, the longer first."""
    clipped = clipped_ns = 0
    open_spans: list[int] = []
    for index, start in enumerate(starts):
        while open_spans and ends[open_spans[-1]] <= start:
            open_spans.pop()
        while open_spans and ends[index] > (outer := ends[open_spans[-1]]):
            if ends[index] - outer <= ROUNDING_NS and start < outer - ROUNDING_NS:
                ends[index] = outer
                break
            ends[open_spans.pop()] = start
            if outer - start > ROUNDING_NS:
                clipped += 1
                clipped_ns += outer - start
            while open_spans and ends[open_spans[-1]] <= start:
                open_spans.pop()
        open_spans.append(index)
    return ends, clipped, clipped_ns


def _notices(columns: SpanColumns, impossible: int, clipped: int, clipped_ns: int, where: str) -> list[Notice]:
    notices: list[Notice] = []
    dropped = columns.dropped
    reasons = (
        (dropped.negative, "a negative duration"),
        (impossible, "times that no clock shows"),
        (dropped.untimed, "no time or no duration"),
    )
    parts = [f"{count:,} with {what}" for count, what in reasons if count]
    if parts:
        total = sum(count for count, _ in reasons)
        notices.append(Notice("RR262", f"{plural(total, 'span')} left out: {', '.join(parts)}", where))
    if clipped:
        count = plural(clipped, "duration")
        message = f"{count} reaching into the next span of the track clipped, by {clipped_ns / 1e9:.3g} s in all"
        notices.append(Notice("RR263", message, where))
    if columns.joined:
        message = f"{plural(columns.joined, 'span')} joined with their neighbours to bound memory"
        message += f"; gaps up to {columns.filled_ns / 1e6:g} ms between them are filled"
        if columns.short_ns:
            message += f", and the names of spans up to {columns.short_ns / 1e6:g} ms are lost"
        if columns.left_out:
            message += f"; the {columns.left_out:,} shortest are left out"
        notices.append(Notice("RR265", message, where))
    return notices
