"""What is generated: prompts, responses and their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rlreport.simulator.randomness import stream
from rlreport.simulator.scenario import Scenario

FloatArray = NDArray[np.float64]

#: Prompts whose random numbers are drawn at once; it does not change them.
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """What the Rollouter of fully_async counted when a sample was finished; verl sends it along with the sample.

    Samples in generation, counted as stale, in the queue, generated and dropped since the start.
    """

    active: int
    staleness_samples: int
    queued: int
    generated: int
    dropped: int


@dataclass(slots=True, eq=False)
class PromptGroup:
    """A prompt with its responses, the unit in which verl samples and trains.

    `submitted_version` is the parameter version when the prompt was handed out, at `submitted_s`; older prompts are trained
    first. `first_versions` and `last_versions` hold, for every response, the parameter versions of its first and last token
    (-1 before), `finished_at` when its last token was decoded. `unfinished` counts bundles of responses. `finished_s` is
    when the last response ended, 0 before; `status` is set in fully_async only.
    """

    number: int
    prompt_tokens: int
    submitted_version: int
    submitted_s: float
    response_tokens: list[int]
    first_versions: list[int]
    last_versions: list[int]
    finished_at: list[float]
    unfinished: int
    started: bool = False
    finished_s: float = 0.0
    status: RolloutStatus | None = None

    @property
    def tokens(self) -> int:
        """Prompt and response tokens as the Trainer sees them: the prompt counts once a response."""
        return self.prompt_tokens * len(self.response_tokens) + sum(self.response_tokens)


@dataclass(slots=True, eq=False)
class Trajectory:
    """One response of a group, or a bundle of them, on its way through a replica.

    `indices` are the places of its responses in the group; `tokens` their (mean) length; `left` how much of it is still to
    decode.
    """

    group: PromptGroup
    indices: tuple[int, ...]
    tokens: float
    left: float


class Workload:
    """Draws prompt groups. Lengths are log-normal, capped, and drift with training."""

    def __init__(self, scenario: Scenario) -> None:
        self._workload = scenario.workload
        self._bundle = scenario.rollout.bundle
        self._prompts = stream(scenario.seed, "prompts")
        self._responses = stream(scenario.seed, "responses")
        self._prompt_tokens: list[int] = []
        self._factors = np.empty((0, self._workload.samples_per_prompt))
        self._next = 0
        self._drawn = 0

    def draw(self, count: int, version: int, now_s: float = 0.0) -> list[PromptGroup]:
        """New prompts with their responses; how long these get is decided by the policy of this version."""
        w = self._workload
        begin, end = self._reserve(count)
        mean = w.response_tokens_mean * (1.0 + w.response_growth_per_step * version)
        responses = _capped(mean * self._factors[begin:end], w.max_response_tokens).tolist()
        n = w.samples_per_prompt
        bundles = n // self._bundle
        groups = []
        for number, (prompt_tokens, lengths) in enumerate(
            zip(self._prompt_tokens[begin:end], responses, strict=True), self._drawn
        ):
            unknown = [-1] * n
            groups.append(
                PromptGroup(number, prompt_tokens, version, now_s, lengths, unknown, unknown.copy(), [0.0] * n, bundles)
            )
        self._drawn += count
        return groups

    def _reserve(self, count: int) -> tuple[int, int]:
        """The rows of the next prompts; draws a block of them where they run out."""
        w = self._workload
        if self._next + count > len(self._prompt_tokens):
            more = max(count, _BLOCK)
            hard = self._prompts.standard_normal((more, 2))
            own = self._responses.standard_normal((more, w.samples_per_prompt))
            shared = w.response_correlation**0.5
            z = shared * hard[:, 1:] + (1.0 - w.response_correlation) ** 0.5 * own
            prompts = w.prompt_tokens_mean * _factors(w.prompt_tokens_sigma, hard[:, 0])
            self._prompt_tokens = self._prompt_tokens[self._next :] + _capped(prompts, w.max_prompt_tokens).tolist()
            self._factors = np.concatenate([self._factors[self._next :], _factors(w.response_tokens_sigma, z)])
            self._next = 0
        begin = self._next
        self._next += count
        return begin, self._next


def trajectories(group: PromptGroup, bundle: int) -> list[Trajectory]:
    """The responses of a group as they are decoded: one by one, or bundles of responses of similar length."""
    lengths = group.response_tokens
    if bundle == 1:
        places = _singles(len(lengths))
        return [Trajectory(group, place, tokens, tokens) for place, tokens in zip(places, lengths, strict=True)]
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    result = []
    for start in range(0, len(order), bundle):
        indices = tuple(order[start : start + bundle])
        mean = sum(lengths[index] for index in indices) / bundle
        result.append(Trajectory(group, indices, mean, mean))
    return result


@lru_cache
def _singles(count: int) -> tuple[tuple[int], ...]:
    return tuple((index,) for index in range(count))


def _factors(sigma: float, z: FloatArray) -> FloatArray:
    """Log-normal factors of mean 1: exp(sigma z - sigma^2 / 2)."""
    factors: FloatArray = np.exp(sigma * z - sigma**2 / 2.0)
    return factors


def _capped(lengths: FloatArray, cap: int) -> NDArray[np.int64]:
    """Whole lengths from 1 to the cap."""
    return np.minimum(np.maximum(np.rint(lengths), 1), cap).astype(np.int64)
