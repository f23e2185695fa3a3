"""Made runs whose true ratio is known, compared by the functions that a build uses, and counted.

Each pair goes through find_steady_state, common_window and compare_throughput. `calibration.py` makes the tables of
docs/statistics.md from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rlreport.comparators.results import SteadyState, ThroughputComparison
from rlreport.comparators.steady_state import common_window, find_steady_state
from rlreport.comparators.throughput import compare_throughput
from rlreport.run.model import Devices, Run, StepSemantics

Array = NDArray[np.float64]
Columns = dict[str, Array]

STEP_S = 100.0
TOKENS = 1_000_000.0
SEMANTICS = StepSemantics(
    step_is="one batch",
    contains=("time.wait_s", "time.update_actor_s", "time.validate_s", "time.checkpoint_s"),
    excludes=(),
    throughput_denominator="all devices",
    wait_is="made",
    source="made",
)


def make_run(columns: Columns, run_id: str = "run") -> Run:
    """A run of 16 devices with these columns from step 1 on."""
    index = pd.RangeIndex(1, len(columns["time.step_s"]) + 1, name="step")
    frame = pd.DataFrame({"work.prompts": 256.0, **columns}, index=index)
    return Run(
        run_id=run_id,
        label=run_id,
        framework="made",
        framework_version=None,
        mode="separate_async",
        status="completed",
        status_reason="made",
        devices=Devices(trainer=8, rollout=8, total=16),
        semantics=SEMANTICS,
        steps=frame,
        raw=frame,
        config={},
        knobs={},
        sources=(),
        partial_steps={},
        restarts=(),
        notices=(),
    )


def autoregressive(rng: np.random.Generator, steps: int, phi: float, cv: float = 0.05) -> Array:
    """First-order autoregressive noise of standard deviation cv, started in its stationary state."""
    shocks = rng.standard_normal(steps) * np.sqrt(1 - phi**2)
    shocks[0] /= np.sqrt(1 - phi**2)
    return cv * _filter(shocks, phi)


def heavy_tailed(rng: np.random.Generator, steps: int, phi: float = 0.5, cv: float = 0.05) -> Array:
    """Autoregressive noise with shocks of Student's t at three degrees of freedom (infinite kurtosis)."""
    shocks = rng.standard_t(3, steps + 50) / np.sqrt(3.0) * np.sqrt(1 - phi**2)
    return cv * _filter(shocks, phi)[50:]


def telegraph(rng: np.random.Generator, steps: int, switch: float = 0.1, high: float = 0.07) -> Array:
    """Two states that last ten steps on average, with a little noise on top."""
    flips = np.cumsum(rng.random(steps) < switch) + rng.integers(0, 2)
    return np.where(flips % 2 == 0, high, -high) + 0.02 * rng.standard_normal(steps)


def alternating(rng: np.random.Generator, steps: int, high: float = 0.3) -> Array:
    """Slow and fast steps in turn, as an async queue makes them."""
    return np.where(np.arange(steps) % 2 == 0, high, -high) + 0.05 * rng.standard_normal(steps)


def _filter(shocks: Array, phi: float) -> Array:
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -phi], shocks), dtype=np.float64)


def columns_of(rng: np.random.Generator, noise: Array, shape: Array | float = 1.0, growth: float = 0.0) -> Columns:
    """Step times from log noise and a shape (1 = ordinary time); tokens vary by 3 % and may grow along the run.

    With growth, time has a fixed part of 30 %, so that tokens per second drift with response length.
    """
    length = np.linspace(1.0, 1.0 + growth, len(noise))
    tokens = TOKENS * length * np.exp(0.03 * rng.standard_normal(len(noise)))
    base = 0.3 + 0.7 * tokens / TOKENS if growth else tokens / TOKENS
    return {
        "time.step_s": STEP_S * base * np.exp(noise) * shape,
        "work.tokens": tokens,
        "length.response_mean": 1000 * length,
    }


@dataclass(frozen=True, slots=True)
class Scenario:
    """How one arm's columns are made, from a generator and a number of steps."""

    name: str
    make: Callable[[np.random.Generator, int], Columns]


def _spikes(rng: np.random.Generator, steps: int, *, labelled: bool) -> Columns:
    spiking = np.arange(1, steps + 1) % 5 == 0
    columns = columns_of(rng, autoregressive(rng, steps, 0.5), np.where(spiking, 1.6, 1.0))
    if labelled:
        columns["time.validate_s"] = np.where(spiking, 0.6 * STEP_S, np.nan)
    return columns


def _stalls(rng: np.random.Generator, steps: int) -> Columns:
    shape = np.where(rng.random(steps) < 0.02, rng.uniform(4, 40, steps), 1.0)
    return columns_of(rng, autoregressive(rng, steps, 0.5), shape)


