"""The calibration of `benchmarks/calibration.py` in a small form with fixed seeds.

Bars hold for long runs of that script; here each has the Monte-Carlo error of the few pairs added (two standard errors).
"""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("rlreport_calibration", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


calibration = _load()
PAIRS = 80


def _error(share: float, count: int) -> float:
    return 2 * math.sqrt(share * (1 - share) / count)


@pytest.mark.parametrize(
    ("phi", "steps", "coverage", "alarms"),
    [
        (0.0, 30, 0.92, 0.08),
        (0.0, 300, 0.92, 0.08),
        (0.5, 30, 0.92, 0.08),
        (0.5, 100, 0.92, 0.08),
        (0.8, 30, 0.88, 0.10),
        (0.8, 100, 0.88, 0.08),
        (0.8, 300, 0.88, 0.08),
    ],
)
def test_intervals_hold_the_true_ratio(phi: float, steps: int, coverage: float, alarms: float) -> None:
    scenario = calibration.autoregressive_scenario(phi)
    for ratio in (1.0, 1.1):
        tally = calibration.run_pairs(scenario, steps=steps, ratio=ratio, pairs=PAIRS, seed=7)
        assert tally.made == PAIRS
        assert tally.coverage >= coverage - _error(coverage, PAIRS)
        if ratio == 1.0:
            assert tally.alarms <= alarms + _error(alarms, PAIRS)
            assert tally.verdicts["improved"] + tally.verdicts["regressed"] <= 0.05 * PAIRS


@pytest.mark.parametrize("scenario", calibration.NOISES, ids=lambda scenario: scenario.name)
def test_intervals_hold_under_noise_of_other_kinds(scenario: object) -> None:
    tally = calibration.run_pairs(scenario, steps=100, ratio=1.1, pairs=40, seed=7)
    assert tally.made == 40
    assert tally.coverage >= 0.92 - _error(0.92, 40)


@pytest.mark.parametrize(("phi", "missed"), [(0.0, 0.10), (0.5, 0.10), (0.8, 0.30)])
def test_a_drift_is_seldom_called_steady_and_a_flat_series_seldom_drifting(phi: float, missed: float) -> None:
    drifting = calibration.steady_states(phi, -0.1, steps=300, series=80, seed=7)
    flat = calibration.steady_states(phi, 0.0, steps=300, series=100, seed=7)
    assert 1 - calibration.share_of(drifting, "drifting", "none") <= missed + _error(missed, 80)
    assert calibration.share_of(flat, "drifting") <= 0.06 + _error(0.06, 100)
