"""What is generated: prompts, responses and their lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlreport.simulator.randomness import stream
from rlreport.simulator.scenario import Scenario


@dataclass(slots=True, eq=False)
class PromptGroup:
    """A prompt with its responses, the unit in which verl samples and trains.

    `submitted_version` is the parameter version when the prompt was handed out; older prompts are trained first.
    `first_versions` and `last_versions` hold, for every response, the parameter versions of its first and last token.
    """

    number: int
    prompt_tokens: int
    submitted_version: int
    response_tokens: list[int]
    first_versions: list[int]
    last_versions: list[int]
    unfinished: int
    started: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and response tokens as the Trainer sees them: the prompt counts once a response."""
        return self.prompt_tokens * len(self.response_tokens) + sum(self.response_tokens)


@dataclass(slots=True, eq=False)
class Trajectory:
    """One response of a group on its way through a replica."""

    group: PromptGroup
    index: int
    response_tokens: int


class Workload:
    """Draws prompt groups. Lengths are log-normal, capped, and drift with training."""

    def __init__(self, scenario: Scenario) -> None:
        self._workload = scenario.workload
        self._prompts = stream(scenario.seed, "prompts")
        self._responses = stream(scenario.seed, "responses")
        self._drawn = 0

    def draw(self, count: int, version: int) -> list[PromptGroup]:
        """New prompts with their responses; how long these get is decided by the policy of this version."""
        w = self._workload
        hard = self._prompts.standard_normal((count, 2))
        own = self._responses.standard_normal((count, w.samples_per_prompt))
        shared = w.response_correlation**0.5
        z = shared * hard[:, 1:] + (1.0 - w.response_correlation) ** 0.5 * own
        mean = w.response_tokens_mean * (1.0 + w.response_growth_per_step * version)
        responses = _lengths(mean, w.response_tokens_sigma, z, w.max_response_tokens).tolist()
        prompts = _lengths(w.prompt_tokens_mean, w.prompt_tokens_sigma, hard[:, 0], w.max_prompt_tokens).tolist()
        groups = []
        for prompt_tokens, lengths in zip(prompts, responses, strict=True):
            unknown = [-1] * w.samples_per_prompt
            groups.append(
                PromptGroup(self._drawn, prompt_tokens, version, lengths, unknown, unknown.copy(), w.samples_per_prompt)
            )
            self._drawn += 1
        return groups


def _lengths(mean: float, sigma: float, z: np.ndarray, cap: int) -> np.ndarray:
    """Whole lengths, log-normal with this mean before the cap: exp(ln mean - sigma^2 / 2 + sigma z)."""
    return np.clip(np.rint(mean * np.exp(sigma * z - sigma**2 / 2.0)), 1, cap).astype(np.int64)
