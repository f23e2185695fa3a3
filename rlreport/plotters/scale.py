"""From values to axes: limits that an outlier cannot spoil, round ticks, and lines thinned without losing extremes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


#: Larger magnitudes are no measurement of anything; they would overflow in the arithmetic of axes.
LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class Limits:
    """The part of an axis that is shown; `clips_low` and `clips_high` say that values lie beyond it."""

    low: float
    high: float
    clips_low: bool = False
    clips_high: bool = False


@dataclass(frozen=True, slots=True)
class Ticks:
    """Tick positions and their texts."""

    values: tuple[float, ...]
    texts: tuple[str, ...]


def to_array(values: Iterable[float | None]) -> Array:
    """Values as an array; None, what is not finite and what is absurdly large become NaN."""
    import numpy as np

    array = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    array[~(np.abs(array) <= LARGEST)] = np.nan
    return array


def finite(values: Array) -> Array:
    """The values that are known."""
    import numpy as np

    return values[np.isfinite(values)]


def within(values: Array, limits: Limits) -> Array:
    """The values with those beyond the limits made unknown; they are drawn as arrows instead."""
    import numpy as np

    inside = (values >= limits.low) & (values <= limits.high)
    return np.where(inside, values, np.nan)


def robust_limits(core: Sequence[Array], others: Sequence[Array] = (), *, reach: float = 1.6, gap: float = 1.0) -> Limits:
    """Limits that show all of the data but a few values far away from the bulk of it.

    The bulk is `core` without its outliers: at most 4 values (or 3 %, but never more than a tenth) that are parted from the
    rest by a gap wider than `gap` times the height of the rest. Others are shown when they lie within `reach` times the
    height of the bulk, or within 40 % of its level; farther ones stay outside when they are few (4, or 3 %). Many of them
    are no outliers but a part of the story.

    Args:
        core: What the figure is about (values in the window), one array a run. An empty core means that all is core.
        others: What else is drawn (values left out).
        reach: How far beyond the bulk others are shown in any case, as a multiple of its height.
        gap: How wide the gap to an outlier of the core must be, as a multiple of the height of the rest.

    Returns:
        The limits without margin; 0 to 1 when nothing is known.
    """
    import numpy as np

    everything = [finite(array) for array in (*core, *others) if finite(array).size]
    if not everything:
        return Limits(0.0, 1.0)
    values = np.sort(np.concatenate(everything))
    bulk = _without_outliers(
        np.sort(np.concatenate([finite(array) for array in core if finite(array).size] or everything)), gap
    )
    low, high = float(bulk[0]), float(bulk[-1])
    shown_beyond = max(reach * _height(low, high), 0.4 * max(abs(low), abs(high)))
    floor, ceiling = low - shown_beyond, high + shown_beyond
    if np.count_nonzero((values < floor) | (values > ceiling)) > max(4, int(0.03 * values.size)):
        floor, ceiling = float(values[0]), float(values[-1])
    shown = values[(values >= floor) & (values <= ceiling)]
    first, last = float(shown[0]), float(shown[-1])
    return Limits(first, last, clips_low=bool(values[0] < first), clips_high=bool(values[-1] > last))


def _without_outliers(ordered: Array, gap: float) -> Array:
    """Ascending values without the few at either end that a wide gap parts from the rest."""
    allowed = min(max(4, int(0.03 * ordered.size)), ordered.size // 10)
    start, end = 0, int(ordered.size)
    for _side in range(2):  # the lower end is judged again when the upper one has been cut
        for cut in range(allowed - start - (ordered.size - end), 0, -1):
            if ordered[start + cut] - ordered[start + cut - 1] > gap * _height(ordered[start + cut], ordered[end - 1]):
                start += cut
                break
        for cut in range(allowed - start - (ordered.size - end), 0, -1):
            if ordered[end - cut] - ordered[end - cut - 1] > gap * _height(ordered[start], ordered[end - cut - 1]):
                end -= cut
                break
    return ordered[start:end]


def _height(low: float, high: float) -> float:
    """The height of an interval, of a flat one a tenth of its level."""
    return max(high - low, 0.1 * max(abs(low), abs(high)))


def padded(limits: Limits, *, share: float = 0.06, low_share: float = 0.0, high_share: float = 0.0) -> Limits:
    """Limits with a margin: `share` of the height on both sides, and more below and above where something is to stand there.

    Data that are nowhere negative get no axis below 0, unless something is to stand there.
    """
    height = limits.high - limits.low
    if height <= 1e-3 * max(abs(limits.low), abs(limits.high)) or height == 0:  # a flat line stands in the middle of ±5 %
        middle, half = (limits.low + limits.high) / 2, 0.05 * max(abs(limits.low), abs(limits.high)) or 0.5
        limits = Limits(middle - half, middle + half, limits.clips_low, limits.clips_high)
        height = 2 * half
    low = limits.low - share * height
    if limits.low >= 0:
        low = max(low, 0.0)
    return Limits(low - low_share * height, limits.high + (share + high_share) * height, limits.clips_low, limits.clips_high)


def ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> Ticks:
    """Round positions within an interval, with as many decimals as their distance needs.

    Args:
        low: Lower end of the axis.
        high: Upper end of the axis.
        most: About how many.
        whole: Whole numbers only (steps).
    """
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(nbins=max(most, 1), steps=[1, 2, 2.5, 5, 10], integer=whole, min_n_ticks=1)
    slack = 1e-9 * (high - low)
    # + 0.0 turns a negative zero into zero
    values = tuple(float(v) + 0.0 for v in locator.tick_values(low, high) if low - slack <= v <= high + slack)
    return Ticks(values, tick_texts(values))


def tick_texts(values: Sequence[float]) -> tuple[str, ...]:
    """Texts of the ticks of one axis: the same scale and decimals for all, a scale written out as "12 k" or "3 M"."""
    if not values:
        return ()
    largest = max(abs(value) for value in values)
    scale, prefix = next(
        ((s, p) for s, p in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")) if largest >= 10 * s), (1.0, "")
    )
    if largest >= 1e15 or 0 < largest < 1e-4:
        return tuple("0" if value == 0 else f"{value:.3g}".replace("-", "−") for value in values)
    distance = min((b - a for a, b in pairwise(values)), default=0.0) / scale or abs(values[0]) / scale
    decimals = _decimals(distance)
    return tuple("0" if value == 0 else f"{value / scale:,.{decimals}f}".replace("-", "−") + prefix for value in values)


def _decimals(distance: float) -> int:
    """Decimals that tell multiples of a round distance apart: 0.25 needs two, 20 none."""
    if not distance or not math.isfinite(distance):
        return 0
    for decimals in range(9):
        if abs(round(distance, decimals) - distance) <= 1e-6 * distance:
            return decimals
    return 9


def decimate(x: Array, y: Array, low: float, high: float, columns: int) -> tuple[Array, Array]:
    """Thin a line to at most four points a column of the drawing: the first, the lowest, the highest, the last.

    At the drawing's resolution the thinned line covers the same pixels as the whole one (Jugel and others, "M4: a
    visualization-oriented time series data aggregation", VLDB 2014). A column without a known value becomes one gap.

    Args:
        x: Positions, ascending.
        y: Values; NaN is a gap.
        low: Left end of the axis.
        high: Right end of the axis.
        columns: Number of columns of the drawing.

    Returns:
        Positions and values, unchanged when there are few.
    """
    import numpy as np

    if x.size <= 2 * columns or high <= low:
        return x, y
    column = np.floor((x - low) / (high - low) * columns)
    starts = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    picked: list[int] = []
    for start, end in zip(starts, [*starts[1:], x.size], strict=True):
        known = np.flatnonzero(np.isfinite(y[start:end])) + start
        if known.size:
            values = y[known]
            picked += sorted({int(known[0]), int(known[values.argmin()]), int(known[values.argmax()]), int(known[-1])})
        else:
            picked.append(int(start))
    return x[picked], y[picked]


def thin_points(x: Array, y: Array, cell_x: float, cell_y: float) -> NDArray[np.intp]:
    """Indices of the points to draw as markers: the first of each cell of a grid, so that none hides another.

    The highest and the lowest point are always among them. Unknown values are not.
    """
    import numpy as np

    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not known.size or cell_x <= 0 or cell_y <= 0:
        return known
    cells = np.stack([np.floor(x[known] / cell_x), np.floor(y[known] / cell_y)])
    _unique, first = np.unique(cells, axis=1, return_index=True)
    extremes = (int(y[known].argmin()), int(y[known].argmax()))
    picked: NDArray[np.intp] = known[np.unique(np.concatenate([first, extremes]))]
    return picked
