"""Whether waiting times are multiples of a polling interval."""

from __future__ import annotations

from dataclasses import dataclass

from rlreport.comparators.results import SteadyState
from rlreport.comparators.window import FEWEST_STEPS, column_array
from rlreport.run.model import Run

#: Intervals that are tried, longest first: a multiple of 2 s is also one of 1 s, and the longest one is the interval.
PERIODS_S = (10.0, 5.0, 2.0, 1.0)
#: Mean resultant length of the waits' phases (1: all at the same phase); uniform phases have about 1 / sqrt(n).
CONCENTRATED = 0.9
#: Waits spread over so many intervals at least, or their being alike says nothing of polling.
FEWEST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Polling:
    """Waits lie at whole intervals of `period_s` apart; `concentration` is how sharply, from 0 to 1."""

    period_s: float
    concentration: float


def find_polling(run: Run, window: SteadyState) -> Polling | None:
    """The polling interval behind the Trainer's waits, None where they do not cluster.

    The phases of the waits within an interval are tested for concentration by their mean resultant length (Mardia and Jupp,
    Directional Statistics, 2000, section 2.3). verl's replay buffer is polled every 2 s (verl/trainer/ppo/v1).
    """
    import numpy as np

    values = column_array(run, "time.wait_s")[run.steps.index.isin(window.kept)]
    waits = values[np.isfinite(values)]
    if waits.size < FEWEST_STEPS:
        return None
    for period_s in PERIODS_S:
        phases = 2 * np.pi * waits / period_s
        concentration = float(np.abs(np.exp(1j * phases).mean()))
        levels = len(set(np.round((waits - waits.min()) / period_s).astype(int).tolist()))
        if concentration >= CONCENTRATED and levels >= FEWEST_LEVELS:
            return Polling(period_s, concentration)
    return None