def _warm_up(rng: np.random.Generator, steps: int, slow: float, constant: float) -> Columns:
    shape = 1 + slow * np.exp(-np.arange(steps) / constant)
    return columns_of(rng, autoregressive(rng, steps, 0.5), shape)


def _prefetched(rng: np.random.Generator, steps: int) -> Columns:
    shape = np.where(np.arange(steps) < 3, 0.3, 1.0)
    return columns_of(rng, autoregressive(rng, steps, 0.5), shape)


NOISES = (
    Scenario("anti-correlated steps, lag one −0.7", lambda rng, n: columns_of(rng, autoregressive(rng, n, -0.7))),
    Scenario("heavy tails (t with 3 degrees), correlation 0.5", lambda rng, n: columns_of(rng, heavy_tailed(rng, n))),
    Scenario("validation in every 5th step, logged", lambda rng, n: _spikes(rng, n, labelled=True)),
    Scenario("a spike in every 5th step, not logged", lambda rng, n: _spikes(rng, n, labelled=False)),
    Scenario("two states in turn, step by step", lambda rng, n: columns_of(rng, alternating(rng, n))),
    Scenario("two states, ten steps each on average", lambda rng, n: columns_of(rng, telegraph(rng, n))),
    Scenario(
        "response length grows by 30 %, correlation 0.5",
        lambda rng, n: columns_of(rng, autoregressive(rng, n, 0.5), growth=0.3),
    ),
    Scenario(
        "both runs slow down by 30 %, correlation 0.5",
        lambda rng, n: columns_of(rng, autoregressive(rng, n, 0.5), np.linspace(1, 1.4, n)),
    ),
    Scenario("stalls of 4x to 40x in 2 % of steps", _stalls),
    Scenario("slow start, 3 steps of decay", lambda rng, n: _warm_up(rng, n, 1.0, 3.0)),
    Scenario("slow start, 20 steps of decay", lambda rng, n: _warm_up(rng, n, 0.6, 20.0)),
    Scenario("three fast steps from prefetched samples", _prefetched),
)


@dataclass(slots=True)
class Tally:
    """What many pairs gave."""

    pairs: int = 0
    made: int = 0
    held: int = 0
    without_one: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    widths: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the true ratio."""
        return self.held / max(self.made, 1)

    @property
    def alarms(self) -> float:
        """Share of the intervals that exclude 1."""
        return self.without_one / max(self.made, 1)

    def add(self, compared: ThroughputComparison, true_ratio: float) -> None:
        """Count one pair."""
        headline = compared.headline
        self.pairs += 1
        self.verdicts[headline.verdict] += 1
        self.classes[compared.window_baseline.steady_class] += 1
        if headline.ci_low is None or headline.ci_high is None:
            return
        self.made += 1
        self.held += headline.ci_low <= true_ratio <= headline.ci_high
        self.without_one += not headline.ci_low <= 1.0 <= headline.ci_high
        self.widths.append(headline.ci_high / headline.ci_low - 1)


def compare(baseline: Run, variant: Run) -> ThroughputComparison:
    """The pipeline of a build: own windows, common window, comparison."""
    windows = common_window(baseline, find_steady_state(baseline), variant, find_steady_state(variant))
    return compare_throughput(baseline, variant, *windows)


def run_pairs(scenario: Scenario, *, steps: int, ratio: float, pairs: int, seed: int) -> Tally:
    """Compare pairs whose variant is `ratio` times as fast, all from one seed."""
    rng = np.random.default_rng([seed, steps, round(1000 * ratio), *scenario.name.encode()])
    tally = Tally()
    for _ in range(pairs):
        baseline = scenario.make(rng, steps)
        variant = scenario.make(rng, steps)
        variant["time.step_s"] = variant["time.step_s"] / ratio
        if "time.validate_s" in variant:
            variant["time.validate_s"] = variant["time.validate_s"] / ratio
        tally.add(compare(make_run(baseline), make_run(variant)), ratio)
    return tally


def autoregressive_scenario(phi: float) -> Scenario:
    """Noise of 5 % with correlation phi between neighbours."""
    return Scenario(f"correlation {phi:g}", lambda rng, n: columns_of(rng, autoregressive(rng, n, phi)))


def steady_states(phi: float, drift: float, *, steps: int, series: int, seed: int) -> list[SteadyState]:
    """Windows of runs whose tokens per second change by `drift` (a fraction) from first to last step."""
    rng = np.random.default_rng([seed, steps, round(1000 * (drift + 1)), round(100 * (phi + 1))])
    shape = 1 / np.linspace(1.0, 1.0 + drift, steps)
    runs = (make_run(columns_of(rng, autoregressive(rng, steps, phi), shape)) for _ in range(series))
    return [find_steady_state(run) for run in runs]


def share_of(states: Iterable[SteadyState], *classes: str) -> float:
    """Share of the windows that are of one of the classes."""
    found = [state.steady_class in classes for state in states]
    return sum(found) / len(found)
