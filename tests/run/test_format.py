from __future__ import annotations

import math

import pytest

from rlreport.run import format as f
from rlreport.run.estimate import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0"),
        (448.6, "449"),
        (1234.5, "1,230"),
        (0.01234, "0.0123"),
        (9.996, "10.0"),
        (99.96, "100"),
        (-0.5, "−0.500"),
        (1e-6, "1.00e-6"),
    ],
)
def test_number_has_three_significant_digits(value: float | None, text: str) -> None:
    assert f.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(33012.0, "33.0 k"), (9999.0, "10,000"), (1_500_000.0, "1.50 M"), (412.0, "412"), (None, "–")]
)
def test_scaled(value: float | None, text: str) -> None:
    assert f.scaled(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.376, "37.6 %"), (0.0, "0.0 %"), (0.0003, "<0.1 %"), (0.0007, "0.1 %"), (None, "–"), (1.0, "100.0 %")],
)
def test_percent_never_shows_a_false_zero(fraction: float | None, text: str) -> None:
    assert f.percent(fraction) == text


def test_signed_percent_has_a_true_minus() -> None:
    assert f.signed_percent(-0.05) == "−5.0 %"
    assert f.signed_percent(0.25) == "+25.0 %"


@pytest.mark.parametrize(
    ("value", "text"), [(1.25, "1.25×"), (1.0042, "1.004×"), (0.91, "0.910×"), (2.5, "2.50×"), (None, "–")]
)
def test_ratio(value: float | None, text: str) -> None:
    assert f.ratio(value) == text


def test_intervals_give_both_ends_the_same_decimals() -> None:
    assert f.ratio_interval(1.239, 1.253) == "1.239 to 1.253"
    assert f.ratio_interval(1.1, 1.4) == "1.10 to 1.40"
    assert f.ratio(1.246, 1.239, 1.253) == "1.246×"
    assert f.ratio(1.02, 0.9, 1.2) == "1.02×"
    assert f.interval(-0.00992, 0.0059) == "−0.0099 to 0.0059"
    assert f.interval(-5.5, 10.7) == "−5.5 to 10.7"
    assert f.interval(200.0, 4200.0) == "200 to 4,200"
    assert f.interval(None, 1.0) == "–"


def test_estimate_rounds_to_its_uncertainty() -> None:
    assert f.estimate(Estimate(448.63, 446.5, 450.7, "tokens/s")) == "448.6 ± 2.1"
    assert f.estimate(Estimate(33012.0, 32000.0, 34000.0, "tokens/s")) == "33,012 ± 1,000"
    assert f.estimate(Estimate.unknown("tokens/s")) == "–"
    assert f.estimate(Estimate(5.0, None, None, "s")) == "5.00"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.14, "0.140 s"), (190.0, "3 min 10 s"), (19688.0, "5 h 28 min"), (3599.6, "1 h 00 min"), (None, "–")],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert f.duration(seconds) == text


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([], "–"),
        ([1], "1"),
        ([1, 2, 3], "1 to 3"),
        ([20, 5, 10, 15], "5, 10 … 20 (every 5)"),
        ([1, 125], "1, 125"),
        ([1, 2, 3, 7, 9], "1 to 3, 7, 9"),
        ([*range(1, 200, 2), 500], "1, 3, 5, 7, 9, 11, 13 … 500"),
    ],
)
def test_steps(steps: list[int], text: str) -> None:
    assert f.steps(steps) == text


def test_config_value() -> None:
    assert f.config_value(1e-6) == "1e-06"
    assert f.config_value(True) == "true"
    assert f.config_value(["a", 2]) == "a, 2"
    assert f.config_value(16384) == "16,384"
    assert f.config_value(["/data/ml/sets/gsm8k/train.parquet", "short"]) == "…/gsm8k/train.parquet, short"
    assert f.config_value("x" * 100) == "x" * 29 + "…" + "x" * 29


def test_words() -> None:
    assert f.join_words(["a", "b", "c"]) == "a, b and c"
    assert f.plural(1, "step") == "1 step"
    assert f.plural(1200, "step") == "1,200 steps"
    assert f.byte_size(61_234_567) == "61.2 MB"
