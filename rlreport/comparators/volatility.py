"""How rough the course of a metric is from step to step, for one run and for two runs against each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import column_array
from rlreport.run.estimate import Estimate
from rlreport.run.metrics import METRICS
from rlreport.run.model import Run
from rlreport.stats.resampling import bootstrap_log_ratio, stationary_bootstrap_indices
from rlreport.stats.robust import MAD_TO_SIGMA, volatility

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Fewer values than this do not show how volatile a series is.
FEWEST_VALUES = 30
_RESAMPLES = 500
_CONFIDENCE = 0.95
_SEED = 20_250_819


def logged_values(run: Run, window: SteadyState, metric: str) -> Array:
    """All logged values between the ends of the window, in step order.

    Steps whose time is excluded are among them: a checkpoint does not spoil a reward.
    """
    import numpy as np

    values = column_array(run, metric)
    steps = np.asarray(run.steps.index)
    if window.first_step is None or window.last_step is None:
        return values[:0]
    return values[np.isfinite(values) & (steps >= window.first_step) & (steps <= window.last_step)]


def measure_volatility(run: Run, window: SteadyState, metric: str) -> Estimate:
    """Robust step-to-step volatility of a metric over the window, in its unit, with a 95 % bootstrap interval.

    1.4826 MAD(first differences) / sqrt(2) (`stats.robust.volatility`); percentile interval of the stationary bootstrap of
    the differences (Politis and Romano 1994, JASA 89), which covers too rarely below some 50 values. Unknown below
    `FEWEST_VALUES`; without an interval where a resample has no volatility.
    """
    import numpy as np

    unit = METRICS[metric].unit
    values = logged_values(run, window, metric)
    if len(values) < FEWEST_VALUES:
        return Estimate.unknown(unit)
    jumps = np.diff(values)
    block = math.ceil(len(jumps) ** (1 / 3))
    chosen = stationary_bootstrap_indices(len(jumps), _RESAMPLES, block, np.random.default_rng(_SEED))
    found = _scale(jumps[chosen]) / math.sqrt(2)
    if not bool((found > 0).all()):
        return Estimate(volatility(values), None, None, unit)
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Estimate(volatility(values), float(low), float(high), unit)


def compare_volatility(baseline: Array, variant: Array) -> Estimate:
    """The variant's volatility over the baseline's, with a 95 % bootstrap interval; both in time order.

    Unknown when a series is shorter than `FEWEST_VALUES` or does not move at all.
    """
    import numpy as np

    if min(len(baseline), len(variant)) < FEWEST_VALUES:
        return Estimate.unknown("ratio")
    found = [volatility(values) for values in (baseline, variant)]
    if not all(value > 0 for value in found):
        return Estimate.unknown("ratio")
    interval = bootstrap_log_ratio(np.diff(baseline), np.diff(variant), _scale, seed=_SEED)
    low, high = interval or (None, None)
    return Estimate(found[1] / found[0], low, high, "ratio")


def _scale(differences: Array) -> Array:
    """Robust standard deviation of each row: shape (resamples, n) to (resamples,)."""
    import numpy as np

    centre = np.median(differences, axis=-1, keepdims=True)
    return np.asarray(MAD_TO_SIGMA * np.median(np.abs(differences - centre), axis=-1), dtype=np.float64)
