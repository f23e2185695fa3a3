from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made_runs import make_run

from rlreport.comparators.results import SteadyState
from rlreport.comparators.signals import compare_signals, measure_signals
from rlreport.run.model import Run

ENTROPY, KL = "quality.entropy", "quality.kl"


def window(n: int, first: int = 1) -> SteadyState:
    kept = tuple(range(first, n + 1))
    return SteadyState("flat", kept[0], kept[-1], kept, float(len(kept)), ())


def run(n: int = 60, **columns: Any) -> Run:
    named = {name.replace("__", "."): values for name, values in columns.items()}
    return make_run({"time.step_s": np.full(n, 10.0), **named})


def test_a_signal_has_ends_a_mean_and_a_volatility() -> None:
    rng = np.random.default_rng(1)
    values = np.linspace(1.0, 0.5, 60) + 0.01 * rng.normal(size=60)
    (found,) = measure_signals(run(quality__entropy=values), window(60, 11))
    assert (found.metric, found.unit, found.n) == (ENTROPY, "nats", 50)
    assert found.first == pytest.approx(values[:5].mean())
    assert found.last == pytest.approx(values[-5:].mean())
    assert found.mean.estimate == pytest.approx(values[10:].mean())
    assert found.volatility == pytest.approx(0.01, rel=0.4)
    assert measure_signals(run(), window(60)) == ()


def test_a_course_that_both_arms_share_cancels() -> None:
    rng = np.random.default_rng(2)
    course = np.linspace(1.0, 0.3, 60)
    arms = [run(quality__entropy=course + shift + 0.01 * rng.normal(size=60)) for shift in (0.0, 0.05)]
    (found,) = compare_signals(*arms, window(60), window(60))
    assert found.difference == pytest.approx(0.05, abs=0.01)
    assert found.different
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_high - found.ci_low < 0.02
    assert found.volatility_ratio == pytest.approx(1.0, abs=0.5)


def test_equal_signals_are_not_said_to_differ() -> None:
    rng = np.random.default_rng(3)
    arms = [run(quality__kl=0.001 + 0.0002 * rng.normal(size=60)) for _ in range(2)]
    (found,) = compare_signals(*arms, window(60), window(60))
    assert (found.metric, found.different) == (KL, False)
    short = compare_signals(*arms, window(6), window(6))[0]
    assert (short.difference, short.different, short.volatility_ratio) == (None, None, None)


def test_a_signal_that_one_arm_lacks_is_told() -> None:
    (found,) = compare_signals(run(quality__entropy=np.ones(60)), run(), window(60), window(60))
    assert found.variant is None
    assert found.difference is None
    assert [notice.code for notice in found.notices] == ["RR478"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"quality__entropy": np.geomspace(1.0, 0.05, 60)}, "nearly deterministic"),
        ({"correction__ess_fraction": np.full(60, 0.3)}, "leave 30 % of the samples effective"),
        ({"correction__masked_fraction": np.full(60, 0.25)}, "25 % of the samples are generated and then rejected"),
    ],
)
def test_what_a_reader_should_look_at(columns: dict[str, Any], words: str) -> None:
    (found,) = compare_signals(run(**columns), run(**columns), window(60), window(60))
    assert [notice.code for notice in found.notices] == ["RR479", "RR479"]
    assert words in found.notices[0].message
    calm = {name: np.full(60, 0.95 if "ess" in name else 0.01) for name in columns}
    assert compare_signals(run(**calm), run(**calm), window(60), window(60))[0].notices == ()
