"""One side of a comparison: a run over its window, and the ways to express its throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, WindowArrays, window_arrays
from rlreport.run.estimate import Estimate
from rlreport.run.model import Run
from rlreport.stats.ratio import RatioOfSums, ratio_of_sums
from rlreport.stats.stationarity import lacks_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95
#: Ends of an interval that lie further apart than this factor describe nothing when the level wanders.
_LARGEST_SPAN = 4.0


@dataclass(frozen=True, slots=True)
class Metric:
    """A way to express throughput: its name, unit, the work counted, whether it is per device, seconds to its time unit."""

    name: str
    unit: str
    work: str
    per_device: bool
    scale: float = 1.0


#: In the order in which the headline is chosen: the first that both runs know.
METRICS = (
    Metric("tokens_per_s_per_device", "tokens/s/device", "tokens", per_device=True),
    Metric("tokens_per_s", "tokens/s", "tokens", per_device=False),
    Metric("prompts_per_s_per_device", "prompts/s/device", "prompts", per_device=True),
    Metric("prompts_per_s", "prompts/s", "prompts", per_device=False),
    Metric("steps_per_h", "steps/h", "steps", per_device=False, scale=3600.0),
)
BY_NAME = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison: the run, its window, and the window's arrays."""

    run: Run
    window: SteadyState
    arrays: WindowArrays

    @classmethod
    def of(cls, run: Run, window: SteadyState) -> Arm:
        """The run over its window."""
        return cls(run, window, window_arrays(run, window.kept))

    def knows(self, metric: Metric) -> bool:
        """Whether the window tells this metric."""
        return len(self.arrays) > 0 and self.work(metric) is not None and (not metric.per_device or self.devices is not None)

    @property
    def devices(self) -> int | None:
        """All devices of the run, None when not known."""
        return self.run.devices.total or None

    def work(self, metric: Metric) -> NDArray[Any] | None:
        """The work of each step that the metric counts, None when not known."""
        import numpy as np

        if metric.work == "steps":
            return np.ones(len(self.arrays))
        return self.arrays.tokens if metric.work == "tokens" else self.arrays.prompts

    def factor(self, metric: Metric) -> float:
        """What turns work a second into the metric's unit."""
        return metric.scale / (self.devices or 1) if metric.per_device else metric.scale

    def ratio_of_sums(self, metric: Metric) -> RatioOfSums | None:
        """Work a second with its error, None below the fewest steps."""
        work = self.work(metric)
        return None if work is None or len(work) < FEWEST_STEPS else ratio_of_sums(work, self.arrays.time_s)

    def estimate(self, metric: Metric) -> Estimate:
        """The metric over the window with its interval; without one below the fewest steps, or if that tells nothing."""
        work = self.work(metric)
        if work is None or not self.knows(metric):
            return Estimate.unknown(metric.unit)
        factor = self.factor(metric)
        measured = self.ratio_of_sums(metric)
        value = float(work.sum() / self.arrays.time_s.sum()) * factor
        if measured is None:
            return Estimate(value, None, None, metric.unit)
        low, high = measured.interval(CONFIDENCE)
        if tells_nothing((low, high), [(measured.n, measured.n_effective)]):
            return Estimate(value, None, None, metric.unit)
        return Estimate(value, low * factor, high * factor, metric.unit)


def tells_nothing(interval: tuple[float, float], sizes: Sequence[tuple[int, float]]) -> bool:
    """Whether an interval is not worth showing: a series of (n, n_eff) has no level, and the interval spans a factor of 4.

    Two effective steps give an interval by 12.7 standard errors; of a level that wanders that describes nothing.
    """
    return interval[1] > _LARGEST_SPAN * interval[0] and any(lacks_level(n, size) for n, size in sizes)


def matched_arrays(
    arms: tuple[Arm, Arm], metric: Metric, steps: Sequence[int]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Work and time of the baseline, then of the variant, at steps that both have."""
    import numpy as np

    parts: list[NDArray[Any]] = []
    for arm in arms:
        rows = np.isin(arm.arrays.steps, steps)
        work = arm.work(metric)
        parts.extend([np.ones(len(steps)) if work is None else work[rows], arm.arrays.time_s[rows]])
    return parts[0], parts[1], parts[2], parts[3]
