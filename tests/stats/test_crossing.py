from __future__ import annotations

import numpy as np

from rlreport.stats.crossing import first_crossing


def test_the_first_measurement_at_the_target_and_the_line_to_it() -> None:
    found = first_crossing(np.array([0.2, 0.5, 0.7, 0.6, 0.8]), 0.65)
    assert found is not None
    assert found.index == 2
    assert np.isclose(found.fraction, 0.75)  # from 0.5 to 0.7
    assert found.held  # the mean of 0.7, 0.6, 0.8 is 0.7


def test_a_lucky_measurement_is_not_held() -> None:
    found = first_crossing(np.array([0.2, 0.7, 0.3, 0.3]), 0.65)
    assert found is not None
    assert (found.index, found.held) == (1, False)


def test_a_target_that_is_met_from_the_start_or_never() -> None:
    found = first_crossing(np.array([0.7, 0.8]), 0.7)
    assert found is not None
    assert (found.index, found.fraction, found.held) == (0, 1.0, True)
    assert first_crossing(np.array([0.1, 0.2]), 0.7) is None
    assert first_crossing(np.array([]), 0.7) is None


def test_several_in_a_row_must_reach_it_together() -> None:
    values = np.array([0.0, 0.9, 0.0, 0.6, 0.7, 0.8, 0.9])
    alone, together = first_crossing(values, 0.65), first_crossing(values, 0.65, run=3)
    assert alone is not None
    assert together is not None
    assert (alone.index, together.index, together.fraction) == (1, 3, 1.0)  # 0.6, 0.7, 0.8 are the first three
    assert first_crossing(values[:2], 0.1, run=3) is None


def test_rounding_does_not_hide_a_target_that_is_met_exactly() -> None:
    assert first_crossing(np.array([0.0, 0.1 + 0.2]), 0.3) is not None
    assert first_crossing(np.full(10, 0.69), 0.69, run=10) is not None
