"""Memory headroom and how far a token budget may go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_chains import BUDGET, DEVICE_MEMORY, made

from rlreport.comparators.headroom import Headroom, advise_budget, measure_headroom


def head(reserved_gb: float | None = 50.0, device_gb: float | None = 64.0, budget: float | None = 10_240) -> Headroom:
    return Headroom(reserved_gb, 1, device_gb, "manifest", 0.10, budget)


def measured(memory: Any, **config: Any) -> Headroom:
    return measure_headroom(made("r", steps=20, columns={"memory.reserved_gb": memory}, config=config))


def test_the_worst_logged_step_counts() -> None:
    memory = np.full(20, 30.0)
    memory[7] = 48.0
    memory[11] = np.nan
    found = measured(memory, **{DEVICE_MEMORY: 64})
    assert (found.reserved_gb, found.at_step, found.device_gb, found.origin) == (48.0, 9, 64.0, "made")
    assert found.free_fraction == pytest.approx(0.25)
    assert found.within_margin is True
    assert found.limit_gb == pytest.approx(57.6)
    assert measured(np.full(20, 60.0), **{DEVICE_MEMORY: "64"}).within_margin is False


def test_device_memory_is_never_guessed() -> None:
    found = measured(np.full(20, 63.9))
    assert (found.device_gb, found.free_fraction, found.limit_gb, found.within_margin) == (None, None, None, None)
    advice = advise_budget(found)
    assert advice.tokens is None
    assert "memory of a device is not known" in advice.basis


def test_memory_that_is_not_logged_is_unknown() -> None:
    found = measure_headroom(made("r", steps=20, config={DEVICE_MEMORY: 64}))
    assert (found.reserved_gb, found.at_step, found.free_fraction) == (None, None, None)
    assert "not logged" in advise_budget(found).basis


def test_a_budget_counts_only_where_it_is_in_force() -> None:
    off = measured(np.full(20, 30.0), **{DEVICE_MEMORY: 64, "actor_rollout_ref.actor.use_dynamic_bsz": "False"})
    assert off.budget_tokens is None
    assert advise_budget(off).tokens is None
    assert measured(np.full(20, 30.0), **{BUDGET: True}).budget_tokens is None


def test_one_run_allows_a_proportional_budget_upwards_only() -> None:
    # 57.6 / 48 x 10,240 = 12,288 tokens.
    assert advise_budget(head(48.0)).tokens == 12_288
    assert advise_budget(head(57.0)).tokens == 10_240  # 10,347 rounded down to 1,024s: no room
    assert advise_budget(head(60.0)).tokens is None


def test_two_runs_give_a_line() -> None:
    # 40 GB at 10,240 and 50 GB at 30,720: 10 GB for 20,480 tokens, so 7.6 GB are worth 15,564 more: 46,284, or 45 x 1,024.
    low, high = head(40.0, budget=10_240), head(50.0, budget=30_720)
    advice = advise_budget(high, (low, high))
    assert advice.tokens == 46_080
    assert advice.basis.startswith("linear")
    # Beyond the limit the line leads back: 62 GB at 40,960 are 4.4 too many; 40,960 - 4.4 / (12 / 10,240) = 37,205.
    over = head(62.0, budget=40_960)
    assert advise_budget(over, (high, over)).tokens == 36 * 1024


def test_no_budget_beyond_twice_what_was_measured() -> None:
    advice = advise_budget(head(20.0, budget=10_000))
    assert advice.tokens == 19 * 1024
    assert "twice" in advice.basis


def test_memory_that_falls_with_the_budget_gives_no_line() -> None:
    low, high = head(50.0, budget=10_240), head(45.0, budget=20_480)
    advice = advise_budget(high, (low, high))
    assert advice.basis.startswith("all memory taken as proportional")
