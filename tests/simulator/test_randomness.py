from __future__ import annotations

import numpy as np
import pytest

from rlreport.simulator.randomness import STREAMS, AutocorrelatedNoise, stream


def test_streams_are_different_and_repeatable() -> None:
    first = {name: stream(3, name).random() for name in STREAMS}
    assert first == {name: stream(3, name).random() for name in STREAMS}
    assert len(set(first.values())) == len(STREAMS)


def test_an_unknown_stream_is_an_error() -> None:
    with pytest.raises(ValueError, match="weather"):
        stream(3, "weather")


def test_noise_has_the_spread_and_autocorrelation_that_were_asked_for() -> None:
    noise = AutocorrelatedNoise(stream(1, "reward"), 0.2, 0.7)
    series = np.array([noise.draw() for _ in range(60_000)])
    assert series.mean() == pytest.approx(0.0, abs=0.01)
    assert series.std() == pytest.approx(0.2, rel=0.02)
    assert np.corrcoef(series[:-1], series[1:])[0, 1] == pytest.approx(0.7, abs=0.01)


def test_no_noise_is_exactly_none() -> None:
    noise = AutocorrelatedNoise(stream(1, "events"), 0.0, 0.5)
    assert [noise.factor() for _ in range(5)] == [1.0] * 5
