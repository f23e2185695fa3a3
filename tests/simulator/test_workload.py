from __future__ import annotations

import numpy as np
import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.workload import PromptGroup, Workload


def lengths(groups: list[PromptGroup]) -> np.ndarray:
    return np.array([group.response_tokens for group in groups])


def test_without_spread_every_length_is_the_mean() -> None:
    (group,) = Workload(tiny()).draw(1, 0)
    assert (group.prompt_tokens, group.response_tokens, group.tokens) == (10, [100], 110)


def test_responses_have_the_mean_and_spread_that_were_asked_for() -> None:
    scenario = tiny(
        workload__samples_per_prompt=4,
        workload__response_tokens_mean=1000,
        workload__response_tokens_sigma=0.5,
        workload__response_correlation=0.4,
        workload__max_response_tokens=10**9,
    )
    drawn = lengths(Workload(scenario).draw(20_000, 0))
    assert drawn.mean() == pytest.approx(1000, rel=0.01)
    logs = np.log(drawn)
    assert logs.std() == pytest.approx(0.5, rel=0.01)
    assert np.corrcoef(logs[:, 0], logs[:, 1])[0, 1] == pytest.approx(0.4, abs=0.02)


def test_the_cap_cuts_the_tail() -> None:
    scenario = tiny(workload__response_tokens_sigma=1.0, workload__max_response_tokens=150)
    drawn = lengths(Workload(scenario).draw(5000, 0))
    # P(length > 150) = P(z > ln 1.5 + 1/2) = P(z > 0.905) = 18.3 %
    assert drawn.max() == 150
    assert (drawn == 150).mean() == pytest.approx(0.183, abs=0.02)


def test_responses_grow_with_the_version() -> None:
    workload = Workload(tiny(workload__response_growth_per_step=0.01))
    assert [workload.draw(1, version)[0].response_tokens for version in (0, 10, 50)] == [[100], [110], [150]]


def test_the_same_seed_draws_the_same_work() -> None:
    def drawn(seed: int) -> list[list[int]]:
        return lengths(Workload(tiny(seed=seed, workload__response_tokens_sigma=0.5)).draw(20, 0)).tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
