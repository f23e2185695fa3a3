from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.made_runs import make_run

from rlreport.comparators.lengths import length_bias, length_distributions, responses_of_a_prompt, staleness_distribution
from rlreport.run.samples import SampleKind, SampleTable


def samples(kind: SampleKind, lengths: list[int], *, step: int = 5, last: int = 3) -> SampleTable:
    n = len(lengths)
    return SampleTable(kind, np.full(n, step), np.array(lengths), np.full(n, 10), np.full(n, last), np.full(n, last))


def test_generated_is_trained_and_left_over() -> None:
    generated, trained = length_distributions([samples("trained", [10, 20, 30, 40]), samples("left over", [100])])
    assert (generated.kind, generated.n, trained.kind, trained.n) == ("generated", 5, "trained", 4)
    assert trained.points == ((10, 0.25), (20, 0.5), (30, 0.75), (40, 1.0))
    assert trained.quantiles[0] == 25 and trained.mean == 25 and generated.mean == 40
    assert [found.kind for found in length_distributions([samples("trained", [1])])] == ["trained"]
    assert length_distributions([]) == ()


def test_the_bias_is_the_two_sample_distance_of_kolmogorov_and_smirnov() -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    first, second = draw.integers(1, 500, 200), draw.integers(100, 700, 90)
    found = length_bias([samples("trained", first.tolist()), samples("left over", second.tolist())])
    expected = stats.ks_2samp(first, second)
    assert found is not None and found.distance == pytest.approx(expected.statistic)
    assert (found.distance > found.critical) == (expected.pvalue < 0.05)
    assert length_bias([samples("trained", [1, 2])]) is None


def test_the_critical_distance_is_exceeded_by_chance_in_one_case_of_twenty() -> None:
    draw = np.random.Generator(np.random.PCG64(2))
    exceeded = 0
    for _ in range(400):
        values = draw.integers(1, 10_000, 400).tolist()
        found = length_bias([samples("trained", values[:250]), samples("left over", values[250:])])
        assert found is not None
        exceeded += found.distance > found.critical
    assert 8 <= exceeded <= 32  # 5 % of 400 is 20; three standard deviations are 13


def test_staleness_counts_versions_behind() -> None:
    run = make_run({"staleness.mean": [0.2, 1.1, 0.9]}, mode="separate_async")
    tables = [samples("trained", [1, 1, 1], step=5, last=4), samples("trained", [1], step=5, last=2)]
    found = staleness_distribution(run, tables)
    assert found is not None and (found.unit, found.shares, found.mean) == ("samples", (0.75, 0.0, 0.25), 0.5)
    by_step = staleness_distribution(run, ())
    assert by_step is not None and by_step.unit == "steps" and by_step.shares == pytest.approx((1 / 3, 2 / 3))
    assert staleness_distribution(make_run({}), ()) is None


def test_rounds_of_fully_async_are_counted_in_versions() -> None:
    config = {"async_training.trigger_parameter_sync_step": 4}
    run = make_run({"time.step_s": [1.0], "staleness.mean": [1.0]}, mode="fully_async", config=config)
    # Rounds 9 and 12 are the first and the last of version 2, round 13 the first of version 3.
    tables = [samples("trained", [1], step=step, last=2) for step in (9, 12, 13)]
    found = staleness_distribution(run, tables)
    assert found is not None and (found.unit, found.n) == ("samples", 3)
    assert found.shares == pytest.approx((2 / 3, 1 / 3))
    newer = staleness_distribution(run, [samples("trained", [1], step=9, last=3)])
    assert newer is not None and newer.unit == "steps"  # no sample is newer than its Trainer: these are no rounds
    untold = make_run({"time.step_s": [1.0]}, mode="fully_async")
    assert staleness_distribution(untold, [samples("trained", [1])]) is None


def test_responses_to_one_prompt_count_once() -> None:
    tables = [samples("trained", list(range(80))), samples("left over", list(range(80)))]
    alone, together = length_bias(tables), length_bias(tables, 8)
    assert alone is not None and together is not None
    assert together.critical == pytest.approx(alone.critical * 8**0.5)
    assert responses_of_a_prompt(make_run({}, config={"actor_rollout_ref.rollout.n": 8})) == 8
    assert responses_of_a_prompt(make_run({})) == 1
