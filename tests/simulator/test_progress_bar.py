from __future__ import annotations

import pytest

from rlreport.simulator.progress_bar import clock, progress_bars


def test_a_steady_pace() -> None:
    bars = list(progress_bars("Training Progress", [60.0 * n for n in range(1, 101)], 100))
    assert bars[0] == "Training Progress:   1%|          | 1/100 [01:00<1:39:00, 60.00s/it]"
    assert (
        bars[12] == "Training Progress:  13%|█▎        | 13/100 [13:00<1:27:00, 60.00s/it]"
    )  # 1.3 cells: one and two eighths
    assert bars[-1] == "Training Progress: 100%|██████████| 100/100 [1:40:00<00:00, 60.00s/it]"


def test_the_rate_is_an_exponential_moving_average() -> None:
    # Weights 0.3 and 0.7 of steps of 10 s and 20 s, divided by what has been seen: (0.3 x 20 + 0.21 x 10) / 0.51 = 15.88 s.
    second = list(progress_bars("Training Progress", [10.0, 30.0], 10))[1]
    assert second.endswith("2/10 [00:30<02:07, 15.88s/it]")


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (59.9, "00:59"), (3600, "1:00:00"), (360_005, "100:00:05")])
def test_clocks(seconds: float, text: str) -> None:
    assert clock(seconds) == text
