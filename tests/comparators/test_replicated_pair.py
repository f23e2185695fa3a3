from __future__ import annotations

from typing import Any

import numpy as np
from support.made_runs import make_run

from rlreport.comparators.replicated_pair import compare_pair_groups
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.knobs import Knob
from rlreport.run.model import Run

KNOBS = [Knob("data.seed", "environment", "seed"), Knob("trainer.test_freq", "schedule", "validation interval")]


def run(name: str, seed: int, *, speed: float = 1.0, every: int = 5, n: int = 60) -> Run:
    rng = np.random.default_rng(seed)
    columns = {"time.step_s": 100 * np.exp(0.02 * rng.normal(size=n)) / speed, "work.tokens": np.full(n, 10_000.0)}
    config: dict[str, Any] = {"data.seed": seed, "trainer.test_freq": every}
    return make_run(columns, run_id=name, label=name, config=config, knobs=KNOBS, group=name[0])


RUNS = {
    one.run_id: one
    for one in (
        run("a1", 1),
        run("a2", 2, speed=1.03),
        run("a3", 3, every=50),
        run("b1", 4, speed=1.5, every=10),
        run("b2", 4, speed=1.52, every=10),
    )
}


def compare(groups: dict[str, tuple[str, ...]]) -> Any:
    first, second = RUNS["a1"], RUNS["b1"]
    windows = common_window(first, find_steady_state(first), second, find_steady_state(second))
    return compare_pair_groups("a1", "b1", RUNS, groups, compare_throughput(first, second, *windows))


def test_only_replicates_of_a_run_stand_beside_it() -> None:
    found = compare({"a1": ("a2", "a3"), "b1": ("b2",)})
    assert [mean.run_id for mean in found.baseline] == ["a1", "a2"]
    assert [mean.run_id for mean in found.variant] == ["b1"]  # b2 repeats the seed of b1
    assert found.basis == "baseline"
    told = " ".join(notice.message for notice in found.notices)
    assert "a3 is refused" in told
    assert "b2 is refused" in told


def test_a_pair_without_replicates_is_left_to_its_own_comparison() -> None:
    assert compare({}) is None
    assert compare({"a1": ("a3",)}) is None
    assert compare({"a1": ("unread",)}) is None
