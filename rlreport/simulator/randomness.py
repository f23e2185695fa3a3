"""Random numbers of a simulation: one named stream a purpose, so that a new one does not move the others.

Only uniform and standard normal draws are used: their algorithms have not changed since numpy 1.17.
"""

from __future__ import annotations

import numpy as np

#: Append only: the position of a name is part of its seed.
STREAMS: tuple[str, ...] = (
    "responses",
    "prompts",
    "trainer-speed",
    "rollout-speed",
    "events",
    "reward",
    "accuracy",
    "metrics",
    "defects",
)


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of one purpose. Raises ValueError for a name that `STREAMS` does not have."""
    if name not in STREAMS:
        raise ValueError(f"no random stream is called '{name}'")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, STREAMS.index(name)])))


class AutocorrelatedNoise:
    """AR(1) noise of mean 0: x' = phi x + sqrt(1 - phi^2) e, started in its stationary state (standard deviation `sd`)."""

    def __init__(self, generator: np.random.Generator, sd: float, autocorrelation: float) -> None:
        self._generator = generator
        self._sd = sd
        self._phi = autocorrelation
        self._state = float(generator.standard_normal())

    def draw(self) -> float:
        """The next value; exactly 0 when the standard deviation is 0."""
        value = self._state
        shock = float(self._generator.standard_normal())
        self._state = self._phi * value + (1.0 - self._phi**2) ** 0.5 * shock
        return self._sd * value

    def factor(self) -> float:
        """The next value as a factor around 1; exactly 1 when the standard deviation is 0. Never below 0.2."""
        return max(0.2, 1.0 + self.draw())
