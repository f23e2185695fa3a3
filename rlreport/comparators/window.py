"""The steps of a window as arrays, ready for the functions of `rlreport.stats`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlreport.run.model import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Fewer steps than this carry no interval and no verdict: neither their correlation nor their spread can be judged.
FEWEST_STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class WindowArrays:
    """One value a step, in step order. `tokens` and `prompts` are None unless every step of the window has one above 0."""

    steps: NDArray[np.int64]
    time_s: Array
    tokens: Array | None
    prompts: Array | None

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def rate(self) -> Array:
        """Tokens a second of each step, or steps a second where tokens are not known."""
        return self.work / self.time_s

    @property
    def work(self) -> Array:
        """What a step achieves: its tokens, or 1 where tokens are not known."""
        import numpy as np

        return np.ones(len(self.time_s)) if self.tokens is None else self.tokens


def window_arrays(run: Run, steps: Sequence[int]) -> WindowArrays:
    """Time, tokens and prompts of the given steps, which must all have a step time."""
    import numpy as np

    rows = run.steps.index.isin(steps)
    return WindowArrays(
        np.asarray(run.steps.index[rows], dtype=np.int64),
        column_array(run, "time.step_s")[rows],
        _known(column_array(run, "work.tokens")[rows]),
        _known(column_array(run, "work.prompts")[rows]),
    )


def column_array(run: Run, metric: str) -> Array:
    """A canonical metric over all logged steps, NaN where it is not logged."""
    import numpy as np

    column = run.metric(metric)
    if column is None:
        return np.full(len(run.steps), np.nan)
    return np.asarray(column.to_numpy(dtype=float), dtype=np.float64)


def mean_over(run: Run, metric: str, steps: Sequence[int]) -> float | None:
    """Mean of a metric over those of the steps that have it, or None."""
    import numpy as np

    values = column_array(run, metric)[run.steps.index.isin(steps)]
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def _known(values: Array) -> Array | None:
    return values if len(values) and bool((values > 0).all()) else None
