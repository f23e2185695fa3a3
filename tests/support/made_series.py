"""Series with known dependence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def autoregressive(rng: np.random.Generator, n: int, phi: float) -> NDArray[np.float64]:
    """First-order autoregressive noise of unit variance, started in its stationary state."""
    values = np.empty(n)
    previous = rng.standard_normal()
    for place, shock in enumerate(rng.standard_normal(n)):
        previous = phi * previous + np.sqrt(1 - phi**2) * shock
        values[place] = previous
    return values


def balanced(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Noise whose neighbours are anti-correlated, so that its effective sample size is n exactly."""
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return np.asarray(signs * (1 + 0.3 * rng.standard_normal(n)), dtype=np.float64)
