"""Spans while they are gathered: compact columns of bounded size, and what had to be left out, by reason."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rlreport.collectors.spans.times import LIMIT_NS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Spans that are kept before neighbours are joined; 29 bytes each.
MAX_SPANS = 2_000_000
#: Different names that are kept; those beyond share one.
MAX_NAMES = 50_000
OTHER_NAME = "(other names)"
_LONGEST_NAME = 200

#: What spans become when neighbours of different names are joined.
SHORT_NAME = "(short spans)"
#: How joining goes on while there are too many spans: the gap to fill, and up to which length names do not matter.
#: Operators of a profile take microseconds; what a timeline of a run is about takes seconds.
_STAGES_NS: tuple[tuple[int, int], ...] = (
    (1_000, 0),
    (1_000_000, 0),
    (1_000_000, 1_000_000),
    (1_000_000, 10_000_000),
    (10_000_000, 100_000_000),
    (100_000_000, 1_000_000_000),
)
_NO_VERSION = -1

_MAX_VERSION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SpanArrays:
    """Columns of spans as arrays of one length."""

    track: NDArray[np.int32]
    name: NDArray[np.int32]
    version: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> SpanArrays:
        """The spans at some places, in that order."""
        return SpanArrays(self.track[rows], self.name[rows], self.version[rows], self.start_ns[rows], self.end_ns[rows])


@dataclass(slots=True)
class Dropped:
    """How many spans were left out: negative durations, none at all (no time or no duration), times beyond any clock."""

    negative: int = 0
    empty: int = 0
    impossible: int = 0
    untimed: int = 0


class Names(dict[object, int]):
    """Codes of names in the order in which they were met; names beyond `MAX_NAMES` share one code."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[str, int] = {}

    def __missing__(self, name: object) -> int:
        text = clean_name(name)
        code = self._codes.get(text)
        if code is None:
            code = self._codes.setdefault(text if len(self._codes) < MAX_NAMES else OTHER_NAME, len(self._codes))
        if len(self) < 2 * MAX_NAMES and not (isinstance(name, str) and len(name) > _LONGEST_NAME):
            self[name] = code
        return code

    @property
    def texts(self) -> tuple[str, ...]:
        """The names by code."""
        return tuple(self._codes)


def clean_name(name: object) -> str:
    """A name as one line of text without control characters, at most 200 characters long."""
    text = "" if name is None else str(name)
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text.strip()[:_LONGEST_NAME] or "(no name)"


@dataclass(slots=True)
class SpanColumns:
    """Spans of one source. `track` numbers the rows of the source (a thread, a process, a lane), in the collector's own way.

    `add` takes absolute or relative nanoseconds and sorts out what is no span. When more than `limit` spans are held,
    neighbours of one track and version are joined in stages until half of the limit is left: first those of one name, then
    short ones of any names. `joined` counts the spans that were merged away, `filled_ns` is the largest gap that was filled,
    `short_ns` the length up to which names were given up, `left_out` how many spans remained too many.
    """

    limit: int = MAX_SPANS
    names: Names = field(default_factory=Names)
    dropped: Dropped = field(default_factory=Dropped)
    track: array[int] = field(default_factory=lambda: array("i"))
    name: array[int] = field(default_factory=lambda: array("i"))
    version: array[int] = field(default_factory=lambda: array("i"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    joined: int = 0
    filled_ns: int = 0
    short_ns: int = 0
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.start_ns)

    def add(self, track: int, name: object, start_ns: int | None, duration_ns: int | None, version: object = None) -> None:
        """Add a span; one without times, or with impossible ones, is counted."""
        if start_ns is None or duration_ns is None:
            self.dropped.untimed += 1
        elif duration_ns < 0:
            self.dropped.negative += 1
        elif duration_ns == 0:
            self.dropped.empty += 1
        elif abs(start_ns) > LIMIT_NS or abs(start_ns + duration_ns) > LIMIT_NS:
            self.dropped.impossible += 1
        else:
            self.track.append(track)
            self.name.append(self.names[name])
            self.version.append(version_of(version))
            self.start_ns.append(start_ns)
            self.end_ns.append(start_ns + duration_ns)
            if len(self.start_ns) > self.limit:
                self._join()

    def extend(
        self,
        tracks: Iterable[int],
        names: Iterable[int],
        start_ns: NDArray[np.int64],
        end_ns: NDArray[np.int64],
        versions: Iterable[int],
    ) -> None:
        """Add spans whose times were checked before, as columns; names are codes of `names`."""
        self.track.extend(tracks)
        self.name.extend(names)
        self.version.extend(versions)
        self.start_ns.frombytes(start_ns.tobytes())
        self.end_ns.frombytes(end_ns.tobytes())
        if len(self.start_ns) > self.limit:
            self._join()

    def arrays(self) -> SpanArrays:
        """The columns as arrays."""
        import numpy as np

        return SpanArrays(
            np.array(self.track, np.int32),
            np.array(self.name, np.int32),
            np.array(self.version, np.int32),
            np.array(self.start_ns, np.int64),
            np.array(self.end_ns, np.int64),
        )

    def _join(self) -> None:
        import numpy as np

        spans = self.arrays()
        before = len(spans)
        for gap_ns, short_ns in _STAGES_NS:
            spans = join_neighbours(spans, gap_ns, short_ns, self.names[SHORT_NAME] if short_ns else -1)
            self.filled_ns, self.short_ns = max(self.filled_ns, gap_ns), max(self.short_ns, short_ns)
            if len(spans) <= self.limit // 2:
                break
        self.joined += before - len(spans)
        if len(spans) > self.limit // 2:
            longest = np.sort(np.argsort(spans.start_ns - spans.end_ns, kind="stable")[: self.limit // 2])
            self.left_out += len(spans) - len(longest)
            spans = spans.take(longest)
        self.track, self.name = array("i", spans.track.tobytes()), array("i", spans.name.tobytes())
        self.version = array("i", spans.version.tobytes())
        self.start_ns, self.end_ns = array("q", spans.start_ns.tobytes()), array("q", spans.end_ns.tobytes())


def join_neighbours(spans: SpanArrays, gap_ns: int, short_ns: int, mixed: int) -> SpanArrays:
    """Spans that follow each other in one track and version as one, where they are alike; in order of track and time.

    Args:
        spans: the spans.
        gap_ns: the largest gap that is filled.
        short_ns: neighbours are alike when they have one name, or when both are at most so long.
        mixed: the name of a span that is made of spans of different names.
    """
    import numpy as np

    spans = spans.take(np.lexsort((spans.end_ns, spans.start_ns, spans.version, spans.track)))
    short = spans.end_ns - spans.start_ns <= short_ns
    alike = (spans.name[1:] == spans.name[:-1]) | (short[1:] & short[:-1])
    alike &= (spans.track[1:] == spans.track[:-1]) & (spans.version[1:] == spans.version[:-1])
    alike &= spans.start_ns[1:] <= spans.end_ns[:-1] + gap_ns
    first = np.flatnonzero(np.concatenate((np.array([True]), ~alike)))
    lowest, highest = np.minimum.reduceat(spans.name, first), np.maximum.reduceat(spans.name, first)
    joined = spans.take(first)
    return replace(
        joined,
        name=np.where(lowest == highest, joined.name, np.int32(mixed)),
        end_ns=np.maximum.reduceat(spans.end_ns, first),
    )


def version_of(value: object) -> int:
    """A parameter version as a number; -1 where the value is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_VERSION:
        return value
    return _NO_VERSION
