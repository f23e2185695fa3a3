"""One side of a comparison: a run over its window, and the ways to express its throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, WindowArrays, window_arrays
from rlreport.run.estimate import Estimate
from rlreport.run.model import Run
from rlreport.stats.ratio import RatioOfSums, ratio_of_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95


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
        """The metric over the window with its interval; without one below the fewest steps."""
        work = self.work(metric)
        if work is None or not self.knows(metric):
            return Estimate.unknown(metric.unit)
        factor = self.factor(metric)
        measured = self.ratio_of_sums(metric)
        if measured is None:
            return Estimate(float(work.sum() / self.arrays.time_s.sum()) * factor, None, None, metric.unit)
        low, high = measured.interval(CONFIDENCE)
        return Estimate(measured.value * factor, low * factor, high * factor, metric.unit)


